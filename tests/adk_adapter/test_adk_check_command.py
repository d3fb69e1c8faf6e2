"""`judgeharness check` of Google ADK's judges, over cases of ADK's own kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from support.adk_bench import FINAL_RESPONSE, eval_set, in_turn, isolated_adk, rubric, scripted_judge

from judgeharness_integrations.verdictlog import read_log

pytestmark = pytest.mark.slow

Command = Callable[..., Any]
RUBRICS = [rubric(name).model_dump(exclude_none=True) for name in ("polite", "short")]


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield


def test_rubrics_are_properties_of_their_own_and_adks_perturbations_are_asked(command: Command, tmp_path: Path) -> None:
    (tmp_path / "weather.evalset.json").write_text(eval_set(2, 2).model_dump_json(exclude_none=True))
    judge = {
        "name": FINAL_RESPONSE,
        "adapter": "adk",
        "evaluator": FINAL_RESPONSE,
        "model": "scripted-judge",
        "evaluator_options": {"rubrics": RUBRICS},
    }
    harness = {"perturbations": ["none", "rubric_order"], "repetitions": 3, "aggregation_rule": "majority"}
    config = {"judges": [judge], "cases": "weather.evalset.json", "harness": harness}
    (tmp_path / "check.yaml").write_text(json.dumps(config))
    options = ("--probe", "chain_of_thought", "--probe", "sentinel.empty", "--repetitions", 1)
    with scripted_judge(in_turn({"polite": "yes", "short": "no"})):
        ran = command("check", tmp_path / "check.yaml", *options, "--json")
    assert ran.code in (0, 1), ran.err
    report = ran.json["judges"][0]
    assert {one["criterion"] for one in report["properties"]} == {"polite", "short"}
    asked = {(one["name"], one["criterion"]): one["asked"] for one in report["properties"]}
    assert asked["rubric_order", "polite"] == 4
    assert asked["chain_of_thought", "short"] == 4  # one rubric fails, so there is something to gain
    rows = read_log(tmp_path / "judgeharness-check" / "check" / "verdicts.jsonl")
    assert {row.perturbation for row in rows} == {
        "none",
        "format_change",
        "rubric_order",
        "probe:chain_of_thought",
        "probe:sentinel.empty",
    }
