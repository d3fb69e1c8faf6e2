"""Rogan and Gladen's correction of a judged rate, with Lee's interval, and what any rate is corrected from."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError

from ..statistics.means import Z95
from .rates import Rate

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


Method: TypeAlias = Literal["labels_alone", "ppi_plus_plus", "tenenbein", "rogan_gladen", "rogan_gladen_delta"]


@dataclass(frozen=True, kw_only=True)
class RateEstimate:
    """What one estimator says of the true rate.

    `estimate` and the 95 % interval `low`, `high` are cut to [0, 1]; `raw`, `raw_low` and `raw_high` are not. `low` and
    `high` are None where no interval can be told, or where all of it lies outside [0, 1]: then `outside` is set, and
    the assumption does not hold. `outside` is also set where only `raw` lies there. `weight` is how much PPI++ listens
    to the judge. Where it does not apply, `applicable` is false, numbers are None, and `reason` says why.
    """

    method: Method
    assumes: str
    basis: str
    applicable: bool = True
    reason: str = ""
    estimate: float | None = None
    raw: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    raw_low: float | None = None
    raw_high: float | None = None
    outside: bool = False
    weight: float | None = None

    @classmethod
    def of(
        cls,
        method: Method,
        raw: float,
        interval: tuple[float, float] | None,
        *,
        se: float | None,
        assumes: str,
        basis: str,
        reason: str = "",
        weight: float | None = None,
    ) -> RateEstimate:
        """Return an estimate cut to [0, 1]; an interval wholly outside is none."""
        low, high = (None, None) if interval is None else interval
        apart = low is not None and high is not None and (high < 0 or low > 1)
        return cls(
            method=method,
            assumes=assumes,
            basis=basis,
            reason=reason,
            estimate=_cut(raw),
            raw=raw,
            se=se,
            low=None if low is None or apart else _cut(low),
            high=None if high is None or apart else _cut(high),
            raw_low=low,
            raw_high=high,
            outside=apart or not 0 <= raw <= 1,
            weight=weight,
        )

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval, where there is one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def items(self) -> Literal["all", "unlabelled"]:
        """Whose rate it is: that of all items, or of those without a label, whose judged rate is corrected."""
        return "unlabelled" if self.method in {"rogan_gladen", "rogan_gladen_delta"} else "all"

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON keeps it."""
        return {**asdict(self), "items": self.items}


def _cut(value: float) -> float:
    return min(1.0, max(0.0, value))


Bools: TypeAlias = NDArray[np.bool_]
Codes: TypeAlias = NDArray[np.intp]
_MOST = 10_000_000  # items that counts may stand for: each of them is held
_FEWEST = 5  # labelled items without a decision that are worth a rate of their own


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Items judged positive or not, some of them labelled.

    `labels` and `judged` are of the labelled items, `rest` are the judge's decisions on the others. `label_clusters`
    and `rest_clusters` say which cluster each of them is in. `apart`: the labelled items are none of those whose rate
    is asked for, so the judged rate is that of `rest` alone. `undecided` and `rest_undecided` say of which items there
    is no decision, which are none of those judged positive; None: not known, or of none.
    """

    labels: Bools
    judged: Bools
    rest: Bools
    label_clusters: Sequence[Hashable]
    rest_clusters: Sequence[Hashable]
    apart: bool = False
    undecided: Bools | None = None
    rest_undecided: Bools | None = None

    @classmethod
    def of_items(
        cls,
        judged: Sequence[bool | None],
        labels: Sequence[bool | None],
        clusters: Sequence[Hashable] | None,
        *,
        apart: bool,
    ) -> Self:
        """Split items into labelled ones and the others; `judged` is None where there is no decision.

        Raises:
            UsageError: the columns are of different lengths.

        """
        if len(labels) != len(judged) or (clusters is not None and len(clusters) != len(judged)):
            raise UsageError("give one label (or None) and, where there are clusters, one cluster a judged item.")
        keys: Sequence[Hashable] = range(len(judged)) if clusters is None else clusters
        known = [place for place, label in enumerate(labels) if label is not None]
        others = [place for place, label in enumerate(labels) if label is None]
        return cls(
            labels=np.array([bool(labels[place]) for place in known], dtype=bool),
            judged=np.array([bool(judged[place]) for place in known], dtype=bool),
            rest=np.array([bool(judged[place]) for place in others], dtype=bool),
            undecided=np.array([judged[place] is None for place in known], dtype=bool),
            rest_undecided=np.array([judged[place] is None for place in others], dtype=bool),
            label_clusters=[keys[place] for place in known],
            rest_clusters=[keys[place] for place in others],
            apart=apart,
        )

    @classmethod
    def of_counts(cls, *, passed: int, total: int, sensitivity: tuple[int, int], specificity: tuple[int, int]) -> Self:
        """Return the items that counts stand for; see `corrected_rate_of_counts`.

        Raises:
            UsageError: a part is larger than its whole, or negative, or they are more items than can be held.

        """
        for part, whole in ((passed, total), sensitivity, specificity):
            if not 0 <= part <= whole:
                raise UsageError(f"{part} of {whole} is no count: give a part between 0 and its whole.")
        (right1, m1), (right0, m0) = sensitivity, specificity
        if total + m1 + m0 > _MOST:
            raise UsageError(
                f"{total + m1 + m0} items are more than {_MOST:,}, which tell a rate to a thousandth: give counts of "
                "fewer items."
            )
        judged = np.repeat([True, False, False, True], [right1, m1 - right1, right0, m0 - right0])
        return cls(
            labels=np.repeat([True, False], [m1, m0]),
            judged=judged,
            rest=np.repeat([True, False], [passed, total - passed]),
            label_clusters=range(m1 + m0),
            rest_clusters=range(m1 + m0, m1 + m0 + total),
            apart=True,
        )

    @cached_property
    def clustered(self) -> bool:
        """Whether some items share a cluster."""
        if isinstance(self.label_clusters, range) and isinstance(self.rest_clusters, range):
            return False  # of counts
        keys = [*self.label_clusters, *self.rest_clusters]
        return len(set(keys)) < len(keys)

    @property
    def clusters(self) -> int | None:
        """How many clusters there are, None where each item stands alone."""
        return len({*self.label_clusters, *self.rest_clusters}) if self.clustered else None

    @cached_property
    def answers(self) -> tuple[Codes, Codes]:
        """The judge's answers on the labelled items and on the others: 1 positive, 0 not, 2 no decision.

        Where fewer than five labelled items are without a decision, they are 0 as well: their own rate would be told
        by too few.
        """
        codes, others = self.judged.astype(np.intp), self.rest.astype(np.intp)
        if self.undecided is None or self.rest_undecided is None or self.undecided.sum() < _FEWEST:
            return codes, others
        return np.where(self.undecided, 2, codes), np.where(self.rest_undecided, 2, others)

    @property
    def judged_rate(self) -> Rate | None:
        """The share of items judged positive, uncorrected."""
        if self.apart:
            return self._rate(self.rest, self.rest_clusters)
        return self._rate(np.concatenate((self.judged, self.rest)), [*self.label_clusters, *self.rest_clusters])

    @property
    def label_rate(self) -> Rate | None:
        """The share of labelled items labelled positive."""
        return self._rate(self.labels, self.label_clusters)

    @property
    def sensitivity(self) -> Rate | None:
        """Share of positive items judged positive."""
        return self._share(self.labels, self.judged)

    @property
    def specificity(self) -> Rate | None:
        """Share of other items not judged positive."""
        return self._share(~self.labels, ~self.judged)

    def _share(self, among: Bools, hit: Bools) -> Rate | None:
        keys = [self.label_clusters[place] for place in np.flatnonzero(among).tolist()] if self.clustered else ()
        return self._rate(hit[among], keys)

    def _rate(self, hits: Bools, keys: Sequence[Hashable]) -> Rate | None:
        if not self.clustered:
            return Rate.of(int(hits.sum()), len(hits))
        return Rate.over(hits.tolist(), keys)
