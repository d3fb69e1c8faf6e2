"""Early stopping: a case needs no further samples once no answer to them could change its decision.

Early stopping: a case needs no further samples once no answer to them could change its decision. The curtailed
decision has the status and the verdict that all planned samples would give, whatever they were. Everything here looks
at all completions: any label, also one nobody gave yet, any score, any failure. Two limits: an answer of the other
kind (a score among labels) counts as a failure, and so does one `net_preference` cannot read (none of A, B and TIE),
which is what the harness makes of them about a pair.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product, zip_longest
from typing import Any, Protocol, cast

from judgeharness_integrations.verdictlog.row import LARGEST_SCORE, Verdict, VerdictRow, is_number

from . import folds
from .folds import Decision
from .rules import Bound, ByKind, Rule, decide, quorum


class Settling(Protocol):
    """One rule over the samples so far, once there are enough valid ones for a verdict."""

    @property
    def refused(self) -> bool:
        """Whether the rule grades no completion at all."""
        ...

    @property
    def settled(self) -> bool:
        """Whether every completion gives the same status and verdict."""
        ...

    def fewest(self, missing: int) -> int:
        """Return the fewest further samples, at least `missing` of them valid, after which it can be settled.

        Only meaningful while it is not settled; may exceed the samples left.
        """
        ...


def first_true(holds: Callable[[int], bool], most: int) -> int:
    """Return the least n of 1 .. `most` at which a condition that never turns false again holds; `most` if none."""
    return 1 + bisect_left(range(1, most), 1, key=holds)


@dataclass(frozen=True)
class Plurality:
    """A rule that decides for the only most frequent verdict if at least `least` samples gave it, else abstains.

    `first` and `second` are the two highest counts, `left` the samples to come.
    """

    first: int
    second: int
    left: int
    least: int = 1
    refused: bool = False

    @classmethod
    def of(cls, verdicts: Sequence[Verdict], left: int, least: int) -> Plurality:
        """Return the state after these valid samples."""
        counts = sorted(Counter(verdicts).values(), reverse=True)
        first, second = (*counts, 0, 0)[:2]
        return cls(first, second, left, least)

    @property
    def settled(self) -> bool:
        """Whether the leader cannot be caught, or no verdict can become frequent enough."""
        won = self.first >= self.least and self.first > self.second + self.left
        return won or self.first + self.left < self.least

    def fewest(self, missing: int) -> int:
        """Return the samples it takes when all of them give the leader, or each another new label."""
        won = max(self.least - self.first, (self.second + self.left - self.first) // 2 + 1)
        lost = max(self.first, 1) + self.left - self.least + 1
        return max(missing, min(won, lost))


@dataclass(frozen=True)
class NetPreference:
    """The sign of a sum of +1, -1 and 0; answers without a side were turned away before."""

    net: int
    left: int
    refused: bool = False

    @property
    def settled(self) -> bool:
        """Whether the side behind cannot even draw level."""
        return abs(self.net) > self.left

    def fewest(self, missing: int) -> int:
        """Return the samples it takes when all of them are for the side ahead."""
        return max(missing, (self.left - abs(self.net)) // 2 + 1)


@dataclass(frozen=True)
class Median:
    """The median of `scores` (ascending), turned into PASS or FAIL at `pass_at`.

    No completion takes it below the median with every sample to come at the lowest score, or above that with all of
    them at the highest. An odd and an even number of scores round differently, so both are looked at.
    """

    scores: Sequence[float]
    left: int
    pass_at: Fraction | None = None
    refused: bool = False

    @property
    def settled(self) -> bool:
        """Whether the extreme completions give the same verdict."""
        extremes = {self._verdict(low, many - low) for many in (self.left, self.left - 1) for low in (0, many)}
        return len(extremes) == 1

    def fewest(self, missing: int) -> int:
        """Return the samples it takes when all of them are the median (with `pass_at`: are extreme, on one side)."""
        if self.pass_at is None:
            return max(missing, self._furthest() - (len(self.scores) - self.left - 1) // 2)
        passed = first_true(lambda many: self._verdict(self.left - many, many) is True, self.left)
        failed = first_true(lambda many: self._verdict(many, self.left - many) is False, self.left)
        return max(missing, min(passed, failed))

    def _verdict(self, low: int, high: int) -> float | bool:
        center = statistics.median([-LARGEST_SCORE] * low + [*self.scores] + [LARGEST_SCORE] * high)
        return center if self.pass_at is None else Fraction(center) >= self.pass_at

    def _furthest(self) -> int:
        """Return how many scores lie on one side of the median at most."""
        many = len(self.scores)
        middle = [self.scores[(many - 1) // 2], self.scores[many // 2]] if many else []
        sides = (max(bisect_left(self.scores, y), many - bisect_right(self.scores, y)) for y in middle)
        return min(sides, default=0)


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


_Begin = Callable[[Sequence[VerdictRow], Sequence[bool], Mapping[str, Fraction]], Settling]


def curtails(rule: Rule) -> str | None:
    """Return why the samples of a case cannot be cut short under a rule; None when they can."""
    function = rule.function
    if isinstance(function, ByKind):
        return curtails(function.labels) or curtails(function.numbers)
    if not isinstance(function, Bound):
        return f"what rule {rule.name} makes of further samples is not known: it is a function of the caller's own"
    if function.function in folds.PROBABILITY_RULES:
        return f"every further probability can change what rule {rule.name} decides"
    if function.function not in _RULES:
        return f"every further score can change what rule {rule.name} decides: scores have no bounds"
    return None


def asking_order(samples: Sequence[tuple[int, bool]], rule: Rule, *, swapped_first: bool = False) -> list[int]:
    """Return the places of samples in the order in which early stopping asks them.

    `swap_consensus` cannot stop before it knows both orders, so that these take turns: a steady judge is asked 4 of 6
    samples, one order after the other 5. Other rules count, and stop no sooner in any order.

    Args:
        samples: repetition of each sample in plan order, and whether it swaps.
        rule: the rule that stops.
        swapped_first: which of the two orders begins.

    """
    places = range(len(samples))
    if not any(_takes_turns(part) for part in _parts((), rule)):
        return list(places)
    by_repetition = sorted(places, key=lambda place: samples[place][0])
    sides = [[place for place in by_repetition if samples[place][1] == swaps] for swaps in (False, True)]
    first, second = reversed(sides) if swapped_first else sides
    return [place for pair in zip_longest(first, second) for place in pair if place is not None]


def _takes_turns(rule: Rule) -> bool:
    return isinstance(rule.function, Bound) and rule.function.function is folds.swap_consensus


def settled(
    rows: Sequence[VerdictRow], rule: Rule, *, remaining: Sequence[bool], min_valid: int | None = None
) -> Decision | None:
    """Return the decision of one case and criterion if no completion can change its status or verdict, else None.

    Its reason ends with `settled after 4 of 6 samples`.

    Args:
        rows: the rows so far, failures included.
        rule: how to fold them; one that `curtails` refuses is settled by the last sample only.
        remaining: of each planned probe not asked yet, whether it shows the texts in the other order.
        min_valid: the quorum, of all planned samples; see `quorum`.

    """
    planned = len(rows) + len(remaining)
    if needed(rows, rule, remaining=remaining, min_valid=min_valid):
        return None
    # that all other samples fail is a completion, too, and the one nothing has to be guessed for
    failed = [VerdictRow(case_id="", verdict=None, outcome="error", swapped=swapped) for swapped in remaining]
    decision = decide([*rows, *failed], rule, planned=planned, min_valid=min_valid)
    if not remaining:
        return decision
    return replace(decision, reason=f"{decision.reason}; settled after {len(rows)} of {planned} samples")


def needed(rows: Sequence[VerdictRow], rule: Rule, *, remaining: Sequence[bool], min_valid: int | None = None) -> int:
    """Return how many further samples, in plan order, have to be asked before a decision can be settled.

    0 exactly when it is settled. No answers settle it earlier, so that many can be asked at once without waste. The
    arguments are those of `settled`.
    """
    left = len(remaining)
    missing = quorum(len(rows) + left, min_valid) - sum(row.answered for row in rows)
    if not left or curtails(rule):
        return left
    if missing > left:
        return 0  # no quorum any more
    states = [_begun(part, rows, remaining) for part in _parts(rows, rule)]
    if not states:
        return left
    if any(state.refused or (missing <= 0 and state.settled) for state in states):
        return 0
    hopeless = left - max(missing, 1) + 1  # failures that leave no quorum
    return max(1, min(left, hopeless, *(state.fewest(missing) for state in states)))


def _parts(rows: Sequence[VerdictRow], rule: Rule) -> list[Rule]:
    """Return the rule for what the rows hold; both of two by kind before the first answer, none that does not fit."""
    rules = [rule.function.labels, rule.function.numbers] if isinstance(rule.function, ByKind) else [rule]
    kinds = {"numbers" if is_number(verdict) else "labels" for verdict in {row.verdict for row in rows} - {None}}
    return [part for part in rules if kinds <= {part.kind}]


def _begun(rule: Rule, rows: Sequence[VerdictRow], remaining: Sequence[bool]) -> Settling:
    bound = cast("Bound", rule.function)  # `curtails` let no other pass
    return _RULES[bound.function](rows, remaining, dict(bound.values))


def _plurality(least: Callable[[int, Mapping[str, Fraction]], int]) -> _Begin:
    """Return how a rule begins that asks `least` of the planned samples of the leading verdict."""

    def begin(rows: Sequence[VerdictRow], remaining: Sequence[bool], values: Mapping[str, Fraction]) -> Settling:
        verdicts = [row.verdict for row in rows if row.verdict is not None]
        return Plurality.of(verdicts, len(remaining), least(len(rows) + len(remaining), values))

    return begin


def _median(rows: Sequence[VerdictRow], remaining: Sequence[bool], values: Mapping[str, Fraction]) -> Settling:
    scores = sorted(row.verdict for row in rows if isinstance(row.verdict, (int, float)))
    return Median(scores, len(remaining), values.get("pass_at"))


def _swap_consensus(rows: Sequence[VerdictRow], remaining: Sequence[bool], _: Mapping[str, Fraction]) -> Settling:
    return SwapConsensus(rows, remaining)


def _net_preference(rows: Sequence[VerdictRow], remaining: Sequence[bool], _: Mapping[str, Fraction]) -> Settling:
    sides = [folds.PREFERENCE.get(row.verdict) for row in rows if row.verdict is not None]
    unequal = SwapConsensus(rows, remaining).refused
    return NetPreference(sum(side or 0 for side in sides), len(remaining), unequal or None in sides)


def _share(planned: int, values: Mapping[str, Fraction]) -> int:
    """Return the least count whose share of the planned samples reaches the threshold."""
    return -(-values["threshold"].numerator * planned // values["threshold"].denominator)


_RULES: Mapping[Any, _Begin] = {
    folds.majority: _plurality(lambda _planned, _values: 1),
    folds.strict_majority: _plurality(lambda planned, _values: planned // 2 + 1),
    folds.supermajority: _plurality(_share),
    folds.abstain_on_disagreement: _plurality(lambda planned, _values: planned),
    folds.mode: _plurality(lambda _planned, _values: 1),
    folds.median: _median,
    folds.swap_consensus: _swap_consensus,
    folds.net_preference: _net_preference,
}


_PAIRS = (("PASS", "FAIL"), ("A", "B"))  # the positive label first
_FEWEST = 3  # a majority of one says nothing about a rate
_MAJORITIES = (folds.majority, folds.strict_majority)


def unbiased_rate(rows: Sequence[VerdictRow], rule: Rule, *, planned: int) -> float | None:
    """Return the unbiased estimate of the positive label's rate under early stopping; None where there is none.

    With K = (planned + 1) / 2: stopped at K positives after b negatives it is (K-1) / (K+b-1), stopped at K negatives
    after a positives a / (a+K-1) (Girshick, Mosteller and Savage 1946; their estimate for inverse binomial sampling).
    It is computed from the samples up to that moment, so samples asked for another criterion's sake change nothing.

    It exists for `majority` and `strict_majority` of an odd number of samples, at least three, none of which failed,
    that are all PASS or FAIL, or all A or B.

    Args:
        rows: the rows of one criterion under one perturbation, in plan order.
        rule: the rule that stopped the samples.
        planned: how many samples there were to be.

    """
    if planned < _FEWEST or planned % 2 == 0 or not _is_majority(rule):
        return None
    verdicts = [row.verdict for row in rows]
    positive = positive_label(verdicts)
    if positive is None or [row.repetition for row in rows] != list(range(len(rows))):
        return None
    positives, enough = 0, (planned + 1) // 2
    for asked, verdict in enumerate(verdicts, start=1):
        positives += verdict == positive
        if enough in (positives, asked - positives):
            return (positives - (verdict == positive)) / (asked - 1)
    return None


def positive_label(verdicts: Iterable[Verdict | None]) -> str | None:
    """Return which of two labels a rate is of: PASS against FAIL, A against B; None for other or no verdicts."""
    given = set(verdicts)
    return next((positive for positive, other in _PAIRS if given and given <= {positive, other}), None)


def _is_majority(rule: Rule) -> bool:
    function = rule.function.labels.function if isinstance(rule.function, ByKind) else rule.function
    return isinstance(function, Bound) and function.function in _MAJORITIES
