"""Evidence about means and pairs, by betting: kept at every look, exact where all units are in."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from judgeharness_integrations.analysis.sequential import (
    STAKES,
    log_e_mean,
    log_e_rate,
    log_e_shift,
    log_e_signs,
    mean_interval,
)

NEEDED = math.log(40)


def capital(values: list[float], bar: float) -> float:
    """The gambler's capital, bet by bet."""
    return sum(math.prod(1 + stake / bar * (value - bar) for value in values) for stake in STAKES) / len(STAKES)


def test_it_is_the_capital_of_a_gambler_with_fixed_stakes() -> None:
    values = [0.9, 0.4, 0.8, 1.0, 0.7]
    assert log_e_mean(values, 1.0, 0.5)[-1] == pytest.approx(math.log(capital(values, 0.5)))
    assert log_e_mean(values[::-1], 1.0, 0.5, path=False) == pytest.approx(math.log(capital(values, 0.5)))


@pytest.mark.slow
def test_without_replacement_the_capital_is_1_in_the_mean_over_all_orders() -> None:
    suite = [0.2, 0.9, 0.6, 0.3, 1.0, 0.0]  # with a mean of one half
    for n in range(1, 6):
        orders = [math.exp(log_e_mean(order[:n], 1.0, 0.5, size=6, strict=True)[-1]) for order in permutations(suite)]
        assert np.mean(orders) == pytest.approx(1.0)


def test_a_suite_is_decided_exactly_once_all_its_units_are_in() -> None:
    values, weights = [1.0, 3.0, 0.0, 2.0], [1.0, 4.0, 1.0, 2.0]  # 6 of 8 cases
    for bar, strict, clears in ((0.75, False, True), (0.75, True, False), (0.74, True, True), (0.76, False, False)):
        found = log_e_mean(values, weights, bar, most=4, size=4, strict=strict)
        assert bool(found[-1] == math.inf) is clears
    assert mean_interval(values, weights, most=4, size=4) == (pytest.approx(0.75, abs=1e-6),) * 2


def test_bars_at_zero() -> None:
    assert np.all(log_e_mean([0.0, 0.5], 1.0, 0.0) == math.inf)
    assert log_e_mean([0.0, 0.5], 1.0, 0.0, strict=True).tolist() == [0.0, math.inf]
    assert log_e_mean([0.0, 0.5], 1.0, 0.0, strict=True, path=False) == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, 100])
def test_scores_at_the_bar_pass_no_more_often_with_a_look_after_every_case(size: int | None) -> None:
    random = np.random.default_rng(21)
    scores = random.beta(7, 3, (4000, 100))
    if size is not None:
        scores = random.permuted(np.tile(scores[0], (4000, 1)), axis=1)
    bar = 0.7 if size is None else scores[0].mean() + 1e-9
    passed = (log_e_mean(scores, 1.0, float(bar), size=size) >= NEEDED)[:, :99].any(axis=-1).mean()
    assert passed <= 0.025


@pytest.mark.slow
def test_clusters_at_the_bar_pass_no_more_often_with_a_look_after_every_cluster() -> None:
    random = np.random.default_rng(22)
    weights = random.integers(1, 6, (4000, 60)).astype(float)
    alike = random.random((4000, 60)) < 0.8  # all cases of a cluster come to the same
    together = log_e_mean(weights * alike, weights, 0.8, most=5)
    assert (together >= NEEDED).any(axis=-1).mean() <= 0.025
    cases = np.repeat(alike, 5, axis=1).astype(float)  # as if each stood for itself
    assert (log_e_rate(cases, 0.8) >= NEEDED).any(axis=-1).mean() > 0.1


def test_a_narrow_spread_needs_fewer_cases_than_a_wide_one() -> None:
    narrow, wide = mean_interval([0.7, 0.8] * 40, 1.0), mean_interval([0.5, 1.0] * 40, 1.0)
    assert narrow[1] - narrow[0] < wide[1] - wide[0]
    for low, high in (narrow, wide):
        assert low < 0.75 < high


@pytest.mark.slow
def test_signs_of_pairs_are_a_mixture_over_their_chance() -> None:
    assert math.exp(log_e_signs(7, 0)) == pytest.approx(2**7 * math.comb(14, 7) / 4**7)
    assert log_e_signs(3, 5) == pytest.approx(float(log_e_signs(5, 3)))
    signs = np.random.default_rng(23).random((4000, 500)) < 0.5
    rose = np.cumsum(signs, axis=-1)
    found = log_e_signs(rose, np.arange(1, 501) - rose)
    assert 0.01 < (found >= math.log(20)).any(axis=-1).mean() <= 0.05


def test_signs_of_pairs_are_villes_evidence_of_a_coin() -> None:
    ville = pytest.importorskip("ville")
    signs = np.random.default_rng(25).random(200) < 0.6
    theirs = ville.BernoulliTest(0.5, prior=(0.5, 0.5)).update(signs.astype(float)).log_e_values_
    rose = np.cumsum(signs)
    np.testing.assert_allclose(log_e_signs(rose, np.arange(1, 201) - rose), theirs)


@pytest.mark.slow
def test_changes_that_are_0_in_the_mean_are_found_no_more_often_than_the_level() -> None:
    changes = np.random.default_rng(24).choice([-1.0, 0.0, 0.0, 1.0], (4000, 60))
    found = np.array([log_e_shift(changes[:, :n], 1.0) for n in range(5, 61, 5)])
    assert (found >= math.log(20)).any(axis=0).mean() <= 0.05
    assert log_e_shift([1.0] * 10, 1.0) == pytest.approx(float(log_e_shift([-1.0] * 10, 1.0)))
    assert log_e_shift([1.0] * 10, 1.0) >= math.log(20)


# confseq 0.0.11, which needs Boost to be built and NumPy 1 to be imported: the mean of `betting_mart(x, 0.5, theta=1,
# trunc_scale=1)` over the stakes, each a share of the largest bet; the second with N=20
SCORES = [0.801, 0.94, 0.532, 0.831, 0.591, 0.6, 0.372, 0.808, 0.759, 0.403, 0.785, 0.468]
CONFSEQ = {
    None: [0.127504095, 0.336794911, 0.35747006, 0.556662512, 0.625321415, 0.704219914, 0.586799724, 0.805698904,
           1.017622461, 0.913916369, 1.156097881, 1.121151227],
    20: [0.127504095, 0.349909231, 0.401174898, 0.653035782, 0.79664942, 0.974324196, 0.92983342, 1.317260895,
         1.773569038, 1.882370795, 2.518357857, 2.903077338],
}  # fmt: skip


@pytest.mark.parametrize("size", CONFSEQ)
def test_the_capital_is_that_of_confseqs_bets(size: int | None) -> None:
    assert log_e_mean(SCORES, 1.0, 0.5, size=size) == pytest.approx(CONFSEQ[size], abs=1e-8)


# the same: where `diversified_betting_mart(x, m, ..., theta=0.5, trunc_scale=1)` over the stakes crosses 1 / alpha in m
INTERVALS = {
    (None, 12, 0.5): (0.481514657, 0.77286200),
    (None, 5, 0.5): (0.380341381, 0.885202678),
    (20, 12, 0.5): (0.550135373, 0.745205075),
    (20, 5, 0.5): (0.424330325, 0.874343432),
}


@pytest.mark.parametrize(("size", "seen", "alpha"), INTERVALS)
def test_the_interval_is_that_of_confseqs_bets(size: int | None, seen: int, alpha: float) -> None:
    found = mean_interval(SCORES[:seen], 1.0, alpha=alpha, size=size)
    assert found == pytest.approx(INTERVALS[size, seen, alpha], abs=1e-6)
