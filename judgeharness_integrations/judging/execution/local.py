"""The local engine: a pool of workers in one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Protocol

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.rules import Rule, check_rule_fits
from judgeharness_integrations.analysis.usage import spent_by
from judgeharness_integrations.verdictlog.row import is_number

from ..answer import ModelAnswer
from ..judge import Judge, Judgment, Probe, as_judgment, note_understood
from ..structured import StructuredCase
from .agenda import Channel
from .answering import CallFacts, RowMaker
from .attempting import CallPolicy, Contact, own_failure
from .limiter import Limiter, limiter_for
from .observing import Span, Spans, awaiting_beginning, calling
from .preparing import Pending, Rows
from .rates import Rates
from .recalling import Keeper
from .retrying import Budget, BudgetExhausted

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.files import VerdictLog

__all__ = ["Asking", "Executor", "LocalExecutor", "Rows"]

_FEWEST_UNREAD = 64


@dataclass(kw_only=True)
class Asking:
    """What belongs to one run of one judge: how rows are made and kept, what may be spent, who watches.

    `model` is what calls are limited by; `keeper` puts rows into `log` as those of `run`; `rule` will fold them;
    `contact` knows whether the judge answers. `one_by_one`: any answer may be the last that is needed, so that none
    waits unread.
    """

    rows: RowMaker
    budget: Budget
    spans: Spans
    model: str
    keeper: Keeper | None = None
    rule: Rule | None = None
    contact: Contact = field(default_factory=Contact)
    parents: dict[str, Span] = field(default_factory=dict)  # case id -> its span
    one_by_one: bool = False
    run: str = ""
    log: VerdictLog | None = None

    async def keep(self, rows: Rows) -> None:
        """Return once the log has the rows of a call; until then the call is in flight."""
        if self.keeper is not None:
            await self.keeper.keep(rows)

    def check(self, rows: Rows, answer: object) -> None:
        """Refuse a rule that cannot fold an answer, and an answer nobody can read a verdict from.

        Raises:
            UsageError: the rule is one for labels and met a score, or the other way round; nobody can read the answer.

        """
        if (unreadable := as_judgment(answer).unreadable) is not None:
            raise UsageError(f"judge {rows[0].judge!r} {unreadable}.")
        for row in rows:
            if self.rule is not None and row.verdict is not None:
                numeric = is_number(row.verdict)
                check_rule_fits(self.rule, numeric=numeric, criterion=row.criterion, answer=row.verdict)


class Executor(Protocol):
    """Asks a judge the probes of a run and yields the rows of each call, in order of completion.

    Any number of tasks may pull probes at once. Rows go to `asking.keep` before they are yielded. A probe whose rows
    are `known` is not asked: they are yielded, and kept unless `stored`.
    """

    def ask(self, judge: Judge, probes: AsyncIterator[Pending], asking: Asking) -> AsyncGenerator[Rows, None]:
        """Ask every probe, as far as the budget goes."""
        ...


@dataclass(frozen=True, kw_only=True)
class LocalExecutor:
    """Asks with up to `max_concurrency` calls in flight, fewer while the model refuses more, no faster than `rates`.

    `policy` says how long and how often each call is tried.
    """

    max_concurrency: int = 16
    policy: CallPolicy = field(default_factory=CallPolicy)
    rates: Rates = field(default_factory=Rates)

    async def ask(self, judge: Judge, probes: AsyncIterator[Pending], asking: Asking) -> AsyncGenerator[Rows, None]:
        """Ask every probe; closing the generator cancels the calls in flight.

        When the probes themselves raise, the calls in flight are finished before the error is passed on.
        """
        limiter = limiter_for(asking.model)
        unread = 1 if asking.one_by_one else max(2 * self.max_concurrency, _FEWEST_UNREAD)
        answered: Channel[Rows] = Channel(unread)
        crew = _Crew(self, judge, limiter, asking, probes, answered)
        with limiter.run(self.max_concurrency, rates=self.rates):
            manager = asyncio.ensure_future(crew.work())
            try:
                while (rows := answered.get_at_once() or await answered.get()) is not None:
                    yield rows
            finally:
                manager.cancel()
                await asyncio.gather(manager, return_exceptions=True)


async def next_while(answers: AsyncGenerator[Rows, None], running: asyncio.Future[None]) -> Rows | None:
    """Return the next answer, None after the last one, as long as something runs that it may wait for.

    Raises:
        EOFError: that has ended, in whatever way.

    """
    task = asyncio.current_task()

    def wake(_: asyncio.Future[None]) -> None:
        if task is not None and not running.cancelled():
            task.cancel()

    running.add_done_callback(wake)
    try:
        return await anext(answers, None)
    except asyncio.CancelledError:
        if running.done() and task is not None and not task.uncancel():
            raise EOFError from None
        raise
    finally:
        running.remove_done_callback(wake)


class _Down(Exception):  # noqa: N818 - a signal inside the crew
    """A call is not begun any more."""


@dataclass
class _Crew:
    """The workers of one `ask`: they share the iterator of probes and the channel of answers."""

    executor: LocalExecutor
    judge: Judge
    limiter: Limiter
    asking: Asking
    left: AsyncIterator[Pending]
    answered: Channel[Rows]
    failure: Exception | None = None
    over: bool = False  # the budget is spent, the judge is down, or a case could not be read: nothing more is begun
    unfit: bool = False  # the rule cannot fold the answers
    trying: int = 0  # calls under way that began before the first answer
    tried: asyncio.Event = field(default_factory=asyncio.Event)  # one of these has ended; a new event each time

    def __post_init__(self) -> None:
        self.spent = partial(spent_by, default_model=self.asking.model)
        self.at_once: Callable[[], Pending | None] = getattr(self.left, "at_once", _nothing_at_hand)
        self.primes: Callable[[Pending], bool] = getattr(self.left, "primes", _of_no_interest)
        self.primed: Callable[[Pending], object] = getattr(self.left, "primed", _of_no_interest)

    async def work(self) -> None:
        """Run the workers until no probe is left, then end the channel."""
        failure: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.executor.max_concurrency):
                    first = await self._next()
                    if first is None:
                        break
                    group.create_task(self._worker(first))
        except BaseExceptionGroup as errors:
            failure = errors.exceptions[0]
        self.answered.end(failure or self.failure)

    async def _next(self) -> Pending | None:
        if self.over:
            return None
        try:
            return await anext(self.left, None)
        except Exception as error:  # noqa: BLE001 - a case could not be read or planned: reported after the calls in flight
            self.failure = error
            self._end()
            return None

    def _end(self) -> None:
        """Begin nothing more; whoever waits for a probe is told."""
        self.over = True
        if (stop := getattr(self.left, "stop", None)) is not None:
            stop()

    def _wake(self) -> None:
        self.tried.set()
        self.tried = asyncio.Event()

    async def _worker(self, pending: Pending | None) -> None:
        self.limiter.hold()
        me, contact = asyncio.current_task(), self.asking.contact
        while pending is not None:
            try:
                if pending.known is not None:
                    rows = await self._known(pending)
                elif contact.made and not self.unfit:
                    rows = await self._called(pending)
                else:
                    rows = await self._at_first(pending)
            except (BudgetExhausted, _Down):
                self._end()
                return
            if self.unfit:  # no case can be measured
                return
            self.answered.add(rows)
            self.primed(pending)
            if me is not None and me.cancelling():  # the judge kept a cancellation to itself
                return
            if self.answered.is_full:
                await self.answered.room()
            pending = (None if self.over else self.at_once()) or await self._next()

    async def _known(self, pending: Pending) -> Rows:
        rows = pending.known or ()
        if not pending.stored:
            await self.asking.keep(rows)
        elif any(row.outcome != "error" for row in rows):
            self.asking.contact.answered()
            self._wake()
        return rows

    async def _at_first(self, pending: Pending) -> Rows:
        """Return the rows of a call; before the judge has answered few of them are under way.

        Raises:
            _Down: the judge is down, or its answers cannot be folded.

        """
        contact = self.asking.contact
        while not contact.made or self.unfit:
            if contact.lost is not None or self.unfit:
                raise _Down
            if self.trying < contact.room:
                return await self._tried(pending)
            await self.tried.wait()
        return await self._called(pending)

    async def _tried(self, pending: Pending) -> Rows:
        """Return the rows of a call that begins before the first answer; the next ones wait for its end."""
        self.trying += 1
        try:
            return await self._called(pending)
        finally:
            self.trying -= 1
            self._wake()

    async def _called(self, pending: Pending) -> Rows:
        """Return the rows of a call; its slot is free again once they are in the log."""
        asking = self.asking
        if not self.limiter.acquire_at_once():
            await self.limiter.acquire()
        try:
            rows = await (self._priming(pending) if self.primes(pending) else self._seen(pending))
            if asking.keeper is not None:
                await asking.keeper.keep(rows)
        finally:
            self.limiter.release()
        return rows

    def _seen(self, pending: Pending) -> Coroutine[None, None, Rows]:
        return self._watched(pending) if self.asking.spans else self._ask(pending)

    async def _priming(self, pending: Pending) -> Rows:
        """Return the rows of a call for which repetitions wait: those follow once its answer has begun."""
        loop, told = asyncio.get_running_loop(), threading.Event()

        def begun() -> None:  # for each piece of the answer, and from the thread of a judge that has one
            if not told.is_set():
                told.set()
                with suppress(RuntimeError):  # a thread may outlive the loop
                    loop.call_soon_threadsafe(self.primed, pending)

        with awaiting_beginning(begun):
            return await self._seen(pending)

    async def _watched(self, pending: Pending) -> Rows:
        """Return the rows of a call that observers are told of."""
        spans = self.asking.spans
        name = f"sample[{pending.perturbation.name}#{pending.repetition}]"
        facts = {
            "perturbation": pending.perturbation.name,
            "repetition": pending.repetition,
            "case_id": pending.case_id,
        }
        order = "swapped" if pending.perturbation.swaps else "original"
        span = spans.begin("call", name, self.asking.parents.get(pending.case_id), order=order, **facts)
        rows: Rows = ()
        try:
            with calling(spans, span):
                rows = await self._ask(pending)
        finally:
            spans.end(span, rows=rows)
        return rows

    async def _ask(self, pending: Pending) -> Rows:
        asking, attempts = self.asking, 0
        probe = pending.at_hand() or await self._probe(pending)
        asked_at, started = _now(), perf_counter()
        answer: Judgment | Exception
        billed: list[ModelAnswer] = []
        if isinstance(probe, Exception):
            answer = probe
        else:
            attempt = _attempting(self.judge.judge if asking.contact.made else self._first, probe)
            answer, attempts = await self.executor.policy.attempt(
                attempt, asking.budget, self.limiter, self.spent, billed.append
            )
        rows = asking.rows.of(pending, answer, CallFacts(asked_at, perf_counter() - started, attempts, billed))
        if not asking.contact.made and not isinstance(probe, Exception):
            self._note(answer, rows)
        return rows

    async def _first(self, probe: Probe) -> Judgment:
        """Make an attempt before the first answer; the others need not wait for the next one after what may heal."""
        try:
            return await self.judge.judge(probe)
        except BaseException as error:
            if self.executor.policy.remedy(error) is None:  # a timeout is a cancellation here
                self.asking.contact.alone = False
                self._wake()
            raise

    def _note(self, answer: Judgment | Exception, rows: Rows) -> None:
        """Learn from a call before the first answer; one that the rule cannot fold is kept and ends the run."""
        contact = self.asking.contact
        if isinstance(answer, Exception):
            contact.failed(rows, self.executor.policy.remedy(answer))
            return
        contact.answered()
        try:
            self.asking.check(rows, answer)
        except UsageError as error:
            self.failure, self.unfit = error, True
            self._end()
        else:
            if any(row.ok for row in rows):
                note_understood(self.judge)

    async def _probe(self, pending: Pending) -> Probe | Exception:
        """Return the probe, or what its perturbation raised: that fails the probes of this perturbation only."""
        try:
            return await pending.ready()
        except BudgetExhausted:
            raise
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            return own_failure(error)


def _nothing_at_hand() -> None:
    """Stand for an iterator of probes that can only be awaited."""


def _of_no_interest(_: Pending) -> bool:
    """Stand for an iterator of probes that waits for no answer."""
    return False


def _now() -> str:
    """Return the time as ISO 8601 has it, to the millisecond."""
    seconds, thousandths = divmod(time_ns() // 1_000_000, 1000)
    return f"{_second(seconds)}.{thousandths:03d}+00:00"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _attempting(judge: Callable[[Probe], Awaitable[Judgment]], probe: Probe) -> Callable[[], Awaitable[Judgment]]:
    """Return what makes one attempt at a probe; each reads what is attached to the case from its beginning."""
    case = probe.case
    if isinstance(case, StructuredCase) and case.extra:
        return lambda: judge(replace(probe, case=case.afresh()))
    return partial(judge, probe)
