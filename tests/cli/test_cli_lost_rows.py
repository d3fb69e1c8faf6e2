"""A run's folder whose log has lost rows: what was planned counts, whichever command reads it."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.runs.folder import NotedRun, lost_samples

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


LOST = "j: 8 of 120 planned samples have no row (4 cases): those cases are not graded"


@pytest.fixture
def flattered(out: Path) -> Path:
    """The same folder, which lost two samples of each case that was decided wrongly."""
    lose(out, "case_id IN ('c0', 'c5', 'c10', 'c15') AND repetition = 0")
    return out


def test_a_calibration_on_a_log_that_lost_samples_counts_those_cases_as_not_graded(
    command: Command, flattered: Path
) -> None:
    told = command("calibrate", "--log", flattered, "--rule", "majority", "--source", "human", "--json")
    coverage = told.json["criteria"]["verdict"]["coverage"]
    assert (coverage["successes"], coverage["trials"]) == (16, 20)
    assert LOST.removeprefix("j: ") in told.err


def test_a_certificate_on_a_log_that_lost_samples_covers_none_of_those_cases(command: Command, flattered: Path) -> None:
    told = command("certify", flattered, "--rule", "majority", "--source", "human", "--agreement", 0.5)
    assert "coverage 0.800 (16/20)" in told.out
    assert "4 cases have fewer than 6 graded samples: not certified" in told.out
    assert LOST.removeprefix("j: ") in told.out.splitlines()


@pytest.mark.parametrize("rule", ["one_order", "majority"])
def test_a_ranking_of_a_log_that_lost_samples_counts_those_pairs_as_not_right(
    command: Command, out: Path, rule: str
) -> None:
    lose(out, "case_id IN ('c1', 'c2', 'c3', 'c4') AND repetition = 0")
    told = command("rank", out, "--rule", rule, "--json")
    (judge,) = told.json["judges"]
    assert (judge["correct"], judge["n"]) == (12.0, 20)
    assert LOST in told.err.splitlines()


def test_a_corrected_rate_of_a_log_that_lost_samples_counts_those_cases_as_undecided(
    command: Command, flattered: Path
) -> None:
    told = command("corrected-rate", flattered, "--rule", "majority", "--positive", "PASS", "--json").json
    assert told["undecided"] == 4
    assert LOST.removeprefix("j: ") in told["notes"]


def test_a_comparison_with_a_run_that_lost_samples_counts_those_cases_as_not_graded(
    command: Command, flattered: Path
) -> None:
    (one,) = command("compare", flattered, flattered, "--json").json["criteria"]
    assert {"before": "not graded", "after": "not graded", "count": 4} in one["transitions"]


def test_a_case_of_which_every_row_is_lost_is_a_case_that_is_not_graded(command: Command, out: Path) -> None:
    lose(out, "case_id = 'c1'")
    told = command("corrected-rate", out, "--rule", "majority", "--positive", "PASS", "--json").json
    assert (told["undecided"], told["judged"]["trials"]) == (1, 20)


def test_what_failed_beside_a_lost_sample_stays_what_it_was() -> None:
    rows = [*sampled(["PASS", "FAIL"], case_id="whole"), *sampled([None], case_id="cut")]
    told = NotedRun(samples={row.case_key: 2 for row in rows}).with_lost(rows)
    assert [row.outcome for row in told] == ["ok", "ok", "unparsed", "error"]
    assert [*lost_samples(told)] == ["1 of 4 planned samples have no row (1 case): those cases are not graded"]
    assert [*lost_samples(rows)] == []


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
