"""Quantiles, intervals and p-values of numbers with an error, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from judgeharness_integrations.analysis.statistics.means import (
    Z95,
    estimate,
    items_for_mean,
    mean_interval,
    t_interval,
    t_p,
    t_quantile,
    z_p,
    z_quantile,
)
from judgeharness_integrations.analysis.statistics.proportions import share_estimate, wilson_of


def test_intervals_stay_within_limits_and_fishers_scale_within_one() -> None:
    spread = [-3.0, 1.0, 2.0]
    absolute = estimate(0.5, [-0.3, 0.1, 0.2], range(3), logarithmic=True)
    assert 0 < absolute.low < 0.5 < absolute.high
    assert absolute.low * absolute.high == pytest.approx(0.25)
    assert estimate(0.01, spread, range(3), logarithmic=True).low is None  # from nothing to everything
    shares = share_estimate(0.5, spread, range(3))
    assert 0 <= shares.low < 0.5 < shares.high <= 1
    assert share_estimate(1.0, [0.0] * 9, range(9)).low == pytest.approx(wilson_of(1.0, 9, t_quantile(8))[0])
    assert share_estimate(1.0, [0.0] * 9, ["a"] * 9).low is None
    fisher = estimate(0.9, [-0.3, 0.1, 0.2], range(3), fisher=True)
    assert fisher.low is not None
    assert fisher.high is not None
    assert -1 <= fisher.low < 0.9 < fisher.high <= 1
    assert estimate(1.0, [-0.3, 0.1, 0.2], range(3), fisher=True).low is None


def test_the_t_quantile_is_scipys() -> None:
    assert t_quantile(7) == pytest.approx(stats.t.ppf(0.975, 7))
    assert t_quantile(7, confidence=0.9) == pytest.approx(stats.t.ppf(0.95, 7))


def test_the_interval_of_a_mean_is_students() -> None:
    values = np.array([0.0, 1.0, -0.5, 2.0, 0.25])
    expected = stats.ttest_1samp(values, 0).confidence_interval()
    assert mean_interval(values) == pytest.approx((expected.low, expected.high))
    assert mean_interval(np.array([1.0])) is None
    assert mean_interval(np.array([1.0, 1.0, 1.0])) is None
    assert items_for_mean(0.1, 1.0) == math.ceil(((1.959964 + 1.281552) / 0.1) ** 2)


def test_the_95_percent_quantile_is_scipys_to_the_last_bit() -> None:
    assert float(stats.norm.ppf(0.975)) == Z95


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_normal_quantile_without_scipy_is_scipys(confidence: float) -> None:
    assert z_quantile(confidence) == pytest.approx(stats.norm.ppf((1 + confidence) / 2), rel=1e-14)


def test_a_normal_p_value_is_two_sided_and_of_any_shape() -> None:
    z = np.array([[-2.0, 0.0], [1.0, 9.0]])
    assert z_p(z) == pytest.approx(2 * stats.norm.sf(np.abs(z)))
    assert float(z_p(-1.5)) == pytest.approx(2 * stats.norm.sf(1.5))


def test_a_p_value_of_students_t_is_two_sided() -> None:
    assert t_p(-1.3, 6) == t_p(1.3, 6) == pytest.approx(2 * stats.t.sf(1.3, 6))
    assert t_p(0.0, 6) == 1.0


def test_an_interval_of_a_number_with_an_error_is_students() -> None:
    assert t_interval(0.4, 0.1, 8, confidence=0.9) == pytest.approx(stats.t.interval(0.9, 8, loc=0.4, scale=0.1))
