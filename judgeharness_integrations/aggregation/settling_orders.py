"""Can the samples still to come change a consensus of two orders?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product

from judgeharness_integrations.aggregation.settling import first_true
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["SwapConsensus"]

_NEW = tuple(object() for _ in range(3))  # labels nobody gave yet: one for each order to lead with, one for neither


@dataclass(frozen=True)
class _Order:
    """The samples of one order: how often each label was given, and how many samples are `left`."""

    counts: Counter[Hashable]
    left: int

    @cached_property
    def _two_highest(self) -> tuple[int, int]:
        first, second = (*sorted(self.counts.values(), reverse=True), 0, 0)[:2]
        return first, second

    def _rival(self, label: Hashable) -> int:
        """Return the highest count of another label."""
        first, second = self._two_highest
        return second if self.counts[label] == first else first

    def won(self, label: Hashable, asked: int = 0) -> bool:
        """Whether a label leads whatever comes after `asked` further samples, if all of those gave it."""
        return self.counts[label] + asked > self._rival(label) + self.left - asked

    def winners(self, labels: Sequence[Hashable]) -> set[Hashable]:
        """Return the labels that can still lead alone."""
        return {label for label in labels if self.counts[label] + self.left > self._rival(label)}

    def smallest(self, labels: Sequence[Hashable], asked: int) -> Iterator[tuple[set[Hashable], int]]:
        """Yield the smallest sets of labels that can still lead after `asked` further samples, with the valid ones.

        Whatever the samples are, whoever leads can go on leading, so all of them for one label leaves least.
        """
        left, (first, second) = self.left - asked, self._two_highest
        if left:
            for label in labels:
                leading = self.counts[label] + asked
                if leading >= first:
                    yield {label, *(other for other in labels if self.counts[other] > leading - left)}, asked
            return
        if first - second <= asked:  # a tie; of a single sample it takes a failure
            yield set(), 0 if (first, asked) == (0, 1) else asked
        for label in labels:
            if self.counts[label] + asked > self._rival(label):
                yield {label}, asked


@dataclass(frozen=True)
class SwapConsensus:
    """The label that leads in both orders, else an abstention; `remaining` says of each sample to come if it swaps."""

    rows: Sequence[VerdictRow]
    remaining: Sequence[bool]

    @property
    def refused(self) -> bool:
        """Whether the orders have unequal probes."""
        swapped = sum(row.swapped for row in self.rows) + sum(self.remaining)
        return 2 * swapped != len(self.rows) + len(self.remaining)

    @cached_property
    def _orders(self) -> tuple[_Order, _Order]:
        swaps = sum(self.remaining)
        shown: Counter[Hashable] = Counter(row.verdict for row in self.rows if row.ok and not row.swapped)
        swapped: Counter[Hashable] = Counter(row.verdict for row in self.rows if row.ok and row.swapped)
        return _Order(shown, len(self.remaining) - swaps), _Order(swapped, swaps)

    @cached_property
    def _labels(self) -> list[Hashable]:
        shown, swapped = self._orders
        return [*(shown.counts | swapped.counts), *_NEW]

    @property
    def settled(self) -> bool:
        """Whether both orders have their label, or there is no label that both can have."""
        shown, swapped = self._orders
        if shown.winners(self._labels).isdisjoint(swapped.winners(self._labels)):
            return True
        return any(shown.won(label) and swapped.won(label) for label in self._labels)

    def fewest(self, missing: int) -> int:
        """Return the samples it takes for a consensus, or for a disagreement nothing can mend."""
        swaps = [0, *accumulate(self.remaining)]
        return first_true(lambda many: self._can_settle(many - swaps[many], swaps[many], missing), len(self.remaining))

    def _can_settle(self, asked: int, asked_swapped: int, missing: int) -> bool:
        shown, swapped = self._orders
        if asked + asked_swapped < missing:
            return False
        if any(shown.won(label, asked) and swapped.won(label, asked_swapped) for label in self._labels):
            return True
        pairs = product(shown.smallest(self._labels, asked), swapped.smallest(self._labels, asked_swapped))
        return any(valid + others >= missing and one.isdisjoint(two) for (one, valid), (two, others) in pairs)
