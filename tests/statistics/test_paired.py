"""Interval, power and sizes of paired comparisons, against brute force and other libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar

from judgeharness_integrations.analysis.statistics.paired import (
    items_to_confirm,
    mcnemar_detectable,
    mcnemar_items,
    mcnemar_p,
    mcnemar_power,
    tango_interval,
    tango_score,
    with_zero,
)


def score_z(gained: int, lost: int, n: int, delta: float) -> float:
    """Tango's z with the nuisance parameter found by maximising the likelihood numerically."""

    def minus_log_likelihood(q: float) -> float:
        parts = ((gained, q + delta), (lost, q), (n - gained - lost, 1 - 2 * q - delta))
        return -sum(count * math.log(max(p, 1e-300)) for count, p in parts if count)

    low, high = max(0.0, -delta), (1 - delta) / 2
    q = float(optimize.minimize_scalar(minus_log_likelihood, bounds=(low, high), options={"xatol": 1e-13}).x)
    return (gained - lost - n * delta) / math.sqrt(n * (2 * q + delta - delta**2))


@pytest.mark.parametrize(("gained", "lost", "n"), [(2, 10, 50), (10, 2, 50), (3, 3, 20), (1, 0, 12), (9, 14, 40)])
def test_the_ends_of_tangos_interval_are_where_the_score_test_is_at_its_limit(gained: int, lost: int, n: int) -> None:
    low, high = tango_interval(gained, lost, n)
    assert score_z(gained, lost, n, low) == pytest.approx(1.959964, abs=1e-4)
    assert score_z(gained, lost, n, high) == pytest.approx(-1.959964, abs=1e-4)


def test_without_discordant_pairs_the_interval_has_a_width_all_the_same() -> None:
    z = stats.norm.ppf(0.975)
    low, high = tango_interval(0, 0, 50)
    assert high == pytest.approx(z * z / (50 + z * z))
    assert low == -high


@given(st.integers(1, 60), st.data())
def test_tangos_interval_holds_the_estimate_and_mirrors(n: int, data: st.DataObject) -> None:
    gained = data.draw(st.integers(0, n))
    lost = data.draw(st.integers(0, n - gained))
    low, high = tango_interval(gained, lost, n)
    assert -1 <= low <= (gained - lost) / n + 1e-12
    assert (gained - lost) / n - 1e-12 <= high <= 1
    assert tango_interval(lost, gained, n) == (-high, -low)
    assert tango_interval(gained, lost, n, confidence=0.99)[1] >= high


@pytest.mark.parametrize("gain", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("loss", [0.02, 0.1])
def test_tangos_interval_covers_as_often_as_it_says(gain: float, loss: float) -> None:
    n, covered = 50, 0.0
    chance = stats.multinomial(n, [gain, loss, 1 - gain - loss])
    for gained in range(n + 1):
        for lost in range(n + 1 - gained):
            weight = float(chance.pmf([gained, lost, n - gained - lost]))
            if weight > 1e-7:
                low, high = tango_interval(gained, lost, n)
                covered += weight * (low <= gain - loss <= high)
    assert 0.93 <= covered <= 0.99


def brute_power(n: int, difference: float, exchange: float, alpha: float) -> float:
    total = 0.0
    for discordant in range(1, n + 1):
        at = stats.binom.pmf(discordant, n, difference + 2 * exchange)
        share = (difference + exchange) / (difference + 2 * exchange)
        rejected = [k for k in range(discordant + 1) if stats.binomtest(k, discordant).pvalue <= alpha]
        total += at * sum(stats.binom.pmf(rejected, discordant, share))
    return float(total)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("n", "difference", "exchange", "alpha"),
    [(30, 0.2, 0.05, 0.05), (25, 0.1, 0.0, 0.05), (6, 1.0, 0.0, 0.05), (30, 0.3, 0.1, 0.01), (5, 1.0, 0.0, 0.05)],
)
def test_power_is_the_sum_over_every_outcome(n: int, difference: float, exchange: float, alpha: float) -> None:
    assert mcnemar_power(n, difference, exchange=exchange, alpha=alpha) == pytest.approx(
        brute_power(n, difference, exchange, alpha), abs=1e-12
    )


@pytest.mark.slow
def test_power_is_what_a_simulation_finds() -> None:
    rng = np.random.default_rng(5)
    n, worse, better = 80, 0.15, 0.05
    drawn = rng.multinomial(n, [worse, better, 1 - worse - better], size=4000)
    p = np.array([1.0 if a + b == 0 else stats.binomtest(int(a), int(a + b)).pvalue for a, b in drawn[:1500, :2]])
    assert mcnemar_power(n, 0.1, exchange=better) == pytest.approx(float(np.mean(p <= 0.05)), abs=0.04)


def test_nothing_that_changes_is_never_found() -> None:
    assert mcnemar_power(50, 0.0) == 0.0


@pytest.mark.parametrize("exchange", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("n", [20, 50, 400])
def test_the_minimum_detectable_change_is_found_with_80_percent_power(n: int, exchange: float) -> None:
    smallest = mcnemar_detectable(n, exchange=exchange)
    assert smallest is not None
    assert mcnemar_power(n, smallest, exchange=exchange) >= 0.8
    assert mcnemar_power(n, smallest * 0.97, exchange=exchange) < 0.8


def test_five_anchors_can_find_nothing_and_six_almost_nothing() -> None:
    assert mcnemar_detectable(5) is None
    assert mcnemar_detectable(6) == pytest.approx(0.8 ** (1 / 6), abs=1e-6)  # all six must be worse
    assert mcnemar_detectable(50, exchange=0.5) is None


@given(st.sampled_from([0.05, 0.1, 0.2, 0.4]), st.sampled_from([0.0, 0.02, 0.1]))
def test_the_needed_items_find_the_change_and_far_fewer_do_not(difference: float, exchange: float) -> None:
    n = mcnemar_items(difference, exchange=exchange)
    assert n is not None
    assert mcnemar_power(n, difference, exchange=exchange) >= 0.8
    assert mcnemar_power(int(n * 0.85), difference, exchange=exchange) < 0.8


def test_what_takes_more_than_a_hundred_thousand_items_is_not_told() -> None:
    assert mcnemar_items(0.001, exchange=0.3) is None
    assert mcnemar_items(0.5, exchange=0.9) is not None  # no more can be exchanged than there are pairs


@pytest.mark.parametrize("exchange", [0.02, 0.1])
def test_the_items_to_confirm_put_an_unchanged_judge_inside_the_margin(exchange: float) -> None:
    rng = np.random.default_rng(11)
    n = items_to_confirm(0.1, exchange=exchange)
    drawn = rng.multinomial(n, [exchange, exchange, 1 - 2 * exchange], size=400)
    ends = [tango_interval(int(a), int(b), n) for a, b, _ in drawn]
    inside = np.mean([low >= -0.1 and high <= 0.1 for low, high in ends])
    assert 0.7 <= inside <= 0.97


def test_an_interval_without_any_change_fits_from_35_items_on() -> None:
    assert items_to_confirm(0.1, exchange=0.0) == 35
    assert tango_interval(0, 0, 35)[1] <= 0.1 < tango_interval(0, 0, 34)[1]


@pytest.mark.parametrize("exchange", [0.01, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("n", [10, 50, 500])
def test_an_unchanged_judge_is_called_drifted_no_more_often_than_alpha(n: int, exchange: float) -> None:
    for alpha in (0.01, 0.05, 0.2):
        assert mcnemar_power(n, 0.0, exchange=exchange, alpha=alpha) <= alpha
    assert mcnemar_power(500, 0.0, exchange=0.5) > 0.03  # and not because it never answers


@pytest.mark.parametrize(("rose", "fell"), [(0, 0), (0, 1), (0, 6), (3, 9), (7, 7), (8, 7), (40, 61), (300, 250)])
def test_the_mid_p_value_is_the_exact_one_less_what_was_observed(rose: int, fell: int) -> None:
    exact = mcnemar([[0, rose], [fell, 0]], exact=True).pvalue
    sides = 1 if rose == fell else 2
    seen = sides * 0.5 * binom.pmf(min(rose, fell), rose + fell, 0.5) if rose + fell else 0.0
    expected = 1.0 if rose == fell else exact - seen
    assert mcnemar_p(rose, fell) == pytest.approx(expected)
    assert mcnemar_p(rose, fell) == mcnemar_p(fell, rose)


@pytest.mark.parametrize(
    ("n", "drop", "exchange", "alpha"), [(5, 0.3, 0.1, 0.05), (40, 0.1, 0.0, 0.04), (60, 0.12, 0.08, 0.04)]
)
def test_power_by_the_mid_p_value_is_the_sum_over_all_tables_that_reject(
    n: int, drop: float, exchange: float, alpha: float
) -> None:
    worse, better = drop + exchange, exchange
    power = sum(
        math.comb(n, fell)
        * math.comb(n - fell, rose)
        * worse**fell
        * better**rose
        * (1 - worse - better) ** (n - fell - rose)
        for fell in range(n + 1)
        for rose in range(n + 1 - fell)
        if mcnemar_p(rose, fell) <= alpha
    )
    assert mcnemar_power(n, drop, exchange=exchange, alpha=alpha, mid=True) == pytest.approx(power, abs=1e-9)


def test_what_is_detectable_and_the_cases_it_takes_have_the_power() -> None:
    smallest = mcnemar_detectable(120, exchange=0.05, alpha=0.04, mid=True)
    assert smallest is not None
    assert mcnemar_power(120, smallest, exchange=0.05, alpha=0.04, mid=True) == pytest.approx(0.8, abs=1e-3)
    cases = mcnemar_items(0.05, exchange=0.05, alpha=0.04, mid=True)
    assert cases is not None
    assert mcnemar_power(cases, 0.05, exchange=0.05, alpha=0.04, mid=True) >= 0.8
    assert mcnemar_power(cases - 1, 0.05, exchange=0.05, alpha=0.04, mid=True) < 0.8
    assert mcnemar_items(0.0001, exchange=0.2, alpha=0.04, mid=True) is None
    assert mcnemar_detectable(4, exchange=0.0, alpha=0.04, mid=True) is None
    assert mcnemar_detectable(4, exchange=0.5, alpha=0.04, mid=True) is None
    assert mcnemar_power(100, 0.0, exchange=0.0, alpha=0.05, mid=True) == 0.0


def test_the_size_of_the_mid_p_test_follows_its_level() -> None:
    sizes = [
        mcnemar_power(n, 0.0, exchange=share / 2, alpha=0.04, mid=True)
        for n in (20, 50, 100, 200, 500)
        for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
    ]
    assert max(sizes) <= 0.0414
    assert np.mean(sizes) > 0.02


def test_more_changes_than_there_are_pairs_are_as_many_as_there_are() -> None:
    assert mcnemar_power(20, 1.0, exchange=0.3) == pytest.approx(1.0)


def test_a_score_without_spread_is_undefined_or_certain() -> None:
    assert math.isnan(tango_score(0, 0, 10, 0.0))
    assert math.isnan(tango_score(10, 0, 10, 1.0))
    assert tango_score(9, 0, 10, 1.0) == -math.inf
    assert math.isnan(tango_score(0, 0, 0, 0.2))


def test_all_pairs_gained_end_the_interval_at_one() -> None:
    assert tango_interval(10, 0, 10)[1] == 1.0


def test_an_interval_reaches_to_zero_where_the_test_does_not_reject_it() -> None:
    assert with_zero((-0.3, -0.01), 0.06) == (-0.3, 0.0)
    assert with_zero((-0.3, -0.01), 0.04) == (-0.3, -0.01)
