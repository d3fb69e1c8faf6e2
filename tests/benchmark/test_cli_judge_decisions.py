"""`judgeharness benchmark judge` with a decision model: the same criteria, answered with probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.benchmark_results import make_benchmark
from support.decision_fixtures import KEY, Decide, decision_server
from support.decision_models_there import decision_models_are_there
from support.planted_decisions import Planted

if not decision_models_are_there():
    pytest.skip("langchain-openai has no decision models yet", allow_module_level=True)

from judgeharness_integrations.cli import main

__all__ = ["decision_server"]  # a fixture
SPEC = "decisions:openai:gpt-6-luna"


def asked(folder: Path, url: str, *more: str, spec: str = SPEC, **options: Any) -> int:
    models = folder.parent / "models.yaml"
    models.write_text(yaml.safe_dump({"options": {"gpt-6-luna": {"base_url": f"{url}/v1", "api_key": KEY, **options}}}))
    return main(["benchmark", "judge", str(folder), "--judges", spec, "--models", str(models), "--yes", *more])


def test_every_criterion_has_its_probabilities(
    tmp_path: Path, decision_server: Decide, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_benchmark(tmp_path / "bench", n=6)
    server = decision_server(Planted(model="gpt-6-luna-2026-09-01"))
    assert asked(made.path, server.url, "--mode", "both", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {(one["judge"], one["mode"]) for one in found["judges"]} == {(SPEC, "pairwise"), (SPEC, "pointwise")}
    with made.log() as log:
        pairwise, pointwise = (list(log.rows(run=mode, judge=SPEC)) for mode in ("pairwise", "pointwise"))
    assert server.calls == 24  # both orders of 6 pairs, and both sides of each
    assert {row.criterion for row in pairwise} == {"verdict", "turn", "type"}
    assert {row.criterion for row in pointwise} == {"score", "flawed", "turn", "type"}
    assert {row.outcome for row in (*pairwise, *pointwise)} == {"ok"}
    assert all(row.probabilities and row.model == "gpt-6-luna-2026-09-01" for row in (*pairwise, *pointwise))
    told = {question["name"]: question for question in server.requests[0].body["questions"]}
    assert all(choice["description"] for choice in told["type"]["choices"])  # what a failure type is


def test_what_cannot_be_asked_is_one_sentence_without_the_key(
    tmp_path: Path, decision_server: Decide, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_benchmark(tmp_path / "bench", n=2)
    assert asked(made.path, decision_server(Planted()).url, temperature=KEY) == 2
    told = capsys.readouterr().err
    assert "cannot be made" in told
    assert KEY not in told
