"""Intervals and exact tests of shares, against statsmodels, scipy and enumeration."""

from __future__ import annotations

import time
from math import comb

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from judgeharness_integrations.analysis.statistics.proportions import (
    above_test,
    clopper_pearson,
    exact_interval,
    jeffreys,
    sign_test,
    unchanged_bound,
    whole,
    wilson,
    wilson_of,
    worth_of,
)


@given(st.integers(0, 120), st.integers(0, 120))
def test_the_sign_test_is_scipys_binomial_test(first: int, second: int) -> None:
    p = sign_test(first, second)
    if first + second == 0:
        assert p is None
    else:
        assert p == pytest.approx(stats.binomtest(first, first + second, 0.5).pvalue, rel=1e-10)


def test_the_sign_test_of_the_documented_example() -> None:
    assert sign_test(32, 13) == pytest.approx(stats.binomtest(32, 45).pvalue)
    assert sign_test(5, 5) == 1.0


@pytest.mark.untraced
def test_the_sign_test_of_a_large_log_is_affordable() -> None:
    started = time.thread_time()
    assert sign_test(20_000, 20_100) == pytest.approx(stats.binomtest(20_000, 40_100).pvalue, rel=1e-8)
    assert time.thread_time() - started < 5


@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_wilson_interval_is_statsmodels(trials: int, share: float, confidence: float) -> None:
    successes = round(share * trials)
    ours = wilson(successes, trials, confidence=confidence)
    theirs = proportion_confint(successes, trials, alpha=1 - confidence, method="wilson")
    assert ours == pytest.approx(theirs, abs=1e-10)
    assert ours is not None
    assert 0 <= ours[0] <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= ours[1] <= 1


def test_an_interval_without_trials_is_none() -> None:
    assert wilson(0, 0) is None


@pytest.mark.parametrize("trials", [20, 30, 50])
def test_the_wilson_interval_covers_what_it_promises(trials: int) -> None:
    intervals = [wilson(k, trials) for k in range(trials + 1)]
    grid = [0.05 * step for step in range(2, 19)]
    coverage = []
    for truth in grid:
        inside = [k for k, bounds in enumerate(intervals) if bounds and bounds[0] <= truth <= bounds[1]]
        coverage.append(sum(comb(trials, k) * truth**k * (1 - truth) ** (trials - k) for k in inside))
    assert 0.935 <= sum(coverage) / len(coverage) <= 0.97
    assert min(coverage) >= 0.91


@given(st.integers(0, 80), st.integers(1, 80), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_exact_interval_is_that_of_statsmodels(hits: int, n: int, confidence: float) -> None:
    hits = min(hits, n)
    expected = proportion_confint(hits, n, alpha=1 - confidence, method="beta")
    assert clopper_pearson(hits, n, confidence=confidence) == pytest.approx(expected)


@example(n=1, share=5e-324)
@given(st.integers(1, 80), st.floats(0, 1))
def test_a_fraction_of_a_hit_lies_between_whole_ones(n: int, share: float) -> None:
    low, high = clopper_pearson(share * n, n)
    below, above = clopper_pearson(int(share * n), n), clopper_pearson(min(n, int(share * n) + 1), n)
    assert low <= share + 1e-12
    assert share - 1e-12 <= high
    assert below[0] - 1e-12 <= low <= above[0] + 1e-12
    assert below[1] - 1e-12 <= high <= above[1] + 1e-12


@given(st.integers(0, 60), st.integers(1, 60), st.floats(0.01, 0.99))
def test_a_share_above_a_limit_is_the_binomial_test(hits: int, n: int, share: float) -> None:
    hits = min(hits, n)
    assert above_test(hits, n, share) == pytest.approx(stats.binomtest(hits, n, share, alternative="greater").pvalue)


def test_a_sum_of_shares_is_rounded_down_but_not_by_floating_point() -> None:
    assert above_test(5.9, 20, 0.1) == above_test(5, 20, 0.1) > above_test(6, 20, 0.1)
    assert whole(sum([0.1] * 30)) == 3
    assert above_test(0.9, 20, 0.1) == above_test(0, 0, 0.1) == 1.0
    assert above_test(1, 20, 0.0) == 0.0


@pytest.mark.parametrize("n", [1, 10, 50])
def test_what_no_item_shows_is_bounded_as_clopper_and_pearson_do(n: int) -> None:
    assert unchanged_bound(n) == pytest.approx(proportion_confint(0, n, method="beta")[1])


def test_without_trials_the_exact_interval_is_everything() -> None:
    assert clopper_pearson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("hits", "n"), [(3, 10), (20, 50), (49, 50)])
def test_the_interval_under_jeffreys_prior_is_that_of_statsmodels(hits: int, n: int) -> None:
    assert jeffreys(hits, n) == pytest.approx(proportion_confint(hits, n, method="jeffreys"))


def test_under_jeffreys_prior_nothing_and_everything_are_possible_ends() -> None:
    assert (jeffreys(0, 10)[0], jeffreys(10, 10)[1]) == (0.0, 1.0)


@given(st.integers(1, 200), st.floats(0, 1))
def test_wilsons_interval_of_independent_trials_is_worth_their_number(trials: int, share: float) -> None:
    successes = round(share * trials)
    low, high = wilson(successes, trials) or (0.0, 0.0)
    assert worth_of(successes / trials, low, high) == trials


def test_an_interval_that_says_nothing_is_worth_nothing() -> None:
    assert worth_of(0.5, 0.0, 1.0) == 0.0


def test_a_wider_quantile_makes_trials_worth_less() -> None:
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, 4)
    assert worth_of(0.3, *wilson_of(0.3, 40.0, t)) == pytest.approx(40 * (z / t) ** 2)


def test_the_exact_interval_of_a_rate_is_that_of_its_hits() -> None:
    assert exact_interval(0.25, 40) == clopper_pearson(10, 40)
