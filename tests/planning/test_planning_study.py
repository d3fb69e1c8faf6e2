"""Studies of so many cases: the share of them that reaches a goal is what a simulation of the printed numbers finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.planning import Components, Goal, Limits
from judgeharness_integrations.analysis.planning.study import (
    Clustered,
    Decided,
    RateStudy,
    ScoreStudy,
    cases_of,
    level_of,
    reached_by,
)
from judgeharness_integrations.analysis.statistics.paired import mcnemar_power

DIFFERENCE = Goal(kind="difference", value=0.1)


def decided(*rates: float, spread: float = 1.0) -> Decided:
    known = np.array(rates)
    return Decided(rates=known, spreads=spread * known * (1 - known))


def clusters(size: float, correlation: float, *, truths: int = 1) -> Clustered:
    points = (np.arange(truths) + 0.5) / truths
    return Clustered(size=size, correlations=np.full(truths, correlation), spreads=points)


@pytest.mark.parametrize(("rate", "cases"), [(0.1, 60), (0.93, 100), (0.5, 380), (0.3, 330)])
def test_the_share_of_narrow_intervals_is_that_of_wilsons_intervals_that_are_printed(rate: float, cases: int) -> None:
    found = np.random.default_rng(1).binomial(cases, rate, size=4000)
    widths = [wide.high - wide.low for count in found if (wide := Rate.of(int(count), cases))]
    for width in (0.08, 0.1, 0.13, 0.9):
        expected = float(np.mean(np.array(widths) <= width))
        assert RateStudy(goal=Goal(), decided=decided(rate)).share(cases, width) == pytest.approx(expected, abs=0.025)


def test_an_expected_width_is_that_at_the_expected_rate() -> None:
    study = RateStudy(goal=Goal(assurance=None), decided=decided(0.8))
    assert cases_of(study) == 245
    assert RateStudy(goal=Goal(), decided=decided(0.8)).share(245, 0.1) == pytest.approx(0.5, abs=0.05)
    inside = RateStudy(goal=Goal(assurance=None, value=0.2), decided=decided(0.8), clusters=clusters(5, 0.2))
    assert inside.share(3, 0.9) == 0.0
    assert (cases_of(inside) or 0) > 100


def test_the_power_of_a_difference_is_that_of_mcnemars_mid_p_test() -> None:
    study = RateStudy(goal=DIFFERENCE, decided=decided(0.3), level=level_of(1))
    both = 0.3 * 0.4 + 0.5 * math.sqrt(0.3 * 0.7 * 0.4 * 0.6)
    expected = mcnemar_power(150, 0.1, exchange=0.3 - both, alpha=0.05, mid=True)
    assert study.share(150, 0.1) == pytest.approx(expected)
    upper = RateStudy(goal=DIFFERENCE, decided=decided(0.7), level=level_of(1))
    assert upper.share(150, 0.1) == pytest.approx(expected)
    apart = RateStudy(goal=DIFFERENCE, decided=decided(0.3, spread=0.0), level=level_of(1))
    assert apart.share(150, 0.1) < expected
    assert study.share(150, 0.71) == 0.0  # no room for it
    assert (level_of(1), level_of(2)) == (0.05, pytest.approx(0.04))


def test_few_clusters_find_no_difference() -> None:
    few = RateStudy(goal=DIFFERENCE, decided=decided(0.5), clusters=clusters(10, 0.1), level=0.05)
    assert few.share(50, 0.4) == 0.0  # five signs: the smallest p is .0625
    assert few.share(100, 0.4) > 0.8
    assert few.share(400, 0.2) > 0.8


@pytest.mark.slow
def test_intervals_of_clusters_are_as_wide_as_printed() -> None:
    rng, truths = np.random.default_rng(3), 200
    size, count, correlation = 5, 40, 0.2
    shape = 1 / correlation - 1
    chances = rng.beta(0.7 * shape, 0.3 * shape, size=(1500, count))
    keys = [place // size for place in range(size * count)]
    hits = rng.random((1500, count, size)) < chances[:, :, None]
    widths = [rate.high - rate.low for row in hits.reshape(1500, -1).tolist() if (rate := Rate.over(row, keys))]
    points = (np.arange(truths) + 0.5) / truths
    study = RateStudy(
        goal=Goal(),
        decided=decided(*[0.7] * truths),
        clusters=clusters(size, correlation, truths=truths),
        uniforms=(points * 61) % 1,
    )
    for width in np.quantile(widths, (0.2, 0.5, 0.8)):
        expected = float(np.mean(np.array(widths) <= width))
        assert study.share(size * count, float(width)) == pytest.approx(expected, abs=0.08)
    assert study.share(size, 0.9) == 0.0


def scores(goal: Goal, **options: object) -> ScoreStudy:
    return ScoreStudy(goal=goal, between=np.array([0.5]), inside=np.array([0.3]), **options)  # type: ignore[arg-type]


def test_intervals_of_means_are_students() -> None:
    values = np.random.default_rng(8).normal(0, math.sqrt(0.8), size=(4000, 40))
    widths = 2 * stats.t.ppf(0.975, 39) * values.std(axis=1, ddof=1) / math.sqrt(40)
    for width in (0.5, 0.57, 0.65):
        expected = float(np.mean(widths <= width))
        assert scores(Goal(value=width)).share(40, width) == pytest.approx(expected, abs=0.02)
    assert scores(Goal()).share(1, 9.0) == 0.0
    half = scores(Goal(assurance=None, value=0.57))
    assert (half.share(20, 0.57), half.share(90, 0.57)) == (0.0, 1.0)
    assert scores(Goal(), graded=0.5).share(80, 0.57) == scores(Goal()).share(40, 0.57)
    assert scores(Goal(), clusters=clusters(4, 0.5)).share(40, 0.57) < scores(Goal()).share(40, 0.57)


def test_a_difference_of_means_is_found_by_the_paired_t_test() -> None:
    rng, goal = np.random.default_rng(21), Goal(kind="difference", value=0.4)
    changes = rng.normal(0.4, math.sqrt(2 * (0.5 * 0.5 + 0.3)), size=(4000, 50))
    expected = float(np.mean(stats.ttest_1samp(changes, 0, axis=1).pvalue <= 0.05))
    assert scores(goal).share(50, 0.4) == pytest.approx(expected, abs=0.02)
    assert scores(goal, clusters=clusters(5, 0.5)).share(50, 0.4) < expected


def test_cases_are_where_the_goal_is_met_and_none_beyond_ten_million() -> None:
    study = RateStudy(goal=Goal(), decided=decided(0.3))
    cases = cases_of(study)
    assert cases is not None
    assert study.share(cases, 0.1) >= 0.8 > study.share(cases - 1, 0.1)
    assert cases_of(RateStudy(goal=Goal(value=1e-6), decided=decided(0.3))) is None


def test_what_cases_reach_is_what_takes_that_many() -> None:
    study = RateStudy(goal=Goal(), decided=decided(0.3))
    reached = reached_by(study, 200)
    assert reached is not None
    assert study.share(200, reached) >= 0.8 > study.share(200, reached * 0.97)
    assert reached_by(study, 1) is None
    few = RateStudy(goal=DIFFERENCE, decided=decided(0.5), clusters=clusters(10, 0.1))
    assert reached_by(few, 30) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Goal(value=0),
        lambda: Goal(value=math.inf),
        lambda: Goal(correlation=1.5),
        lambda: Goal(assurance=1),
        lambda: Components(cases=-1),
        lambda: Components(cases=math.nan),
        lambda: Components(cases=1).of_samples(perturbations=0, repetitions=1),
        lambda: Components(cases=1).of_samples(perturbations=1, repetitions=0),
        lambda: Limits(cases=0),
        lambda: Limits(calls=0),
        lambda: Limits(price_per_call=-1),
        lambda: Limits(price_per_call=math.inf),
    ],
)
def test_what_means_nothing_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"\.$"):
        wrong()  # type: ignore[operator]
