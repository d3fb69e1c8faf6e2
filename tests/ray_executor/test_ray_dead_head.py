"""A head that is not there, or dies, ends the command with exit code 3 and a sentence."""

from __future__ import annotations

import atexit
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from judgeharness_integrations._errors import LogStorageError
from judgeharness_integrations.cli import main
from judgeharness_integrations.judging.execution.ray_engine.cluster import Head, place_of
from judgeharness_integrations.judging.execution.ray_engine.cluster import head as connected_head
from judgeharness_integrations.verdictlog import SqlLog

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOOLS = Path(sys.executable).parent
AUTHENTICATED = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": os.urandom(16).hex()}  # whatever token the user has
JUDGE = """
import time

def judge(case):
    time.sleep(0.2)
    return "PASS"
"""
CASES = "case_id,output\n" + "".join(f"c{number},text {number}\n" for number in range(500))
CONFIG = """
judges:
- {{name: slow, callable: "slow_judge:judge"}}
cases: cases.csv
harness: {{shape: labels, preset: quick}}
execution: {{engine: ray, max_concurrency: 4, ray: {{address: "{address}", workers: 1}}}}
"""


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return os.environ | AUTHENTICATED | {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": path}


def started(folder: Path, address: str) -> subprocess.Popen[str]:
    (folder / "slow_judge.py").write_text(JUDGE)
    (folder / "cases.csv").write_text(CASES)
    (folder / "run.yaml").write_text(CONFIG.format(address=address))
    command = [str(TOOLS / "judgeharness"), "run", "run.yaml", "--yes", "--out", "out"]
    return subprocess.Popen(  # noqa: S603
        command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def head(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    options = [f"--port={port}", f"--ray-client-server-port={free_port()}", "--num-cpus=2", "--include-dashboard=false"]
    command = [str(TOOLS / "ray"), "start", "--head", "--block", "--object-store-memory=80000000", *options]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment(folder), start_new_session=True, **quiet)  # type: ignore[call-overload] # noqa: S603
    try:
        while not Head(("127.0.0.1", port)).answers():
            time.sleep(0.2)
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answered(log: Path) -> int:
    if not log.exists():
        return 0
    with suppress(LogStorageError), SqlLog(f"sqlite:///{log}?mode=ro") as found:  # it may be half made
        return sum(1 for _ in found.rows())
    return 0


def test_nobody_at_the_address(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    run = started(tmp_path, address)
    _, told = run.communicate()
    assert run.returncode == 3
    assert f"error: no Ray answers at {address} (" in told
    assert "Traceback" not in told


def test_a_head_that_dies_during_a_run(tmp_path: Path) -> None:
    port = free_port()
    with head(tmp_path, port) as process:
        run = started(tmp_path, f"127.0.0.1:{port}")
        while run.poll() is None and not answered(tmp_path / "out" / "verdicts.sqlite"):
            time.sleep(0.5)
        kill(process)
        _, told = run.communicate()
    assert run.returncode == 3
    assert "error: no Ray worker is left (" in told
    assert "): run it again to ask what is left. What was answered is kept: " in told
    assert "Traceback" not in told
    kept = re.search(r"What was answered is kept: (\d+) rows", told)
    assert kept is not None
    assert int(kept[1]) == answered(tmp_path / "out" / "verdicts.sqlite") > 0


class LeftError(Exception):
    """The process would have ended."""


def test_only_a_command_of_its_own_process_ends_it_before_a_dead_ray_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends: list[object] = []

    def leave(code: int) -> None:
        ends.append(code)
        raise LeftError

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: ends.append("what others wanted done"))
    monkeypatch.setattr(sys, "argv", ["judgeharness", "--version"])
    assert main() == 0
    monkeypatch.setattr(connected_head, "abandoned", True)
    assert main(["--version"]) == 0
    assert ends == []
    with pytest.raises(LeftError):
        main()
    assert ends == ["what others wanted done", 0]
    assert capsys.readouterr().out.count("judgeharness ") == 3


def test_places_of_addresses() -> None:
    assert place_of("ray://10.0.0.1:10001") == ("10.0.0.1", 10001)
    assert place_of("[::1]:6379") == ("::1", 6379)
    assert [place_of(address) for address in (None, "auto", "local", "host:port")] == [None] * 4
    assert Head().answers()
