"""How right decisions are: rates with Wilson intervals, errors of scores, by label and along their consistency."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self, cast

from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

from ..statistics.means import Estimate, estimate
from ..statistics.proportions import Tally, share_estimate, wilson
from .items import Judged

__all__ = [
    "Rate",
    "ScoreErrors",
    "rate_document",
    "score_errors",
]


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


def rate_document(rate: Rate | None) -> dict[str, int | float] | None:
    """Return a rate as documents hold it: `value` with its interval, of `n` trials."""
    return None if rate is None else {"value": rate.value, "low": rate.low, "high": rate.high, "n": rate.trials}


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


_FEWEST = 5


@dataclass(frozen=True, kw_only=True)
class ClassRates:
    """How one label fares: `precision` of the decisions that name it, `recall` of the `support` items that have it.

    Abstained and not graded items count as not named.
    """

    precision: Rate | None
    recall: Rate | None
    support: int


def _labels(verdict: Verdict | None) -> frozenset[str]:
    """Return the labels a verdict names: its own, or those of the set."""
    if verdict is None:
        return frozenset()
    return verdict if isinstance(verdict, frozenset) else frozenset({verdict_text(verdict)})


def _sides(items: Sequence[Judged]) -> tuple[list[frozenset[str]], list[frozenset[str]], list[str]]:
    golds = [_labels(item.gold) for item in items]
    named = [_labels(item.verdict if item.status == "decided" else None) for item in items]
    return golds, named, sorted(frozenset[str]().union(*golds, *named))


def class_rates(
    items: Sequence[Judged], clusters: Sequence[Hashable], *, confidence: float = 0.95
) -> dict[str, ClassRates]:
    """Return label -> its rates, for every label somebody or the rule gave; of sets, each label by itself."""
    golds, named, labels = _sides(items)
    rates: dict[str, ClassRates] = {}
    for label in labels:
        said = [place for place, names in enumerate(named) if label in names]
        true = [place for place, names in enumerate(golds) if label in names]
        rates[label] = ClassRates(
            precision=Rate.over(
                [label in golds[place] for place in said], [clusters[place] for place in said], confidence=confidence
            ),
            recall=Rate.over(
                [label in named[place] for place in true], [clusters[place] for place in true], confidence=confidence
            ),
            support=len(true),
        )
    return rates


def balanced_accuracy(
    items: Sequence[Judged],
    clusters: Sequence[Hashable],
    *,
    positive: str | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """Return the mean over the gold labels of the share of their items that is judged right; None below two labels.

    A judge that always answers the same has 1 / labels, whatever the mix. With a positive label it is the mean of
    sensitivity and specificity, where abstained and not graded count as not positive; without one they are not right.
    The interval is made of the exact ones of the shares (MOVER: Zou and Donner 2008, eq. 9), so that a label of which
    there are few tells little: a judge whose answers have nothing to do with the labels has a lower end above
    1 / labels in at most .02 of samples. With Wilson's ends it is .16 at one item of the rarer label and .09 at five.
    Where a cluster holds several labels the shares depend on each other, and their margins are added up.
    """
    tallies: dict[str, Tally] = {}
    where: dict[Hashable, set[str]] = {}
    for item, cluster in zip(items, clusters, strict=True):
        said = item.verdict if item.status == "decided" else None
        label = verdict_text(item.gold) if positive is None else str(item.gold == positive)
        hit = said == item.gold if positive is None else (said == positive) == (item.gold == positive)
        tallies.setdefault(label, Tally()).add(hit=hit, cluster=cluster)
        where.setdefault(cluster, set()).add(label)
    if len(tallies) <= 1:
        return None
    rates = [(one.successes / one.trials, one.exact_interval(confidence) or (0.0, 1.0)) for one in tallies.values()]
    value = math.fsum(rate for rate, _ in rates) / len(rates)
    mixed = any(len(labels) > 1 for labels in where.values())
    margins = ([abs(rate - ends[side]) for rate, ends in rates] for side in (0, 1))
    below, above = ((math.fsum(one) if mixed else math.hypot(*one)) / len(rates) for one in margins)
    return Estimate(value=value, low=max(0.0, value - below), high=min(1.0, value + above), n=len(items))


def macro_f1(items: Sequence[Judged], clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Estimate | None:
    """Return the mean over all labels of F1 = 2 hits / (items that have it + decisions that name it); None without any.

    Its interval is Wilson's with the number of trials that the linearised, clustered standard error is worth, at most
    those it is worth after half an error and half a hit are added to every label: a rare label without an error so far
    is not taken for one that is never missed. There is none where a label is `too_rare`.
    """
    golds, named, labels = _sides(items)
    if not labels:
        return None
    n = len(items)
    total = 0.0
    influence = [0.0] * n
    counts: list[tuple[int, int]] = []
    for label in labels:
        true, said = ([label in names for names in side] for side in (golds, named))
        hits = [both == 2 for both in map(sum, zip(true, said, strict=True))]  # noqa: PLR2004 - both
        size = sum(true) + sum(said)
        counts.append((sum(hits), size - 2 * sum(hits)))
        score = 2 * sum(hits) / size
        total += score
        for place in range(n):
            if true[place] or said[place]:
                influence[place] += n * (2 * hits[place] - score * (true[place] + said[place])) / size
    share = [value / len(labels) for value in influence]
    value = total / len(labels)
    if too_rare(items, clusters):
        return Estimate(value=value, low=None, high=None, n=n)
    return share_estimate(value, share, clusters, most=_careful(counts), confidence=confidence)


def too_rare(items: Sequence[Judged], clusters: Sequence[Hashable]) -> str | None:
    """Return why macro F1 has no interval, None where it has one: five clusters or more hold each of several labels."""
    golds, _, labels = _sides(items)
    support = {
        label: len({key for key, names in zip(clusters, golds, strict=True) if label in names}) for label in labels
    }
    rarest = min(support, key=support.__getitem__, default=None)
    if len(support) == 1:
        return f"every label and decision is {rarest!r:.60}: nothing tells how the others fare"
    if rarest is None or support[rarest] >= _FEWEST:
        return None
    return f"{support[rarest]} labelled items are {rarest!r:.60}: fewer than {_FEWEST} give no interval"


def _careful(counts: Sequence[tuple[int, int]]) -> float:
    """Return the trials a macro F1 is worth after half a hit and half an error are added to each label.

    Args:
        counts: of each label, the hits, and the items that have it or are named it but not both.

    """
    shares = [((hits + 0.5) / (hits + errors + 1), hits + errors + 1) for hits, errors in counts]
    value = sum(2 * share / (1 + share) for share, _ in shares) / len(shares)
    slopes = [(2 / (1 + share) ** 2, share * (1 - share) / trials) for share, trials in shares]
    variance = sum(slope * slope * spread for slope, spread in slopes) / len(shares) ** 2
    return value * (1 - value) / variance


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
