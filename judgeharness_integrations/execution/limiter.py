"""One limiter per judge model per process, whatever event loops its calls run in."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

from judgeharness_integrations.execution.aimd import Admission, Aimd
from judgeharness_integrations.execution.rates import RateGate, Rates
from judgeharness_integrations.execution.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Limiter", "limiter_for", "longest_pause_s"]

# Limiters whose slot the current call already holds: a judge may itself use a harness over the same model, and
# would wait for its own slot.
_held: ContextVar[frozenset[Limiter]] = ContextVar("judgeharness_held_limiters", default=frozenset())


class Limiter(Slots):
    """Slots for calls (see `Limits`), and admission of each attempt, across event loops and threads.

    There are as many slots as the largest run under way allows; each run also keeps to its own. Attempts wait for
    the pauses a server asked for, for the strictest rates of all runs under way, and for room among those in
    flight (`Aimd`). `clock` returns seconds, `sleep` awaits them.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Start without runs."""
        super().__init__()
        self._clock, self._sleep = clock, sleep
        self._runs: Counter[tuple[int, Rates]] = Counter()
        self._aimd, self._gate = Aimd(), RateGate()
        self._room = Slots(lock=self._lock)  # for attempts in flight
        self._line = Slots(lock=self._lock)  # whose turn it is at the gate

    @property
    def capacity(self) -> int:
        """How many attempts may be in flight."""
        return self._aimd.capacity

    @contextmanager
    def run(self, max_concurrency: int, *, rates: Rates | None = None) -> Iterator[None]:
        """Declare a run of up to `max_concurrency` calls at a time and its rates."""
        declared = (max_concurrency, rates or Rates())
        with self._lock:
            self._runs[declared] += 1
            if self._runs[declared] == 1:
                self._apply_runs()
        try:
            yield
        finally:
            with self._lock:
                self._runs[declared] -= 1
                if not self._runs[declared]:
                    del self._runs[declared]
                    self._apply_runs()

    def _apply_runs(self) -> None:
        self._aimd.limit = max((concurrency for concurrency, _ in self._runs), default=1)
        self.resize(self._aimd.limit)
        self._room.resize(self._aimd.capacity)
        self._gate.declare(Rates.strictest(rates for _, rates in self._runs))

    @property
    def pause_s(self) -> float:
        """Seconds that everybody still waits because the server asked for it."""
        with self._lock:
            return self._gate.pause_s(self._clock())

    def hold(self) -> None:
        """Say that what the current task calls from now on is covered by the slots this task acquires."""
        _held.set(_held.get() | {self})

    def admit_at_once(self) -> Admission | None:
        """Let an attempt through if nothing keeps it waiting; the caller holds a slot."""
        with self._lock:
            return self._aimd.begin() if self._gate.is_open and self._room.take() else None

    async def admit(self) -> Admission:
        """Wait until an attempt may be made; the caller holds a slot."""
        if (admission := self.admit_at_once()) is not None:
            return admission
        await self._line.acquire()
        try:
            while True:
                await self._room.acquire()
                with self._lock:
                    reserved = self._gate.reserved
                    if not (wait := self._gate.take(self._clock())):
                        return self._aimd.begin(reserved)
                self._room.release()
                await self._sleep(wait)
        finally:
            self._line.release()

    def answered(self, admission: Admission, tokens: int | None) -> None:
        """Say that an attempt was answered; `tokens`: read and written, None when not reported."""
        with self._lock:
            if not self._gate.is_open:
                if tokens is None:
                    self._gate.untold()
                else:
                    self._gate.settle(admission.reserved, tokens)
            if self._aimd.is_adapting:
                self._aimd.answered(admission, self._clock())
                self._ended()
            else:
                self._aimd.failed(admission)
                self._room.release()

    def refused(self, admission: Admission, retry_after_s: float | None) -> None:
        """Say that the server had too much to do; everybody waits `retry_after_s` seconds if it asked for that."""
        with self._lock:
            now = self._clock()
            if retry_after_s is not None:
                self._gate.pause(retry_after_s, now)
            self._aimd.refused(admission, now)
            self._ended()

    def failed(self, admission: Admission) -> None:
        """Say that an attempt ended in any other way."""
        with self._lock:
            self._aimd.failed(admission)
            self._ended()

    def _ended(self) -> None:
        """Give the attempt's room to the next one; the lock is held."""
        self._gate.tried()
        if self._aimd.is_adapting:
            self._room.resize(self._aimd.capacity)
        self._room.release()


_limiters: dict[str, Limiter] = {}
_guard = threading.Lock()


def limiter_for(model: str) -> Limiter:
    """Return the process's limiter of a judge model; a fresh one inside a call that holds a slot of it."""
    with _guard:
        limiter = _limiters.get(model) or _limiters.setdefault(model, Limiter())
    return Limiter() if limiter in _held.get() else limiter


def longest_pause_s() -> float:
    """Return how long calls of this process still wait because a server asked for it, in seconds."""
    with _guard:
        limiters = list(_limiters.values())
    return max((limiter.pause_s for limiter in limiters), default=0.0)


def _forget() -> None:
    global _guard  # noqa: PLW0603 - another thread may have held it when the process was forked
    _guard = threading.Lock()
    _limiters.clear()


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)
