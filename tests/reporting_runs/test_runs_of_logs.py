"""Verdict logs, read as reports under a rule that was chosen after the samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.rows import both_orders, sampled

from judgeharness_integrations import write_log
from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.runs import read_report, run_report
from judgeharness_integrations.analysis.runs.reading import is_recorded, results_of_log
from judgeharness_integrations.verdictlog.row import VerdictRow


def log(folder: Path, rows: list[VerdictRow]) -> Path:
    path = folder / "log.csv"
    write_log(rows, path)
    return path


LABELS = [
    *sampled(["PASS", "PASS", "FAIL"], case_id="c1", judge="j1", gold="PASS"),
    *sampled(["FAIL", None, "FAIL"], case_id="c2", judge="j1", gold="PASS"),
    *sampled(["PASS", "FAIL"], case_id="c1", judge="j2"),
]


def test_a_log_is_folded_by_the_rule_that_is_given(tmp_path: Path) -> None:
    path = log(tmp_path, LABELS)
    report = read_report(path, "majority")
    assert [(s.judge, dict(s.verdicts), s.cases, s.replay.abstained) for s in report.summaries] == [
        ("j1", {"PASS": 1, "FAIL": 1}, 2, 0),
        ("j2", {}, 1, 1),
    ]
    assert {result.rule_fixed for result in report.results} == {"after"}
    assert (report.source, report.run, report.state, report.informal) == (str(path), None, "complete", False)
    assert report.summaries[0].outcomes == {"ok": 5, "unparsed": 1, "refused": 0, "error": 0}
    assert (report.summaries[0].planned, report.results[0].repetitions) == (6, 3)
    assert read_report(path, "strict_majority", min_valid=3).summaries[0].replay.not_graded == 1


def test_a_log_has_no_rule_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a log, which has no rule of its own: give one, as --rule majority"):
        read_report(log(tmp_path, LABELS))
    with pytest.raises(UnknownNameError, match="unknown rule 'majorty'"):
        read_report(log(tmp_path, LABELS), "majorty")


def test_judges_are_chosen_and_unknown_ones_named(tmp_path: Path) -> None:
    path = log(tmp_path, LABELS)
    assert [section.judge for section in read_report(path, "majority", judges=["j2"]).judges] == ["j2"]
    with pytest.raises(UnknownNameError, match="unknown judge 'j3'"):
        read_report(path, "majority", judges=["j3"])


def test_one_of_several_runs_is_chosen(tmp_path: Path) -> None:
    second = [replace(row, run="r2", verdict="PASS" if row.ok else None) for row in LABELS]
    path = log(tmp_path, [replace(row, run="r1") for row in LABELS] + second)
    with pytest.raises(UsageError, match=r"holds 2 runs \('r1', 'r2'\): choose one with --run"):
        read_report(path, "majority")
    report = read_report(path, "majority", run="r2")
    assert (report.run, dict(report.summaries[0].verdicts)) == ("r2", {"PASS": 2})
    with pytest.raises(UnknownNameError, match="unknown run 'r3'"):
        read_report(path, "majority", run="r3")


def test_scores_have_a_mean(tmp_path: Path) -> None:
    rows = [row for n in range(4) for row in sampled([n, n + 1, n + 2], case_id=f"c{n}")]
    path = log(tmp_path, rows)
    [summary] = read_report(path, "median", tolerance=0.5).summaries
    assert summary.numeric
    assert (summary.positive, summary.positive_rate) == (None, None)
    assert summary.mean_score is not None
    assert summary.mean_score.value == 2.5
    assert summary.consistency_rate == pytest.approx(1 / 3)
    [summary] = read_report(path, "majority", labels=True).summaries
    assert (summary.numeric, summary.mean_score) == (False, None)


def test_a_sample_that_ended_early_is_known(tmp_path: Path) -> None:
    rows = [replace(row, attributes={"planned_samples": 6}) for row in both_orders(["A", "A"], ["A", "B"])]
    whole = [replace(row, case_id="c2", attributes={"planned_samples": 4}) for row in both_orders(["A"] * 2, ["A"] * 2)]
    report = run_report(results_of_log([*rows, *whole], "swap_consensus"))
    first, second = report.results
    assert first.design.curtail
    assert sorted(first.unasked) == [False, True]
    assert second.unasked == ()
    assert first.only.planned == 6


def test_only_recorded_results_are_taken_for_recorded(tmp_path: Path) -> None:
    assert not is_recorded(tmp_path / "none.jsonl")
    assert not is_recorded(log(tmp_path, LABELS))
    path = tmp_path / "log.jsonl"
    write_log(LABELS, path)
    assert not is_recorded(path)
    path.write_text('{"schema": "judgeharness.recorded/1"}\n')
    assert is_recorded(path)
