"""How a command ends: its exit codes, and SIGINT and SIGTERM, which cancelled CI jobs and stopped containers get."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Final, Literal, NoReturn

import typer

if TYPE_CHECKING:
    from judgeharness_integrations.judging.execution.budget import Budget


OK: Final = 0
GATE_FAILED: Final = 1
USAGE: Final = 2
NOT_GRADED: Final = 3
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
TERMINATED: Final = 143


class Terminated(BaseException):
    """SIGTERM came; no KeyboardInterrupt, which the library behind the command turns into an exit code of its own."""


def stop_word(stopped: BaseException | None) -> Literal["terminated", "interrupted"]:
    """Return what a command says it was, by what stopped it; None: something else did, and said so."""
    return "terminated" if isinstance(stopped, Terminated) else "interrupted"


def stop_code(stopped: BaseException | None) -> int:
    """Return the exit code of a command that was stopped so."""
    return TERMINATED if isinstance(stopped, Terminated) else INTERRUPTED


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` when SIGTERM comes, once, and put back what handled it before.

    A command that started with SIGTERM ignored goes on ignoring it; outside the main thread nothing changes.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@contextmanager
def finishing(budget: Budget | None) -> Iterator[None]:
    """Let the first SIGINT begin nothing more, so that the calls in flight, which are paid for, are kept.

    The next one interrupts, as it would without this.
    """
    main = threading.current_thread() is threading.main_thread()
    if budget is None or not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def finish(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)
        budget.end("interrupted")
        typer.echo("finishing the calls in flight (Ctrl-C again drops them)", err=True)

    signal.signal(signal.SIGINT, finish)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Stop:
    """What ended some asking early; None: nothing did."""

    by: BaseException | None = None


@contextmanager
def stoppable(budget: Budget | None, *errors: type[Exception]) -> Iterator[Stop]:
    """Ask within this: an interrupt, a termination or one of `errors` ends it, and is noted rather than raised.

    What was answered until then is kept and written down by whoever asked. See `finishing` for a first interrupt.
    """
    stop = Stop()
    noted: tuple[type[BaseException], ...] = (KeyboardInterrupt, Terminated, *errors)
    try:
        with finishing(budget):
            yield stop
    except noted as error:
        stop.by = error
    if stop.by is None and budget is not None and budget.ended:
        stop.by = KeyboardInterrupt()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM while what was answered is written down; outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # what was answered is being written down: a second one must not cut it off
    raise Terminated
