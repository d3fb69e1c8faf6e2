"""Items that belong together: their error, their sums and what they are worth, against scipy and by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgeharness_integrations.analysis.statistics.clusters import (
    cluster_degrees,
    cluster_sums,
    clustered_error,
    effect_of_copies,
    effective_number,
)
from judgeharness_integrations.analysis.statistics.means import estimate, t_quantile
from judgeharness_integrations.analysis.statistics.proportions import wilson_of
from judgeharness_integrations.analysis.statistics.tally import Tally


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


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=40))
def test_a_tally_has_the_clustered_error_of_its_trials(trials: list[tuple[bool, int]]) -> None:
    tally = Tally()
    for hit, key in trials:
        tally.add(hit=hit, cluster=key)
    hits, keys = [hit for hit, _ in trials], [key for _, key in trials]
    n, rate, clusters = len(hits), sum(hits) / len(hits), len(set(keys))
    found = clustered_error([hit - rate for hit in hits], keys)
    if clusters in {1, n} or rate in {0, 1}:
        return
    effective = n if found is None else n * min(1, rate * (1 - rate) / (n - 1) / found[0] ** 2)
    degrees = cluster_degrees(Counter(keys).values())
    assert tally.interval() == pytest.approx(wilson_of(rate, effective, t_quantile(degrees)))


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
