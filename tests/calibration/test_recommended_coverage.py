"""What is recommended covers at the worst points of a wide grid: 4,000 studies each, seeded."""

from __future__ import annotations

import numpy as np
import pytest

from judgeharness_integrations.testing.selftest.agreement import KAPPAS
from judgeharness_integrations.testing.selftest.proportions import CORRECTED_RATES

STUDIES = 4_000
Truth = tuple[float, float, float]  # rate, sensitivity and specificity
CHECKS = {check.name: check for check in (*CORRECTED_RATES, *KAPPAS)}
RATE = "corrected rate: recommended for a random sample of labels"
KAPPA = "calibration: Cohen's kappa"


def coverage(name: str, n: int, labels: int, truth: Truth) -> float:
    """The share of studies whose interval holds the truth, of those that print one."""
    point = {"n": n, "labels": labels} | dict(zip(("rate", "sensitivity", "specificity"), truth, strict=True))
    low, high, planted = CHECKS[name].simulate(point, STUDIES, np.random.default_rng(17))  # type: ignore[union-attr, misc]
    told = ~np.isnan(low)
    assert told.mean() > 0.8
    return float(((low <= planted) & (planted <= high))[told].mean())


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize(
    ("name", "n", "labels", "rate", "sensitivity", "specificity"),
    [
        (RATE, 1000, 100, 0.04, 0.6, 0.6),
        (RATE, 5000, 100, 0.02, 0.98, 0.98),
        (RATE, 12_500, 250, 0.04, 0.6, 0.98),
        (RATE, 4000, 200, 0.98, 0.98, 0.8),
        (KAPPA, 100, 0, 0.05, 0.6, 0.8),
        (KAPPA, 100, 0, 0.02, 0.98, 0.8),
        (KAPPA, 300, 0, 0.98, 0.98, 0.98),
    ],
)
def test_the_recommended_interval_covers(  # noqa: PLR0917 - a planted truth
    name: str, n: int, labels: int, rate: float, sensitivity: float, specificity: float
) -> None:
    """PPI++ covers .86 to .92 at such rates; kappa +- 1.96 standard errors as little as .26."""
    assert coverage(name, n, labels, (rate, sensitivity, specificity)) >= 0.93


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize(("name", "n", "labels"), [(RATE, 1000, 12), (RATE, 1000, 40), (KAPPA, 25, 0), (KAPPA, 40, 0)])
def test_of_fewer_than_100_labels_no_point_is_far_below_and_the_mean_of_neighbours_is_not(
    name: str, n: int, labels: int
) -> None:
    truths = [(rate, *shares) for rate in (0.1, 0.3, 0.5, 0.9) for shares in ((0.6, 0.8), (0.9, 0.9))]
    found = [coverage(name, n, labels, truth) for truth in truths]
    assert min(found) >= 0.91
    assert np.mean(found) >= 0.94
