"""The workers of one run: where a call is placed, and what takes the place of a worker that died."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from judgeharness_integrations._errors import ClusterError, UsageError
from judgeharness_integrations.execution.ray_engine.actors import Worker, WorkerGone, started
from judgeharness_integrations.execution.ray_engine.failures import ClusterLost
from judgeharness_integrations.judging import Judge

__all__ = ["Workers"]

_MOST_HOMES = 4096  # cases whose worker is remembered; probes of a case follow one another closely
_MOST_STARTS = 3


class Workers:
    """Workers that all hold the same judge, each with a bounded number of calls at a time.

    The probes of a case, or of what else is named as their home, go to one worker while it has room. A worker that died
    is replaced; while none can be, the others go on, and when none is left the run ends with `ClusterLost`.
    """

    def __init__(
        self,
        judge: Judge,
        transient: Callable[[BaseException], bool],
        *,
        count: int,
        concurrency: int,
        options: Mapping[str, Any],
        start_s: float,
    ) -> None:
        """Hold the judge and the rule for its failures; `options` are those of a Ray actor, started in `start_s`."""
        self._judge, self._transient = judge, transient
        self._count, self._concurrency, self._start_s = count, concurrency, start_s
        self._options = {"max_concurrency": concurrency + 1, "max_restarts": 0, **options}
        self._alive: list[Worker] = []
        self._homes: dict[str, Worker] = {}  # case id -> where its last probe went
        self._replacing: set[asyncio.Task[None]] = set()
        self._lone = 0  # calls that wait for a worker of their own
        self._lost: str | None = None
        self._change = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Start all workers.

        Raises:
            UsageError: one cannot be started, or cannot load the judge.

        """
        starts = [asyncio.ensure_future(self._start()) for _ in range(self._count)]
        try:
            await asyncio.gather(*starts)
        except BaseException:
            await _cancelled(starts)
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all workers."""
        await self.close()

    async def close(self) -> None:
        """End all workers, and those that are being started."""
        await _cancelled(list(self._replacing))
        while self._alive:
            self._alive.pop().kill()

    @asynccontextmanager
    async def seat(self, home: str, *, alone: bool = False) -> AsyncGenerator[Worker, None]:
        """Wait for room on a worker; with `alone` it has no other call meanwhile.

        Raises:
            ClusterLost: there are no workers any more.

        """
        seats = self._concurrency if alone else 1
        worker = await self._room(home, alone=alone)
        worker.taken += seats
        try:
            yield worker
        except WorkerGone:
            self._bury(worker)
            raise
        finally:
            worker.taken -= seats
            self._wake()

    async def _room(self, home: str, *, alone: bool) -> Worker:
        self._lone += alone
        try:
            while (worker := self._choice(home, alone=alone)) is None:
                if self._lost is not None:
                    raise ClusterLost(self._lost)
                await self._change.wait()
        finally:
            self._lone -= alone
        self._homes.pop(home, None)
        self._homes[home] = worker
        if len(self._homes) > _MOST_HOMES:
            del self._homes[next(iter(self._homes))]
        return worker

    def _choice(self, home: str, *, alone: bool) -> Worker | None:
        """Return the worker of the home if it has room, else the one with the fewest calls."""
        if self._lone and not alone:
            return None  # else those who wait for an idle worker might wait for ever
        most = 0 if alone else self._concurrency - 1
        free = [worker for worker in self._alive if worker.taken <= most]
        known = self._homes.get(home)
        return known if known in free else min(free, key=lambda worker: worker.taken, default=None)

    def _wake(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    def _bury(self, worker: Worker) -> None:
        """Replace a worker that died; of its calls, the first to notice does it."""
        if worker in self._alive:
            self._alive.remove(worker)
            worker.kill()
            task = asyncio.ensure_future(self._replace())
            self._replacing.add(task)
            task.add_done_callback(self._replacing.discard)

    async def _replace(self) -> None:
        problem = ""
        for _ in range(_MOST_STARTS):
            try:
                await self._start()
            except (UsageError, ClusterError) as error:
                problem = str(error)
            else:
                break
        else:
            if not self._alive and len(self._replacing) == 1:  # this is the last one that tries
                self._lost = problem
        self._wake()

    async def _start(self) -> None:
        self._alive.append(await started(self._judge, self._transient, options=self._options, start_s=self._start_s))


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
