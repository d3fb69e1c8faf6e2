"""How long an attempt may take: the attempts under way in an event loop share one timer.

An `asyncio.timeout` for each would cost every call a timer of its own, though hardly any of them ever rings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, cast
from weakref import WeakValueDictionary, ref

__all__ = ["Deadline", "unhurried"]

_innermost: ContextVar[Deadline | None] = ContextVar("judgeharness_deadline", default=None)


class Deadline:
    """A block of a task that is cancelled after so many seconds, None for no limit.

    Raises:
        TimeoutError: the block was cancelled, and let the cancellation pass.

    """

    __slots__ = ("_cancelling", "_left", "_outer", "_pauses", "_seconds", "_task", "_watch", "ends", "expired", "over")

    def __init__(self, seconds: float | None) -> None:
        """Let the block take so long from when it begins."""
        self._seconds = seconds
        self.ends = 0.0  # by the clock of the loop
        self.expired = self.over = False
        self._pauses, self._left = 0, 0.0

    def __enter__(self) -> None:
        """Start the clock."""
        loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[Any]", asyncio.current_task(loop))
        self._cancelling = self._task.cancelling()
        self._watch = _watch_of(loop)
        if self._seconds is not None:
            self._run(self._seconds)
        self._outer: Token[Deadline | None] = _innermost.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Stop the clock; where it had run out, the cancellation was its own unless the task met another one, too."""
        self.over = True
        self._watch.running.discard(self)
        if kind is not GeneratorExit:  # else it is garbage, collected in somebody else's context
            _innermost.reset(self._outer)
        if not self.expired or self._task.uncancel() > self._cancelling:
            return
        if isinstance(error, (asyncio.CancelledError, TimeoutError)):
            raise TimeoutError(f"no answer within {self._seconds:g} s") from error

    def pause(self) -> None:
        """Stop the clock, which goes on once whoever paused it has resumed it."""
        self._pauses += 1
        if self in self._watch.running:
            self._watch.running.discard(self)
            self._left = self.ends - self._watch.loop.time()

    def resume(self) -> None:
        """Let the block take what was left of its time, unless somebody else still pauses it, or it is over."""
        self._pauses -= 1
        if self._seconds is not None and not (self._pauses or self.over or self.expired):
            self._run(self._left)

    def _run(self, seconds: float) -> None:
        self.ends = self._watch.loop.time() + seconds
        self._watch.add(self)

    def expire(self) -> None:
        """Cancel the block."""
        self._watch.running.discard(self)
        self.expired = True
        self._task.cancel()


class _Watch:
    """The deadlines that run in one event loop, and the timer that rings when the first of them is due.

    Most are met long before, so nothing is done when one ends: a timer that rings too early is set anew.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.running: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, deadline: Deadline) -> None:
        self.running.add(deadline)
        if self._timer is None or deadline.ends < self._timer.when():
            self._set()

    def _set(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        first = min(one.ends for one in tuple(self.running))  # a thread of the judge's may stop a clock meanwhile
        self._timer = self.loop.call_at(first, self._ring, first)

    def _ring(self, due: float) -> None:
        self._timer = None
        now = max(due, self.loop.time())  # a loop may ring a little early
        for one in tuple(self.running):
            if one.ends <= now:
                one.expire()
        if self.running:
            self._set()


# By the id of their loop, each as long as its timer or an attempt is there: what a closed loop left behind can go.
_watches: WeakValueDictionary[int, _Watch] = WeakValueDictionary()


def _no_watch() -> None:
    """Stand for a reference to a watch where there is none."""


_latest: Callable[[], _Watch | None] = _no_watch  # asked for last: most are of one loop


def _watch_of(loop: asyncio.AbstractEventLoop) -> _Watch:
    global _latest  # noqa: PLW0603 - a memory of one
    watch = _latest()
    if watch is None or watch.loop is not loop:
        watch = _watches.get(id(loop)) or _watches.setdefault(id(loop), _Watch(loop))
        _latest = ref(watch)
    return watch


@contextmanager
def unhurried() -> Iterator[None]:
    """Stop the clock of the attempt under way: what is done inside is no waiting for the judge's answer."""
    deadline = _innermost.get()
    if deadline is not None:
        deadline.pause()
    try:
        yield
    finally:
        if deadline is not None:
            deadline.resume()
