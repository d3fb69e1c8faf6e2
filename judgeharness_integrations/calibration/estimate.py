"""A measured number with its interval, and standard errors that know which items belong together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Estimate", "cluster_degrees", "clustered_error", "estimate", "t_quantile"]

_UNTOLD = 10.0  # an interval from 1/22,000 of a number to 22,000 times it tells nothing


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number over `n` items and its interval, at 95 % unless said otherwise; the ends are None where it has none."""

    value: float
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        """Return value, interval and denominator."""
        interval = "" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.value:.3f}{interval} (n={self.n})"


def clustered_error(
    influence: Sequence[float], clusters: Sequence[Hashable], *, negligible: float = 1e-12
) -> tuple[float, float] | None:
    """Return the standard error of a mean of dependent items, and its degrees of freedom.

    The linearised (sandwich) variance G/(G-1) * sum over clusters of (sum of the influences)^2 / n^2 (CR1; Liang and
    Zeger 1986), with the degrees of freedom of `cluster_degrees`. Where every item is its own cluster it is the
    variance of a mean. With influence values of a smooth statistic (the derivative at each item) it is the limit of the
    cluster bootstrap.

    Args:
        influence: one a item, in the statistic's units; they sum to zero.
        clusters: which cluster each item is in.
        negligible: rounding error, in the same units.

    Returns:
        None with fewer than two clusters, or where nothing varies: such a sample cannot tell an error.

    """
    parts: dict[Hashable, list[float]] = {}
    for key, value in zip(clusters, influence, strict=True):
        parts.setdefault(key, []).append(value)
    count = len(parts)
    total = math.fsum(math.fsum(values) ** 2 for values in parts.values())
    error = math.sqrt(total) / len(influence) if influence else 0.0
    if error <= negligible:
        return None
    return (error * math.sqrt(count / (count - 1)), cluster_degrees(map(len, parts.values()))) if count > 1 else None


def cluster_degrees(sizes: Iterable[int]) -> float:
    """Return the degrees of freedom of clusters: one less than their effective number (sum s)^2 / sum s^2 (Kish 1965).

    That is G - 1 for G clusters of one size. One large cluster among single items tells hardly more than one: with
    G - 1, Wilson's interval over nine single items and a cluster of 50 covers 67 %.
    """
    sizes = list(sizes)
    return sum(sizes) ** 2 / sum(size * size for size in sizes) - 1


def t_quantile(degrees: float, *, confidence: float = 0.95) -> float:
    """Return the two-sided quantile of Student's t, the width of an interval in standard errors."""
    from scipy.special import stdtrit  # noqa: PLC0415 - a heavy import, which few measurements pay for

    return float(stdtrit(degrees, (1 + confidence) / 2))


def estimate(
    value: float,
    influence: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    fisher: bool = False,
    logarithmic: bool = False,
    confidence: float = 0.95,
) -> Estimate:
    """Return a statistic with the t interval of its clustered standard error.

    Args:
        value: the statistic.
        influence: how far each item moves it, in its units; see `clustered_error`.
        clusters: which cluster each item is in.
        fisher: the interval is made on the scale of the inverse hyperbolic tangent (correlations, Fisher 1921).
        logarithmic: it is made on the scale of the logarithm (means of what is not negative, and often 0).
        confidence: of the interval.

    """
    found = clustered_error(influence, clusters)
    n = len(influence)
    if found is None or (fisher and abs(value) >= 1):
        return Estimate(value=value, low=None, high=None, n=n)
    error, degrees = found
    width = t_quantile(degrees, confidence=confidence) * error
    if fisher:
        center, half = math.atanh(value), width / (1 - value * value)
        return Estimate(value=value, low=math.tanh(center - half), high=math.tanh(center + half), n=n)
    if logarithmic:
        half = width / value
        if half > _UNTOLD:
            return Estimate(value=value, low=None, high=None, n=n)
        return Estimate(value=value, low=value * math.exp(-half), high=value * math.exp(half), n=n)
    return Estimate(value=value, low=value - width, high=value + width, n=n)
