"""`judgeharness run` in a process of its own, on a folder with a configuration, and the files it leaves."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support import loopback_module
from support.loopback_cases import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CASES", "CONCURRENCY", "RunFolder", "ended"]

CASES, CONCURRENCY = 80, 8
_CONFIG = f"""
judges: [{{name: loopback, callable: "loopback_module:judge"}}]
cases: cases.csv
harness: {{perturbations: [none, position_swap], repetitions: 3, aggregation_rule: swap_consensus}}
execution: {{max_concurrency: {CONCURRENCY}}}
out: out
"""
_COMMAND = "from judgeharness_integrations.cli import main; raise SystemExit(main())"
_COLUMNS = ("case_id", "input", "output", "output_b")
# who asked when, and what was measured on the way: no two runs agree on these
_OWN = frozenset({"run", "asked_at", "latency_s", "call_id"})


class RunFolder:
    """A folder that `run` works in."""

    def __init__(self, folder: Path, port: int) -> None:
        folder.mkdir()
        self.folder, self.out = folder, folder / "out"
        (folder / "config.yaml").write_text(_CONFIG, encoding="utf-8")
        shutil.copy(loopback_module.__file__, folder)
        with (folder / "cases.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(asdict(case) for case in pairs("pair", CASES))
        self._started: list[subprocess.Popen[str]] = []
        self._environment = {**os.environ, loopback_module.PORT: str(port)}

    def start(self) -> subprocess.Popen[str]:
        """Start the command; whoever starts it waits for it with `ended`."""
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", _COMMAND, "run", "config.yaml", "--yes"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self._started.append(process)
        return process

    def close(self) -> None:
        """End the commands that a failed test left."""
        for process in self._started:
            if process.returncode is None:
                ended(process, kill=True)

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return ended(self.start())

    def files(self) -> dict[str, Any]:
        """Return what the run wrote, without what no two runs have in common."""
        return {
            "verdicts.jsonl": sorted(map(_text, self._lines("verdicts.jsonl"))),
            "results.jsonl": sorted(map(_text, self._lines("results.jsonl"))),
            "summary.json": _comparable(json.loads((self.out / "summary.json").read_text(encoding="utf-8"))),
        }

    def _lines(self, name: str) -> Iterator[Any]:
        for line in (self.out / name).read_text(encoding="utf-8").splitlines():
            yield _comparable(json.loads(line))


def ended(process: subprocess.Popen[str], *, kill: bool = False) -> subprocess.CompletedProcess[str]:
    """Return how a command ended, once it has; with `kill`, kill -9 it first."""
    if kill:
        os.kill(process.pid, signal.SIGKILL)  # nobody has waited for it, so the pid is still its own
    out, err = process.communicate(timeout=100)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _comparable(part) for key, part in value.items() if key not in _OWN}
    return [_comparable(part) for part in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
