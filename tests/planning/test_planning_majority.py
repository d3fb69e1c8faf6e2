"""What repetitions buy a decision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.analysis.planning import Components, majority_risk


def beta_components(a: float, b: float) -> tuple[float, Components]:
    mean, between = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    return mean, Components(cases=between, repetitions=mean * (1 - mean) - between)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("a", "b"), [(2.0, 1.0), (0.5, 0.3), (8.0, 8.0)])
@pytest.mark.parametrize("samples", [1, 4, 5])
def test_the_risk_is_what_a_simulation_finds(a: float, b: float, samples: int) -> None:
    rng = np.random.default_rng(2)
    rates = rng.beta(a, b, 200_000)
    positive = rng.binomial(samples, rates)
    differs = np.where(rates > 0.5, 2 * positive < samples, 2 * positive > samples)
    found = majority_risk(*beta_components(a, b), samples)
    assert found.differs == pytest.approx(float(differs.mean()), abs=0.004)
    assert found.tied == pytest.approx(float((2 * positive == samples).mean()), abs=0.004)


@given(st.floats(0.2, 20), st.floats(0.2, 20), st.integers(1, 8))
def test_two_more_samples_never_do_harm(a: float, b: float, half: int) -> None:
    mean, parts = beta_components(a, b)
    here, more = (majority_risk(mean, parts, n) for n in (2 * half - 1, 2 * half + 1))
    assert more.differs <= here.differs + 1e-9
    assert here.tied == 0.0


@given(st.floats(0.2, 20), st.floats(0.2, 20), st.integers(1, 8))
def test_with_a_tie_as_half_one_more_sample_never_does_harm(a: float, b: float, half: int) -> None:
    mean, parts = beta_components(a, b)
    odd, even = (majority_risk(mean, parts, n) for n in (2 * half - 1, 2 * half))
    assert even.differs + even.tied / 2 == pytest.approx(odd.differs)


def test_cases_that_always_say_the_same_need_one_sample() -> None:
    assert majority_risk(0.7, Components(cases=0.21), 1).differs == 0.0
    assert majority_risk(1.0, Components(cases=0.0, repetitions=0.1), 3).differs == 0.0


def test_cases_that_are_all_alike_are_binomial() -> None:
    found = majority_risk(0.7, Components(cases=0.0, repetitions=0.21), 3)
    assert found.differs == pytest.approx(0.3**3 + 3 * 0.7 * 0.3**2)
    assert majority_risk(0.3, Components(cases=0.0, repetitions=0.21), 2).tied == pytest.approx(2 * 0.3 * 0.7)
