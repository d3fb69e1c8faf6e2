"""The limits of a judge model on a cluster: kept by one actor that all runs talk to."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from judgeharness_integrations._errors import UsageError

from ..limiter import Limiter
from ..rates import Admission, Rates
from .cluster import ClusterLost, answer_of, connected_ray, loaded_ray, reason

_LISTEN_S = 5.0  # an open call of a run that waits; its end, and the next one, show that the run lives


class Begin(NamedTuple):
    """A run says how many attempts it has in flight at most, and at which rates."""

    max_concurrency: int
    rates: Rates


class Admit(NamedTuple):
    """A run wants to make an attempt; `number` is its own name for that."""

    number: int


class Withdraw(NamedTuple):
    """A run does not want to make it any more."""

    number: int


class Ended(NamedTuple):
    """An attempt ended; `how` is the method of `Limits` that says so, `facts` what it takes besides the admission."""

    how: str
    admission: Admission
    facts: tuple[Any, ...] = ()


Operation: TypeAlias = Begin | Admit | Withdraw | Ended
Granted: TypeAlias = list[tuple[int, Admission]]


@dataclass(eq=False)
class _Client:
    """A run of some process: what it waits for, what it was granted and not yet told, what it has in flight."""

    seen_at: float
    runs: ExitStack = field(default_factory=ExitStack)
    waiting: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    granted: Granted = field(default_factory=list)
    in_flight: Counter[Admission] = field(default_factory=Counter)
    news: asyncio.Event = field(default_factory=asyncio.Event)


class LimitKeeper:
    """One limiter for the runs of many processes, which send what they want in batches and listen for admissions.

    A run that was not heard of for `silent_s` is taken for dead: its attempts are no longer in flight. `end` is called
    when there was no run for `linger_s`; until then pauses and rates are remembered for the next one.
    """

    def __init__(
        self,
        *,
        silent_s: float = 30.0,
        linger_s: float = 300.0,
        watch_s: float = 1.0,
        end: Callable[[], object] = lambda: None,
    ) -> None:
        """Start without runs; both times are looked at every `watch_s`."""
        self._limiter = Limiter()
        self._silent_s, self._linger_s, self._watch_s, self._end = silent_s, linger_s, watch_s, end
        self._clients: dict[str, _Client] = {}
        self._idle_since = time.monotonic()
        self._watching: asyncio.Task[None] | None = None

    async def join(self, client: str) -> bool:
        """Take note of a run; from then on it is listened to."""
        self._clients[client] = _Client(time.monotonic())
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._watch())
        return True

    async def tell(self, client: str, operations: Sequence[Operation]) -> bool | None:
        """Take what a run says, in order; None if it was forgotten: it has to join, and say all again."""
        if (known := self._client(client)) is None:
            return None
        for operation in operations:
            match operation:
                case Begin(max_concurrency, rates):
                    known.runs.enter_context(self._limiter.run(max_concurrency, rates=rates))
                case Admit(number):
                    known.waiting[number] = asyncio.ensure_future(self._admit(known, number))
                case Withdraw(number):
                    self._withdraw(known, number)
                case Ended(how, admission, facts):
                    self._ended(known, how, admission, *facts)
        return True

    async def listen(self, client: str) -> Granted | None:
        """Return the attempts of a run that may begin, also after a few seconds without any; None: see `tell`."""
        if (known := self._client(client)) is None:
            return None
        known.news.clear()
        if not known.granted:
            with suppress(TimeoutError):
                await asyncio.wait_for(known.news.wait(), _LISTEN_S)
        granted, known.granted = known.granted, []
        return granted

    async def leave(self, client: str) -> None:
        """Forget a run and whatever it had in flight."""
        known = self._clients.pop(client, None)
        if known is None:
            return
        for number in list(known.waiting):
            self._withdraw(known, number)
        for admission in known.in_flight.elements():
            self._limiter.failed(admission)
        known.runs.close()
        self._idle_since = time.monotonic()

    async def state(self) -> dict[str, int]:
        """Return how many runs there are, and how many attempts are in flight and may be."""
        in_flight = sum(client.in_flight.total() for client in self._clients.values())
        return {"runs": len(self._clients), "in_flight": in_flight, "capacity": self._limiter.capacity}

    def _client(self, name: str) -> _Client | None:
        if (known := self._clients.get(name)) is not None:
            known.seen_at = time.monotonic()
        return known

    async def _admit(self, client: _Client, number: int) -> None:
        admission = await self._limiter.admit()
        del client.waiting[number]
        client.in_flight[admission] += 1
        client.granted.append((number, admission))
        client.news.set()

    def _withdraw(self, client: _Client, number: int) -> None:
        """Cancel a wish; what was granted and not told meanwhile is given back, what was told comes as `Ended`."""
        if (waiting := client.waiting.pop(number, None)) is not None:
            waiting.cancel()
            return
        for granted in [known for known in client.granted if known[0] == number]:
            client.granted.remove(granted)
            self._ended(client, "failed", granted[1])

    def _ended(self, client: _Client, how: str, admission: Admission, *facts: Any) -> None:
        if admission not in client.in_flight:  # one of an earlier keeper
            return
        if client.in_flight[admission] > 1:
            client.in_flight[admission] -= 1
        else:
            del client.in_flight[admission]
        getattr(self._limiter, how)(admission, *facts)

    async def _watch(self) -> None:
        while self._clients or time.monotonic() - self._idle_since < self._linger_s:
            await asyncio.sleep(self._watch_s)
            now = time.monotonic()
            for name in [name for name, client in self._clients.items() if now - client.seen_at > self._silent_s]:
                await self.leave(name)
        self._watching = None
        self._end()


NAMESPACE = "judgeharness"
_MOST_CLIENTS = 1000  # calls an actor serves at once: two a run
_TRIES, _PAUSE_S = 10, 1.0


class KeeperActor(LimitKeeper):
    """The actor; it ends itself, as nobody owns it."""

    def __init__(self, **times: float) -> None:
        """Start without runs; `times` are those of `LimitKeeper`."""
        super().__init__(end=_end_this_actor, **times)


def _end_this_actor() -> None:
    ray = loaded_ray()
    ray.kill(ray.get_runtime_context().current_actor)


async def keeper_of(model: str) -> Any:
    """Return the actor that limits a judge model on this cluster; the first run makes it, it outlives each of them.

    Raises:
        UsageError: it cannot be started.
        ClusterError: the cluster is lost.

    """
    errors = loaded_ray().exceptions
    options = {
        "name": f"limits of {model}",
        "namespace": NAMESPACE,
        "get_if_exists": True,
        "lifetime": "detached",
        "num_cpus": 0,
        "max_concurrency": _MOST_CLIENTS,
    }
    tries = _TRIES
    while True:
        keeper: Any = connected_ray().remote(KeeperActor).options(**options).remote()
        try:
            await answer_of(keeper.state.remote())
        except errors.RayError as error:  # it was ending, or its machine
            tries -= 1
            if not tries:
                raise UsageError(
                    f"the limiter of {model} cannot be started ({reason(error)}): see `ray status`."
                ) from error
            await asyncio.sleep(_PAUSE_S)
        else:
            return keeper


_MOST_FAILURES = 10


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

    def admit_at_once(self) -> None:
        """Every admission is asked of the cluster."""

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
