"""What is gained by leaving out the decisions the samples disagreed about: the risk-coverage curve."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from judgeharness_integrations.calibration.judged import Judged
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.statistics.tally import Tally

__all__ = ["RiskCoverage", "RiskPoint", "risk_coverage"]


@dataclass(frozen=True, kw_only=True)
class RiskPoint:
    """Only decisions of at least `threshold` confidence are taken.

    `n` are taken, a share `coverage` of all labelled items; `accuracy` of them are right, with its interval: at 95 %
    unless another level is given.
    """

    threshold: float
    n: int
    coverage: float
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class RiskCoverage:
    """Accuracy against coverage, from the surest decisions to all of them (El-Yaniv and Wiener 2010).

    One point a confidence: equal confidences are one step. Coverage is of all `n` labelled items, so an abstention is
    never covered; `unordered` decisions have no confidence and are not covered either. `aurc` is the mean risk
    (1 - accuracy) over the decisions in the curve, each counted with the risk at its own step. The curve describes: a
    threshold chosen by it fares worse on new cases, and `certifying` is for one that has to keep a promise.
    """

    points: tuple[RiskPoint, ...]
    aurc: float
    n: int
    unordered: int


def risk_coverage(
    items: Sequence[Judged], clusters: Sequence[Hashable], *, confidence: float = 0.95
) -> RiskCoverage | None:
    """Return the curve of labelled decisions, intervals at a level; None when none of them says how sure it is."""
    decided = [place for place, item in enumerate(items) if item.status == "decided"]
    ordered = [(sure, place) for place in decided if (sure := items[place].confidence) is not None]
    if not ordered:
        return None
    ordered.sort(reverse=True)
    points: list[RiskPoint] = []
    taken = Tally()
    risks: list[float] = []
    for threshold, step in groupby(ordered, key=lambda pair: pair[0]):
        before = taken.trials
        for _, place in step:
            taken.add(hit=items[place].verdict == items[place].gold, cluster=clusters[place])
        points.append(_point(threshold, taken, len(items), confidence))
        risks.append((1 - points[-1].accuracy) * (taken.trials - before))
    aurc = math.fsum(risks) / taken.trials
    return RiskCoverage(points=tuple(points), aurc=aurc, n=len(items), unordered=len(decided) - len(ordered))


def _point(threshold: float, taken: Tally, items: int, confidence: float) -> RiskPoint:
    rate = cast("Rate", Rate.of_tally(taken, confidence=confidence))  # a step takes at least one decision
    return RiskPoint(
        threshold=threshold,
        n=rate.trials,
        coverage=rate.trials / items,
        accuracy=rate.value,
        low=rate.low,
        high=rate.high,
    )
