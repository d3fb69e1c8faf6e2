"""Rogan and Gladen's correction of a judged rate, with the interval of Lee et al."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["RoganGladen", "rogan_gladen"]

_Z = 1.959963984540054  # 95 %
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, kw_only=True)
class RoganGladen:
    """The corrected rate, not cut to [0, 1], its delta standard error, and two intervals, not cut either.

    `se` and `delta` are None where no share varies: a sample without an error tells none. `lee` is None where the
    adjusted sensitivity and specificity do not sum to more than 1.
    """

    raw: float
    se: float | None
    delta: tuple[float, float] | None
    lee: tuple[float, float] | None


def rogan_gladen(
    *, judged: float, n: int, sensitivity: float, positives: int, specificity: float, negatives: int, z: float = _Z
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
    if se <= _NEGLIGIBLE:
        return RoganGladen(raw=raw, se=None, delta=None, lee=_lee(*shares, z))
    return RoganGladen(raw=raw, se=se, delta=(raw - z * se, raw + z * se), lee=_lee(*shares, z))


def _error(theta: float, judged: tuple[float, float], no: tuple[float, float], yes: tuple[float, float]) -> float:
    """Return the delta-method standard error from three shares and the sizes they were counted on."""
    (p, n), (q0, m0), (q1, m1) = judged, no, yes
    variance = p * (1 - p) / n + (1 - theta) ** 2 * q0 * (1 - q0) / m0 + theta**2 * q1 * (1 - q1) / m1
    return math.sqrt(variance) / (q0 + q1 - 1)


def _lee(
    judged: tuple[float, int], no: tuple[float, int], yes: tuple[float, int], z: float
) -> tuple[float, float] | None:
    (share, total), (right0, labels0), (right1, labels1) = judged, no, yes
    n, m0, m1 = total + z * z, labels0 + 2, labels1 + 2
    p, q0, q1 = (total * share + z * z / 2) / n, (labels0 * right0 + 1) / m0, (labels1 * right1 + 1) / m1
    if q0 + q1 <= 1 + _NEGLIGIBLE:
        return None
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    shift = 2 * z * z * (-(1 - theta) * q0 * (1 - q0) / m0 + theta * q1 * (1 - q1) / m1)
    half = z * _error(theta, (p, n), (q0, m0), (q1, m1))
    return theta + shift - half, theta + shift + half
