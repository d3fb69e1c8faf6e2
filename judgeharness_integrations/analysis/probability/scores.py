"""Proper scores of probabilities: do they come true, and do they tell cases apart?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..statistics import CONFIDENCE
from ..statistics.means import Estimate, cluster_sums, clustered_error, estimate
from ..statistics.paired import bisected
from ..statistics.proportions import share_estimate, unchanged_bound
from .forecasts import Floats, Forecasts
from .maps import FLOOR

_ROUNDING: Final = 1e-12
_WORST_BRIER: Final = 1.0
_WORST_LOG: Final = -math.log(FLOOR)


def brier_scores(probabilities: Floats, labels: Floats) -> Floats:
    """Return Brier's score of each answer (n,), from 0 to 1, less being better (Brier 1950, Mon Weather Rev 78:1).

    Half the sum over the options of (p - y)^2, which of two options is the square of either. A soft label counts as
    the people behind it one by one: the mean of the scores against each of their labels.

    Args:
        probabilities: (n, options), or one row that stands for all.
        labels: (n, options).

    """
    scores: Floats = (probabilities * (probabilities - 2 * labels)).sum(axis=-1) / 2 + labels.sum(axis=-1) / 2
    return np.maximum(scores, 0.0)


def log_scores(probabilities: Floats, labels: Floats) -> Floats:
    """Return the logarithmic score of each answer (n,) in nats, less being better (Good 1952, J R Stat Soc B 14:107).

    -log p of the label, with p not below `FLOOR`; of a soft label the mean over the people behind it.

    Args:
        probabilities: (n, options), or one row that stands for all.
        labels: (n, options).

    """
    from scipy.special import xlogy  # noqa: PLC0415 - SciPy, where labels are

    raised = np.maximum(probabilities, FLOOR)
    scores: Floats = -xlogy(labels, raised / raised.sum(axis=-1, keepdims=True)).sum(axis=-1)
    return scores


def brier_skill(found: Forecasts, *, confidence: float = CONFIDENCE) -> Estimate | None:
    """Return which share of the base rate's Brier score the answers save; see `skill`."""
    return skill(found, brier_scores, worst=_WORST_BRIER, confidence=confidence)


def log_skill(found: Forecasts, *, confidence: float = CONFIDENCE) -> Estimate | None:
    """Return which share of the base rate's logarithmic score the answers save; see `skill`."""
    return skill(found, log_scores, worst=_WORST_LOG, confidence=confidence)


def skill(
    found: Forecasts, score: Callable[[Floats, Floats], Floats], *, worst: float, confidence: float = CONFIDENCE
) -> Estimate | None:
    """Return 1 - mean score / mean score of the base rate with its interval; None where one option is right in all.

    1 is perfect, 0 as good as the base rate of these very labels, which no constant beats. The interval is that of a
    ratio (linearised, clustered, Student's t). Answers that are all equally good show no spread: there it reaches as
    far as it would if as many more were as bad as can be as so few clusters cannot rule out.

    Args:
        found: answers and labels.
        score: of probabilities and labels, (n,), less being better.
        worst: the largest score there is.
        confidence: of the interval.

    """
    if found.base_rates.max() >= 1 - _ROUNDING:
        return None
    scores, reference = score(found.probabilities, found.labels), score(found.base_rates, found.labels)
    base = float(reference.mean())
    ratio = float(scores.mean()) / base
    influence = ((ratio * reference - scores) / base).tolist()
    value, count = 1 - ratio, len(set(found.clusters))
    if count > 1 and clustered_error(influence, found.clusters) is None:
        unseen = unchanged_bound(count, confidence=confidence) * worst / base
        return Estimate(value=value, low=value - unseen, high=min(1.0, value + unseen), n=found.n)
    return estimate(value, influence, found.clusters, confidence=confidence)


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


@dataclass(frozen=True, kw_only=True)
class Murphy:
    """Brier's score as reliability - resolution + uncertainty (Murphy 1973, J Appl Meteorol 12:595).

    Less is better of reliability, the squared distance from the shares that come true; more of resolution, how far
    these shares are apart. Uncertainty is the score of the base rate. Over bins, resolution is the generalised one,
    with what probabilities of one bin tell apart, so that the sum is exact (Stephenson, Coelho and Jolliffe 2008,
    Weather Forecast 23:752). All are summed over the options and halved, as the score is.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float


def murphy(found: Forecasts, *, bins: int | None = None) -> Murphy:
    """Return the decomposition of Brier's score over bins of equal mass of each option; see `equal_mass`."""
    brier = float(brier_scores(found.probabilities, found.labels).mean())
    uncertainty = float(brier_scores(found.base_rates, found.labels).mean())
    reliability = float(_reliability(found, bins)[0])
    return Murphy(
        brier=brier,
        reliability=reliability,
        resolution=reliability + uncertainty - brier,
        uncertainty=uncertainty,
    )


def resolution_change(raw: Forecasts, mapped: Forecasts, *, bins: int | None = None) -> Estimate | None:
    """Return by how much a map raises the resolution, as a share of the uncertainty, with its 95 % interval.

    None where all labels are the same. The bins are taken as given.
    """
    uncertainty = float(brier_scores(raw.base_rates, raw.labels).mean())
    if uncertainty <= _ROUNDING:
        return None
    values, influence = np.zeros(2), np.zeros((2, raw.n))
    for side, one in enumerate((raw, mapped)):
        scores = brier_scores(one.probabilities, one.labels)
        value, moved = _reliability(one, bins)
        values[side] = value - scores.mean()
        influence[side] = moved - (scores - scores.mean())
    change = (influence[1] - influence[0]) / uncertainty
    return estimate(float(values[1] - values[0]) / uncertainty, change.tolist(), raw.clusters)


def _reliability(found: Forecasts, bins: int | None) -> tuple[float, Floats]:
    """Return the reliability, and how far each answer moves it (n,)."""
    columns = range(1 if len(found.options) == 2 else len(found.options))  # noqa: PLR2004 - the second repeats the first
    value, influence = 0.0, np.zeros(found.n)
    for column in columns:
        p, y = found.probabilities[:, column], found.labels[:, column]
        place = equal_mass(p, most=bins)
        gap = (np.bincount(place, p - y) / np.bincount(place))[place]
        value += float((gap**2).mean())
        influence += 2 * gap * (p - y) - gap**2
    scale = 1.0 if len(columns) == 1 else 0.5
    return scale * value, scale * (influence - value)


def auc(found: Forecasts) -> Estimate | None:
    """Return the area under the ROC curve of the first of two options with its 95 % interval.

    The chance that a case with the option has a higher probability than one without it, ties counting half. None of
    more options, or where all labels are the same. Standard error: DeLong, DeLong and Clarke-Pearson 1988 (Biometrics
    44:837), clustered as in Obuchowski 1997 (Biometrics 53:567); the interval is Wilson's over the trials it is worth,
    those of the rarer label where nothing was ranked wrong. A soft label counts on both sides by its share.
    """
    measured = _auc(found)
    if measured is None:
        return None
    value, influence = measured
    rarer = float(min(found.labels.sum(axis=0)))
    most = rarer if min(value, 1 - value) <= _ROUNDING else np.inf
    return share_estimate(min(value, 1.0), influence.tolist(), found.clusters, most=most)


def auc_change(raw: Forecasts, mapped: Forecasts) -> Estimate | None:
    """Return by how much a map raises the area under the ROC curve, with its 95 % interval; see `auc`."""
    before, after = _auc(raw), _auc(mapped)
    if before is None or after is None:
        return None
    return estimate(after[0] - before[0], (after[1] - before[1]).tolist(), raw.clusters)


def _auc(found: Forecasts) -> tuple[float, Floats] | None:
    """Return the area, and how far each answer moves it (n,)."""
    has, not_ = found.labels[:, 0], 1 - found.labels[:, 0]
    if len(found.options) != 2 or min(has.sum(), not_.sum()) <= _ROUNDING:  # noqa: PLR2004 - ranks of one number
        return None
    _, place = np.unique(found.probabilities[:, 0], return_inverse=True)

    def below(weights: Floats) -> Floats:
        """Return the share of the weights with a lower probability than each answer, ties counting half."""
        at = np.bincount(place, weights)
        ranks: Floats = ((np.cumsum(at) - at / 2) / at.sum())[place]
        return ranks

    beaten, beating = below(not_), 1 - below(has)
    value = float((has * beaten).sum() / has.sum())
    influence = has * (beaten - value) / has.mean() + not_ * (beating - value) / not_.mean()
    return value, influence
