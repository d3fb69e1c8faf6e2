"""Is P = .8 right 80 % of the time? Bins of equal mass, the calibration error, and that of a perfect judge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.analysis.probability.forecasts import Floats, Forecasts
from judgeharness_integrations.analysis.statistics.clusters import cluster_sums
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.analysis.statistics.search import bisected
from judgeharness_integrations.analysis.statistics.tally import share_estimate

BINS: Final = 15
PER_BIN: Final = 20  # answers, below which a bin says next to nothing
_DRAWS: Final = 1000
_CELLS: Final = 2_000_000  # numbers drawn at a time
_FURTHEST: Final = 20.0  # standard errors that a bin may be off
_STEPS: Final = 30
_TAIL: Final = 0.025


@dataclass(frozen=True, kw_only=True)
class ReliabilityPoint:
    """A bin of the reliability curve: `n` answers of the mean probability `probability`, and how often it came true."""

    probability: float
    share: Estimate

    @property
    def n(self) -> int:
        """How many answers are in the bin."""
        return self.share.n


@dataclass(frozen=True, kw_only=True)
class CalibrationError:
    """How far probabilities are from the shares in which they come true.

    `ece` is the expected calibration error over `bins` bins of equal mass, in probability: biased up, as each bin has
    noise. `perfect` is what a perfectly calibrated judge with these very probabilities shows in the mean at this n, and
    `excess` the difference. The ends of its interval hold the true error of the bins: the lower one is above 0 where
    such a judge would show as much in 2.5 % of samples at most, the upper one is the largest error that shows as little
    in as many.
    """

    ece: float
    perfect: float
    excess: Estimate
    bins: int

    @property
    def over(self) -> bool:
        """Whether the error is more than a perfect judge shows at this n."""
        return self.excess.low is not None and self.excess.low > 0


def equal_mass(probabilities: Floats, *, most: int | None = None) -> NDArray[np.intp]:
    """Return the bin of each probability (n,), from 0 on: about equally many in each, equal ones in the same.

    Args:
        probabilities: (n,).
        most: how many bins at most; 15, with 20 answers in each, when None.

    """
    n = len(probabilities)
    count = max(1, min(BINS, n // PER_BIN)) if most is None else most
    _, place, sizes = np.unique(probabilities, return_inverse=True, return_counts=True)
    middle = (np.cumsum(sizes) - sizes / 2) / n
    wanted = np.minimum((middle * count).astype(np.intp), count - 1)
    _, bins = np.unique(wanted, return_inverse=True)
    found: NDArray[np.intp] = bins[place]
    return found


def reliability_curve(found: Forecasts, *, bins: int | None = None) -> tuple[ReliabilityPoint, ...]:
    """Return the points of the reliability curve of the event of `Forecasts`, from the least probability up.

    Args:
        found: answers and labels.
        bins: how many at most; see `equal_mass`.

    """
    p, y = found.event
    place = equal_mass(p, most=bins)
    points = []
    for number in range(int(place.max()) + 1):
        inside = place == number
        share = min(1.0, float(y[inside].mean()))
        clusters = found.part(inside).clusters
        told = share_estimate(share, (y[inside] - share).tolist(), clusters)
        points.append(ReliabilityPoint(probability=float(p[inside].mean()), share=told))
    return tuple(points)


def calibration_error(found: Forecasts, *, bins: int | None = None, seed: int = 0) -> CalibrationError:
    """Return the expected calibration error of the event of `Forecasts` beside that of a perfect judge at this n.

    The perfect judge's is simulated: labels are drawn with these very probabilities, 1,000 times. Soft labels vary less
    than single ones and labels of a cluster vary together; there the noise is scaled to the one seen around the bins.

    Args:
        found: answers and labels.
        bins: how many at most; see `equal_mass`.
        seed: of the simulation.

    """
    p, y = found.event
    place = equal_mass(p, most=bins)
    count = int(place.max()) + 1
    sizes = np.bincount(place, minlength=count)
    gaps = np.bincount(place, y - p, minlength=count) / sizes
    weights, scale = sizes / found.n, math.sqrt(_dispersion(found, place, gaps))
    noise = scale * _noise(p, place, sizes, np.random.default_rng(seed))
    perfect, ece = weights @ np.abs(noise), float(weights @ np.abs(gaps))
    low = ece - float(np.quantile(perfect, 1 - _TAIL))
    hits = np.bincount(place, y, minlength=count)
    spread = scale * np.sqrt((hits + 1) * (sizes - hits + 1)) / (sizes + 2) / np.sqrt(sizes)
    level = float(perfect.mean())
    high = max(_largest(ece + count / (2 * found.n), weights, spread, seed), ece - level)
    excess = Estimate(value=ece - level, low=low, high=min(1.0, high), n=found.n)
    return CalibrationError(ece=ece, perfect=level, excess=excess, bins=count)


def _dispersion(found: Forecasts, place: NDArray[np.intp], gaps: Floats) -> float:
    """Return how the variance of the labels of a bin is to that of single, independent ones."""
    if found.hard:
        return 1.0
    p, y = found.event
    right = np.clip(p + gaps[place], 0.0, 1.0)
    keys = list(zip(place.tolist(), found.clusters, strict=True))
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    sums = cluster_sums((y - p - gaps[place])[:, None], np.array([numbers[key] for key in keys]))
    expected, count, bins = float((right * (1 - right)).sum()), len(numbers), len(gaps)
    if not expected or count <= bins:
        return 1.0
    return float((sums**2).sum()) / expected * count / (count - bins)


def _noise(p: Floats, place: NDArray[np.intp], sizes: NDArray[np.intp], generator: np.random.Generator) -> Floats:
    """Return (bins, draws): how far shares are from the mean probability of their bin where the judge is perfect."""
    order = np.argsort(place, kind="stable")
    chances, starts = p[order], np.concatenate([[0], np.cumsum(sizes)[:-1]])
    at_once = max(1, min(_DRAWS, _CELLS // len(p)))
    parts = []
    for begun in range(0, _DRAWS, at_once):
        drawn = generator.random((min(at_once, _DRAWS - begun), len(p))) < chances
        parts.append(np.add.reduceat(drawn - chances, starts, axis=1) / sizes)
    found: Floats = np.concatenate(parts).T
    return found


def _largest(ece: float, weights: Floats, spread: Floats, seed: int) -> float:
    """Return the largest error that shows an `ece` as small as this in 2.5 % of samples.

    Of all errors of a size that one is the hardest to see whose bins are off by equally many standard errors, as the
    mean of a folded normal variable grows ever faster.
    """
    normal = np.random.default_rng(seed).standard_normal((len(weights), _DRAWS)) * spread[:, None]

    def possible(off: float) -> bool:
        return bool((weights @ np.abs(normal + off * spread[:, None]) <= ece).mean() >= _TAIL)

    return bisected(possible, 0.0, _FURTHEST, steps=_STEPS)[0] * float(weights @ spread)
