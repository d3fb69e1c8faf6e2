"""Rogan and Gladen's correction of a judged rate, with the intervals of Lee et al. and of Fieller."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from judgeharness_integrations.statistics.means import Z95

__all__ = ["RoganGladen", "rogan_gladen"]

_NEGLIGIBLE = 1e-12
_TOLD = 0.05  # what Fieller's g is to stay below for a delta interval to do as well

_Share: TypeAlias = tuple[float, float]  # and what it was counted on


@dataclass(frozen=True, kw_only=True)
class RoganGladen:
    """The corrected rate, not cut to [0, 1], its delta standard error, and intervals, not cut either.

    `se` and `delta` are None where no share varies: a sample without an error tells none. `lee` is None where the
    adjusted sensitivity and specificity do not sum to more than 1. `interval` is the one to print: `lee`, and Fieller's
    besides, within [0, 1], where the labels hardly tell the judge from chance.
    """

    raw: float
    se: float | None
    delta: tuple[float, float] | None
    lee: tuple[float, float] | None
    interval: tuple[float, float] | None


def rogan_gladen(
    *, judged: float, n: int, sensitivity: float, positives: int, specificity: float, negatives: int, z: float = Z95
) -> RoganGladen | None:
    """Correct a judged rate by the judge's errors on labelled items that are not among the judged ones.

    theta = (p + q0 - 1) / (q0 + q1 - 1) (Rogan and Gladen 1978), with the interval of its delta standard error; Lee et
    al. 2025 (arXiv 2511.21140) add pseudo-counts and shift the centre. No item in common: both take the three shares
    for independent.

    Args:
        judged: p, the share of items judged positive.
        n: items judged.
        sensitivity: q1, the share of positive labelled items judged positive.
        positives: m1, positive labelled items.
        specificity: q0, the share of other labelled items not judged positive.
        negatives: m0, other labelled items.
        z: width of both intervals in standard errors.

    Returns:
        None where a size is 0, or sensitivity and specificity sum to 1 or less: the judge says nothing about labels.

    """
    if not (n and positives and negatives) or sensitivity + specificity <= 1 + _NEGLIGIBLE:
        return None
    shares = (judged, n), (specificity, negatives), (sensitivity, positives)
    raw = (judged + specificity - 1) / (specificity + sensitivity - 1)
    se = _error(raw, *shares)
    adjusted = _adjusted(*shares, z)
    lee = _lee(*adjusted, z)
    interval = None if lee is None else _with_fieller(lee, *adjusted, z)
    if se <= _NEGLIGIBLE:
        return RoganGladen(raw=raw, se=None, delta=None, lee=lee, interval=interval)
    return RoganGladen(raw=raw, se=se, delta=(raw - z * se, raw + z * se), lee=lee, interval=interval)


def _error(theta: float, judged: tuple[float, float], no: tuple[float, float], yes: tuple[float, float]) -> float:
    """Return the delta-method standard error from three shares and the sizes they were counted on."""
    (p, n), (q0, m0), (q1, m1) = judged, no, yes
    variance = p * (1 - p) / n + (1 - theta) ** 2 * q0 * (1 - q0) / m0 + theta**2 * q1 * (1 - q1) / m1
    return math.sqrt(variance) / (q0 + q1 - 1)


def _adjusted(judged: _Share, no: _Share, yes: _Share, z: float) -> tuple[_Share, _Share, _Share]:
    """Return the shares with the pseudo-counts of Lee et al."""
    (share, total), (right0, labels0), (right1, labels1) = judged, no, yes
    n, m0, m1 = total + z * z, labels0 + 2, labels1 + 2
    return (
        ((total * share + z * z / 2) / n, n),
        ((labels0 * right0 + 1) / m0, m0),
        ((labels1 * right1 + 1) / m1, m1),
    )


def _with_fieller(lee: tuple[float, float], judged: _Share, no: _Share, yes: _Share, z: float) -> tuple[float, float]:
    """Return an interval that holds Fieller's as well where sensitivity + specificity - 1 is known by less than 5 %.

    Those rates at which p - (1 - theta) (1 - q0) - theta q1 lies within z of its standard errors (Fieller 1954), all of
    [0, 1] where q0 + q1 - 1 may be 0. With 20 labels of a class and a judge that is right six times in ten Lee's own
    covered .83 to .91, as it takes the sum that chance made large for the true one; both together .94 and more at 700
    planted truths with 10 labels of a class and more.
    """
    (p, n), (q0, m0), (q1, m1) = judged, no, yes
    beyond, free0, free1 = q0 + q1 - 1, q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    if z * z * (free0 + free1) <= _TOLD * beyond * beyond:
        return lee
    square = beyond * beyond - z * z * (free0 + free1)
    if square <= 0:
        return min(lee[0], 0.0), max(lee[1], 1.0)
    middle = (p + q0 - 1) * beyond - z * z * free0
    rest = (p + q0 - 1) ** 2 - z * z * (p * (1 - p) / n + free0)
    half = math.sqrt(max(0.0, middle * middle - square * rest))
    low, high = (min(1.0, max(0.0, end / square)) for end in (middle - half, middle + half))
    return min(lee[0], low), max(lee[1], high)


def _lee(judged: _Share, no: _Share, yes: _Share, z: float) -> tuple[float, float] | None:
    (p, n), (q0, m0), (q1, m1) = judged, no, yes
    if q0 + q1 <= 1 + _NEGLIGIBLE:
        return None
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    shift = 2 * z * z * (-(1 - theta) * q0 * (1 - q0) / m0 + theta * q1 * (1 - q1) / m1)
    half = z * _error(theta, (p, n), (q0, m0), (q1, m1))
    return theta + shift - half, theta + shift + half
