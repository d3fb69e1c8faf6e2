"""Numbers with a standard error: quantiles, intervals and p-values, by the normal distribution and Student's t."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.analysis.statistics.clusters import clustered_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Z95: Final = 1.959963984540054  # the 97.5 % point of the normal distribution, to the last bit
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
