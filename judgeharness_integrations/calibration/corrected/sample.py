"""What a rate is corrected from: the judge's decisions on all items, and people's labels on some of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.calibration.rates import Rate

__all__ = ["Bools", "Codes", "Sample"]

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
