"""A cascade: each step decides what its own certificate covers, and the rest goes up."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.certifying.cascade import Cascade, cascade_log, certify_cascade
from judgeharness_integrations.analysis.certifying.measuring import Labels, Wanted, certify
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


@cache
def ordinary() -> tuple[list[VerdictRow], Cascade]:
    """The rows of an ordinary pair of judges, and their cascade."""
    rows = planted(600, cheap=0.6)
    return rows, certified(rows)


def test_the_cheap_judge_decides_where_it_is_sure_and_the_strong_one_the_rest() -> None:
    rows, cascade = ordinary()
    report = cascade_log(rows, cascade)
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
    rows, cascade = ordinary()
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


def test_a_step_that_leaves_nothing_to_the_next_is_said() -> None:
    rows = [replace(row, verdict=row.gold) for row in planted(600, cheap=0.6)]
    with pytest.raises(UsageError, match="before 'strong' decide every labelled case"):
        certified(rows)


def test_nothing_decided_has_no_price() -> None:
    rows, cascade = ordinary()
    coin = [replace(row, verdict=("PASS", "FAIL")[row.repetition % 2]) for row in rows]
    report = cascade_log(coin, cascade)
    assert (report.decided, report.calls_per_decision, report.agreement) == (0, None, None)


def test_cases_judged_in_two_runs_are_refused() -> None:
    rows, cascade = ordinary()
    twice = [*rows, *(replace(row, run="again") for row in rows)]
    with pytest.raises(UsageError, match="in the runs '' and 'again': give the rows of one run"):
        certified(twice)
    with pytest.raises(UsageError, match="give the rows of one run"):
        cascade_log(twice, cascade)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("change", "decides"),
    [
        ({"model": "strong-1"}, True),
        ({}, False),
        ({"model": "strong-1", "asked_at": "2026-11-20T00:00:00+00:00"}, True),
        ({"model": "strong-1", "asked_at": "2027-01-20T00:00:00+00:00"}, False),
        ({"model": "strong-2"}, False),
        ({"model": "strong-1-2026-08-06"}, True),
        ({"model": "strong-1", "perturbation": "format_change"}, False),
    ],
)
def test_a_step_decides_nothing_where_its_certificate_is_of_other_answers(
    change: dict[str, str],
    decides: bool,  # noqa: FBT001 - a table
) -> None:
    rows, cascade = ordinary()
    cheap, strong = cascade.steps
    known = replace(strong.certificate, parts={"model": "strong-1"})
    cascade = replace(cascade, steps=(cheap, replace(strong, certificate=known)))
    now = [replace(row, **change) if row.judge == "strong" else row for row in rows]  # type: ignore[arg-type]
    report = cascade_log(now, cascade)
    assert report.steps[0].decided > 0
    assert (report.steps[1].decided > 0) is decides


def easy_labels(labels: int = 68) -> list[VerdictRow]:
    """Judges that are always right, with labels on short cases alone: too few a step to be told from the others."""
    rows = []
    for number in range(400):
        gold = ("PASS", "FAIL")[number % 2]
        facts = {"length": 100 if number < labels or number % 20 < 17 else 6400}
        for judge, sure in (("cheap", number % 4 < 2), ("strong", True)):
            for repetition in range(6):
                said = gold if sure or repetition % 2 else {"PASS": "FAIL", "FAIL": "PASS"}[gold]
                row = VerdictRow(case_id=f"c{number}", judge=judge, verdict=said, repetition=repetition)
                rows.append(replace(row, gold=gold if number < labels else None, attributes=facts))
    return rows


def test_labels_of_a_cascade_are_tested_together_however_they_are_dealt() -> None:
    cascade = certified(easy_labels(), agreement=0.8, delta=0.2)
    refusals = [step.certificate.selections[0].refusal for step in cascade.steps]
    assert [one is not None and "are not like the labelled ones in lengths" in one.reason for one in refusals] == [
        True
    ] * 2
    assert not cascade.granted
    alike = [replace(row, attributes={"length": 100}) for row in easy_labels()]
    assert certified(alike, agreement=0.8, delta=0.2).granted


def nearly_constant(cases: int = 1000, *, passes: float = 0.99, base: float = 0.96) -> list[VerdictRow]:
    """The rows of a cheap judge that says PASS nearly always, whatever the case, and of a strong one that is right."""
    source, rows = random.Random(7), []  # noqa: S311 - planted judges
    for number in range(cases):
        gold = "PASS" if source.random() < base else "FAIL"
        always = "PASS" if source.random() < passes else "FAIL"
        for judge, said in (("cheap", always), ("strong", gold)):
            row = VerdictRow(case_id=f"c{number}", judge=judge, verdict=said, gold=gold)
            rows += [replace(row, repetition=repetition) for repetition in range(4)]
    return rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize("passes", [0.99, 1.0])
def test_a_step_of_a_judge_that_is_nearly_constant_is_refused(passes: float) -> None:
    cheap, strong = certified(nearly_constant(passes=passes)).steps
    assert not cheap.granted
    assert strong.granted
    (selection,) = cheap.certificate.selections
    assert selection.refusal is not None
    assert "base rate" in selection.refusal.reason
    alone = certify(
        [row for row in nearly_constant(passes=passes) if row.judge == "cheap"],
        MAJORITY,
        Wanted(),
        Labels(name="planted"),
        measured_at="2026-11-01T00:00:00+00:00",
    )
    assert alone.granted  # with a warning, as before: it keeps no case from another judge
    assert alone.selections[0].untold


def test_where_all_labels_are_the_same_no_step_is_certified() -> None:
    for step in certified(nearly_constant(passes=1.0, base=1.0)).steps:
        (selection,) = step.certificate.selections
        assert selection.refusal is not None
        assert "not that the judge tells good from bad" in selection.refusal.reason


def test_a_step_of_a_judge_whose_scores_never_vary_is_refused() -> None:
    scores = {"PASS": 5, "FAIL": 1}
    rows = [
        replace(row, verdict=scores[str(row.verdict)], gold=scores[str(row.gold)])
        for row in nearly_constant(passes=1.0, base=0.96)
    ]
    median = rule("median")
    cheap, strong = certified(rows, [("cheap", median), ("strong", median)]).steps
    assert (cheap.granted, strong.granted) == (False, True)
