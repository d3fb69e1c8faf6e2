"""Comparing decisions that stand under a certificate: what changing places does is decided as the runs decided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.calibration.saved import CalibrationState
from judgeharness_integrations.analysis.certifying import Certificate, Selection
from judgeharness_integrations.analysis.comparison.comparing import compare
from judgeharness_integrations.analysis.comparison.report import ComparisonReport
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log

VALID = CalibrationState(status="valid")
P, F = "PASS", "FAIL"


def certificate(score: str, threshold: float, *, strata: tuple[str | None, ...] = (None,)) -> Certificate:
    given: dict[str, Any] = {"cases": 40, "labelled": 40, "levels": 2, "of_scores": False, "covered": 20, "steps": ()}
    return Certificate(
        name="people",
        judge="house",
        source="human",
        consensus="one label",
        excluded_ties=0,
        measured_at="2026-01-01T00:00:00+00:00",
        agreement=0.9,
        delta=0.1,
        score=score,
        tolerance=0.0,
        stratum=None if strata == (None,) else "kind",
        curtailed=False,
        selections=tuple(Selection(criterion="verdict", stratum=one, threshold=threshold, **given) for one in strata),
    )


def a_run(name: str, held: Certificate | None, *, scores: bool = False) -> RunReport:
    """40 cases: half of them sure, half split; every other one is of kind b, and the split ones are less sure."""
    sure, split = ([8.0] * 3, [8.0, 8.0, 3.0]) if scores else ([P] * 3, [P, P, F])
    rows = [
        replace(row, attributes={"kind": "ab"[place % 2], "sure": 0.9 if place < 20 else 0.2})
        for place in range(40)
        for row in sampled(sure if place < 20 else split, case_id=f"c{place:02}", run=name, judge="house")
    ]
    certificates = {} if held is None else {"house": (held, VALID)}
    return run_report(results_of_log(rows, "median" if scores else "majority", certificates=certificates))


def compared(held: Certificate | None, *, scores: bool = False, both: bool = False) -> ComparisonReport:
    after = a_run("after", held if both else None, scores=scores)
    return compare(a_run("before", held, scores=scores), after, permutations=200)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("held", "scores", "abstained"),
    [
        (certificate("consistency", 1.0), False, 20),
        (certificate("margin", 0.9), False, 20),
        (certificate("column:sure", 0.5), False, 20),
        (certificate("consistency", 0.5, strata=("a",)), False, 20),
        (certificate("consistency", 1.0, strata=("a", "b")), False, 20),
        (certificate("consistency", 1.0), True, 20),
        (certificate("column:sure", 0.5, strata=("a", "b")), True, 20),
    ],
)
def test_flips_and_noise_count_the_same_decisions(held: Certificate, scores: bool, abstained: int) -> None:  # noqa: FBT001
    [one] = compared(held, scores=scores).criteria
    assert len(one.flips) == one.noise.observed == abstained
    assert {flip.before.status for flip in one.flips} == {"abstained"}


def test_one_certificate_on_both_sides_is_no_change_and_abstentions_change_places() -> None:
    held = certificate("consistency", 1.0)
    report = compared(held, both=True)
    [one] = report.criteria
    assert (one.flips, one.noise.observed, one.answer) == ((), 0, "no difference found")
    assert one.noise.expected is not None
    assert one.noise.expected > 0  # PASS three times is sure, one PASS of three is not
    assert "certificate" not in {part.part for part in report.configuration}
    assert len(report.certificates) == 2


def test_another_threshold_is_a_change_of_the_design() -> None:
    before, after = (a_run(name, certificate("consistency", level)) for name, level in (("a", 1.0), ("b", 0.6)))
    report = compare(before, after, permutations=200)
    [changed] = [part for part in report.configuration if part.part == "certificate"]
    assert changed.before is not None
    assert changed.after is not None
    assert ("from consistency 1.0 on" in changed.before, "from consistency 0.6 on" in changed.after) == (True, True)
    assert "the designs differ (certificate)" in report.criteria[0].reason
