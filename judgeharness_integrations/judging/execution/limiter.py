"""One limiter per judge model per process, whatever event loops its calls run in."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias
from weakref import WeakValueDictionary

from judgeharness_integrations._errors import UsageError

from .rates import Admission, Aimd, RateGate, Rates

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.files import VerdictLog

    from .preparing import Pending


class Limits(Protocol):
    """Slots for calls, and within them admission of each attempt.

    A call holds its slot from `acquire` to `release`, however often it is tried; every attempt begins with `admit`
    and ends with exactly one of `answered`, `refused` and `failed`.
    """

    def run(self, max_concurrency: int, *, rates: Rates | None = None) -> AbstractContextManager[None]:
        """Declare a run of up to `max_concurrency` calls at a time and its rates."""
        ...

    def hold(self) -> None:
        """Say that what the current task calls from now on is covered by the slots this task acquires."""
        ...

    async def acquire(self) -> None:
        """Wait for a slot."""
        ...

    def release(self) -> None:
        """Give the slot back."""
        ...

    def admit_at_once(self) -> Admission | None:
        """Let an attempt through that need not wait for anything; None where it has to wait in `admit`."""
        ...

    async def admit(self) -> Admission:
        """Wait until an attempt may be made."""
        ...

    def answered(self, admission: Admission, tokens: int | None) -> None:
        """Say that an attempt was answered; `tokens`: read and written, None when not reported."""
        ...

    def refused(self, admission: Admission, retry_after_s: float | None) -> None:
        """Say that the server had too much to do; everybody waits `retry_after_s` seconds if it asked for that."""
        ...

    def failed(self, admission: Admission) -> None:
        """Say that an attempt ended in any other way."""
        ...


@dataclass(slots=True, eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    slot: asyncio.Future[None]
    served: bool = False


class Slots:
    """Up to `most` holders at a time; those who wait are served in order of arrival."""

    def __init__(self, most: int = 1, *, lock: threading.RLock | None = None) -> None:
        """Start empty; `lock` is shared with whoever decides about `most`."""
        # reentrant: garbage collection of an abandoned worker may release a slot at any moment
        self._lock = threading.RLock() if lock is None else lock
        self._most = most
        self._in_flight = 0
        self._waiting: deque[_Waiter] = deque()
        self._loops: set[weakref.ref[asyncio.AbstractEventLoop]] = set()  # in which slots were asked for
        self._last: Callable[[], asyncio.AbstractEventLoop | None] = _no_loop  # of these

    def resize(self, most: int) -> None:
        """Allow `most` holders from now on; slots above it are not handed on when they are released."""
        with self._lock:
            self._most = most
            self._hand_out()

    def take(self) -> bool:
        """Take a slot if one is free."""
        with self._lock:
            if self._in_flight >= self._most:
                return False
            self._in_flight += 1
            return True

    def acquire_at_once(self) -> bool:
        """Take a slot for the running event loop if one is free."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._last() is not loop:
                self._last = weakref.ref(loop)
                self._loops.add(self._last)
            if self._in_flight >= self._most:
                return False
            self._in_flight += 1
            return True

    async def acquire(self) -> None:
        """Wait for a slot."""
        if self.acquire_at_once():
            return
        loop = asyncio.get_running_loop()
        self._bury()
        with self._lock:
            if self.take():
                return
            waiter = _Waiter(loop, loop.create_future())
            self._waiting.append(waiter)
        try:
            await waiter.slot
        except BaseException:
            with self._lock, suppress(ValueError):
                self._waiting.remove(waiter)
            if waiter.served:  # the slot was already given to this call
                self.release()
            raise

    def release(self) -> None:
        """Give the slot back, or to whoever waits longest."""
        with self._lock:
            self._in_flight -= 1
            if self._waiting:
                self._hand_out()

    def _bury(self) -> None:
        """Have tasks give their slots back that ended with their event loop, which was closed over them."""
        with self._lock:
            closed = {one for one in self._loops if (loop := one()) is None or loop.is_closed()}
            if not closed:
                return
            self._loops -= closed
            self._last = _no_loop
            self._waiting = deque(waiter for waiter in self._waiting if not waiter.loop.is_closed())
        gc.collect()  # they are cycles by now; what they hold, they release

    def _hand_out(self) -> None:
        """Give free slots to those who wait; the lock is held."""
        while self._waiting and self._in_flight < self._most:
            waiter = self._waiting.popleft()
            with suppress(RuntimeError):  # its event loop was closed: nobody waits there any more
                waiter.loop.call_soon_threadsafe(_wake, waiter.slot)
                waiter.served = True
                self._in_flight += 1


def _no_loop() -> None:
    """Stand for a reference to a loop where there is none."""


def _wake(slot: asyncio.Future[None]) -> None:
    if not slot.done():
        slot.set_result(None)


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


Source: TypeAlias = tuple[str, str, str, str]  # hash of a probe; run, judge and case whose call answered it


@dataclass
class SharedRun:
    """One run: the cases being measured, and the answers of other runs handed out to probes not in the log yet."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    handing: threading.Lock = field(default_factory=threading.Lock)  # held while answers are looked for
    users: int = 0
    several: bool = False  # whether there ever was more than one
    cases: set[tuple[str, str]] = field(default_factory=set)  # judge, case
    handed_out: WeakValueDictionary[Source, Pending] = field(default_factory=WeakValueDictionary)

    def begin(self, run: str, judge: str, case_id: str) -> None:
        """Note that a case is being measured.

        Raises:
            UsageError: it is already: two measurements would both ask, and the log keeps the rows of one.

        """
        with self.lock:
            if (judge, case_id) in self.cases:
                raise UsageError(
                    f"case {case_id!r} is being measured in run {run!r} already: wait for its result, "
                    "or give the case another id."
                )
            self.cases.add((judge, case_id))

    def end(self, judge: str, case_id: str) -> None:
        """Note that a case is measured, or given up."""
        with self.lock:
            self.cases.discard((judge, case_id))


_shared: dict[tuple[int, str], SharedRun] = {}


@contextmanager
def shared_run(log: VerdictLog | None, run: str) -> Iterator[SharedRun]:
    """Share a run of a log with everybody of this process who writes it meanwhile; without a log nothing is shared."""
    if log is None:
        yield SharedRun()
        return
    key = (id(log), run)  # the log is held by whoever is in the context
    with _guard:
        shared = _shared.setdefault(key, SharedRun())
        shared.users += 1
        shared.several = shared.several or shared.users > 1
    try:
        yield shared
    finally:
        with _guard:
            shared.users -= 1
            if not shared.users:
                del _shared[key]


@asynccontextmanager
async def claimed(log: VerdictLog | None, run: str | None) -> AsyncGenerator[None, None]:
    """Be the only process that writes a run with a name, where the log can tell.

    Raises:
        RunBusyError: another process writes it.

    """
    claim = getattr(log, "claim", None)
    if run is None or claim is None:
        yield
        return
    held = claim(run)
    taking = asyncio.ensure_future(asyncio.to_thread(held.__enter__))
    try:
        await asyncio.shield(taking)
    except asyncio.CancelledError:
        await asyncio.wait([taking])  # the thread goes on taking it
        if taking.exception() is None:
            await asyncio.to_thread(held.__exit__, None, None, None)
        raise
    try:
        yield
    finally:
        await asyncio.to_thread(held.__exit__, None, None, None)
