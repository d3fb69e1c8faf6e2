"""Variances, widths, differences and what designs cost."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.planning import Components, Goal, Limits, designs
from judgeharness_integrations.planning.grid import attainable, design

PARTS = Components(cases=0.1, perturbations=0.04, repetitions=0.06)
VARIANCES = st.floats(0, 10, allow_subnormal=False)
COMPONENTS = st.builds(Components, cases=VARIANCES, perturbations=VARIANCES, repetitions=VARIANCES)


def drawn(rng: np.random.Generator, parts: Components, n: int, p: int, r: int, *, times: int) -> np.ndarray:
    """Means over cases of many measurements."""
    cases = rng.normal(0, math.sqrt(parts.cases), size=(times, n))
    perturbations = rng.normal(0, math.sqrt(parts.perturbations), size=(times, n, p))
    repetitions = rng.normal(0, math.sqrt(parts.repetitions), size=(times, n, p, r))
    return cases + (perturbations + repetitions.mean(axis=3)).mean(axis=2)


def test_the_variance_of_the_mean_is_what_a_simulation_finds() -> None:
    rng = np.random.default_rng(3)
    means = drawn(rng, PARTS, 20, 2, 3, times=6000).mean(axis=1)
    expected = PARTS.of_mean(cases=20, perturbations=2, repetitions=3)
    assert expected == pytest.approx((0.1 + 0.04 / 2 + 0.06 / 6) / 20)
    assert float(means.var(ddof=1)) == pytest.approx(expected, rel=0.08)
    assert PARTS.total == pytest.approx(0.2)


@given(COMPONENTS, st.integers(1, 9), st.integers(1, 9), st.integers(2, 500))
def test_more_of_anything_never_widens(parts: Components, p: int, r: int, n: int) -> None:
    for goal in (Goal(), Goal(kind="difference"), Goal(kind="difference", paired=False)):
        here = goal.reached(goal.variance(parts, perturbations=p, repetitions=r), n)
        floor = goal.reached(goal.floor(parts), n)
        assert here is not None
        assert floor is not None
        for more in ((p + 1, r, n), (p, r + 1, n), (p, r, n + 1)):
            variance = goal.variance(parts, perturbations=more[0], repetitions=more[1])
            reached = goal.reached(variance, more[2])
            assert reached is not None
            assert reached <= here * (1 + 1e-12)
        assert floor <= here * (1 + 1e-12)


@given(COMPONENTS, st.sampled_from([0.05, 0.3, 2.0]))
def test_the_cases_found_are_the_fewest_that_reach_the_goal(parts: Components, value: float) -> None:
    for goal in (Goal(value=value), Goal(kind="difference", value=value)):
        variance = goal.variance(parts, perturbations=2, repetitions=2)
        cases = goal.cases(variance)
        assert cases is not None
        assert (goal.reached(variance, cases) or 0) <= value
        assert cases == 2 or (goal.reached(variance, cases - 1) or math.inf) > value


def test_a_width_is_students_interval() -> None:
    rng = np.random.default_rng(8)
    values = drawn(rng, PARTS, 40, 2, 2, times=3000)
    half = stats.t.ppf(0.975, 39) * values.std(axis=1, ddof=1) / math.sqrt(40)
    goal = Goal(value=0.2)
    variance = goal.variance(PARTS, perturbations=2, repetitions=2)
    assert goal.reached(variance, 40) == pytest.approx(2 * float(half.mean()), rel=0.02)
    assert float(np.mean(np.abs(values.mean(axis=1)) <= half)) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("paired", [True, False])
def test_the_promised_difference_is_found_with_80_percent_power(paired: bool) -> None:  # noqa: FBT001 - parametrized
    rng = np.random.default_rng(21)
    goal = Goal(kind="difference", value=0.2, paired=paired, correlation=0.6)
    n, p, r, times = goal.cases(goal.variance(PARTS, perturbations=2, repetitions=1)), 2, 1, 3000
    assert n is not None
    shared = rng.normal(0, math.sqrt(PARTS.cases * 0.6), size=(times, n)) if paired else 0.0
    own = Components(cases=PARTS.cases * (0.4 if paired else 1), perturbations=0.04, repetitions=0.06)
    first, second = (shared + drawn(rng, own, n, p, r, times=times) for _ in range(2))
    test = stats.ttest_rel if paired else stats.ttest_ind
    found = float(np.mean(test(first + 0.2, second, axis=1).pvalue <= 0.05))
    assert 0.78 <= found <= 0.85


def test_what_no_number_of_cases_reaches_is_none() -> None:
    assert Goal(value=1e-6).cases(1.0) is None
    assert Goal().reached(1.0, 1) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Goal(value=0),
        lambda: Goal(value=math.inf),
        lambda: Goal(correlation=1.5),
        lambda: Goal(power=1),
        lambda: Components(cases=-1),
        lambda: Components(cases=math.nan),
        lambda: Limits(cases=0),
        lambda: Limits(calls=0),
        lambda: Limits(price_per_call=-1),
        lambda: Limits(price_per_call=math.inf),
        lambda: design(PARTS, Goal(), 0, 1, cases=9, limits=Limits()),
        lambda: design(PARTS, Goal(), 1, 0, cases=9, limits=Limits()),
    ],
)
def test_what_means_nothing_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"\.$"):
        wrong()  # type: ignore[operator]


GRID = {"perturbations": (1, 2, 4), "repetitions": (3, 1)}


def test_the_grid_is_the_fewest_cases_of_each_design_and_the_cheapest_is_marked() -> None:
    limits = Limits(price_per_call=0.5, tokens_per_call=10)
    found = designs(PARTS, Goal(value=0.1), **GRID, limits=limits)
    assert [(one.perturbations, one.repetitions) for one in found] == list(product((1, 2, 4), (1, 3)))
    for one in found:
        assert one.cases is not None
        assert one.calls == one.cases * one.perturbations * one.repetitions
        assert (one.price, one.tokens) == (one.calls * 0.5, one.calls * 10)
        assert one.affordable
    [best] = [one for one in found if one.cheapest]
    assert best.calls == min(one.calls or 0 for one in found)
    assert (best.perturbations, best.repetitions) == (1, 1)  # where cases cost nothing, more of them are cheapest


def test_few_cases_make_repetitions_worth_their_price() -> None:
    found = designs(PARTS, Goal(value=0.1), **GRID, limits=Limits(cases=210))
    [best] = [one for one in found if one.cheapest]
    assert best.perturbations * best.repetitions > 1
    assert best.cases is not None
    assert best.cases <= 210
    none = designs(PARTS, Goal(value=0.1), **GRID, limits=Limits(cases=210, calls=100))
    assert not any(one.cheapest or one.affordable for one in none)
    assert not any(one.cheapest for one in designs(PARTS, Goal(value=1e-6), **GRID, limits=Limits()))


def test_a_difference_is_asked_of_two_systems() -> None:
    one = design(PARTS, Goal(kind="difference"), 2, 3, cases=10, limits=Limits())
    assert one.calls == 10 * 2 * 3 * 2


def test_what_limits_allow_is_used_up() -> None:
    assert attainable(PARTS, Goal(), **GRID, limits=Limits()) is None
    assert attainable(PARTS, Goal(), **GRID, limits=Limits(calls=1)) is None
    by_cases = attainable(PARTS, Goal(), **GRID, limits=Limits(cases=50))
    assert by_cases is not None
    assert (by_cases.perturbations, by_cases.repetitions, by_cases.cases) == (4, 3, 50)
    by_calls = attainable(PARTS, Goal(), **GRID, limits=Limits(calls=600))
    assert by_calls is not None
    assert (by_calls.perturbations, by_calls.repetitions, by_calls.cases) == (1, 1, 600)
    both = attainable(PARTS, Goal(), **GRID, limits=Limits(cases=100, calls=700))
    assert both is not None
    assert (both.perturbations, both.repetitions, both.calls) == (4, 1, 400)
