"""Agreement of decisions with gold labels: rates with Wilson intervals, and errors of scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

from judgeharness_integrations.analysis.statistics.means import estimate
from judgeharness_integrations.analysis.statistics.proportions import wilson
from judgeharness_integrations.analysis.statistics.tally import Tally

__all__ = ["Rate", "ScoreErrors", "score_errors"]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A proportion `successes / trials` with its interval (`low`, `high`), at 95 % unless said otherwise.

    The interval is Wilson's; where trials share a cluster, Wilson's with their effective number.
    """

    successes: int
    trials: int
    low: float
    high: float

    @classmethod
    def of(cls, successes: int, trials: int) -> Self | None:
        """Return the rate, or None without trials: an undefined rate is not 0."""
        interval = wilson(successes, trials)
        return None if interval is None else cls(successes=successes, trials=trials, low=interval[0], high=interval[1])

    @classmethod
    def over(cls, hits: Sequence[bool], clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Self | None:
        """Return the rate of trials of which some belong together, None without trials; see `Tally.interval`."""
        tally = Tally()
        for hit, cluster in zip(hits, clusters, strict=True):
            tally.add(hit=hit, cluster=cluster)
        return cls.of_tally(tally, confidence=confidence)

    @classmethod
    def of_tally(cls, tally: Tally, *, confidence: float = 0.95) -> Self | None:
        """Return the rate of counted trials, None without any."""
        interval = tally.interval(confidence)
        if interval is None:
            return None
        return cls(successes=tally.successes, trials=tally.trials, low=interval[0], high=interval[1])

    @property
    def value(self) -> float:
        """The proportion."""
        return self.successes / self.trials

    def __str__(self) -> str:
        """Return value, interval and denominator."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.successes}/{self.trials})"


@dataclass(frozen=True, kw_only=True)
class ScoreErrors:
    """How far decided scores lie from gold scores, in units of the score; `bias` is judge minus gold.

    The 95 % intervals are None where they cannot be told: fewer than two clusters of items, or equal errors; that of
    the absolute error also where almost none is above 0.
    """

    n: int
    mean_absolute_error: float
    root_mean_squared_error: float
    bias: float
    mean_absolute_error_interval: tuple[float, float] | None = None
    bias_interval: tuple[float, float] | None = None


def score_errors(
    pairs: Sequence[tuple[float, float]], clusters: Sequence[Hashable] | None = None, *, confidence: float = 0.95
) -> ScoreErrors | None:
    """Return the errors of (gold, decided) pairs; None without any.

    The intervals are t intervals of means, clustered where pairs share a cluster; that of the absolute error is made on
    the scale of the logarithm. Where most errors are 0, the plain one covers 86 % (80 % exact agreement of 20 items).
    """
    if not pairs:
        return None
    keys = range(len(pairs)) if clusters is None else clusters
    errors = [decided - gold for gold, decided in pairs]
    absolute, bias = (math.fsum(values) / len(errors) for values in (map(abs, errors), errors))
    return ScoreErrors(
        n=len(errors),
        mean_absolute_error=absolute,
        root_mean_squared_error=math.sqrt(math.fsum(error * error for error in errors) / len(errors)),
        bias=bias,
        mean_absolute_error_interval=_interval(
            absolute, [abs(error) - absolute for error in errors], keys, logarithmic=True, confidence=confidence
        ),
        bias_interval=_interval(bias, [error - bias for error in errors], keys, confidence=confidence),
    )


def _interval(
    mean: float,
    deviations: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    logarithmic: bool = False,
    confidence: float,
) -> tuple[float, float] | None:
    found = estimate(mean, deviations, clusters, logarithmic=logarithmic, confidence=confidence)
    return None if found.low is None or found.high is None else (found.low, found.high)
