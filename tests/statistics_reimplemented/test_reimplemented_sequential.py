"""Evidence written again from the documentation's formulas, in numpy and scipy, and compared on random data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betaincc, betaln, gammaln, logsumexp

from judgeharness_integrations.analysis.gates.gate import parse_expression
from judgeharness_integrations.analysis.gates.sequential import Evidence, weigh
from judgeharness_integrations.analysis.sequential import STAKES, log_e_rate, mean_interval

Floats = NDArray[np.float64]

BARS = ("0.1", "0.5", "0.75", "0.8", "0.9", "0.95")


def population(hits: NDArray[np.int64], bar: float) -> Floats:
    """E_n = 1 / (1 - b) * integral from b to 1 of p^s (1 - p)^f dp / (b^s (1 - b)^f), after s hits and f misses."""
    rose = hits.cumsum()
    fell = np.arange(1, len(hits) + 1) - rose
    mixed = betaln(rose + 1, fell + 1) + np.log(betaincc(rose + 1, fell + 1, bar)) - np.log1p(-bar)
    return np.asarray(mixed - rose * np.log(bar) - fell * np.log1p(-bar))


def suite(hits: NDArray[np.int64], bar: str, size: int, *, strict: bool) -> Floats:
    """E_n = mean over the K that clear the bar of L(K) / L(the largest K that does not).

    L(K) = C(N - n, K - s) / C(N, K) is the probability of this very sequence where K of N cases are hits.
    """
    numbers = np.arange(size + 1)
    goal = Fraction(bar)
    clear = np.array([Fraction(int(k), size) > goal if strict else Fraction(int(k), size) >= goal for k in numbers])
    found = []
    for n, rose in enumerate(hits.cumsum(), start=1):
        likely = _sequence(numbers, int(rose), n, size)
        top = logsumexp(likely[clear]) - np.log(clear.sum()) if clear.any() else -np.inf
        below = likely[~clear][-1]
        found.append(np.inf if below == -np.inf < top else top - below if top > -np.inf else -np.inf)
    return np.array(found)


def _sequence(numbers: NDArray[np.int64], rose: int, n: int, size: int) -> Floats:
    possible = (numbers >= rose) & (size - numbers >= n - rose)
    k = np.where(possible, numbers, rose)
    ways = gammaln(size - n + 1) - gammaln(k - rose + 1) - gammaln(size - n - k + rose + 1)
    all_ways = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
    return np.where(possible, ways - all_ways, -np.inf)


def test_the_evidence_of_a_population_is_the_mixture_over_rates_above_the_bar() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        bar, count = float(random.choice(BARS)), int(random.integers(1, 300))
        hits = (random.random(count) < random.uniform(0.05, 0.99)).astype(np.int64)
        np.testing.assert_allclose(log_e_rate(hits, bar), population(hits, bar), rtol=0, atol=1e-11)


@pytest.mark.slow
def test_the_evidence_of_a_suite_is_the_mixture_over_numbers_of_hits_that_clear_the_bar() -> None:
    """Equal where it speaks for the bar; far below, where rounding would decide, the package says none (-inf)."""
    random = np.random.default_rng(8)
    for turn in range(60):
        bar, count, strict = str(random.choice(BARS)), int(random.integers(1, 200)), bool(turn % 2)
        size = count + int(random.integers(0, 150))
        hits = (random.random(count) < random.uniform(0.3, 0.99)).astype(np.int64)
        found = log_e_rate(hits, float(bar), size=size, strict=strict)
        mine = suite(hits, bar, size, strict=strict)
        for_it = mine > 0
        np.testing.assert_allclose(found[for_it], mine[for_it], rtol=0, atol=1e-8)
        assert np.all(found[~for_it] <= np.maximum(mine[~for_it] + 0.01, -1.0))
        stops = [int(np.argmax(one >= np.log(40))) if (one >= np.log(40)).any() else None for one in (found, mine)]
        assert stops[0] == stops[1]


@pytest.mark.slow
def test_a_gate_is_settled_where_the_evidence_for_or_against_its_bar_is_forty() -> None:
    random, outcomes = np.random.default_rng(10), []
    against = {"0.5": "0.5", "0.8": "0.2", "0.9": "0.1"}
    for turn in range(60):
        bar, count = str(random.choice(list(against))), int(random.integers(5, 150))
        hits = (random.random(count) < random.uniform(0.3, 1.0)).astype(np.int64)
        size = count + int(random.integers(0, 100)) if turn % 2 else None
        pro, contra = (
            population(one, float(b))[-1] if size is None else suite(one, b, size, strict=strict)[-1]
            for one, b, strict in ((hits, bar, False), (1 - hits, against[bar], True))
        )
        wanted = "passed" if pro >= np.log(40) else "failed" if contra >= np.log(40) else "unsettled"
        evidence = Evidence.of([float(hit) for hit in hits], list(range(count)), size=size)
        outcomes.append(weigh(parse_expression(f"coverage>={bar}"), evidence).outcome)
        assert outcomes[-1] == wanted
    assert set(outcomes) == {"passed", "failed", "unsettled"}


def stakes_apart(scores: Floats, mean: float, size: int | None) -> float:
    """The larger of half the capital that bets on a larger mean and half of that on a smaller one, less than 1 / a.

    K_n = mean over stakes s of prod (1 + s (x_t - m_t) / m_t) on a larger one; without replacement m_t is the mean that
    is left, (N m - what came before) / (N - t + 1).
    """
    before = np.append(0.0, scores.cumsum()[:-1])
    left = np.full(len(scores), mean) if size is None else (size * mean - before) / (size - np.arange(len(scores)))
    halves = [
        np.prod(1 + np.multiply.outer(STAKES, (one - center) / center), axis=-1).mean() / 2
        for one, center in ((scores, left), (1 - scores, 1 - left))
    ]
    return float(max(halves))


def test_the_interval_of_a_mean_ends_where_half_of_a_gamblers_capital_is_twenty_fold() -> None:
    random = np.random.default_rng(11)
    for turn in range(30):
        scores = random.beta(*random.uniform(0.5, 6.0, 2), int(random.integers(20, 200)))
        size = len(scores) + int(random.integers(50, 300)) if turn % 2 else None
        low, high = mean_interval(scores, 1.0, size=size)
        ends = [(low, 1e-6), (high, -1e-6)]
        assert all(
            stakes_apart(scores, end + inwards, size) < 20 <= stakes_apart(scores, end - inwards, size)
            for end, inwards in ends
            if 0.001 < end < 0.999
        )
