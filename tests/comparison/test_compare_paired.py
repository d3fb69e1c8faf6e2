"""McNemar's mid-p test, paired means, label shares, Holm and power, against other implementations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, nct, t, ttest_rel
from statsmodels.stats.contingency_tables import SquareTable, mcnemar
from statsmodels.stats.multitest import multipletests

from judgeharness_integrations.calibration.paired import tango_interval
from judgeharness_integrations.comparison.difference import compared_means, compared_shares, power_basis
from judgeharness_integrations.comparison.family import first_levels, weighted_holm
from judgeharness_integrations.comparison.homogeneity import exchanged_mean, homogeneity_p, stuart_maxwell
from judgeharness_integrations.comparison.mcnemar import (
    mcnemar_cases,
    mcnemar_detectable,
    mcnemar_p,
    mcnemar_power,
)
from judgeharness_integrations.comparison.power import PowerBasis


@pytest.mark.parametrize(("rose", "fell"), [(0, 0), (0, 1), (0, 6), (3, 9), (7, 7), (8, 7), (40, 61), (300, 250)])
def test_the_mid_p_value_is_the_exact_one_less_what_was_observed(rose: int, fell: int) -> None:
    exact = mcnemar([[0, rose], [fell, 0]], exact=True).pvalue
    sides = 1 if rose == fell else 2
    seen = sides * 0.5 * binom.pmf(min(rose, fell), rose + fell, 0.5) if rose + fell else 0.0
    expected = 1.0 if rose == fell else exact - seen
    assert mcnemar_p(rose, fell) == pytest.approx(expected)
    assert mcnemar_p(rose, fell) == mcnemar_p(fell, rose)


@pytest.mark.parametrize(
    ("n", "drop", "exchange", "alpha"), [(5, 0.3, 0.1, 0.05), (40, 0.1, 0.0, 0.04), (60, 0.12, 0.08, 0.04)]
)
def test_power_is_the_sum_over_all_tables_that_reject(n: int, drop: float, exchange: float, alpha: float) -> None:
    worse, better = drop + exchange, exchange
    power = sum(
        math.comb(n, fell)
        * math.comb(n - fell, rose)
        * worse**fell
        * better**rose
        * (1 - worse - better) ** (n - fell - rose)
        for fell in range(n + 1)
        for rose in range(n + 1 - fell)
        if mcnemar_p(rose, fell) <= alpha
    )
    assert mcnemar_power(n, drop, exchange=exchange, alpha=alpha) == pytest.approx(power, abs=1e-9)


def test_what_is_detectable_and_the_cases_it_takes_have_the_power() -> None:
    smallest = mcnemar_detectable(120, exchange=0.05, alpha=0.04, power=0.8)
    assert smallest is not None
    assert mcnemar_power(120, smallest, exchange=0.05, alpha=0.04) == pytest.approx(0.8, abs=1e-3)
    cases = mcnemar_cases(0.05, exchange=0.05, alpha=0.04, power=0.8)
    assert cases is not None
    assert mcnemar_power(cases, 0.05, exchange=0.05, alpha=0.04) >= 0.8
    assert mcnemar_power(cases - 1, 0.05, exchange=0.05, alpha=0.04) < 0.8
    assert mcnemar_cases(0.0001, exchange=0.2, alpha=0.04, power=0.8) is None
    assert mcnemar_detectable(4, exchange=0.0, alpha=0.04, power=0.8) is None
    assert mcnemar_detectable(4, exchange=0.5, alpha=0.04, power=0.8) is None
    assert mcnemar_power(100, 0.0, exchange=0.0, alpha=0.05) == 0.0


def test_the_size_of_the_mid_p_test_follows_its_level() -> None:
    sizes = [
        mcnemar_power(n, 0.0, exchange=share / 2, alpha=0.04)
        for n in (20, 50, 100, 200, 500)
        for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
    ]
    assert max(sizes) <= 0.0414
    assert np.mean(sizes) > 0.02


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
    assert compared_shares("accuracy", [], [], []).p is None
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


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_equal_weights_give_holms_procedure(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1]
    assert weighted_holm(p_values, [2.0] * len(p_values)) == pytest.approx(list(expected))


@given(st.lists(st.tuples(st.floats(0, 0.2), st.sampled_from([1.0, 4.0])), min_size=1, max_size=5))
def test_weighted_holm_rejects_what_closed_testing_rejects(tests: list[tuple[float, float]]) -> None:
    """A hypothesis is rejected iff every set of hypotheses with it is, by the weighted Bonferroni test."""
    p_values, weights = [p for p, _ in tests], [weight for _, weight in tests]
    adjusted = weighted_holm(p_values, weights)

    def rejected(places: tuple[int, ...]) -> bool:
        total = sum(weights[place] for place in places)
        return any(p_values[place] * total / weights[place] <= 0.05 for place in places)

    sets = [s for size in range(1, len(tests) + 1) for s in itertools.combinations(range(len(tests)), size)]
    for place in range(len(tests)):
        closed = all(rejected(one) for one in sets if place in one)
        assert closed is (adjusted[place] <= 0.05) or adjusted[place] == pytest.approx(0.05)


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
