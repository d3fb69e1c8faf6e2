from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.verified_pairs import Verifier, asked, asking, conversations, material, pair, plans

from judgeharness_integrations.benchmark.asker import AskError
from judgeharness_integrations.benchmark.pair import LAYERS, Layer, LayerResult, LayerStatus, Pair, Verification
from judgeharness_integrations.benchmark.results.checks import tallies
from judgeharness_integrations.benchmark.verification import cascade, verified
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_integrations.judging.execution.retrying import BudgetExhausted


def statuses(of: Pair) -> list[LayerStatus]:
    return [result.status for result in of.verification.layers]


def checked(tmp_path: Path, of: Pair | None = None, **answers: Any) -> tuple[Pair, Verifier]:
    verifier = Verifier(answers)
    made = asked(tmp_path, verified, of or pair(), verifier, min_grounded=1.0)
    return made, verifier


def test_a_pair_that_every_layer_passes_is_accepted(tmp_path: Path) -> None:
    made, verifier = checked(tmp_path)
    assert made.state == "accepted"
    assert statuses(made) == ["passed"] * 4
    assert (made.verification.verifier, made.verification.min_grounded) == ("checker", 1.0)
    assert verifier.steps == {"coherence": 1, "adherence": 1, "claims": 2, "grounding": 2}


REJECTING: dict[str, Any] = {
    "coherence": {"coherent": False, "conflicts": [{"what": "flaw", "reason": "there is an answer"}]},
    "adherence": Verifier.adherence(worse_flaws=[]),
    "claims": {"claims": []},
}
UNREADABLE = {"nothing": "of this kind"}


@pytest.mark.parametrize(
    ("step", "layers"),
    [
        ("coherence", ["passed", "failed", "not_run", "not_run"]),
        ("adherence", ["passed", "passed", "failed", "not_run"]),
        ("claims", ["passed", "passed", "passed", "failed"]),
    ],
)
def test_a_layer_that_fails_is_the_last_that_is_asked(tmp_path: Path, step: str, layers: list[str]) -> None:
    made, verifier = checked(tmp_path, **{step: REJECTING[step]})
    assert made.state == "rejected"
    assert statuses(made) == layers
    asked_steps = list(verifier.steps)
    assert asked_steps == ["coherence", "adherence", "claims"][: asked_steps.index(step) + 1]


@pytest.mark.parametrize(
    ("step", "layers"),
    [
        ("coherence", ["passed", "unread", "not_run", "not_run"]),
        ("adherence", ["passed", "passed", "unread", "not_run"]),
        ("grounding", ["passed", "passed", "passed", "unread"]),
    ],
)
def test_a_layer_that_cannot_be_read_leaves_the_pair_unverified(tmp_path: Path, step: str, layers: list[str]) -> None:
    made, _ = checked(tmp_path, **{step: UNREADABLE})
    assert made.state == "unverified"
    assert statuses(made) == layers


def test_a_pair_without_form_costs_nothing(tmp_path: Path) -> None:
    made, verifier = checked(tmp_path, pair(conversations=conversations(4)))
    assert statuses(made) == ["failed", "not_run", "not_run", "not_run"]
    assert not verifier.prompts


def test_a_pair_without_plans_is_checked_as_far_as_it_can_be_and_never_accepted(tmp_path: Path) -> None:
    made, verifier = checked(tmp_path, pair(blueprints=None))
    assert statuses(made) == ["passed", "not_run", "passed", "passed"]
    assert made.state == "unverified"
    assert "coherence" not in verifier.steps
    rejected, _ = checked(tmp_path, pair(1, blueprints=None), adherence=REJECTING["adherence"])
    assert rejected.state == "rejected"
    assert statuses(rejected) == ["passed", "not_run", "failed", "not_run"]


def test_a_pair_without_conversations_stays_as_it_is(tmp_path: Path) -> None:
    before = pair(conversations=None, blueprints=plans(chunk="nowhere"))
    made, verifier = checked(tmp_path, before)
    assert made is before
    assert not verifier.prompts


def test_another_share_of_grounded_claims_asks_nothing_anew(tmp_path: Path) -> None:
    said = {"claims": [{"round": 1, "claim": "true"}, {"round": 1, "claim": "false"}]}
    half = [{"claim_id": f"1.{n}", "grounded": n == 1, "chunk": None, "evidence": None, "reason": ""} for n in (1, 2)]
    verifier = Verifier({"claims": said, "grounding": {"decisions": half}})
    strict = asked(tmp_path, verified, pair(), verifier, min_grounded=1.0)
    asked_before = len(verifier.prompts)
    lenient = asked(tmp_path, verified, strict, verifier, min_grounded=0.5)
    assert (strict.state, lenient.state) == ("rejected", "accepted")
    assert lenient.verification.min_grounded == 0.5
    assert len(verifier.prompts) == asked_before


def test_another_verifier_replaces_the_verification_and_asks_for_itself(tmp_path: Path) -> None:
    first, _ = checked(tmp_path)
    other = Verifier({"adherence": REJECTING["adherence"]}, name="other")
    second = asked(tmp_path, verified, first, other, min_grounded=1.0)
    assert (second.verification.verifier, second.state) == ("other", "rejected")
    assert other.steps == {"coherence": 1, "adherence": 1}


def test_a_model_that_cannot_be_asked_and_a_spent_budget_pass_through(tmp_path: Path) -> None:
    with pytest.raises(AskError, match="adherence of pair-00001: ValueError: no such model"):
        checked(tmp_path, adherence=ValueError("no such model"))
    of = pair()
    with asking(tmp_path, max_calls=0) as asker, pytest.raises(BudgetExhausted):
        run_sync(verified(of, material(of.conditions), verifier=Verifier(), min_grounded=1.0, asker=asker))
    assert checked(tmp_path)[1].steps == {"adherence": 1, "claims": 2, "grounding": 2}  # coherence is known


@given(st.lists(st.sampled_from(LAYERS), unique=True), st.randoms())
def test_a_verification_holds_every_layer_once_in_order_whatever_was_said(said: list[Layer], random: Any) -> None:
    random.shuffle(said)
    made = cascade([LayerResult(layer=layer, status="passed") for layer in said], verifier=None, min_grounded=0.5)
    assert tuple(result.layer for result in made.layers) == LAYERS
    assert {result.layer for result in made.layers if result.status == "passed"} == set(said)
    assert {result.status for result in made.layers if result.layer not in said} <= {"not_run"}
    assert (made.verifier, made.min_grounded) == (None, 0.5)


_LAYER = st.builds(
    LayerResult,
    layer=st.sampled_from(LAYERS),
    status=st.sampled_from(["passed", "failed", "unread", "not_run"]),
    reasons=st.tuples(st.sampled_from(["the model refused", "no list"])),
)
_VERIFIED = st.lists(_LAYER, max_size=4, unique_by=lambda result: result.layer).map(
    lambda layers: pair(verification=Verification(layers=tuple(layers)))
)


@given(st.lists(_VERIFIED, max_size=5), st.randoms())
def test_a_tally_counts_every_pair_once_in_any_order(pairs: list[Pair], random: Any) -> None:
    counted = tallies(pairs)
    assert [tally.layer for tally in counted] == list(LAYERS)
    for tally in counted:
        assert tally.passed + tally.failed + tally.unread + tally.not_run == tally.pairs == len(pairs)
        assert sum(count for _, count in tally.because) == tally.unread
    random.shuffle(pairs)
    assert tallies(pairs) == counted
