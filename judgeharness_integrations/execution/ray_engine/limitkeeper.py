"""The limits of one judge model for a whole cluster: what the actor does that all runs talk to."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from judgeharness_integrations.execution.aimd import Admission
from judgeharness_integrations.execution.limiter import Limiter
from judgeharness_integrations.execution.rates import Rates

__all__ = ["Admit", "Begin", "Ended", "Granted", "LimitKeeper", "Operation", "Withdraw"]

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
