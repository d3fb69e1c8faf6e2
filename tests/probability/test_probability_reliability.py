"""Calibration error: plug-in, of a perfect judge at this n, and what is in excess of it; the reliability curve."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from support.planted_probabilities import pairs, planted, sigmoid

from judgeharness_integrations.analysis.probability import Forecasts, calibration_error, reliability_curve
from judgeharness_integrations.analysis.probability.scores import equal_mass


def test_bins_hold_equally_many_and_equal_probabilities_stay_together() -> None:
    spread = np.random.default_rng(1).permutation(np.linspace(0, 1, 300))
    assert np.bincount(equal_mass(spread)).tolist() == [20] * 15
    assert np.bincount(equal_mass(spread, most=4)).tolist() == [75] * 4
    zeros = np.r_[np.zeros(183), np.linspace(0.1, 1, 117)]
    bins = equal_mass(zeros)
    assert set(bins[:183]) == {0}
    assert len(np.unique(bins)) == bins.max() + 1


@pytest.mark.parametrize(("n", "bins"), [(5, 1), (60, 3), (150, 7), (300, 15), (3000, 15)])
def test_small_samples_have_fewer_bins(n: int, bins: int) -> None:
    assert equal_mass(np.linspace(0, 1, n)).max() + 1 == bins


def test_the_curve_is_that_of_scikit_learn() -> None:
    found, _ = planted(300, 2, digits=12)
    p, y = found.event
    shares, means = calibration_curve(y, p, n_bins=15, strategy="quantile")
    points = reliability_curve(found, bins=15)
    assert [point.probability for point in points] == pytest.approx(means.tolist())
    assert [point.share.value for point in points] == pytest.approx(shares.tolist())
    assert sum(point.n for point in points) == 300
    for point in points:
        assert point.share.low is not None
        assert point.share.high is not None
        assert point.share.low <= point.share.value <= point.share.high


def test_the_error_is_the_weighted_gap_of_the_curve() -> None:
    found, _ = planted(300, 3, slope=2)
    points = reliability_curve(found)
    error = calibration_error(found)
    assert error.bins == len(points)
    assert error.ece == pytest.approx(sum(p.n / 300 * abs(p.probability - p.share.value) for p in points))
    assert error.excess.value == pytest.approx(error.ece - error.perfect)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("n", "expected"), [(60, 0.137), (150, 0.088), (500, 0.048)])
def test_a_perfect_judge_shows_a_plug_in_error(n: int, expected: float) -> None:
    """Known from public experience for 15 bins of equal mass; how spread the probabilities were there is not."""
    found, _ = planted(n, 4, digits=12, spread=1.8)
    error = calibration_error(found, bins=15)
    assert error.perfect == pytest.approx(expected, rel=0.15)
    shown, random = [], np.random.default_rng(99)
    for _ in range(150):
        labels = (random.random(n) < found.event[0]).astype(float)
        shown.append(calibration_error(pairs(found.event[0], labels), bins=15).ece)
    assert np.mean(shown) == pytest.approx(error.perfect, rel=0.05)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [100, 500])
def test_the_excess_of_a_perfect_judge_holds_0(n: int) -> None:
    errors = [calibration_error(planted(n, seed)[0], seed=seed) for seed in range(200)]
    assert np.mean([error.over for error in errors]) <= 0.05
    assert np.mean([error.excess.value for error in errors]) == pytest.approx(0, abs=0.006)
    assert all(error.excess.high >= max(0.0, error.excess.value) for error in errors if error.excess.high is not None)


@pytest.mark.slow
def test_the_interval_of_the_excess_holds_the_true_error() -> None:
    truth = float(
        np.abs(sigmoid(2 * (z := np.random.default_rng(0).normal(0, 1.5, 100_000)) + 0.8) - sigmoid(z)).mean()
    )
    for n in (100, 500):
        errors = [calibration_error(planted(n, seed, slope=2, bias=0.8)[0]).excess for seed in range(100)]
        assert np.mean([error.low <= truth <= error.high for error in errors]) >= 0.95  # type: ignore[operator]
    assert np.mean([error.low > 0 for error in errors]) > 0.95  # type: ignore[operator]


def test_the_error_of_an_unbiased_coin_that_says_half_is_none() -> None:
    error = calibration_error(pairs(np.full(200, 0.5), np.tile([1.0, 0.0], 100)))
    assert error.ece == 0
    assert not error.over


def test_ever_more_draws_are_made_in_parts() -> None:
    error = calibration_error(planted(2500, 5)[0])
    assert error.perfect == pytest.approx(0.022, abs=0.005)


def soft_and_clustered(seed: int, *, copies: int = 1, raters: int | None = None, cases: int = 300) -> Forecasts:
    random = np.random.default_rng(seed)
    p = sigmoid(random.normal(0, 1.5, cases))
    y = (random.random(cases) < p).astype(float) if raters is None else random.binomial(raters, p) / raters
    keys = tuple(np.repeat(np.arange(cases), copies).tolist())
    return pairs(np.repeat(p, copies), np.repeat(y, copies), keys)


def test_soft_labels_are_less_noisy_and_copies_are_no_further_labels() -> None:
    soft = [calibration_error(soft_and_clustered(seed, raters=20)) for seed in range(60)]
    single = calibration_error(soft_and_clustered(0))
    copied = [calibration_error(soft_and_clustered(seed, copies=5, cases=100), bins=5) for seed in range(60)]
    alone = calibration_error(soft_and_clustered(0, cases=100), bins=5)
    assert np.mean([error.perfect for error in soft]) == pytest.approx(single.perfect / 20**0.5, rel=0.1)
    assert np.mean([error.perfect for error in copied]) == pytest.approx(alone.perfect, rel=0.2)
    for errors in (soft, copied):
        assert np.mean([error.over for error in errors]) <= 0.1


def test_noise_that_cannot_be_told_is_that_of_single_labels() -> None:
    one = pairs(np.array([0.5, 0.7]), np.array([1.0, 0.0]), ("a", "a"))
    assert calibration_error(one).perfect == pytest.approx(0.25, abs=0.1)
