"""Numbers with a standard error, also of items that belong together: quantiles, intervals and p-values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def effective_number(sizes: Iterable[float]) -> float:
    """Return how many clusters of one size clusters of these sizes weigh as much as: (sum s)^2 / sum s^2 (Kish 1965).

    Args:
        sizes: items, or any weights, a cluster; at least one above 0.

    """
    sizes = list(sizes)
    return sum(sizes) ** 2 / sum(size * size for size in sizes)


def effect_of_copies(sizes: Iterable[float]) -> float:
    """Return the design effect of clusters whose items are copies of each other: sum s^2 / sum s (Kish 1965)."""
    sizes = list(sizes)
    return sum(size * size for size in sizes) / sum(sizes)


def cluster_degrees(sizes: Iterable[float]) -> float:
    """Return the degrees of freedom of clusters: one less than their `effective_number`.

    That is G - 1 for G clusters of one size. One large cluster among single items tells hardly more than one: with
    G - 1, Wilson's interval over nine single items and a cluster of 50 covers 67 %.
    """
    return effective_number(sizes) - 1


@dataclass(frozen=True, kw_only=True)
class ClusterSums:
    """What the design effect of a mean of shares needs of n_c items in each cluster c, and of their sums T_c and Q_c.

    `items`: sum of n_c; `total`: of T_c, the shares; `squares`: of Q_c, their squares; `sizes_squared`: of n_c^2;
    `totals_squared`: of T_c^2; `products`: of n_c T_c; `nested`: of n_c Q_c. Of hits, 0 or 1, Q_c is T_c.
    """

    items: int
    total: float
    squares: float
    sizes_squared: int
    totals_squared: float
    products: float
    nested: float

    @classmethod
    def of(cls, values: Sequence[float], clusters: Sequence[Hashable]) -> Self:
        """Return the sums of shares, one an item, by the cluster of each."""
        parts: dict[Hashable, list[float]] = {}
        for key, value in zip(clusters, values, strict=True):
            parts.setdefault(key, []).append(value)
        sums = [(len(part), math.fsum(part), math.fsum(one * one for one in part)) for part in parts.values()]
        return cls(
            items=len(values),
            total=math.fsum(total for _, total, _ in sums),
            squares=math.fsum(squares for _, _, squares in sums),
            sizes_squared=sum(size * size for size, _, _ in sums),
            totals_squared=math.fsum(total * total for _, total, _ in sums),
            products=math.fsum(size * total for size, total, _ in sums),
            nested=math.fsum(size * squares for size, _, squares in sums),
        )

    @property
    def design_effect(self) -> float:
        """What clusters multiply the variance of the mean by, at least 1; 1 where every item is alone.

        Few clusters do not show how alike their items are: where a judge is wrong in none or one of ten, their sums
        hardly vary. So it is estimated with half a cluster of hits and half a cluster of misses beside those seen, of
        their mean size weighted by items, m: without any variance it is that of copies, m, and the more hits and misses
        are seen, the less the halves count. It is the larger of two estimates, which are one for clusters of one size:
        how far cluster totals vary about the mean (linearised), and 1 + (m - 1) rho, rho being by how much items of a
        cluster differ less than any two (where sizes differ, the first does not see that each large cluster is of one
        kind).
        """
        if self.sizes_squared == self.items:
            return 1.0
        size = self.sizes_squared / self.items
        mean = (self.total + size / 2) / (self.items + size)
        halves = size / 2 * (mean**2 + (1 - mean) ** 2)
        spread = self.squares - 2 * mean * self.total + mean**2 * self.items + halves
        between = self.totals_squared - 2 * mean * self.products + mean**2 * self.sizes_squared + size * halves
        pairs = self.sizes_squared - self.items + size * (size - 1)
        alike = 1 - (self.nested - self.totals_squared) / pairs * (self.items + size) / spread
        return max(1.0, between / spread, 1 + (size - 1) * alike)


def careful_effect(effect: Any, rate: Any, *, items: float, size: float) -> Any:
    """Return what `ClusterSums.design_effect` of hits in clusters of one size comes out as; of numbers or arrays.

    Args:
        effect: by how much the variance of the rate, without the halves, is larger than that of independent items.
        rate: of hits.
        items: in all clusters.
        size: of a cluster.

    """
    mean = (rate * items + size / 2) / (items + size)
    return size - (size - effect) * items * rate * (1 - rate) / ((items + size) * mean * (1 - mean))


def cluster_sums(values: NDArray[np.float64], clusters: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return (clusters, columns): the sums of values (items, columns) over each cluster.

    Args:
        values: (items, columns), added in their order.
        clusters: (items,) the place of each item's cluster, from 0 on.

    """
    import numpy as np  # noqa: PLC0415 - what counts alone needs it not

    sums = np.zeros((int(clusters.max()) + 1, values.shape[1]))
    np.add.at(sums, clusters, values)
    return sums


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


Z95: Final = 1.959963984540054  # the 97.5 % point of the normal distribution, to the last bit
_UNTOLD = 10.0  # an interval from 1/22,000 of a number to 22,000 times it tells nothing


def normal_interval(value: float, se: float) -> tuple[float, float]:
    """Return the 95 % interval of a normal estimate with a standard error."""
    return value - Z95 * se, value + Z95 * se


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


def z_quantile(confidence: float = 0.95) -> float:
    """Return the two-sided quantile of the normal distribution without SciPy; `Z95` to 15 digits at 95 %."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def t_quantile(degrees: float, *, confidence: float = 0.95) -> float:
    """Return the two-sided quantile of Student's t, the width of an interval in standard errors."""
    from scipy.special import stdtrit  # noqa: PLC0415 - a heavy import, which few measurements pay for

    return float(stdtrit(degrees, (1 + confidence) / 2))


def z_p(z: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the two-sided p-value of a normal statistic, of any shape."""
    import numpy as np  # noqa: PLC0415 - heavy imports
    from scipy.special import ndtr  # noqa: PLC0415

    p: NDArray[np.float64] = 2 * ndtr(-np.abs(z))
    return p


def t_p(t: float, degrees: float) -> float:
    """Return the two-sided p-value of Student's t."""
    from scipy.special import stdtr  # noqa: PLC0415 - a heavy import

    return float(min(1.0, 2 * stdtr(degrees, -abs(t))))


def t_interval(value: float, error: float, degrees: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of a number whose standard error has so many degrees of freedom."""
    half = t_quantile(degrees, confidence=confidence) * error
    return value - half, value + half


def mean_interval(values: NDArray[np.float64], *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return Student's interval of a mean (n,); None below two values, or where all are the same: they show no spread.

    Args:
        values: (n,) independent numbers.
        confidence: of the interval.

    """
    n = len(values)
    if n < 2 or not (values != values[0]).any():  # noqa: PLR2004 - a spread needs two
        return None
    half = t_quantile(n - 1, confidence=confidence) * float(values.std(ddof=1)) / math.sqrt(n)
    center = float(values.mean())
    return center - half, center + half


def items_for_mean(margin: float, sd: float, *, power: float = 0.8) -> int:
    """Return how many values put the 95 % interval of a mean that is 0 inside -+`margin` (normal approximation)."""
    from scipy.special import ndtri  # noqa: PLC0415 - a heavy import

    return math.ceil(((Z95 + float(ndtri((1 + power) / 2))) * sd / margin) ** 2)


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
