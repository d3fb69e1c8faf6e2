"""A replay of a run's folder whose log has lost rows: what was planned counts, as in the report."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
JUDGE = """
def judge(case):
    return "PASS" if "good" in case.output else "FAIL"
"""
WRONG = [f"c{n}" for n in range(0, 20, 5)]  # gold says FAIL, the judge PASS


@pytest.fixture
def out(command: Command, tmp_path: Path) -> Iterator[Path]:
    """The folder of a run of twenty cases, six samples each, four of them decided wrongly."""
    (tmp_path / "losing.py").write_text(JUDGE)
    rows = [f"c{n},question {n},good {n},{'FAIL' if f'c{n}' in WRONG else 'PASS'}" for n in range(20)]
    (tmp_path / "cases.csv").write_text("\n".join(["case_id,input,output,gold", *rows]))
    harness = {"perturbations": ["none", "format_change"], "repetitions": 3, "aggregation_rule": "majority"}
    config = {"judges": [{"name": "j", "callable": "losing:judge"}], "cases": "cases.csv", "harness": harness}
    (tmp_path / "run.json").write_text(json.dumps(config))
    assert command("run", tmp_path / "run.json", "--out", tmp_path / "out", "--yes").code == 0
    yield tmp_path / "out"
    sys.modules.pop("losing", None)


def lose(out: Path, condition: str) -> None:
    with sqlite3.connect(out / "verdicts.sqlite") as database:
        database.execute(f"DELETE FROM judgeharness_verdicts WHERE {condition}")  # noqa: S608 - of this test


def test_cases_whose_rows_were_deleted_are_not_graded(command: Command, out: Path) -> None:
    lose(out, "case_id IN ('c0', 'c5')")
    lose(out, "case_id IN ('c10', 'c15') AND repetition > 0")
    for place in (out, out / "verdicts.sqlite"):
        found = command("replay", place, "--rule", "majority")
        assert "j: 20 of 120 planned samples have no row (4 cases): those cases are not graded\n" in found.out
        (entry,) = command("replay", place, "--rule", "majority", "--json").json["judges"]
        counted = {name: entry[name] for name in ("cases", "decided", "not_graded", "accuracy")}
        assert counted == {"cases": 20, "decided": 16, "not_graded": 4, "accuracy": 1.0}
    for arguments in ((out,), (out / "verdicts.sqlite", "--rule", "majority")):
        (reported,) = command("report", *arguments, "--json").json["judges"][0]["criteria"]
        assert {**{name: reported[name] for name in counted}, "accuracy": reported["accuracy"]["value"]} == counted


def test_gates_of_a_replay_count_cases_that_lost_samples_as_not_graded(command: Command, out: Path) -> None:
    gate = ("--fail-under", "coverage>=0.8", "--json")
    assert command("replay", out, "--rule", "majority", *gate).code == 0
    lose(out, "case_id IN ('c1', 'c2', 'c3') AND perturbation = 'none'")
    found = command("replay", out, "--rule", "majority", *gate)
    (check,) = found.json["gates"]["checks"]
    assert (found.code, check["status"], check["value"]) == (1, "failed", 0.85)


def test_a_case_cut_off_before_its_result_was_planned_like_the_others(command: Command, out: Path) -> None:
    kept = [line for line in (out / "results.jsonl").read_text().splitlines() if '"case_id": "c1",' not in line]
    (out / "results.jsonl").write_text("\n".join(kept))
    lose(out, "case_id = 'c1' AND repetition > 0")
    found = command("replay", out, "--rule", "majority")
    assert "j: 4 of 120 planned samples have no row (1 case): those cases are not graded\n" in found.out


def test_another_run_of_the_log_is_held_to_no_plan_of_the_folder(command: Command, out: Path) -> None:
    with sqlite3.connect(out / "verdicts.sqlite") as database:
        database.execute("UPDATE judgeharness_verdicts SET run = 'other'")
    lose(out, "repetition > 0")
    found = command("replay", out / "verdicts.sqlite", "--rule", "majority", "--run", "other", "--json")
    assert (found.json["judges"][0]["decided"], found.err) == (20, "")


def test_a_report_tells_samples_without_a_verdict_once(command: Command, out: Path) -> None:
    lose(out, "case_id IN ('c0', 'c5') OR (case_id IN ('c10', 'c15') AND repetition > 0)")
    with sqlite3.connect(out / "verdicts.sqlite") as database:
        failed = "UPDATE judgeharness_verdicts SET verdict = NULL, outcome = 'unparsed' WHERE case_id = 'c1'"
        database.execute(f"{failed} AND repetition = 0")
    told = command("report", out, "--all").out
    assert told.count("failed samples: 2 unparsed, 20 without an answer of 120") == 1
    assert "hold no verdict" not in told.partition("cases:")[0].partition("every case")[0]
