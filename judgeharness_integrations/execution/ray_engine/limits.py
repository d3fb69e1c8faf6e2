"""The limits of a judge model on a cluster, as seen from one run: `Limits` whose decisions an actor makes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.execution.aimd import Admission
from judgeharness_integrations.execution.rates import Rates
from judgeharness_integrations.execution.ray_engine.failures import ClusterLost
from judgeharness_integrations.execution.ray_engine.limitactor import keeper_of
from judgeharness_integrations.execution.ray_engine.limitkeeper import (
    Admit,
    Begin,
    Ended,
    Operation,
    Withdraw,
)
from judgeharness_integrations.execution.ray_engine.loading import loaded_ray
from judgeharness_integrations.execution.ray_engine.replies import answer_of
from judgeharness_integrations.execution.ray_engine.sending import reason

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_MOST_FAILURES = 10

__all__ = ["ClusterLimits", "cluster_limits"]


class ClusterLimits:
    """What one run asks of the cluster's limiter of its model.

    Wishes and ends of attempts are sent in batches, one at a time; admissions come through a call that stays open.
    Slots are not counted here: a run has no more calls at a time than `max_concurrency`, and attempts are admitted.
    """

    def __init__(self, connect: Callable[[], Awaitable[Any]]) -> None:
        """Talk to the actor that `connect` returns; it is called again when that actor died."""
        self._connect = connect
        self._keeper: Any = None
        self._client = ""
        self._runs: list[Begin] = []
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[Admission]] = {}
        self._unsent: list[Operation] = []
        self._change = asyncio.Event()
        self._reconnecting = asyncio.Lock()
        self._lost: ClusterLost | None = None
        self._failures = 0  # one after the other

    @contextmanager
    def run(self, max_concurrency: int, *, rates: Rates | None = None) -> Iterator[None]:
        """Declare the run; it ends with the connection."""
        begun = Begin(max_concurrency, rates or Rates())
        self._runs.append(begun)
        self._say(begun)
        yield

    def hold(self) -> None:
        """Do nothing: what a judge asks from inside a worker is limited there."""

    async def acquire(self) -> None:
        """Do nothing: see the class."""

    def release(self) -> None:
        """Do nothing: see the class."""

    async def admit(self) -> Admission:
        """Wait until an attempt may be made.

        Raises:
            ClusterLost: there is no limiter any more, and no new one can be made.

        """
        if self._lost is not None:
            raise self._lost
        number = next(self._numbers)
        admitted: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
        self._waiting[number] = admitted
        self._say(Admit(number))
        try:
            return await admitted
        except asyncio.CancelledError:
            if self._waiting.pop(number, None) is not None:
                self._say(Withdraw(number))
            elif not admitted.cancelled() and admitted.exception() is None:  # it came in the same moment
                self.failed(admitted.result())
            raise

    def answered(self, admission: Admission, tokens: int | None) -> None:
        """Say that an attempt was answered."""
        self._say(Ended("answered", admission, (tokens,)))

    def refused(self, admission: Admission, retry_after_s: float | None) -> None:
        """Say that the server had too much to do."""
        self._say(Ended("refused", admission, (retry_after_s,)))

    def failed(self, admission: Admission) -> None:
        """Say that an attempt ended in any other way."""
        self._say(Ended("failed", admission))

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[None, None]:
        """Talk to the actor until the end of the context."""
        await self._reconnect()
        talking = asyncio.ensure_future(self._until_lost(self._talk()))
        listening = asyncio.ensure_future(self._until_lost(self._listen()))
        try:
            yield
        finally:
            for task in (talking, listening):
                task.cancel()
            await asyncio.gather(talking, listening, return_exceptions=True)
            with suppress(Exception):  # a cluster that is gone needs no last words
                self._keeper.tell.remote(self._client, self._unsent)
                self._keeper.leave.remote(self._client)

    def _say(self, operation: Operation) -> None:
        self._unsent.append(operation)
        self._change.set()

    async def _talk(self) -> None:
        while True:
            await self._change.wait()
            self._change.clear()
            batch, self._unsent = self._unsent, []
            await self._called(lambda keeper, client, batch=batch: keeper.tell.remote(client, batch))

    async def _listen(self) -> None:
        while True:
            granted = await self._called(lambda keeper, client: keeper.listen.remote(client))
            for number, admission in granted or ():
                if (admitted := self._waiting.pop(number, None)) is None or admitted.done():
                    self.failed(admission)  # withdrawn while the admission was on its way
                else:
                    admitted.set_result(admission)

    async def _called(self, call: Callable[..., Any]) -> Any:
        """Return what the actor answers, None when it died or has forgotten this run, which was silent for too long.

        It, or another one, knows by then what is wanted.

        Raises:
            RayError: it does not answer, however often it is asked.

        """
        client, answer = self._client, None
        try:
            answer = await answer_of(call(self._keeper, client))
        except loaded_ray().exceptions.RayError:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise
        else:
            self._failures = 0
        if answer is None:
            async with self._reconnecting:
                if client == self._client:
                    await self._reconnect()
        return answer

    async def _reconnect(self) -> None:
        self._unsent = []
        self._keeper = await self._connect()
        client = os.urandom(8).hex()
        await answer_of(self._keeper.join.remote(client))
        self._client = client
        self._unsent = [*self._runs, *(Admit(number) for number in self._waiting)]
        self._change.set()

    async def _until_lost(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - told to everybody who waits
            self._lost = ClusterLost(f"the limiter cannot be reached: {reason(error)}")
            for admitted in self._waiting.values():
                if not admitted.done():
                    admitted.set_exception(self._lost)


@asynccontextmanager
async def cluster_limits(model: str) -> AsyncGenerator[ClusterLimits, None]:
    """Be one of the runs that share the limits of a judge model on this cluster."""

    async def connect() -> Any:
        return await keeper_of(model)

    limits = ClusterLimits(connect)
    async with limits.connected():
        yield limits
