"""`judgeharness benchmark` against a loopback server: in this process, or in one of its own that can be killed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.cli import main
from support.benchmark_roles import JUDGES, two_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.benchmark_roles import Roles
    from support.openai_server import OpenAIServer

__all__ = ["BenchmarkCommand", "Ran", "written"]

_COMMAND = "from judgeharness_integrations.cli import main; raise SystemExit(main())"
_PATIENCE_S = 40
_IDLE_S = 0.3  # what was answered before is kept by then
_OWN = ("answers.sqlite", "verdicts.sqlite", "benchmark.lock")  # clocks and the order of completion stand in these


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class BenchmarkCommand:
    """Commands on the benchmark in `folder / name`, whose models are played by a server."""

    def __init__(self, folder: Path, server: OpenAIServer, *, name: str = "out", n: int = 60) -> None:
        self.folder, self.out, self.n = folder, folder / name, n
        self.documents = folder / "documents"
        if not self.documents.exists():
            two_documents(self.documents)
        self._models = folder / "models.yaml"
        options = f"{{base_url: '{server.url}/v1', api_key: sk-loopback, max_retries: 0}}"
        self._models.write_text(f"options:\n  '*': {options}\nprices:\n  '*': {{input: 1, output: 4}}\n")

    def generate(self, *more: object, generator: str = "generator") -> tuple[str, ...]:
        """Return the arguments of `generate`."""
        models = ("--generator", f"openai:{generator}", "--verifier", "openai:verifier", "--models", self._models)
        given = ("generate", self.documents, "--n", self.n, "--out", self.out, *models, *more)
        return tuple(map(str, given))

    def judge(self, *more: object) -> tuple[str, ...]:
        """Return the arguments of `judge`."""
        judges = ",".join(f"openai:{name}" for name in JUDGES)
        return tuple(map(str, ("judge", self.out, "--judges", judges, "--models", self._models, *more)))

    def run(self, *arguments: object, code: int = 0) -> Ran:
        """Run a command of `benchmark` in this process; it ends with `code`."""
        return self.call("benchmark", *arguments, code=code)

    def call(self, *arguments: object, code: int = 0) -> Ran:
        """Run any command in this process; it ends with `code`."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = main([*map(str, arguments)])
        assert ended == code, out.getvalue() + err.getvalue()
        return Ran(ended, out.getvalue())

    def kill_while(self, roles: Roles, step: str, *arguments: str, after: int) -> int:
        """Kill -9 a command while requests of a step are under way, after so many were answered; return how many."""
        held = roles.held.total()
        roles.hold(step, after=after)
        with self._started(*arguments) as process:
            _wait(process, lambda: roles.held.total() > held)
            asked = -1
            while asked != roles.asked.total() and process.poll() is None:
                asked = roles.asked.total()
                time.sleep(_IDLE_S)
            assert process.poll() is None, process.communicate()[0]
        roles.release()
        return roles.held.total() - held

    def kill_after(self, roles: Roles, requests: int, *arguments: str) -> bool:
        """Kill -9 a command as soon as it made so many requests; return whether it was still running."""
        asked = roles.asked.total()
        with self._started(*arguments) as process:
            _wait(process, lambda: roles.asked.total() >= asked + requests)
            return process.poll() is None

    @contextlib.contextmanager
    def _started(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Start a command, and kill -9 it at the end of the block."""
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", _COMMAND, "benchmark", *arguments],
            cwd=self.folder,
            env=os.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=_PATIENCE_S)


def _wait(process: subprocess.Popen[str], met: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not met() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def written(folder: Path) -> dict[str, bytes]:
    """Return the files of a benchmark but for its databases: these are the same whenever the answers are."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if not path.name.startswith(_OWN)}
