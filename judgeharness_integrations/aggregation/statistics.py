"""Decision statistics of one case: how consistent the samples were, and what a coin would have shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import mul
from typing import Final

from judgeharness_integrations.verdictlog.row import Verdict

__all__ = [
    "agreement",
    "chance_consistency",
    "distance_share",
    "modal_share",
    "pair_disagreement",
]

_LARGEST_N: Final = 200
_PAIR: Final = 2
_NEGLIGIBLE: Final = 1e-17


def modal_share(distribution: Mapping[Verdict, int]) -> float | None:
    """Return the share of the most frequent verdict among valid samples; None without any."""
    total = sum(distribution.values())
    return max(distribution.values()) / total if total else None


def agreement(distribution: Mapping[Verdict, int]) -> float | None:
    """Return the share of agreeing pairs of samples, sum k(k-1) / (N(N-1)); unbiased. None below two samples."""
    total = sum(distribution.values())
    if total < _PAIR:
        return None
    return sum(count * (count - 1) for count in distribution.values()) / (total * (total - 1))


@lru_cache(maxsize=1024)
def chance_consistency(samples: int, labels: int) -> float | None:
    """Return the expected modal share of a judge that picks one of `labels` uniformly at random.

    E[max] / N = sum_{m<N} P(max > m) / N over a multinomial; None for N = 0 and beyond 200 samples.
    """
    if not 0 < samples <= _LARGEST_N or labels < 1:
        return None
    least = -(-samples // labels)  # some label is drawn at least that often
    expected = float(least)
    for most in range(least, samples):
        above = _some_above(samples, labels, most)
        if above < _NEGLIGIBLE:
            break
        expected += above
    return expected / samples


def _some_above(samples: int, labels: int, most: int) -> float:
    """Return P(some label is drawn more than `most` times)."""
    if 2 * (most + 1) > samples:  # then it is one label alone
        return labels * math.fsum(_binomial(samples, 1, labels)[samples][most + 1 :])
    return 1 - _none_above(samples, labels, most)[samples]


def _none_above(samples: int, labels: int, most: int) -> list[float]:
    """Return P(no label is drawn more than `most` times) for 0 .. `samples` draws, joining two groups of labels."""
    if labels == 1:
        return [1.0] * (most + 1) + [0.0] * (samples - most)
    part = labels // 2 if labels % 2 == 0 else labels - 1
    first = _none_above(samples, part, most)
    second = first if 2 * part == labels else _none_above(samples, labels - part, most)
    draws = _binomial(samples, part, labels)
    return [math.fsum(map(mul, map(mul, row, first), second[len(row) - 1 :: -1])) for row in draws]


@lru_cache(maxsize=16)
def _binomial(samples: int, part: int, labels: int) -> list[list[float]]:
    """Return, for n = 0 .. `samples` draws, the chances that 0 .. n of them fall on `part` of the labels."""
    share = part / labels
    return [[math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)] for n in range(samples + 1)]


def within(score: float, other: float, tolerance: float) -> bool:
    """Whether two scores lie within a tolerance, rounding forgiven: 0.7 and 0.8 are one tenth apart."""
    return abs(score - other) <= tolerance * (1 + 1e-9) + 1e-12


def distance_share(scores: Iterable[float], center: float, tolerance: float) -> float | None:
    """Return the share of scores within `tolerance` of `center`; None without scores."""
    near = [within(score, center, tolerance) for score in scores]
    return sum(near) / len(near) if near else None


def pair_disagreement(
    first: Mapping[Verdict, int], second: Mapping[Verdict, int], *, tolerance: float | None = None
) -> float | None:
    """Return the share of pairs (one sample of each) whose verdicts differ; None when either is empty.

    With a `tolerance`, scores differ when they lie farther apart than that.
    """
    pairs = sum(first.values()) * sum(second.values())
    if not pairs:
        return None
    differing = sum(
        count * other_count
        for verdict, count in first.items()
        for other, other_count in second.items()
        if verdict != other and not _close(verdict, other, tolerance)
    )
    return differing / pairs


def _close(verdict: Verdict, other: Verdict, tolerance: float | None) -> bool:
    if tolerance is None or not isinstance(verdict, (int, float)) or not isinstance(other, (int, float)):
        return False
    return within(verdict, other, tolerance)
