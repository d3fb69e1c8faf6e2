"""Gold labels in other words than the decisions: one reading for all who compare them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gated import case
from support.measured import measured
from support.rows import sampled

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.calibration import Judged, measure_calibration
from judgeharness_integrations.analysis.calibration.driftanswer import Change, rights
from judgeharness_integrations.analysis.calibration.items import (
    LabelledItem,
    read_gold_alone,
    read_golds,
    unread_sentence,
)
from judgeharness_integrations.analysis.gates import check_gates
from judgeharness_integrations.analysis.planning.gstudy import gstudy
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow

GRADED, PAIR = ("PASS", "FAIL"), ("A", "B")
SETS = frozenset({"x"}), frozenset({"y"})


@pytest.mark.parametrize(
    ("golds", "verdicts", "read"),
    [
        (["yes", "No"], GRADED, ["PASS", "FAIL"]),
        (["TRUE", "incorrect"], ["PASS"], ["PASS", "FAIL"]),
        ([1, 0], GRADED, ["PASS", "FAIL"]),
        (["1", 0.0], GRADED, ["PASS", "FAIL"]),
        ([1], ["FAIL"], ["PASS"]),
        ([1, 2, 0], GRADED, [None, None, None]),
        (["1", "5", "PASS"], GRADED, [None, None, "PASS"]),
        (["PASS", "unsure"], GRADED, ["PASS", "unsure"]),
        (["good", "bad"], GRADED, [None, None]),
        (["a", "Tie"], PAIR, ["A", "TIE"]),
        ([1, "B"], PAIR, [None, "B"]),
        (["PASS"], PAIR, [None]),
        (["FAIL"], ["PASS"], ["FAIL"]),
        ([7, "8", "8.5"], [7, 9], [7, 8.0, 8.5]),
        (["PASS", 1], [7], [None, 1]),
        (["spam", 3], ["spam", "ham"], ["spam", None]),
        (["Spam"], ["spam"], [None]),
        (["eggs"], ["spam"], ["eggs"]),
        ([SETS[0]], SETS, [SETS[0]]),
        (["anything", 4], [], ["anything", 4]),
    ],
)
def test_how_gold_labels_are_read_beside_decisions(golds: list[Any], verdicts: Any, read: list[Any]) -> None:
    assert read_golds(golds, verdicts) == dict(zip(golds, read, strict=True))


def test_1_and_0_are_scores_where_a_threshold_makes_labels_of_scores() -> None:
    assert read_golds([1, 0, "yes"], GRADED, scored=True) == {1: None, 0: None, "yes": "PASS"}


@pytest.mark.parametrize(
    ("gold", "verdict", "read"),
    [("yes", "PASS", "PASS"), (1, "PASS", None), ("1", "A", None), ("a", "A", "a"), (3, 4, 3), ("odd", "FAIL", "odd")],
)
def test_beside_one_decision_a_number_could_be_a_score(gold: Any, verdict: Any, read: Any) -> None:
    assert read_gold_alone(gold, verdict) == read


def results(words: dict[str, Any]) -> list[HarnessResult]:
    """8 cases that pass, of which 6 should, and 4 that fail, of which 3 should; with these words for PASS and FAIL."""
    plan = [("PASS", "PASS")] * 6 + [("PASS", "FAIL")] * 2 + [("FAIL", "FAIL")] * 3 + [("FAIL", "PASS")]
    return [case(f"c{n}", [said] * 3, gold=words[gold]) for n, (said, gold) in enumerate(plan)]


@pytest.mark.parametrize(
    "words",
    [{"PASS": yes, "FAIL": no} for yes, no in (("PASS", "FAIL"), (1, 0), ("1", "0"), ("yes", "No"), ("true", "false"))],
)
def test_a_calibration_a_report_a_gate_and_a_replay_read_the_same(words: dict[str, Any]) -> None:
    listed = results(words)
    report = run_report(listed)
    rows = [row for one in listed for row in one.rows]
    items = [Judged(gold=one.rows[0].gold or 0, verdict=one.verdict, status=one.status) for one in listed]
    found = measure_calibration(items)
    [summary], [replayed] = report.summaries, replay(rows, "majority").judges
    [gate] = check_gates(report, ["accuracy>=0.5"]).checks
    assert found.accuracy is not None
    assert summary.accuracy is not None
    assert found.accuracy.successes == summary.accuracy.successes == replayed.correct == 9
    assert found.accuracy.trials == summary.accuracy.trials == replayed.labelled == gate.n == 12
    assert gate.value == summary.accuracy.value
    assert found.controls == summary.controls == replayed.controls
    assert report.judges[0].warnings == ()
    study = gstudy(rows)
    assert study is not None
    assert study.of == "right"


def test_how_many_labels_could_not_be_read_is_a_warning_of_the_judge() -> None:
    listed = [case(f"c{n}", ["PASS"] * 3, gold=gold) for n, gold in enumerate([1, 2, 2, 3, 4, 5, "PASS"])]
    report = run_report(listed)
    assert report.judges[0].warnings == (
        "6 cases have gold labels that cannot be read (1, 2, 3 and 2 more beside PASS): counted as without one",
    )
    [summary] = report.summaries
    assert summary.accuracy is not None
    assert (summary.accuracy.successes, summary.accuracy.trials) == (1, 1)
    [gate] = check_gates(run_report(listed[:6]), ["accuracy>=0.5"]).checks
    assert gate.status == "not_measured"
    assert "no decided case holds a gold label; 6 gold labels could not be read" in gate.reason
    [some] = check_gates(report, ["accuracy>=0.01"]).checks
    assert "6 gold labels could not be read" in some.reason
    [replayed] = replay([row for one in listed for row in one.rows], "majority").judges
    assert (replayed.unread, replayed.labelled) == (6, 1)
    assert unread_sentence({}) == ""
    assert unread_sentence({"x": 1}) == ("1 case has a gold label that cannot be read (x): counted as without one")


def test_a_scale_is_never_read_as_pass_and_fail() -> None:
    listed = [case(f"c{n}", [8 if n % 2 else 3] * 3, gold=1, rule_name="median(pass_at=7)") for n in range(6)]
    report = run_report(listed)
    [summary] = report.summaries
    assert (summary.accuracy, report.judges[0].warnings) == (None, ())  # they are read, as scores
    assert summary.replay.mean_absolute_error is not None
    items = [Judged(gold=1, verdict="PASS", status="decided", scored=True)]
    with pytest.raises(CaseError, match="write gold as PASS and FAIL"):
        measure_calibration(items)


def test_a_word_behind_a_threshold_is_read() -> None:
    listed = [case(f"c{n}", [8] * 3, gold="yes", rule_name="median(pass_at=7)") for n in range(3)]
    [summary] = run_report(listed).summaries
    assert summary.accuracy is not None
    assert summary.accuracy.successes == 3


def test_the_label_of_a_case_that_failed_for_every_criterion_is_read_as_well() -> None:
    down = case("down", [None] * 3, gold=1)
    failed = VerdictRow(case_id="down", criterion=EVERY_CRITERION, verdict=None, outcome="error", gold=1)
    heard = case("heard", ["PASS"] * 3, gold=0)
    report = run_report([heard, replace(down, rows=(failed,))])
    assert {row.gold for result in report.results for row in result.rows} == {"PASS", "FAIL"}


def test_a_warning_names_its_criterion_where_a_judge_has_several() -> None:
    rows = [*sampled(["PASS"] * 3, criterion="tone", gold=4), *sampled(["FAIL"] * 3, criterion="facts", gold="no")]
    report = run_report([measured(rows, repetitions=3)])
    [warning] = report.judges[0].warnings
    assert warning.startswith("tone: 1 case has a gold label that cannot be read (4 beside PASS)")


def test_drift_reads_labels_the_same() -> None:
    def item(verdict: str, gold: Any) -> LabelledItem:
        return LabelledItem(case_id="c", criterion="verdict", gold=gold, verdict=verdict, status="decided")

    changes = [
        Change(before=item("PASS", "1"), now=item("FAIL", "1")),
        Change(before=item("A", None), now=item("A", None)),
    ]
    assert rights(changes[:1]) == ([True], [False])
    pairs = [Change(before=item("A", "a"), now=item("B", "a"))]
    assert rights(pairs) == ([True], [False])


def test_a_judge_whose_labels_are_in_its_words_keeps_its_results() -> None:
    plain, other = case("a", ["PASS"] * 3, gold="PASS"), case("a", ["PASS"] * 3, gold=1, judge="other")
    report = run_report([plain, other])
    assert report.results[0] is plain
    assert {row.gold for row in report.results[1].rows} == {"PASS"}
