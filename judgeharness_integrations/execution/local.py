"""The local engine: a pool of workers in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import Protocol

from judgeharness_integrations.execution.answering import CallFacts, RowMaker
from judgeharness_integrations.execution.attempting import CallPolicy
from judgeharness_integrations.execution.budget import Budget, BudgetExhausted
from judgeharness_integrations.execution.limiter import Limiter, limiter_for
from judgeharness_integrations.execution.observing import Span, Spans
from judgeharness_integrations.execution.preparing import Pending
from judgeharness_integrations.judging import Judge, Judgment
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Asking", "Executor", "LocalExecutor", "Rows"]

Rows = tuple[VerdictRow, ...]
_FEWEST_UNREAD = 64


@dataclass(kw_only=True)
class Asking:
    """What belongs to one run of one judge: how rows are made, what may be spent, who watches."""

    rows: RowMaker
    budget: Budget
    spans: Spans
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
        """Ask every probe; closing the generator cancels the calls in flight."""
        model = judge.identity.model if judge.identity is not None else None
        limiter, left = limiter_for(model or judge.name), iter(probes)
        answered: asyncio.Queue[Rows | BaseException | None] = asyncio.Queue(
            max(2 * self.max_concurrency, _FEWEST_UNREAD)
        )
        crew = _Crew(self, judge, limiter, asking, left, answered)
        with limiter.run(self.max_concurrency):
            manager = asyncio.ensure_future(crew.work())
            try:
                while (item := await answered.get()) is not None:
                    if isinstance(item, BaseException):
                        raise item
                    yield item
            finally:
                manager.cancel()
                await asyncio.gather(manager, return_exceptions=True)


@dataclass
class _Crew:
    """The workers of one `ask`: they share the iterator of probes and the queue of answers."""

    executor: LocalExecutor
    judge: Judge
    limiter: Limiter
    asking: Asking
    left: Iterator[Pending]
    answered: asyncio.Queue[Rows | BaseException | None]

    async def work(self) -> None:
        """Run the workers until no probe is left, then end the queue with None or with what went wrong."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.executor.max_concurrency):
                    first = next(self.left, None)
                    if first is None:
                        break
                    group.create_task(self._worker(first))
        except BaseExceptionGroup as errors:
            await self.answered.put(errors.exceptions[0])
        except Exception as error:  # noqa: BLE001 - a probe could not be planned
            await self.answered.put(error)
        else:
            await self.answered.put(None)

    async def _worker(self, pending: Pending | None) -> None:
        while pending is not None:
            await self.limiter.acquire()
            try:
                rows = await self._answer(pending)
            except BudgetExhausted:
                return
            finally:
                self.limiter.release()
            await self.answered.put(rows)
            pending = next(self.left, None)

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
            rows = await self._ask(pending)
        finally:
            spans.end(span, rows=rows)
        return rows

    async def _ask(self, pending: Pending) -> Rows:
        asked_at, started = datetime.now(UTC).isoformat(timespec="milliseconds"), perf_counter()
        attempts = 0
        try:
            probe = await pending.ready()
        except BudgetExhausted:
            raise
        except Exception as error:  # noqa: BLE001 - a perturbation that failed fails its probes
            answer: Judgment | Exception = error
        else:
            answer, attempts = await self.executor.policy.attempt(lambda: self.judge.judge(probe), self.asking.budget)
        call = CallFacts(asked_at=asked_at, latency_s=perf_counter() - started, attempts=attempts)
        if isinstance(answer, Exception):
            return self.asking.rows.failed(pending, answer, call)
        return self.asking.rows.answered(pending, answer, call)
