"""The local engine: a pool of workers in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Protocol

from judgeharness_integrations.execution.answering import CallFacts, RowMaker, Rows
from judgeharness_integrations.execution.attempting import CallPolicy, own_failure
from judgeharness_integrations.execution.budget import Budget, BudgetExhausted
from judgeharness_integrations.execution.channel import Channel
from judgeharness_integrations.execution.limiter import Limiter, limiter_for
from judgeharness_integrations.execution.observing import Span, Spans, calling
from judgeharness_integrations.execution.preparing import Pending
from judgeharness_integrations.judging import Judge, Judgment, Probe

__all__ = ["Asking", "Executor", "LocalExecutor", "Rows"]

_FEWEST_UNREAD = 64


@dataclass(kw_only=True)
class Asking:
    """What belongs to one run of one judge: how rows are made and kept, what may be spent, who watches.

    Rows are in the log as soon as `rows` has made them. `model` is what calls are limited by.
    """

    rows: RowMaker
    budget: Budget
    spans: Spans
    model: str
    parents: dict[str, Span] = field(default_factory=dict)  # case id -> its span


class Executor(Protocol):
    """Asks a judge the probes of a run and yields the rows of each call, in order of completion."""

    def ask(self, judge: Judge, probes: Iterable[Pending], asking: Asking) -> AsyncGenerator[Rows, None]:
        """Ask every probe, as far as the budget goes."""
        ...


@dataclass(frozen=True, kw_only=True)
class LocalExecutor:
    """Asks with up to `max_concurrency` calls in flight; `policy` says how long and how often each is tried."""

    max_concurrency: int = 16
    policy: CallPolicy = field(default_factory=CallPolicy)

    async def ask(self, judge: Judge, probes: Iterable[Pending], asking: Asking) -> AsyncGenerator[Rows, None]:
        """Ask every probe; closing the generator cancels the calls in flight.

        When the probes themselves raise, the calls in flight are finished before the error is passed on.
        """
        limiter = limiter_for(asking.model)
        answered: Channel[Rows] = Channel(max(2 * self.max_concurrency, _FEWEST_UNREAD))
        crew = _Crew(self, judge, limiter, asking, iter(probes), answered)
        with limiter.run(self.max_concurrency):
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
    left: Iterator[Pending]
    answered: Channel[Rows]
    failure: Exception | None = None

    async def work(self) -> None:
        """Run the workers until no probe is left, then end the channel."""
        failure: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.executor.max_concurrency):
                    first = self._next()
                    if first is None:
                        break
                    group.create_task(self._worker(first))
        except BaseExceptionGroup as errors:
            failure = errors.exceptions[0]
        self.answered.end(failure or self.failure)

    def _next(self) -> Pending | None:
        try:
            return next(self.left, None)
        except Exception as error:  # noqa: BLE001 - a case could not be read or planned: reported after the calls in flight
            self.failure = error
            return None

    async def _worker(self, pending: Pending | None) -> None:
        self.limiter.hold()
        while pending is not None:
            await self.limiter.acquire()
            try:
                rows = await self._answer(pending)
            except BudgetExhausted:
                return
            finally:
                self.limiter.release()
            self.answered.add(rows)
            pending = await self._following()

    async def _following(self) -> Pending | None:
        """Return the next probe, once the reader has caught up."""
        me = asyncio.current_task()
        if me is not None and me.cancelling():  # the judge kept a cancellation to itself
            return None
        await self.answered.room()
        return self._next()

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
            answer, attempts = await policy.attempt(partial(self.judge.judge, probe), budget)
        call = CallFacts(asked_at, perf_counter() - started, attempts)
        return self.asking.rows.of(pending, answer, call)

    async def _probe(self, pending: Pending) -> Probe | Exception:
        """Return the probe, or what its perturbation raised: that fails the probes of this perturbation only."""
        try:
            return await pending.ready()
        except BudgetExhausted:
            raise
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            return own_failure(error)
