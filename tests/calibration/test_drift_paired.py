"""Interval, power and sizes of paired comparisons, against brute force and other libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.proportion import proportion_confint

from judgeharness_integrations.calibration import paired
from judgeharness_integrations.calibration.paired import (
    items_for_mean,
    items_needed,
    items_to_confirm,
    mcnemar_power,
    mean_interval,
    minimum_detectable,
    tango_interval,
    unchanged_bound,
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
    smallest = minimum_detectable(n, exchange=exchange)
    assert smallest is not None
    assert mcnemar_power(n, smallest, exchange=exchange) >= 0.8
    assert mcnemar_power(n, smallest * 0.97, exchange=exchange) < 0.8


def test_five_anchors_can_find_nothing_and_six_almost_nothing() -> None:
    assert minimum_detectable(5) is None
    assert minimum_detectable(6) == pytest.approx(0.8 ** (1 / 6), abs=1e-6)  # all six must be worse
    assert minimum_detectable(50, exchange=0.5) is None


@given(st.sampled_from([0.05, 0.1, 0.2, 0.4]), st.sampled_from([0.0, 0.02, 0.1]))
def test_the_needed_items_find_the_change_and_far_fewer_do_not(difference: float, exchange: float) -> None:
    n = items_needed(difference, exchange=exchange)
    assert n is not None
    assert mcnemar_power(n, difference, exchange=exchange) >= 0.8
    assert mcnemar_power(int(n * 0.85), difference, exchange=exchange) < 0.8


def test_what_takes_more_than_a_hundred_thousand_items_is_not_told() -> None:
    assert items_needed(0.001, exchange=0.3) is None
    assert items_needed(0.5, exchange=0.9) is not None  # no more can be exchanged than there are pairs


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


def test_the_interval_of_a_mean_is_students() -> None:
    values = np.array([0.0, 1.0, -0.5, 2.0, 0.25])
    expected = stats.ttest_1samp(values, 0).confidence_interval()
    assert mean_interval(values) == pytest.approx((expected.low, expected.high))
    assert mean_interval(np.array([1.0])) is None
    assert mean_interval(np.array([1.0, 1.0, 1.0])) is None
    assert items_for_mean(0.1, 1.0) == math.ceil(((1.959964 + 1.281552) / 0.1) ** 2)


@pytest.mark.parametrize("n", [1, 10, 50])
def test_what_no_item_shows_is_bounded_as_clopper_and_pearson_do(n: int) -> None:
    assert unchanged_bound(n) == pytest.approx(proportion_confint(0, n, method="beta")[1])


def test_a_score_that_cannot_vary_is_certain() -> None:
    assert paired._score(0, 0, 10, 0.0) == 0.0
    assert paired._score(10, 0, 10, 1.0) == 0.0
    assert paired._score(9, 0, 10, 1.0) == -math.inf


@pytest.mark.parametrize("exchange", [0.01, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("n", [10, 50, 500])
def test_an_unchanged_judge_is_called_drifted_no_more_often_than_alpha(n: int, exchange: float) -> None:
    for alpha in (0.01, 0.05, 0.2):
        assert mcnemar_power(n, 0.0, exchange=exchange, alpha=alpha) <= alpha
    assert mcnemar_power(500, 0.0, exchange=0.5) > 0.03  # and not because it never answers
