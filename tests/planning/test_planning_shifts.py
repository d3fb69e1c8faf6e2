"""Perturbations that move the mean are no noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.planning import Goal, Limits, Pilot, pilot_of, planned
from judgeharness_integrations.analysis.planning.gstudy import shifts_of
from judgeharness_integrations.analysis.planning.report import Wanted
from judgeharness_integrations.verdictlog import VerdictRow


def pilot(rates: dict[str, float], *, cases: int = 60, repetitions: int = 2, seed: int = 1, swap: str = "") -> Pilot:
    """Return a pilot of labels whose share of PASS is planted for each perturbation."""
    rng = np.random.default_rng(seed)
    rows = [
        VerdictRow(case_id=f"c{n}", perturbation=name, repetition=r, swapped=name == swap, verdict=verdict)
        for n in range(cases)
        for name, rate in rates.items()
        for r in range(repetitions)
        for verdict in ["PASS" if rng.random() < rate else "FAIL"]
    ]
    return pilot_of(rows)


@pytest.mark.parametrize("repetitions", [1, 2])
def test_a_perturbation_that_moves_the_rate_is_named_with_both_rates(repetitions: int) -> None:
    found = pilot({"none": 0.63, "paraphrase": 0.63, "format_change": 0.11}, repetitions=repetitions)
    [shift] = found.shifts
    assert (shift.perturbation, shift.reference, shift.cases, shift.swap) == ("format_change", "none", 60, False)
    assert shift.mean == pytest.approx(0.63, abs=0.15)
    assert shift.shifted == pytest.approx(0.11, abs=0.1)
    assert shift.p < 0.001
    assert found.components.notes[0] == "what format_change moves the mean by is taken out of these variances"


@pytest.mark.slow
def test_the_variances_are_those_without_the_shift() -> None:
    rng = np.random.default_rng(6)
    planted = rng.normal(5, 2, (300, 1, 1)) + rng.normal(0, 1, (300, 3, 1)) + rng.normal(0, 0.5, (300, 3, 3))
    planted += np.array([0, 4, 0])[None, :, None]
    rows = [
        row
        for i, case in enumerate(planted)
        for name, cell in zip(("none", "format_change", "typo"), case, strict=True)
        for row in sampled(list(cell), case_id=f"c{i}", perturbation=name)
    ]
    found = pilot_of(rows)
    parts = found.components
    assert [(one.perturbation, round(one.shifted - one.mean)) for one in found.shifts] == [("format_change", 4)]
    assert (parts.cases, parts.perturbations, parts.repetitions) == pytest.approx((4, 1, 0.25), rel=0.2)
    assert found.mean == pytest.approx(5 + 4 / 3, abs=0.4)


@pytest.mark.slow
@pytest.mark.untraced
def test_alike_perturbations_are_rarely_called_shifted() -> None:
    alike = {name: 0.6 for name in ("none", "a", "b", "c")}  # noqa: C420 - its type
    alarms = sum(bool(pilot(alike, cases=30, repetitions=1, seed=seed).shifts) for seed in range(200))
    assert alarms <= 20


def test_cases_that_lack_one_of_both_perturbations_count_for_nothing() -> None:
    one = {f"c{n}": {"none": 1.0} for n in range(9)}
    other = {f"d{n}": {"typo": 0.0} for n in range(9)}
    both = {f"e{n}": {"none": 1.0, "typo": 0.0} for n in range(9)}
    assert shifts_of({}) == shifts_of(one | other) == ()
    [shift] = shifts_of(one | other | both)
    assert (shift.cases, shift.mean, shift.shifted) == (9, 1.0, 0.0)
    [named] = shifts_of({f"c{n}": {"b": 1.0, "a": 0.0} for n in range(9)})
    assert (named.reference, named.perturbation) == ("a", "b")


def plan(found: Pilot, *, goal: float = 0.2, **options: Any) -> Any:
    return planned(
        Wanted(goal=Goal(kind="difference", value=goal), **options), pilot=found, limits=Limits(cases=400, calls=40000)
    )


@pytest.mark.slow
def test_no_design_that_averages_over_a_shift_is_cheapest_or_most_precise() -> None:
    found = pilot({"none": 0.63, "format_change": 0.11})
    report = plan(found)
    assert report.cheapest.perturbations == report.attainable.perturbations == 1
    assert plan(found, perturbations=2).cheapest is None
    tight = Limits(cases=report.cheapest.cases - 1)
    wanted = Wanted(goal=Goal(kind="difference", value=0.2))
    averaging = planned(wanted, pilot=replace(found, shifts=()), limits=tight)
    assert averaging.cheapest is not None
    assert averaging.attainable is not None
    assert averaging.attainable.perturbations > 1
    if (best := planned(wanted, pilot=found, limits=tight).cheapest) is not None:
        assert best.perturbations == 1


@pytest.mark.slow
def test_position_bias_is_balanced_by_asking_in_both_orders() -> None:
    report = plan(pilot({"none": 0.7, "position_swap": 0.3}, swap="position_swap"))
    [shift] = report.pilot.shifts
    assert shift.swap
    assert report.shifts == ()
    assert report.attainable.perturbations == 4
    assert not any("taken out" in note for note in report.components.notes)
    assert report.to_dict()["pilot"]["shifts"][0]["swap"] is True
