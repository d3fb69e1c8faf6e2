"""A process that has imported everything and forks a child for every measurement: starting one costs milliseconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["BATCH_WORKER", "WORKER", "Child", "Zygote", "worker_environment"]

WORKER = (sys.executable, "-m", "support.slim_worker")
BATCH_WORKER = (sys.executable, "-m", "support.batch_worker")


def worker_environment() -> dict[str, str]:
    """Return an environment in which a process finds the support package."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@dataclass(frozen=True)
class Child:
    """A measuring process; `wait` must be called once, whatever becomes of it."""

    pid: int
    zygote: Zygote

    def kill(self) -> bool:
        """Kill -9 and return whether that ended it; False: it had finished before.

        Raises:
            AssertionError: it ended with an error of its own.

        """
        os.kill(self.pid, signal.SIGKILL)  # nobody has waited for it, so the pid is still its own
        return self.wait()

    def wait(self) -> bool:
        """Wait for its end and return whether it was killed; see `kill`."""
        status = self.zygote.ask(do="wait", pid=self.pid)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0, f"the worker ended with {status}:\n{self.zygote.errors()}"
        return killed


class Zygote:
    """Starts children; their errors go to a file."""

    def __init__(self, errors: Path, worker: tuple[str, ...] = WORKER) -> None:
        self._errors = errors
        self._file = errors.open("w", encoding="utf-8")
        self._process = subprocess.Popen(  # noqa: S603
            worker,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._file,
            env=worker_environment(),
            encoding="utf-8",
        )

    def ask(self, **order: Any) -> Any:
        """Send an order and return the reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self.errors()
        return json.loads(line)

    def start(self, **order: Any) -> Child:
        """Start a measurement: `run`, `log`, `port`, `cases`, `count`, `concurrency`."""
        return Child(self.ask(do="start", **order), self)

    def errors(self) -> str:
        """Return what it and its children wrote on standard error."""
        return self._errors.read_text(encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)  # its input ends, and so does it
        self._file.close()
