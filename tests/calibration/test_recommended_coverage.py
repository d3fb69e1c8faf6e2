"""What is recommended covers at the worst points of a wide grid: 4,000 studies each, seeded."""

from __future__ import annotations

import numpy as np
import pytest

from judgeharness_integrations.testing.selftest.agreement import KAPPAS
from judgeharness_integrations.testing.selftest.correctedrates import CORRECTED_RATES

STUDIES = 4_000
CHECKS = {check.name: check for check in (*CORRECTED_RATES, *KAPPAS)}
RATE = "corrected rate: recommended for a random sample of labels"
KAPPA = "calibration: Cohen's kappa"


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
    point = {"n": n, "labels": labels, "rate": rate, "sensitivity": sensitivity, "specificity": specificity}
    low, high, truth = CHECKS[name].simulate(point, STUDIES, np.random.default_rng(17))  # type: ignore[union-attr, arg-type]
    told = ~np.isnan(low)
    assert told.mean() > 0.8
    assert ((low <= truth) & (truth <= high))[told].mean() >= 0.93
