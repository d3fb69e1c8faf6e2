"""What the measurements of one process share that write one run of one log, and their claim on it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakValueDictionary

from judgeharness_integrations._errors import UsageError

if TYPE_CHECKING:
    from judgeharness_integrations.execution.preparing import Pending
    from judgeharness_integrations.verdictlog.log import VerdictLog

__all__ = ["SharedRun", "Source", "claimed", "shared_run"]

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
_guard = threading.Lock()


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
