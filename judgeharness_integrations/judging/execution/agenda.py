"""What is asked next: probes of one case after the other, answers on their way from many workers to one reader."""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from judgeharness_integrations.analysis.aggregation.curtailing import asking_order, needed
from judgeharness_integrations.analysis.aggregation.grouping import DEFAULT_CRITERION, by_criterion
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from ..cases import Case
    from ..plan import CasePlan
    from .observing import Span
    from .preparing import Pending, Rows, Slot

_FIRST_LOOKUP = 8  # cases: the first question does not wait for many of them to be read
_CASES_A_LOOKUP = 64


class OneByOne(ABC):
    """Cases that are opened one at a time: whether there is a next one may depend on the answers so far."""

    @abstractmethod
    def __iter__(self) -> Iterator[Case]:
        """Yield the cases."""


class Recalling(Protocol):
    """What knows earlier answers."""

    async def look_up(self, cases: Sequence[OpenCase]) -> None:
        """Give cases the answers that need not be asked for again."""


class Agenda:
    """An async iterator of probes that any number of workers may pull from.

    Cases are opened when somebody wants a probe and none is at hand. A case that may stop early holds back probes
    until earlier ones are answered; workers wait for those only when no further case is left to open.

    A provider's prompt cache can be read once the first answer about a text has begun. So repetitions of a text wait
    for that, as long as there is anything else to ask.
    """

    def __init__(
        self,
        cases: Iterator[OpenCase],
        *,
        recall: Recalling | None = None,
        one_by_one: bool = False,
        prime_cache: bool = True,
    ) -> None:
        """Take cases from an iterator, `one_by_one` or several a look-up; `recall` knows what the log holds of them.

        With `prime_cache` repetitions wait for the first answer; of cases one by one none does, as every other case
        may be one too many.
        """
        self._cases = cases
        self._recall = recall
        self._ready: deque[Pending] = deque()
        self._primes = prime_cache and not one_by_one
        self._waiting: dict[_Text, list[Pending]] = {}  # repetitions of texts whose first answer is not there yet
        alone = one_by_one or recall is None
        self._at_once, self._most_at_once = (1, 1) if alone else (_FIRST_LOOKUP, _CASES_A_LOOKUP)
        self._holding = 0  # cases that hold probes back
        self._left = True  # whether there may be further cases
        self._failure: Exception | None = None  # told once what was read before it is handed out
        self._ended = False
        self._opening = asyncio.Lock()
        self._change = asyncio.Event()

    def __aiter__(self) -> Self:
        """Iterate over the probes."""
        return self

    async def __anext__(self) -> Pending:
        """Return the next probe.

        Raises:
            Exception: a case could not be read or planned; nothing follows.

        """
        while (pending := self.at_once()) is None:
            if self._more:
                await self._open()
            elif self._waiting:  # nothing else would fill the slot
                self._release(next(iter(self._waiting)))
            elif self._holding and not self._ended:
                await self._change.wait()
            else:
                raise StopAsyncIteration
        return pending

    @property
    def _more(self) -> bool:
        """Whether there may be further cases; one that cannot be read waits for what was read before it."""
        if self._ended or (self._failure is not None and self._waiting):
            return False
        # the last look-up leaves no further cases, but its own are not ready before it ends
        return self._left or self._opening.locked()

    def at_once(self) -> Pending | None:
        """Return the next probe if one is at hand."""
        return self._ready.popleft() if self._ready else None

    @property
    def is_dry(self) -> bool:
        """Whether all that may be asked was handed out: what follows, if anything, waits for answers."""
        return self._ended or not (self._ready or self._left or self._opening.locked())

    def stop(self) -> None:
        """Hand out nothing any more."""
        self._ended = True
        self._ready.clear()
        self._waiting.clear()
        self._wake()

    async def rest(self) -> AsyncGenerator[OpenCase, None]:
        """Yield the cases that were never opened, with what is known of them; nothing of them is asked any more."""
        while cases := list(islice(iter(self._next, None), _CASES_A_LOOKUP)):
            if self._recall is not None:
                await self._recall.look_up(cases)
            for case in cases:
                yield case

    def primes(self, pending: Pending) -> bool:
        """Whether repetitions wait for an answer about this text."""
        return bool(self._waiting) and pending.known is None and pending.text in self._waiting

    def primed(self, pending: Pending) -> None:
        """Take the repetitions that waited for an answer about this text, which has begun or is there."""
        if self.primes(pending):
            self._release(pending.text)

    def _release(self, text: _Text) -> None:
        self._ready.extendleft(reversed(self._waiting.pop(text)))  # what is begun is finished first

    def answered(self, case: OpenCase, rows: Rows) -> None:
        """Take what waited for an answer: repetitions of its text, and probes a case held back; it is done without."""
        if self._waiting:
            slot = rows[0].perturbation, rows[0].repetition
            self.primed(next(pending for pending in case.pending if pending.slot == slot))
        if not case.holds_back:
            return
        self._ready.extendleft(reversed(self._asked_first(case)))
        self._holding -= not case.holds_back
        self._wake()

    async def _open(self) -> None:
        if self._recall is None:
            self._add(self._several())
            return
        async with self._opening:
            if self._ready or self._ended or not self._left:  # somebody else did it meanwhile
                return
            cases = self._several()
            try:
                await self._recall.look_up(cases)
            except BaseException:
                self._ended = True
                raise
            self._add(cases)
            self._wake()

    def _several(self) -> list[OpenCase]:
        """Return cases for one look-up; those before a case that cannot be read are asked before that is said."""
        cases: list[OpenCase] = []
        if self._failure is not None:
            self._left, failure = False, self._failure
            raise failure
        try:
            cases.extend(islice(iter(self._next, None), self._at_once))
            self._at_once = min(2 * self._at_once, self._most_at_once)
        except Exception as error:
            if not cases and not self._waiting:
                raise
            self._failure, self._left = error, True
        return cases

    def _next(self) -> OpenCase | None:
        try:
            case = next(self._cases, None)
        except BaseException:
            self._left = False
            self._wake()
            raise
        self._left = case is not None
        if case is None:
            self._wake()
        return case

    def _add(self, cases: list[OpenCase]) -> None:
        for case in cases:
            self._ready.extend(self._asked_first(case))
            self._holding += case.holds_back

    def _asked_first(self, case: OpenCase) -> list[Pending]:
        """Return what a case releases but for repetitions of a text about which nothing was answered now."""
        released = case.released()
        if not self._primes or case.plan.repetitions == 1:
            return released
        primed = {pending.text for pending in case.pending[: case.handed_out - len(released)] if pending.known is None}
        first = []
        for pending in released:
            if pending.known is not None or (text := pending.text) in primed:
                first.append(pending)
            elif text in self._waiting:
                self._waiting[text].append(pending)
            else:
                first.append(pending)
                self._waiting[text] = []
        return first

    def _wake(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


_T = TypeVar("_T")


class Channel(Generic[_T]):
    """A queue in one event loop whose writers never wait with an item in hand.

    An item is in as soon as it is there, however full the channel is; writers wait for `room` before they make the
    next one. So an end, or a cancellation, finds no answer that was paid for and not yet handed over.
    """

    def __init__(self, most_unread: int) -> None:
        """Let writers go on up to `most_unread` items; at most one more of each is held."""
        self._most_unread = most_unread
        self._unread: deque[_T] = deque()
        self._writers: list[asyncio.Future[None]] = []
        self._reader: asyncio.Future[None] | None = None
        self._ended = False
        self._error: BaseException | None = None

    def add(self, item: _T) -> None:
        """Hand over an item."""
        self._unread.append(item)
        self._wake_reader()

    def end(self, error: BaseException | None = None) -> None:
        """Say that nothing follows; `error` is raised to the reader after the last item."""
        self._ended, self._error = True, error
        self._wake_reader()

    @property
    def is_full(self) -> bool:
        """Whether the reader has fallen behind."""
        return len(self._unread) >= self._most_unread

    async def room(self) -> None:
        """Wait until the reader has caught up, should it have fallen behind."""
        if self.is_full:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(turn)
            await turn

    async def get(self) -> _T | None:
        """Return the next item, None after the last one."""
        while not self._unread:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        return self.get_at_once()

    def get_at_once(self) -> _T | None:
        """Return the next item if there is one."""
        if not self._unread:
            return None
        item = self._unread.popleft()
        if self._writers and len(self._unread) <= self._most_unread // 2:
            for writer in self._writers:
                _wake(writer)
            self._writers.clear()
        return item

    def _wake_reader(self) -> None:
        if self._reader is not None:
            _wake(self._reader)
            self._reader = None


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)


_Text = tuple[str, str]  # case id, perturbation: what a judge is shown, whichever repetition it is


@dataclass(slots=True)
class OpenCase:
    """One case of a run: `pending` are its probes as they are asked, with `stopping` no further than needed."""

    plan: CasePlan
    span: Span | None
    pending: Sequence[Pending]
    stopping: Stopping | None = None
    rows: list[VerdictRow] = field(default_factory=list)
    answered: int = 0
    rewrites: int = 0
    handed_out: int = 0
    _settled: bool = False

    @property
    def holds_back(self) -> bool:
        """Whether it has probes that wait for answers to earlier ones."""
        return self.handed_out < len(self.pending) and not self._settled

    @property
    def finished(self) -> bool:
        """Whether every probe that was handed out is answered, and no other is needed."""
        return self.answered == self.handed_out and not self.holds_back

    def known(self, rows: Mapping[Slot, Rows], *, stored: bool) -> None:
        """Give answers that need not be asked for again; `stored`: they are in the log as rows of this run."""
        for pending in self.pending:
            if pending.known is None and (found := rows.get(pending.slot)) is not None:
                pending.known, pending.stored = found, stored

    def known_left(self) -> list[Pending]:
        """Return the probes whose rows are known and were not taken yet."""
        return [pending for pending in self.unanswered() if pending.known is not None]

    def unanswered(self) -> list[Pending]:
        """Return the probes without an answer, in the order they are asked."""
        taken = {(row.perturbation, row.repetition) for row in self.rows}
        return [pending for pending in self.pending if pending.slot not in taken]

    @property
    def complete(self) -> bool:
        """Whether every probe is answered, or no other is needed."""
        if self.answered == len(self.pending):
            return True
        return self.stopping is not None and self._needed(self.stopping) == 0

    def _needed(self, stopping: Stopping) -> int:
        return stopping.needed(self.in_plan_order(), [pending.perturbation.swaps for pending in self.unanswered()])

    def add(self, rows: Rows) -> None:
        """Take the rows of one call."""
        self.rows.extend(rows)
        self.answered += 1

    def released(self) -> list[Pending]:
        """Return the probes that may be asked now, which from then on count as handed out."""
        first = self.handed_out
        if self.stopping is None:
            self.handed_out = len(self.pending)
        elif self.answered == first:  # decided in that order, so never while answers are on their way
            needed = self._needed(self.stopping)
            self._settled = needed == 0
            self.handed_out = min(first + needed, len(self.pending))
        return list(self.pending[first : self.handed_out])

    def in_plan_order(self) -> list[VerdictRow]:
        """Return the rows so far, perturbation by perturbation and repetition by repetition."""
        order = {perturbation.name: place for place, perturbation in enumerate(self.plan.perturbations)}
        return sorted(self.rows, key=lambda row: (order[row.perturbation], row.repetition))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """Early stopping of one case; `criteria` are the declared ones.

    A judge that declares none and answers by name might still name another one, so its cases are never cut short.
    """

    rule: Rule
    min_valid: int | None
    criteria: tuple[str, ...]

    def ordered(self, probes: Sequence[Pending]) -> list[Pending]:
        """Return the probes of a case as they are asked; which of two orders begins, its seed and its id pick."""
        picked = f"{probes[0].seed}|{probes[0].case_id}|which order begins"
        swapped_first = bool(hashlib.blake2b(picked.encode(errors="surrogatepass"), digest_size=1).digest()[0] & 1)
        samples = [(probe.repetition, probe.perturbation.swaps) for probe in probes]
        return [probes[place] for place in asking_order(samples, self.rule, swapped_first=swapped_first)]

    def needed(self, rows: Sequence[VerdictRow], remaining: Sequence[bool]) -> int:
        """Return how many further samples at least are needed before every criterion is settled; 0 when all are.

        Args:
            rows: the rows so far, failures included.
            remaining: for each sample not asked yet, as they are asked, whether it is shown in the other order.

        """
        groups = by_criterion(rows, self.criteria) or {DEFAULT_CRITERION: []}
        if not self.criteria and set(groups) != {DEFAULT_CRITERION}:
            return len(remaining)
        return max(needed(group, self.rule, remaining=remaining, min_valid=self.min_valid) for group in groups.values())
