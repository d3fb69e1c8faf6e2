"""Defects that a generator plants are each found by the layer whose business they are, for the right reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.benchmark_roles import EXAMPLE, generator_with, offline, role

from judgeharness_integrations.benchmark.asker import Asker, Material
from judgeharness_integrations.benchmark.documents import read_documents
from judgeharness_integrations.benchmark.folder import Journal
from judgeharness_integrations.benchmark.generation import generated
from judgeharness_integrations.benchmark.pair import LAYERS, Conditions, Document, Drawing, Pair, draw_conditions
from judgeharness_integrations.benchmark.taxonomy import default_taxonomy
from judgeharness_integrations.judging.execution.retrying import Budget

CAUGHT = {  # defect -> the layer that finds it, and what its first reason says
    "malformed JSON": ("form", "the answer is no JSON object"),
    "wrong turn count": ("form", "rounds"),
    "incoherent plan": ("coherence", "the sketch puts the flaw in round"),
    "drifted flaw": ("adherence", "the flaw is in turn"),
    "two flaws": ("adherence", "two flaws"),
    "announced flaw": ("adherence", "the assistant announces the flaw"),
    "flaw in the better one": ("adherence", "the better conversation has a flaw in turn"),
    "user out of behaviour": ("adherence", "the user leaves the behaviour"),
    "ungrounded claim": ("grounding", "claims are grounded in turn"),
}
Planted = Callable[[str], str | None]


@cache
def documents() -> dict[str, Document]:
    return {document.document_id: document for document in read_documents([EXAMPLE / "documents_md"])}


def drawn(numbers: range, seed: int = 7) -> list[Conditions]:
    drawing, found = Drawing(seed=seed), list(documents().values())
    return [draw_conditions(n, documents=found, taxonomy=default_taxonomy(), drawing=drawing) for n in numbers]


def made(conditions: list[Conditions], planted: Planted, folder: Path) -> list[Pair]:
    """Return what becomes of pairs whose generator plants, and whose verifier looks."""

    async def one(asker: Asker, each: Conditions) -> Pair:
        material = Material.of(each, documents(), default_taxonomy())
        models = {"generator": generator_with(planted), "verifier": role("verifier")}
        return await generated(each, material, min_grounded=1.0, asker=asker, **models)

    async def every(asker: Asker) -> list[Pair]:
        return [await one(asker, each) for each in conditions]

    with Journal(folder / "answers.sqlite") as journal:
        return asyncio.run(every(Asker(journal=journal, budget=Budget())))


def test_every_defect_of_the_example_is_tested() -> None:
    assert set(CAUGHT) == set(offline("offline_writing").DEFECTS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("defect", sorted(CAUGHT))
def test_the_right_layer_finds_a_defect(defect: str, tmp_path: Path) -> None:
    layer, reason = CAUGHT[defect]
    for pair in made(drawn(range(8)), lambda _: defect, tmp_path):
        assert pair.state == "rejected"
        assert pair.verification.failed is not None
        assert pair.verification.failed.layer == layer
        assert reason in pair.verification.failed.reasons[0]
        statuses = {result.layer: result.status for result in pair.verification.layers}
        passed = ["coherence"] if layer == "form" else LAYERS[: LAYERS.index(layer)]  # plans come before conversations
        assert statuses == dict.fromkeys(LAYERS, "not_run") | dict.fromkeys(passed, "passed") | {layer: "failed"}


@pytest.mark.slow
def test_pairs_without_a_defect_are_accepted(tmp_path: Path) -> None:
    pairs = made(drawn(range(40)), lambda _: None, tmp_path)
    assert {pair.state for pair in pairs} == {"accepted"}
    assert {pair.conditions.failure_type for pair in pairs} == set(default_taxonomy().failure_types)
    assert {pair.conditions.behaviour for pair in pairs} == set(default_taxonomy().behaviours)


@pytest.mark.slow
def test_the_reasons_name_what_was_planted(tmp_path: Path) -> None:
    [conditions] = drawn(range(3, 4))
    reasons = {}
    for defect in CAUGHT:
        (tmp_path / defect).mkdir()
        [pair] = made([conditions], lambda _, defect=defect: defect, tmp_path / defect)
        assert pair.verification.failed is not None
        reasons[defect] = " ".join(pair.verification.failed.reasons)
    wording = offline("offline_wording")
    assert f"declared {conditions.flawed_round}" in reasons["drifted flaw"]
    assert f"turn {conditions.flawed_round} {conditions.failure_type}" in reasons["two flaws"]
    assert wording.ANNOUNCED in reasons["announced flaw"]
    assert f"behaviour {conditions.behaviour} (worse conversation)" in reasons["user out of behaviour"]
    assert wording.UNGROUNDED in reasons["ungrounded claim"]
    rounds = conditions.n_rounds
    assert f"it has {rounds + 1} rounds, {rounds} were asked for" in reasons["wrong turn count"]
