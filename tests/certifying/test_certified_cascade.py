"""A cascade: each step decides what its own certificate covers, and the rest goes up."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.certifying.cascade import Cascade, cascade_log, certify_cascade
from judgeharness_integrations.analysis.certifying.measuring import Labels, Wanted
from judgeharness_integrations.verdictlog import VerdictRow

MAJORITY = rule("majority")
STEPS = [("cheap", MAJORITY), ("strong", MAJORITY)]


def planted(cases: int, *, cheap: float, strong: float = 0.98, seed: int = 1) -> list[VerdictRow]:
    """Two judges; where the case is easy, which half of them are, the cheap one is right with all six samples."""
    source, rows = random.Random(seed), []  # noqa: S311 - planted judges
    for number in range(cases):
        easy = number % 2 == 0
        gold = source.choice(("PASS", "FAIL"))
        for judge, right in (("cheap", 0.99 if easy else cheap), ("strong", strong)):
            for repetition in range(6):
                said = gold if source.random() < right else {"PASS": "FAIL", "FAIL": "PASS"}[gold]
                row = VerdictRow(case_id=f"c{number}", judge=judge, verdict=said, gold=gold, repetition=repetition)
                rows.append(replace(row, input_tokens=100))
    return rows


def certified(rows: list[VerdictRow], steps: object = None, **wanted: float) -> Cascade:
    return certify_cascade(
        rows,
        STEPS if steps is None else steps,  # type: ignore[arg-type]
        Wanted(**wanted),  # type: ignore[arg-type]
        Labels(name="planted"),
        criterion="verdict",
        measured_at="2026-11-01T00:00:00+00:00",
    )


def test_the_cheap_judge_decides_where_it_is_sure_and_the_strong_one_the_rest() -> None:
    rows = planted(600, cheap=0.6)
    report = cascade_log(rows, certified(rows))
    cheap, strong = report.steps
    assert cheap.reached == report.cases == 600
    assert 250 < cheap.decided < 420
    assert strong.reached == 600 - cheap.decided
    assert cheap.calls == 3600
    assert strong.calls == 6 * strong.reached
    assert cheap.input_tokens == 360_000
    assert cheap.output_tokens is None
    assert report.agreement is not None
    assert report.agreement.value >= 0.9
    assert report.decided + len(report.left) == 600
    assert report.calls_per_decision == pytest.approx(report.calls / report.decided)


def test_each_step_is_tested_at_its_part_of_delta() -> None:
    cascade = certified(planted(600, cheap=0.6), delta=0.1)
    assert {step.certificate.delta for step in cascade.steps} == {0.05}
    labelled = [step.certificate.selections[0].labelled for step in cascade.steps]
    assert sum(labelled) < 600
    assert all(count > 50 for count in labelled)


def test_a_judge_without_a_certificate_is_not_asked() -> None:
    rows = planted(300, cheap=0.5, seed=3)
    coin = [replace(row, verdict=random.Random(repr(row.key)).choice(("PASS", "FAIL"))) for row in rows]  # noqa: S311
    mixed = [noise if row.judge == "cheap" else row for row, noise in zip(rows, coin, strict=True)]
    report = cascade_log(mixed, certified(mixed))
    assert (report.steps[0].decided, report.steps[0].calls) == (0, 0)
    assert report.steps[1].reached == 300


def test_without_any_certificate_a_cascade_is_refused() -> None:
    rows = planted(40, cheap=0.5)
    cascade = certified(rows, agreement=0.99)
    assert not cascade.granted
    with pytest.raises(UsageError, match="no step of the cascade is certified"):
        cascade_log(rows, cascade)


def test_cases_without_gold_have_no_agreement() -> None:
    rows = planted(600, cheap=0.6)
    cascade = certified(rows)
    report = cascade_log([replace(row, gold=None) for row in rows], cascade)
    assert report.agreement is None
    assert report.decided > 500


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([("cheap", MAJORITY)], "two judges or more"),
        ([("cheap", MAJORITY), ("cheap", MAJORITY)], "each of them once"),
        ([("cheap", MAJORITY), ("strange", MAJORITY)], "'strange'"),
    ],
)
def test_a_cascade_needs_judges_of_the_log(steps: object, problem: str) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=problem):
        certified(planted(20, cheap=0.6), steps)


def test_labels_that_do_not_reach_a_step_are_said() -> None:
    rows = planted(2, cheap=0.6)
    with pytest.raises(UsageError, match="no labelled case comes to"):
        certified([row if row.case_id == "c0" else replace(row, gold=None) for row in rows])


def test_nothing_decided_has_no_price() -> None:
    rows = planted(600, cheap=0.6)
    cascade = certified(rows)
    coin = [replace(row, verdict=("PASS", "FAIL")[row.repetition % 2]) for row in rows]
    report = cascade_log(coin, cascade)
    assert (report.decided, report.calls_per_decision, report.agreement) == (0, None, None)


def test_cases_judged_in_two_runs_are_refused() -> None:
    rows = planted(600, cheap=0.6)
    twice = [*rows, *(replace(row, run="again") for row in rows)]
    with pytest.raises(UsageError, match="in the runs '' and 'again': give the rows of one run"):
        certified(twice)
    with pytest.raises(UsageError, match="give the rows of one run"):
        cascade_log(twice, certified(rows))
