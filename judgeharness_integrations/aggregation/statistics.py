"""Decision statistics of one case: how consistent the samples were, and what a coin would have shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from judgeharness_integrations.verdictlog.row import Verdict

__all__ = [
    "agreement",
    "chance_consistency",
    "distance_share",
    "modal_share",
    "pair_disagreement",
    "sign_test",
    "wilson",
]

_LARGEST_N: Final = 200
_PAIR: Final = 2


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

    E[max] / N = (N - sum_{m<N} P(max <= m)) / N over a multinomial; None for N = 0 and beyond 200 samples.
    """
    if not 0 < samples <= _LARGEST_N or labels < 1:
        return None
    below = sum(_all_at_most(samples, labels, most) for most in range(samples))
    return (samples - below) / samples


def _all_at_most(samples: int, labels: int, most: int) -> float:
    """Return P(no label is drawn more than `most` times), splitting off one label after the other."""
    reach = [1.0 if left <= most else 0.0 for left in range(samples + 1)]  # one label takes what is left
    for remaining in range(2, labels + 1):
        share = 1 / remaining
        reach = [
            sum(
                math.comb(left, taken) * share**taken * (1 - share) ** (left - taken) * reach[left - taken]
                for taken in range(min(most, left) + 1)
            )
            for left in range(samples + 1)
        ]
    return reach[samples]


def distance_share(scores: Iterable[float], center: float, tolerance: float) -> float | None:
    """Return the share of scores within `tolerance` of `center`; None without scores."""
    near = [abs(score - center) <= tolerance for score in scores]
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
    return abs(verdict - other) <= tolerance


def sign_test(first: int, second: int) -> float | None:
    """Return the exact two-sided binomial (McNemar) p-value of `first` against `second` discordant pairs.

    None when there is no discordant pair.
    """
    total = first + second
    if not total:
        return None
    tail = sum(math.comb(total, k) for k in range(min(first, second) + 1))
    return float(min(1.0, 2 * tail / 2**total))


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the Wilson score interval of a proportion (Wilson 1927); None without trials."""
    if not trials:
        return None
    from statistics import NormalDist  # noqa: PLC0415 - calibrations alone need it

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = successes / trials
    spread = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    center = rate + z * z / (2 * trials)
    scale = 1 + z * z / trials
    return (max(0.0, (center - spread) / scale), min(1.0, (center + spread) / scale))
