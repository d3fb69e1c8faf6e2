"""McNemar's mid-p test, paired means, label shares, Holm and power, against other implementations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nct, t, ttest_rel
from statsmodels.stats.contingency_tables import SquareTable

from judgeharness_integrations.analysis.comparison.comparing import first_levels
from judgeharness_integrations.analysis.comparison.difference import (
    PowerBasis,
    compared_means,
    compared_shares,
    exchanged_mean,
    homogeneity_p,
    power_basis,
    stuart_maxwell,
)
from judgeharness_integrations.analysis.statistics.paired import tango_interval


def test_paired_means_are_those_of_scipy() -> None:
    random = np.random.default_rng(3)
    before = random.normal(5, 2, 40).tolist()
    after = (np.array(before) + random.normal(0.3, 1, 40)).tolist()
    found = compared_means("mean_score", before, after, range(40), span=9.0)
    expected = ttest_rel(after, before)
    interval = expected.confidence_interval()
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert (found.clusters, found.method) == (None, "paired t test and interval")


def test_clusters_widen_the_interval_of_shares() -> None:
    before, after = [True] * 12 + [False] * 12, [False] * 4 + [True] * 8 + [False] * 12
    alone = compared_shares("positive_rate", before, after, range(24), of="PASS")
    together = compared_shares("positive_rate", before, after, [place // 4 for place in range(24)], of="PASS")
    assert (alone.difference, together.difference) == (pytest.approx(-1 / 6), pytest.approx(-1 / 6))
    assert together.clusters == 6
    assert together.of == alone.of == "PASS"
    assert together.low < alone.low < alone.high < together.high
    assert together.p > alone.p
    assert together.p == pytest.approx(1.0)  # one cluster changed: with either sign it is as far from zero
    basis = power_basis(together, level=0.04, significant=False)
    assert basis.detectable() > 0.3


def test_equal_changes_are_tested_by_sign_and_show_no_spread() -> None:
    fell = compared_means("mean_score", [3.0] * 8, [2.0] * 8, range(8), span=4.0)
    assert (fell.difference, fell.p) == (-1.0, pytest.approx(2 * 0.5**8))
    assert fell.low < -1.0 < fell.high
    same = compared_means("mean_score", [3.0] * 8, [3.0] * 8, range(8), span=4.0)
    assert (same.difference, same.p) == (0.0, 1.0)
    assert power_basis(same, level=0.04, significant=False) is None
    one_cluster = compared_means("mean_score", [1.0, 2.0], [2.0, 5.0], ["c", "c"])
    assert one_cluster.p == 1.0


def test_nothing_to_compare_is_none() -> None:
    assert compared_shares("right_of_labelled", [], [], []).p is None
    empty = compared_means("mean_score", [], [], [])
    assert (empty.n, empty.difference, empty.p) == (0, None, None)
    assert power_basis(empty, level=0.04, significant=False) is None


def test_shares_of_clusters_differ_by_no_more_than_all() -> None:
    found = compared_shares("positive_rate", [True] * 24, [False] * 24, [place // 4 for place in range(24)])
    assert (found.difference, found.low) == (-1.0, -1.0)
    assert found.high is not None
    assert found.high < 0


def test_clusters_change_places_as_a_whole() -> None:
    changes, clusters = [1.0, 2, 1, -1, 3, 2, 1, 1, 2, 2], list("aabbccddee")
    sums = [3, 0, 5, 2, 4]
    extreme = [
        abs(sum(s * x for s, x in zip(signs, sums, strict=True))) >= 14
        for signs in itertools.product((-1, 1), repeat=5)
    ]
    p, (low, high) = exchanged_mean(changes, clusters, span=3.0, seed=0)
    assert p == pytest.approx(np.mean(extreme), abs=0.01)
    assert exchanged_mean([-one for one in changes], clusters, span=3.0, seed=0) == (p, (-high, -low))
    assert (low, high) == (-3.0, 3.0)  # two exchanges of 32 leave everything possible


@pytest.mark.parametrize("sizes", [(1,) * 9, (4,) * 8, (1, 2, 3, 4, 5, 6, 7, 8)])
def test_an_interval_of_clusters_is_what_their_exchange_does_not_reject(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(sum(sizes))
    clusters = [key for key, size in enumerate(sizes) for _ in range(size)]
    changes = generator.normal(0.6, 1.0, len(clusters))
    low, high = exchanged_mean(changes.tolist(), clusters, span=9.0, seed=1)[1]

    def p_of(change: float) -> float:
        """Every exchange of what is left without the change, one by one."""
        sums = np.bincount(clusters, weights=changes - change)
        drawn = np.array(list(itertools.product((-1, 1), repeat=len(sizes)))) @ sums
        return float(np.mean(np.abs(drawn) >= abs(sums.sum()) - 1e-9))

    inside, outside = np.linspace(low, high, 9), (low - 0.1 * (high - low), high + 0.1 * (high - low))
    assert min(p_of(change) for change in inside[1:-1]) > 0.045
    assert max(p_of(change) for change in outside) < 0.055
    assert min(p_of(change) for change in outside) < max(p_of(change) for change in inside)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=40))
def test_of_clusters_as_well_zero_lies_outside_exactly_where_the_test_rejects_it(
    cases: list[tuple[int, int, int]],
) -> None:
    before, after, clusters = zip(*cases, strict=True)
    if len(set(clusters)) == len(clusters):
        return
    found = compared_means("mean_error", before, after, clusters)
    outside = found.low > 0 or found.high < 0
    assert outside == (found.p < 0.05) or found.method.startswith("sign test")
    assert found.low <= found.difference <= found.high


@pytest.mark.slow
def test_of_every_small_table_zero_lies_outside_the_interval_exactly_where_p_is_below_the_level() -> None:
    corrected = 0
    for n in range(1, 26):
        for rose, fell in ((one, two) for one in range(n + 1) for two in range(n + 1 - one)):
            before = [False] * rose + [True] * fell + [False] * (n - rose - fell)
            after = [True] * rose + [False] * fell + [False] * (n - rose - fell)
            found = compared_shares("positive_rate", before, after, range(n))
            assert (found.low > 0 or found.high < 0) == (found.p < 0.05), (n, rose, fell)
            low, high = tango_interval(rose, fell, n)
            assert (found.low, found.high) in {(low, high), (0.0, high), (low, 0.0)}
            corrected += (found.low, found.high) != (low, high)
    assert corrected == 54  # tables of which Tango's interval alone says otherwise than the mid-p value


def test_four_of_24_changed_one_way_are_no_proof_and_the_interval_says_so() -> None:
    found = compared_shares("positive_rate", [True] * 4 + [False] * 20, [False] * 24, range(24))
    assert (found.p, found.high) == (0.0625, 0.0)
    assert found.low == pytest.approx(-0.359, abs=5e-4)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_changing_before_and_after_negates_a_difference(pairs: list[tuple[bool, bool]]) -> None:
    before, after = zip(*pairs, strict=True)
    there = compared_shares("positive_rate", before, after, range(len(pairs)))
    back = compared_shares("positive_rate", after, before, range(len(pairs)))
    assert back.difference == -there.difference
    assert (back.low, back.high) == (pytest.approx(-there.high), pytest.approx(-there.low))
    assert (back.p, back.rose, back.fell) == (there.p, there.fell, there.rose)


@pytest.mark.parametrize(("degrees", "distance"), [(3.0, 2.0), (39.0, 2.5), (400.0, 3.0), (4.0, 9.0), (60.0, 7.5)])
def test_the_power_of_the_t_test_is_that_of_the_noncentral_t(degrees: float, distance: float) -> None:
    basis = PowerBasis(n=50, level=0.04, error=0.5, degrees=degrees, span=10.0)
    critical = t.ppf(0.98, degrees)
    expected = nct.sf(critical, degrees, distance) + nct.cdf(-critical, degrees, distance)
    assert basis.power(distance * 0.5 / 10) == pytest.approx(expected, abs=0.01 if distance > 7 else 1e-6)


def test_detectable_means_and_cases_of_means() -> None:
    basis = PowerBasis(n=50, level=0.05, error=0.2, degrees=49.0, span=5.0)
    found = basis.detectable()
    assert found == pytest.approx(0.2 * 2.86, abs=0.01)
    assert basis.power(found / 5) == pytest.approx(0.8, abs=1e-3)
    cases = basis.cases(found / 5)
    assert cases == pytest.approx(50, abs=3)
    assert basis.cases(1e-5) is None
    assert PowerBasis(n=3, level=0.05, error=4.0, degrees=2.0, span=5.0).detectable() is None


def test_the_exchange_is_what_is_left_when_a_change_was_found() -> None:
    fell = compared_shares(
        "positive_rate", [True] * 12 + [False] * 12, [False] * 10 + [True] * 2 + [False] * 10 + [True] * 2, range(24)
    )
    assert (fell.rose, fell.fell) == (2, 10)
    assert power_basis(fell, level=0.04, significant=True).exchange == pytest.approx(2 / 24)
    assert power_basis(fell, level=0.04, significant=False).exchange == pytest.approx(6 / 24)


def test_first_levels_share_alpha() -> None:
    assert first_levels([4.0, 1.0], 0.05) == pytest.approx([0.04, 0.01])


def test_label_shares_are_tested_by_stuart_and_maxwells_statistic() -> None:
    random = np.random.default_rng(5)
    before = random.integers(0, 3, 80)
    after = np.where(random.random(80) < 0.4, random.integers(0, 3, 80), before)
    after[:9] = 2
    table = np.zeros((3, 3))
    np.add.at(table, (before, after), 1)
    expected = SquareTable(table, shift_zeros=False).homogeneity(method="stuart_maxwell")
    assert stuart_maxwell(before, after, 3) == pytest.approx(expected.statistic)
    p = homogeneity_p(before, after, range(80), labels=3, seed=0)
    assert p == pytest.approx(expected.pvalue, abs=0.01)
    assert homogeneity_p(after, before, range(80), labels=3, seed=0) == p
    order = random.permutation(80)
    assert homogeneity_p(before[order], after[order], range(80), labels=3, seed=0) == p
    assert homogeneity_p(before, before, range(80), labels=3, seed=0) == 1.0
    assert homogeneity_p(before, after, [place // 8 for place in range(80)], labels=3, seed=0) > p
