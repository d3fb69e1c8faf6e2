"""Chances of counts, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from judgeharness_integrations.analysis.statistics.paired import beta_binomial, binomial, likely_counts, log_ways


def test_the_ways_to_choose_are_their_logarithm() -> None:
    assert np.exp(log_ways(9, np.arange(10))) == pytest.approx([math.comb(9, k) for k in range(10)])


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.3, 1 - 1e-9, 1.0])
def test_binomial_chances_are_scipys(share: float) -> None:
    assert binomial(np.arange(41), 40, share) == pytest.approx(stats.binom.pmf(np.arange(41), 40, share), abs=1e-13)


def test_each_share_has_its_own_binomial_chances() -> None:
    shares = np.array([[0.2], [0.7]])
    assert binomial(np.arange(6), 5, shares) == pytest.approx(stats.binom.pmf(np.arange(6), 5, shares))


def test_beta_binomial_chances_are_scipys() -> None:
    one, other = np.array([[0.5], [8.0]]), np.array([[2.0], [1.5]])
    expected = stats.betabinom.pmf(np.arange(13), 12, one, other)
    assert beta_binomial(np.arange(13), 12, one, other) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "share"), [(10, 0.5), (5_000, 0.02), (100_000, 0.4), (30, 1.0)])
def test_counts_that_are_left_out_have_no_chance_worth_adding(n: int, share: float) -> None:
    counts = likely_counts(n, share)
    assert binomial(counts, n, share).sum() == pytest.approx(1.0, abs=1e-9)
