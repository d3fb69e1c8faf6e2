"""What a plan promises is what studies of the planned size deliver, in the numbers that other commands print.

Pilot log -> `planned` -> studies of the recommended size -> `report`, `compare`: power and widths are counted, by the
simulation of the self-test.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import betabinom, binom

from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.comparison.difference import compared_shares
from judgeharness_integrations.analysis.planning import Goal, Pilot, pilot_of, planned, wilson_labels
from judgeharness_integrations.analysis.planning.report import Wanted
from judgeharness_integrations.analysis.planning.study import level_of
from judgeharness_integrations.analysis.statistics.paired import mcnemar_power
from judgeharness_integrations.testing.selftest.workflows import (
    cases_planned,
    chances,
    drawn_pilot,
    is_found,
    is_narrow,
    other_rate,
    perturbed,
    rate_decided,
    two_systems,
)
from judgeharness_integrations.verdictlog import VerdictRow

Point = tuple[Goal, float, tuple[int, int]]
POINTS = (np.arange(4000) + 0.5) / 4000


def test_the_cases_of_a_design_are_those_of_the_plan() -> None:
    goal, found = Goal(kind="difference", value=0.1), drawn_pilot(np.random.default_rng(3), 0.3, 40)
    report = planned(Wanted(goal=goal, perturbations=2, present=(2, 2)), pilot=found)
    for one in report.designs[:3]:
        assert one.cases == cases_planned(found, goal, (one.perturbations, one.repetitions))


def averaged(goal: Goal, rate: float, design: tuple[int, int], *, pilots: int, cases: int, studies: int) -> float:
    """Share of studies that reach the goal, over pilots and studies."""
    rng = np.random.default_rng([int(1000 * rate), *design])
    hits: list[bool] = []
    measured = widths if goal.kind == "width" else discoveries
    for _ in range(pilots):
        n = cases_planned(drawn_pilot(rng, rate, cases), goal, design)
        assert n is not None
        hits += measured(rng, (goal, rate, design), n, studies)
    return float(np.mean(hits))


def widths(rng: np.random.Generator, point: Point, n: int, studies: int) -> list[bool]:
    goal, rate, design = point
    counts = rng.binomial(n, rate_decided(rate, design), size=studies).tolist()
    return [is_narrow(count, n, goal.value) for count in counts]


def discoveries(rng: np.random.Generator, point: Point, n: int, studies: int) -> list[bool]:
    """Whether McNemar's mid-p test of `compare` finds the other system, half of whose cases go with the first's."""
    goal, rate, design = point
    before, after = two_systems(rng, goal, rate, design, (studies, n))
    return [is_found(*pair, design) for pair in zip(before, after, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "design"), [(0.3, (1, 1)), (0.3, (2, 5))])
def test_a_planned_difference_is_found_as_often_as_promised(rate: float, design: tuple[int, int]) -> None:
    goal = Goal(kind="difference", value=0.1)
    found = averaged(goal, rate, design, pilots=24, cases=150, studies=170)
    assert found == pytest.approx(0.8, abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "design", "cases"), [(0.7, (1, 1), 40), (0.9, (1, 3), 150), (0.02, (1, 1), 10)])
def test_a_planned_width_is_printed_as_often_as_assured(rate: float, design: tuple[int, int], cases: int) -> None:
    found = averaged(Goal(value=0.1), rate, design, pilots=40, cases=cases, studies=60)
    assert found >= 0.72


@cache
def planned_on(positive: int, cases: int, goal: Goal, design: tuple[int, int] = (1, 1)) -> int:
    rows = [VerdictRow(case_id=f"c{case}", verdict="PASS" if case < positive else "FAIL") for case in range(cases)]
    found = cases_planned(pilot_of(rows), goal, design)
    assert found is not None
    return found


def delivered(plans: list[int], rate: float, both: float, difference: float, level: float) -> float:
    """Return how often the difference is found from a rate of this towards one half: pilots and studies by chance.

    `both` is the share of cases decided positive in either system; the pilot's cases are positive at the rate, too.
    """
    exchange = min(rate, rate + difference if rate < 0.5 else rate - difference) - both
    power = {n: mcnemar_power(n, difference, exchange=exchange, alpha=level, mid=True) for n in set(plans)}
    cases = len(plans) - 1
    return float(binom.pmf(np.arange(cases + 1), cases, rate) @ np.array([power[n] for n in plans]))


@pytest.mark.slow
@pytest.mark.parametrize("promised", [0.8, 0.9])
@pytest.mark.parametrize("difference", [0.1, 0.2])
def test_what_a_pilot_of_one_sample_a_case_promises_holds_whatever_two_systems_share(
    difference: float, promised: float
) -> None:
    """Nothing is drawn. Where they share nothing the promise is exact; all that may be shared is shared at the end."""
    goal = Goal(kind="difference", value=difference, assurance=promised)
    plans = [planned_on(positive, 60, goal) for positive in range(61)]
    for rate in (0.07, 0.3, 0.42, 0.7, 0.8, 0.9, 0.95):
        other = rate + difference if rate < 0.5 else rate - difference
        alone, *shared = (
            delivered(plans, rate, rate * other + share * (min(rate, other) - rate * other), difference, level_of(1))
            for share in (0.0, 0.2, 0.5, 1.0)
        )
        assert alone == pytest.approx(promised, abs=0.03)
        assert alone >= promised - 0.005
        assert sorted([alone, *shared]) == [alone, *shared]


def majority(rate: float, samples: int, noise: float) -> float:
    """Return the share of cases decided positive, where so much of a sample's variance is noise, and a tie abstains."""
    if not noise:
        return rate
    size = noise / (1 - noise)
    return float(betabinom.sf(samples // 2, samples, rate * size, (1 - rate) * size))


@pytest.mark.slow
@pytest.mark.parametrize(
    "design", [(1, 2), *(pytest.param(one, marks=pytest.mark.slow) for one in ((2, 1), (1, 3), (2, 2)))]
)
def test_a_pilot_of_one_sample_a_case_plans_more_samples_whatever_the_noise_is(design: tuple[int, int]) -> None:
    """Of two samples of a noisy judge the majority ties, abstains and decides fewer cases than one sample says."""
    goal = Goal(kind="difference", value=0.1, assurance=0.9)
    plans = [planned_on(positive, 25, goal, design) for positive in range(26)]
    for rate, noise in product((0.6, 0.75, 0.9), (0.0, 0.5, 0.9)):
        first = majority(rate, design[0] * design[1], noise)
        second = first + 0.1 if first < 0.5 else first - 0.1
        exchange = min(first, second) - first * second
        power = {n: mcnemar_power(n, 0.1, exchange=exchange, alpha=level_of(2), mid=True) for n in set(plans)}
        assert binom.pmf(np.arange(26), 25, rate) @ np.array([power[n] for n in plans]) >= 0.89


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.5, 0.9])
def test_a_width_of_more_samples_is_met_whatever_the_noise_of_a_pilot_of_one_is(noise: float) -> None:
    plans = [planned_on(positive, 25, Goal(), (1, 2)) for positive in range(26)]
    decided = majority(0.9, 2, noise)
    met = {n: binom.pmf(np.arange(n + 1), n, decided) @ narrow(n, 0.1) for n in set(plans)}
    assert binom.pmf(np.arange(26), 25, 0.9) @ np.array([met[n] for n in plans]) >= 0.8


@pytest.mark.parametrize(
    ("cases", "width", "most"),
    [
        *((10, width, 1.15) for width in (0.04, 0.1, 0.3)),
        (25, 0.1, 1.1),
        *(pytest.param(100, width, 1.08, marks=pytest.mark.slow) for width in (0.04, 0.1, 0.3)),
    ],
)
def test_a_width_is_met_as_often_as_assured_whatever_the_true_rate_is(cases: int, width: float, most: float) -> None:
    """Nothing is drawn: every pilot and every study counts by its chance; one half is where averages fall shortest."""
    goal, rates = Goal(value=width), np.array([0.02, 0.05, 0.15, 0.3, 0.45, 0.5, 0.55, 0.85, 0.98])
    plans = [planned_on(positive, cases, goal) for positive in range(cases + 1)]
    pilots = binom.pmf(np.arange(cases + 1)[:, None], cases, rates)
    met = {n: binom.pmf(np.arange(n + 1)[:, None], n, rates).T @ narrow(n, width) for n in set(plans)}
    assert ((pilots * np.array([met[n] for n in plans])).sum(axis=0) >= 0.8).all()
    known = np.array([wilson_labels(rate, width, assurance=0.8) for rate in rates])
    assert ((plans @ pilots / known)[3:7] <= most).all()


def narrow(cases: int, width: float) -> NDArray[np.bool_]:
    return np.array([is_narrow(count, cases, width) for count in range(cases + 1)])


@pytest.mark.slow
def test_an_expected_width_is_met_in_about_half_of_the_studies() -> None:
    found = averaged(Goal(value=0.1, assurance=None), 0.85, (1, 1), pilots=40, cases=150, studies=60)
    assert 0.35 <= found <= 0.65


@pytest.mark.slow
@pytest.mark.parametrize("design", [(1, 1), (2, 2), (2, 5)])
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_power_is_within_3_points_of_the_promise(rate: float, design: tuple[int, int]) -> None:
    found = averaged(Goal(kind="difference", value=0.1), rate, design, pilots=100, cases=100, studies=50)
    assert found == pytest.approx(0.8, abs=0.03)


def clustered(rng: np.random.Generator, studies: int, n: int) -> NDArray[np.float64]:
    """Quantiles of cases of which four share a cluster, and a third of their latent variance."""
    shared = np.repeat(rng.normal(size=(studies, -(-n // 4))), 4, axis=1)[:, :n]
    found: NDArray[np.float64] = ndtr(np.sqrt(1 / 3) * shared + np.sqrt(2 / 3) * rng.normal(size=(studies, n)))
    return found


def clustered_pilot(rng: np.random.Generator, rate: float, cases: int) -> Pilot:
    said = rng.random((cases, 2)) < perturbed(rng, np.interp(clustered(rng, 1, cases)[0], POINTS, chances(rate)), 2)
    return pilot_of(
        [
            VerdictRow(
                case_id=f"c{case}",
                perturbation=("none", "typo")[p],
                verdict="PASS" if said[case, p] else "FAIL",
                attributes={"cluster": str(case // 4)},
            )
            for case, p in np.ndindex(*said.shape)
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_a_planned_difference_over_clusters_is_found_at_least_as_often(rate: float) -> None:
    rng, goal, hits = np.random.default_rng(17), Goal(kind="difference", value=0.15), list[bool]()
    for _ in range(40):
        n = cases_planned(clustered_pilot(rng, rate, 120), goal, (1, 1))
        assert n is not None
        first, fresh = clustered(rng, 50, n), clustered(rng, 50, n)
        second = np.where(rng.random((50, n)) < goal.correlation, first, fresh)
        other = other_rate(rate, (1, 1), goal.value)
        before, after = (
            (rng.random((50, n)) < np.interp(cases, POINTS, chances(share))).tolist()
            for cases, share in ((first, rate), (second, other))
        )
        keys = [case // 4 for case in range(n)]
        pairs = zip(before, after, strict=True)
        found = [compared_shares("positive_rate", one, two, keys, seed=seed).p for seed, (one, two) in enumerate(pairs)]
        hits += [p is not None and p <= level_of(1) for p in found]
    assert np.mean(hits) >= 0.77


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "design"),
    [
        *((rate, (1, 1)) for rate in (0.02, 0.1, 0.3, 0.7, 0.93)),
        *((0.02, (1, 2)), (0.1, (1, 2)), (0.1, (1, 3)), (0.3, (2, 2)), (0.7, (2, 5))),
    ],
)
def test_off_the_grid_promises_hold(rate: float, design: tuple[int, int]) -> None:
    options: dict[str, Any] = {"pilots": 80, "cases": 60, "studies": 50}
    assert averaged(Goal(value=0.1), rate, design, **options) >= 0.7
    found = averaged(Goal(kind="difference", value=0.12), rate, design, **options)
    assert found == pytest.approx(0.8, abs=0.09)


def documents(rng: np.random.Generator, *, clusters: int, cases: int = 10**6) -> list[tuple[int, int]]:
    """Sizes and hits of clusters, of which one in twenty has 30 cases and the others one; as many as cases allow."""
    found: list[tuple[int, int]] = []
    while cases and len(found) < clusters:
        size = min(cases, 30 if rng.random() < 0.05 else 1)
        found.append((size, int(rng.binomial(size, rng.beta(0.5, 0.5)))))
        cases -= size
    return found


def width_over(found: list[tuple[int, int]]) -> float:
    hits = [place < count for size, count in found for place in range(size)]
    rate = Rate.over(hits, [number for number, (size, _) in enumerate(found) for _ in range(size)])
    assert rate is not None
    return rate.high - rate.low


def pilot_over(found: list[tuple[int, int]]) -> Pilot:
    return pilot_of(
        [
            VerdictRow(
                case_id=f"c{number}-{place}",
                verdict="PASS" if place < count else "FAIL",
                attributes={"cluster": f"k{number}"},
            )
            for number, (size, count) in enumerate(found)
            for place in range(size)
        ]
    )


def test_clusters_of_unequal_size_are_planned_with_a_larger_one() -> None:
    unequal = pilot_over([(20, 18), *[(4, 2), (4, 4)] * 15])
    assert unequal.clusters is not None
    assert unequal.clusters.size == pytest.approx(880 / 140)
    assert unequal.clusters.size_error > 2
    equal = replace(unequal, clusters=replace(unequal.clusters, size_error=0.0))
    goal, certain = Goal(value=0.15), Goal(value=0.15, assurance=None)
    assert (cases_planned(unequal, goal, (1, 1)) or 0) > (cases_planned(equal, goal, (1, 1)) or 0)
    assert cases_planned(unequal, certain, (1, 1)) == cases_planned(equal, certain, (1, 1))
    same = pilot_over([(4, 2), (4, 4)] * 15)
    assert same.clusters is not None
    assert same.clusters.size_error == 0


@pytest.mark.slow
def test_a_width_over_clusters_of_unequal_size_is_met_nearly_as_often_as_assured() -> None:
    rng, goal, met = np.random.default_rng(4), Goal(value=0.15), []
    for _ in range(60):
        cases = cases_planned(pilot_over(documents(rng, clusters=80)), goal, (1, 1))
        assert cases is not None
        met += [width_over(documents(rng, clusters=cases, cases=cases)) <= goal.value for _ in range(8)]
    assert np.mean(met) >= 0.7
