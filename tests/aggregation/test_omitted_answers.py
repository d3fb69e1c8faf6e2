"""Calls that answer about some of a case's criteria and leave out others: the same in a result and in a replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion, omitted_answers
from judgeharness_integrations.analysis.replay import JudgeFold, replay, replay_cases, rows_about
from judgeharness_integrations.verdictlog import MemoryLog, VerdictRow

ANSWERS = [
    {"tone": "PASS", "facts": "PASS"},
    {"tone": "PASS"},
    {"facts": "FAIL", "tone": "PASS"},
    {"tone": "FAIL"},
]


def forgetful() -> Callable[[Any], Any]:
    """A judge that leaves criteria out, and declares none."""
    answers = iter([*ANSWERS, *ANSWERS])
    return lambda _: next(answers)


@pytest.fixture
def measured() -> tuple[list[Any], list[VerdictRow]]:
    log = MemoryLog()
    harness = JudgeHarness(
        perturbations=["none"],
        repetitions=4,
        aggregation_rule="supermajority(1/2)",
        log=log,
        max_concurrency=1,
        observers=(),
    )
    results = list(harness.evaluate_many(forgetful(), [AnswerCase(case_id=f"c{n}", output="x") for n in range(2)]))
    return results, list(log.rows())


def test_a_summary_and_a_replay_grade_what_the_results_grade(measured: Any) -> None:
    results, rows = measured
    statuses = {name: [result.criteria[name].status for result in results] for name in ("tone", "facts")}
    assert statuses == {"tone": ["decided"] * 2, "facts": ["abstained"] * 2}
    groups = [list(result.rows) for result in results]
    summing = JudgeFold(judge=rows[0].judge, rule=rule("supermajority(1/2)"))
    for group in groups:
        summing.add(group, planned=4)
    whole = replay(rows, "supermajority(1/2)").judges
    assert replay_cases(groups, "supermajority(1/2)").judges == whole
    for entry, summed in zip(whole, summing.finish(planned_cases=2), strict=True):
        for found in (entry.to_dict(), summed.to_dict()):
            assert [found[name] for name in ("criterion", "decided", "abstained", "not_graded", "unparsed")] == [
                entry.criterion,
                statuses[entry.criterion].count("decided"),
                statuses[entry.criterion].count("abstained"),
                0,
                sum(result.criteria[entry.criterion].outcomes["unparsed"] for result in results),
            ]
    (alone,) = replay(rows_about(rows, ["facts"]), "supermajority(1/2)").judges
    assert alone == whole[1]
    assert alone.unparsed == 4


def test_an_omission_costs_nothing_and_has_the_gold_of_its_criterion() -> None:
    paid: dict[str, Any] = {"input_tokens": 7, "output_tokens": 1, "latency_s": 0.5, "attempts": 1, "raw": "{}"}
    rows = [
        *sampled("AB", criterion="x", call_id="k", gold="A", **paid),
        *sampled("B", criterion="y", call_id="k", gold="B"),
    ]
    (omitted,) = omitted_answers(rows)
    assert (omitted.criterion, omitted.repetition, omitted.outcome, omitted.gold) == ("y", 1, "unparsed", "B")
    assert [getattr(omitted, name) for name in paid] == [None] * 5
    assert by_criterion(rows)["y"] == [rows[2], omitted]


def test_a_declared_criterion_nobody_answers_is_left_out_by_every_call() -> None:
    rows = sampled("AB", criterion="x")
    assert [row.repetition for row in by_criterion(rows, ["y", "x"])["y"]] == [0, 1]
    fold = JudgeFold(judge="judge", rule=rule("majority"), criteria=["y", "x"])
    assert fold.add(rows)["y"].decision.reason == "0 valid of 2 samples, 1 needed"
    alone = JudgeFold(judge="judge", rule=rule("majority"), criteria=["x"])
    assert set(alone.add(rows)) == {"x"}


def test_a_call_that_failed_for_every_criterion_leaves_none_out() -> None:
    rows = [
        *sampled("A", criterion="x", call_id="k"),
        *sampled("A", criterion="y", call_id="k"),
        VerdictRow(case_id="c1", criterion="*", verdict=None, outcome="error", repetition=1),
    ]
    assert list(omitted_answers(rows)) == []
    assert list(omitted_answers(rows[2:])) == []


def test_criteria_that_were_asked_one_by_one_leave_nothing_out() -> None:
    rows = [*sampled("AAA", criterion="x"), *sampled("B", criterion="y")]
    assert list(omitted_answers(rows)) == []
    together = [replace(row, call_id=f"k{row.repetition}") for row in rows]
    assert len(list(omitted_answers(together))) == 2


def test_cases_runs_and_judges_have_criteria_of_their_own() -> None:
    both = [*sampled("A", criterion="x", call_id="k"), *sampled("B", criterion="y", call_id="k")]
    for change in ({"case_id": "c2"}, {"run": "r2"}, {"judge": "j2"}):
        assert list(omitted_answers([*both, replace(both[0], repetition=1, **change)])) == []
    assert len(list(omitted_answers([*both, replace(both[0], repetition=1)]))) == 1
    assert [row.criterion for row in omitted_answers([*both, replace(both[1], repetition=1)])] == ["x"]
