"""How many labels a width takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.planning import corrected_labels, wilson_labels, wilson_width


@pytest.mark.parametrize(("successes", "n"), [(8, 10), (45, 50), (0, 20), (300, 1000), (20, 20)])
def test_the_width_is_that_of_wilsons_interval(successes: int, n: int) -> None:
    low, high = proportion_confint(successes, n, method="wilson")
    assert wilson_width(successes / n, n) == pytest.approx(high - low)


@given(st.floats(0, 1), st.sampled_from([0.02, 0.1, 0.5, 0.9]))
def test_the_labels_are_the_fewest_that_give_the_width(rate: float, width: float) -> None:
    n = wilson_labels(rate, width)
    assert n is not None
    assert wilson_width(rate, n) <= width
    assert n == 1 or wilson_width(rate, n - 1) > width


def test_known_numbers() -> None:
    assert wilson_labels(0.8, 0.1) == 245
    assert wilson_labels(0.5, 0.1) == 381
    assert wilson_labels(0.5, 0.0001) is None


@pytest.mark.parametrize(
    ("rate", "width"), [(1.1, 0.1), (-0.1, 0.1), (0.5, 0), (0.5, 1), (math.nan, 0.1), (0.5, math.nan)]
)
def test_what_is_no_share_is_refused(rate: float, width: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        wilson_labels(rate, width)
    with pytest.raises(UsageError, match="between 0 and 1"):
        corrected_labels(rate=rate, sensitivity=0.9, specificity=0.9, cases=1000, width=width)


def delta_width(rate: float, q1: float, q0: float, m1: int, m0: int) -> float:
    p = rate * q1 + (1 - rate) * (1 - q0)
    variance = p * (1 - p) / 5000 + (1 - rate) ** 2 * q0 * (1 - q0) / m0 + rate**2 * q1 * (1 - q1) / m1
    return 2 * 1.959964 * math.sqrt(variance) / abs(q0 + q1 - 1)


@pytest.mark.parametrize(("rate", "q1", "q0"), [(0.6, 0.9, 0.8), (0.2, 0.7, 0.95), (0.5, 0.85, 0.85)])
def test_no_other_division_of_labels_is_cheaper(rate: float, q1: float, q0: float) -> None:
    found = corrected_labels(rate=rate, sensitivity=q1, specificity=q0, cases=5000, width=0.12)
    assert found.positives is not None
    assert found.negatives is not None
    assert delta_width(rate, q1, q0, found.positives, found.negatives) <= 0.12 + 1e-6
    total = found.positives + found.negatives
    best = min(delta_width(rate, q1, q0, m1, total - 3 - m1) for m1 in range(1, total - 3))
    assert best > 0.12


def test_the_width_is_what_a_simulation_finds() -> None:
    rng = np.random.default_rng(4)
    rate, q1, q0, n = 0.6, 0.9, 0.8, 2000
    found = corrected_labels(rate=rate, sensitivity=q1, specificity=q0, cases=n, width=0.12)
    m1, m0 = found.positives or 0, found.negatives or 0
    s1, s0 = rng.binomial(m1, q1, 20_000) / m1, rng.binomial(m0, q0, 20_000) / m0
    p = rng.binomial(n, found.judged_rate, 20_000) / n
    theta = (p + s0 - 1) / (s0 + s1 - 1)
    assert 2 * 1.96 * float(theta.std()) == pytest.approx(0.12, rel=0.04)


def test_too_few_cases_cannot_be_mended_by_labels() -> None:
    found = corrected_labels(rate=0.6, sensitivity=0.9, specificity=0.8, cases=100, width=0.1)
    assert (found.positives, found.negatives) == (None, None)
    assert found.fewest_cases is not None
    enough = corrected_labels(rate=0.6, sensitivity=0.9, specificity=0.8, cases=found.fewest_cases, width=0.1)
    short = corrected_labels(rate=0.6, sensitivity=0.9, specificity=0.8, cases=found.fewest_cases - 1, width=0.1)
    assert enough.positives is not None
    assert short.positives is None


def test_a_judge_no_better_than_chance_cannot_be_corrected() -> None:
    found = corrected_labels(rate=0.6, sensitivity=0.5, specificity=0.5, cases=1000, width=0.1)
    assert (found.positives, found.fewest_cases) == (None, None)
    perfect = corrected_labels(rate=0.6, sensitivity=1, specificity=1, cases=1000, width=0.1)
    assert (perfect.positives, perfect.negatives) == (1, 1)
    with pytest.raises(UsageError, match="cases must be a whole number of at least 1"):
        corrected_labels(rate=0.6, sensitivity=1, specificity=1, cases=0, width=0.1)
