"""Items that belong together: their error, their sums and what they are worth, against scipy and by hand."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.statistics.means import (
    ClusterSums,
    careful_effect,
    cluster_degrees,
    cluster_sums,
    clustered_error,
    effect_of_copies,
    effective_number,
    estimate,
    t_quantile,
)
from judgeharness_integrations.analysis.statistics.proportions import Tally, exact_interval, wilson_of, worth_of


def test_a_clustered_error_of_singles_is_that_of_a_mean() -> None:
    values = np.random.default_rng(1).normal(size=30)
    found = clustered_error((values - values.mean()).tolist(), range(30))
    assert found == (pytest.approx(stats.sem(values)), 29)


def test_a_clustered_error_of_equal_clusters_is_that_of_their_means() -> None:
    values = np.random.default_rng(2).normal(size=(12, 5))
    found = clustered_error((values - values.mean()).ravel().tolist(), np.repeat(np.arange(12), 5).tolist())
    assert found == (pytest.approx(stats.sem(values.mean(1))), 11)


@pytest.mark.parametrize(("values", "keys"), [([0.0, 0.0, 0.0], [1, 2, 3]), ([1.0, -1.0], ["a", "a"]), ([], [])])
def test_what_does_not_vary_or_is_one_cluster_has_no_error(values: list[float], keys: list[object]) -> None:
    assert clustered_error(values, keys) is None  # type: ignore[arg-type]
    assert estimate(0.5, values, keys).low is None  # type: ignore[arg-type]


def by_hand(values: list[float], keys: list[int]) -> float:
    """The design effect as it is described: weighted sums over items and pairs of items, the halves among them."""
    sizes = Counter(keys)
    size = sum(sizes[key] for key in keys) / len(keys)
    shown = np.array([*values, 1.0, 0.0])
    weights = np.array([1.0] * len(values) + [size / 2] * 2)
    off = shown - weights @ shown / weights.sum()
    between = sum(sum(off[place] for place, one in enumerate(keys) if one == key) ** 2 for key in sizes)
    between += size**2 / 2 * (off[-1] ** 2 + off[-2] ** 2)
    differ = sum((values[i] - values[j]) ** 2 / 2 for i, j in permutations(range(len(keys)), 2) if keys[i] == keys[j])
    pairs = sum(n * (n - 1) for n in sizes.values()) + size * (size - 1)
    alike = 1 - differ / pairs / (weights @ off**2 / weights.sum())
    return max(1.0, between / (weights @ off**2), 1 + (size - 1) * alike)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=40))
def test_a_tally_is_worth_its_trials_over_the_design_effect(trials: list[tuple[bool, int]]) -> None:
    tally = Tally()
    for hit, key in trials:
        tally.add(hit=hit, cluster=key)
    hits, keys = [float(hit) for hit, _ in trials], [key for _, key in trials]
    if len(set(keys)) in {1, len(keys)}:
        return
    effect, degrees = by_hand(hits, keys), cluster_degrees(Counter(keys).values())
    assert ClusterSums.of(hits, keys).design_effect == pytest.approx(effect)
    assert tally.interval() == pytest.approx(
        wilson_of(sum(hits) / len(hits), len(hits) / effect, t_quantile(degrees)), abs=1e-12
    )


def test_shares_have_the_design_effect_of_their_values() -> None:
    values, keys = np.random.default_rng(3).random(30).tolist(), [n % 7 for n in range(30)]
    assert ClusterSums.of(values, keys).design_effect == pytest.approx(by_hand(values, keys))
    assert ClusterSums.of(values, range(30)).design_effect == 1.0


@pytest.mark.parametrize("hits", [0, 3, 4, 8])
def test_copies_are_worth_their_clusters_whatever_is_seen(hits: int) -> None:
    values = [float(number < hits) for number in range(8)] * 20
    assert ClusterSums.of(values, [*range(8)] * 20).design_effect == pytest.approx(20)


def test_three_large_clusters_without_an_error_do_not_count_as_ninety_cases() -> None:
    """90 hits in three clusters and 56 of 60 single ones: linearised about their own rate they were worth 70."""
    rate = Rate.over([True] * 146 + [False] * 4, [n // 30 if n < 90 else n for n in range(150)])
    assert rate is not None
    assert (rate.low, rate.high) == pytest.approx((0.56446, 0.99903), abs=1e-5)
    assert worth_of(rate.value, rate.low, rate.high) == pytest.approx(5.649, abs=1e-3)


@pytest.mark.parametrize(("effect", "rate"), [(1.0, 0.5), (1.8, 0.9), (4.0, 0.3), (1.0, 1.0), (5.6, 0.5)])
def test_a_study_is_foreseen_with_the_effect_it_will_have(effect: float, rate: float) -> None:
    """Clusters of four, of hits and misses as alike as the effect says."""
    mixed = (4 - effect) / 3 * rate * (1 - rate) * 12  # what items of a cluster differ by
    sums = ClusterSums(
        items=80,
        total=80 * rate,
        squares=80 * rate,
        sizes_squared=320,
        totals_squared=320 * rate - 20 * mixed,
        products=320 * rate,
        nested=320 * rate,
    )
    assert careful_effect(effect, rate, items=80, size=4) == pytest.approx(sums.design_effect)


def level(sizes: list[int], rate: float, correlation: float, studies: int) -> tuple[float, float, float]:
    """How often a gate passes at the bar, from below and from above, and how often the printed interval covers."""
    rng, count = np.random.default_rng(22), len(sizes)
    spread = (1 - correlation) / max(correlation, 1e-9)
    if correlation == 1:
        rates = (rng.random((studies, count)) < rate).astype(float)
    else:
        rates = rng.beta(rate * spread, (1 - rate) * spread, (studies, count))
    drawn, times = np.unique(rng.binomial(sizes, rates), axis=0, return_counts=True)
    keys = [key for key, size in enumerate(sizes) for _ in range(size)]
    over = under = covered = 0.0
    for row, share in zip(drawn.tolist(), times / studies, strict=True):
        found = Rate.over([k < hits for hits, size in zip(row, sizes, strict=True) for k in range(size)], keys)
        assert found is not None
        low, high = exact_interval(found.value, worth_of(found.value, found.low, found.high))
        over += share * (low > rate)
        under += share * (high < rate)
        covered += share * (found.low <= rate <= found.high)
    return over, under, covered


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "rate", "correlation"),
    [
        ([30] * 3 + [1] * 60, 0.75, 1.0),  # .23 passed, .75 covered
        ([30] * 3 + [1] * 60, 0.9, 0.3),
        ([20] * 10, 0.95, 0.3),  # .09 passed
        ([10] * 6 + [2] * 40, 0.75, 1.0),
        ([5] * 20, 0.9, 0.3),
    ],
)
def test_a_judge_at_the_bar_passes_as_rarely_as_stated_however_its_cases_are_clustered(
    sizes: list[int], rate: float, correlation: float
) -> None:
    studies = 2_000
    over, under, covered = level(sizes, rate, correlation, studies)
    assert max(over, under) <= 0.025 + 2.6 * math.sqrt(0.025 * 0.975 / studies)
    assert covered >= 0.93 - 2.6 * math.sqrt(0.07 * 0.93 / studies)


@pytest.mark.parametrize(("sizes", "worth"), [([3, 3, 3], 3.0), ([1], 1.0), ([9, 1], 100 / 82)])
def test_clusters_weigh_as_much_as_so_many_of_one_size(sizes: list[int], worth: float) -> None:
    assert effective_number(sizes) == pytest.approx(worth)


def test_copies_divide_the_number_of_items_by_their_mean_size_weighted_with_it() -> None:
    assert effect_of_copies([2, 2, 2]) == 2.0
    assert effect_of_copies([1, 5]) == pytest.approx(26 / 6)


def test_items_are_worth_the_effective_number_of_their_clusters() -> None:
    sizes = [4, 1, 7]
    assert sum(sizes) / effect_of_copies(sizes) == pytest.approx(effective_number(sizes))


def test_values_are_summed_by_cluster() -> None:
    values = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    assert cluster_sums(values, np.array([1, 0, 1])).tolist() == [[2.0, 20.0], [5.0, 50.0]]
