"""The local engine: a pool of workers in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Protocol

from judgeharness_integrations.execution.answering import CallFacts, RowMaker, Rows
from judgeharness_integrations.execution.attempting import CallPolicy, own_failure
from judgeharness_integrations.execution.budget import Budget, BudgetExhausted
from judgeharness_integrations.execution.channel import Channel
from judgeharness_integrations.execution.keeping import Keeper
from judgeharness_integrations.execution.limiter import Limiter, limiter_for
from judgeharness_integrations.execution.observing import Span, Spans, calling
from judgeharness_integrations.execution.preparing import Pending
from judgeharness_integrations.execution.prices import Spent, spent_by
from judgeharness_integrations.execution.rates import Rates
from judgeharness_integrations.judging import Judge, Judgment, Probe

__all__ = ["Asking", "Executor", "LocalExecutor", "Rows"]

_FEWEST_UNREAD = 64


@dataclass(kw_only=True)
class Asking:
    """What belongs to one run of one judge: how rows are made and kept, what may be spent, who watches.

    `model` is what calls are limited by; `keeper` puts rows into the run's log.
    """

    rows: RowMaker
    budget: Budget
    spans: Spans
    model: str
    keeper: Keeper | None = None
    parents: dict[str, Span] = field(default_factory=dict)  # case id -> its span

    async def keep(self, rows: Rows) -> None:
        """Return once the log has the rows of a call; until then the call is in flight."""
        if self.keeper is not None:
            await self.keeper.keep(rows)


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
        answered: Channel[Rows] = Channel(max(2 * self.max_concurrency, _FEWEST_UNREAD))
        crew = _Crew(self, judge, limiter, asking, probes, answered)
        with limiter.run(self.max_concurrency, rates=self.rates):
            manager = asyncio.ensure_future(crew.work())
            try:
                while (rows := await answered.get()) is not None:
                    yield rows
            finally:
                manager.cancel()
                await asyncio.gather(manager, return_exceptions=True)


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
    over: bool = False  # the budget is spent, or a case could not be read: nothing more is begun

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

    async def _worker(self, pending: Pending | None) -> None:
        self.limiter.hold()
        while pending is not None:
            try:
                rows = await (self._asked(pending) if pending.known is None else self._known(pending))
            except BudgetExhausted:
                self._end()
                return
            self.answered.add(rows)
            pending = await self._following()

    async def _known(self, pending: Pending) -> Rows:
        rows = pending.known or ()
        if not pending.stored:
            await self.asking.keep(rows)
        return rows

    async def _asked(self, pending: Pending) -> Rows:
        """Return the rows of a call; its slot is free again once they are in the log."""
        await self.limiter.acquire()
        try:
            rows = await self._answer(pending)
            await self.asking.keep(rows)
        finally:
            self.limiter.release()
        return rows

    async def _following(self) -> Pending | None:
        """Return the next probe, once the reader has caught up."""
        me = asyncio.current_task()
        if me is not None and me.cancelling():  # the judge kept a cancellation to itself
            return None
        await self.answered.room()
        return await self._next()

    async def _answer(self, pending: Pending) -> Rows:
        spans = self.asking.spans
        if not spans:
            return await self._ask(pending)
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
        probe, attempts = pending.at_hand() or await self._probe(pending), 0
        asked_at, started = datetime.now(UTC).isoformat(timespec="milliseconds"), perf_counter()
        answer: Judgment | Exception
        if isinstance(probe, Exception):
            answer = probe
        else:
            policy, budget = self.executor.policy, self.asking.budget
            call_once = partial(self.judge.judge, probe)
            answer, attempts = await policy.attempt(call_once, budget, limiter=self.limiter, spent=self._spent)
        call = CallFacts(asked_at, perf_counter() - started, attempts)
        return self.asking.rows.of(pending, answer, call)

    def _spent(self, answer: object) -> Spent:
        return spent_by(answer, default_model=self.asking.model)

    async def _probe(self, pending: Pending) -> Probe | Exception:
        """Return the probe, or what its perturbation raised: that fails the probes of this perturbation only."""
        try:
            return await pending.ready()
        except BudgetExhausted:
            raise
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            return own_failure(error)
