"""The exact tests of a check, against enumeration, McNemar and scipy."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgeharness_integrations.analysis.checking.statistics import excess_test, hypergeometric
from judgeharness_integrations.analysis.statistics.proportions import above_test, sign_test


@st.composite
def strata(draw: st.DrawFn, most: int = 6, samples: int = 4) -> list[tuple[int, int, int, int]]:
    """(changed, probed, base changed, base) of a few strata."""

    def counts() -> tuple[int, int]:
        total = draw(st.integers(0, samples))
        return draw(st.integers(0, total)), total

    return [(*counts(), *counts()) for _ in range(draw(st.integers(0, most)))]


def p_of_strata(rows: list[tuple[int, int, int, int]]) -> float:
    return excess_test(*np.array(rows, np.int64).reshape(-1, 4).T)


def enumerated(rows: list[tuple[int, int, int, int]]) -> float:
    """Deal the samples of every stratum in every way that is possible, all ways alike."""
    dealt = []
    for changed, probed, base_changed, base in rows:
        samples = [1] * (changed + base_changed) + [0] * (probed + base - changed - base_changed)
        dealt.append([sum(chosen) for chosen in itertools.combinations(samples, probed)])
    seen = sum(row[0] for row in rows)
    ways = list(itertools.product(*dealt))
    return sum(sum(way) >= seen for way in ways) / len(ways)


@given(strata(most=3, samples=3))
def test_it_is_the_share_of_all_ways_to_deal_the_samples(rows: list[tuple[int, int, int, int]]) -> None:
    assert p_of_strata(rows) == pytest.approx(enumerated(rows))


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 20))
def test_with_one_sample_of_each_kind_it_is_mcnemars_test(gained: int, lost: int, alike: int) -> None:
    rows = [(1, 1, 0, 1)] * gained + [(0, 1, 1, 1)] * lost + [(1, 1, 1, 1), (0, 1, 0, 1)] * alike
    expected = stats.binomtest(gained, gained + lost, alternative="greater").pvalue if gained + lost else 1.0
    assert p_of_strata(rows) == pytest.approx(expected)
    if gained > lost:
        assert 2 * p_of_strata(rows) == pytest.approx(sign_test(gained, lost))


@given(st.integers(0, 12), st.integers(0, 12), st.data())
def test_of_one_stratum_it_is_fishers_exact_test(probed: int, base: int, data: st.DataObject) -> None:
    changed, base_changed = data.draw(st.integers(0, probed)), data.draw(st.integers(0, base))
    table = [[changed, probed - changed], [base_changed, base - base_changed]]
    assert p_of_strata([(changed, probed, base_changed, base)]) == pytest.approx(
        stats.fisher_exact(table, alternative="greater").pvalue
    )


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_samples_fall_as_scipy_says(probed: int, base: int, data: st.DataObject) -> None:
    differing = data.draw(st.integers(0, probed + base))
    low, chances = hypergeometric(differing, probed, base)
    expected = stats.hypergeom(probed + base, differing, probed).pmf(np.arange(low, low + len(chances)))
    assert chances == pytest.approx(expected)
    assert chances.sum() == pytest.approx(1)


@given(strata())
def test_order_and_uninformative_strata_change_nothing(rows: list[tuple[int, int, int, int]]) -> None:
    more = [*rows[::-1], (0, 3, 0, 2), (3, 3, 2, 2), (1, 2, 0, 0), (0, 0, 1, 2)]
    assert p_of_strata(more) == pytest.approx(p_of_strata(rows))


@given(strata())
def test_it_is_a_probability_and_one_more_flip_never_speaks_for_the_judge(
    rows: list[tuple[int, int, int, int]],
) -> None:
    p = p_of_strata(rows)
    assert 0 < p <= 1
    for place, (changed, probed, base_changed, base) in enumerate(rows):
        if changed < probed and base_changed:
            flipped = [*rows[:place], (changed + 1, probed, base_changed - 1, base), *rows[place + 1 :]]
            assert p_of_strata(flipped) <= p + 1e-12


def test_nothing_informative_says_nothing() -> None:
    assert p_of_strata([]) == 1.0
    assert p_of_strata([(2, 2, 0, 0), (0, 3, 0, 3)]) == 1.0


@pytest.mark.slow
def test_its_level_is_kept_whatever_the_noise_of_a_case() -> None:
    random = np.random.default_rng(3)
    for noise, base in ((0.1, 1), (0.5, 2), ("mixed", 2)):
        p_values = []
        for _ in range(400):
            chance = random.choice([0, 0.5], size=30) if noise == "mixed" else np.full(30, noise, float)
            counts = random.binomial(1, chance), np.ones(30), random.binomial(base, chance), np.full(30, base)
            p_values.append(excess_test(*counts))
        assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
        assert np.mean(np.array(p_values) <= 0.5) >= 0.2


def test_of_many_cases_it_takes_no_time_and_agrees_with_the_normal_distribution() -> None:
    random = np.random.default_rng(8)
    n = 10_000
    probed, base = random.integers(1, 6, n), random.integers(1, 6, n)
    changed, base_changed = random.binomial(probed, 0.21), random.binomial(base, 0.2)
    began = time.process_time()
    p = excess_test(changed, probed, base_changed, base)
    assert time.process_time() - began < 1
    total, size = changed + base_changed, probed + base
    expected = probed * total / size
    variance = expected * (1 - total / size) * base / (size - 1)
    z = (changed.sum() - 0.5 - expected.sum()) / math.sqrt(variance.sum())
    assert p == pytest.approx(float(stats.norm.sf(z)), rel=0.01)


def test_a_p_value_far_out_keeps_its_digits() -> None:
    assert p_of_strata([(1, 1, 0, 2)] * 60) == pytest.approx(3.0**-60)
    assert p_of_strata([(1, 1, 0, 2)] * 2_000) == 0.0


@pytest.mark.parametrize("spread", ["alike", "some cases"])
def test_shares_of_several_samples_keep_the_level(spread: str) -> None:
    random = np.random.default_rng(4)
    chance = np.full((4_000, 25), 0.1) if spread == "alike" else random.choice([0, 0.2], size=(4_000, 25))
    hits = (random.binomial(3, chance) / 3).sum(axis=1)
    p_values = {hit: above_test(hit, 25, 0.1) for hit in set(hits.tolist())}
    assert np.mean([p_values[hit] <= 0.05 for hit in hits.tolist()]) <= 0.05
