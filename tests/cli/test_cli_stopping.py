"""SIGINT and SIGTERM while a judge is asked: what was answered is kept, and counted as what it is."""
# ruff: noqa: S603 - what is run is this interpreter and the command under test

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.cli._stopping import Terminated, terminable
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog import read_log

Command = Callable[..., Any]
# whoever started the tests may ignore signals, as shells do for what runs in the background
HERE = [
    sys.executable,
    "-c",
    (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "signal.signal(signal.SIGTERM, signal.SIG_DFL); "
        "from judgeharness_integrations.cli import main; sys.exit(main())"
    ),
]
ASKED = """
import asyncio, pathlib

async def slow(case):
    pathlib.Path(__file__).with_name("asked").touch()
    await asyncio.sleep(60)
"""


@pytest.fixture
def before() -> Iterator[object]:
    """What handles SIGTERM before a command: here, the system."""
    kept = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, kept)


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*HERE, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "200"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not condition():
        time.sleep(0.05)
    assert condition()


@pytest.mark.parametrize(
    ("number", "code", "how"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_an_interrupted_run_leaves_a_valid_log(
    configure: Command, folder: Path, number: signal.Signals, code: int, how: str
) -> None:
    path = configure("slow", "good", execution={"max_concurrency": 8})
    log = folder / "out" / "verdicts.jsonl"
    with started("run", path, "--out", folder / "out") as process:
        wait_for(lambda: log.exists() and log.read_text().count("\n") == 4)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err == f"{how}: 4 rows are in {log}.\n"
    assert "state: interrupted" in out
    assert "slow: 1 of 3 cases, counted as not graded, were never asked or cut off before an answer" in out
    assert "4 attempts in rows, 6 attempts spent in all" in out
    assert len(read_log(log)) == 4
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["state"] == "interrupted"
    assert (summary["judged_cases"], summary["not_graded_cases"], summary["not_asked_cases"]) == (2, 4, 4)
    assert [judge["not_graded_cases"] for judge in summary["judges"]] == [1, 3]
    assert [judge["not_asked_cases"] for judge in summary["judges"]] == [1, 3]
    assert summary["judges"][0]["criteria"][0]["decided"] == 2
    assert (summary["usage"]["attempts"], summary["attempts_spent"]) == (4, 6)


@pytest.mark.parametrize(
    ("number", "code", "how"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_an_interrupted_calibration_says_so(
    configure: Command, folder: Path, number: signal.Signals, code: int, how: str
) -> None:
    (folder / "cli_judges.py").write_text(ASKED)
    arguments = ("--labels", folder / "cases.csv", "--out", folder / "cal.json")
    with started("calibrate", configure("slow"), *arguments) as process:
        wait_for((folder / "asked").exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err.strip() == f"error: {how}."
    assert not (folder / "cal.json").exists()


def test_an_interrupt_in_this_process_puts_the_handler_back(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, before: object
) -> None:
    def terminated(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("SIGTERM did nothing")

    monkeypatch.setattr(JudgeHarness, "evaluate_many", terminated)
    ran = command("run", configure("good"), "--out", folder / "out", "--json")
    assert (ran.code, ran.json["state"], ran.json["not_asked_cases"]) == (143, "interrupted", 3)
    assert ran.err.splitlines()[-1].startswith("terminated: 0 rows")
    monkeypatch.setattr(JudgeHarness, "calibrate", terminated)
    ran = command("calibrate", configure("good"), "--labels", folder / "cases.csv", "--out", folder / "cal.json")
    assert (ran.code, ran.err) == (143, "error: terminated.\n")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(JudgeHarness, "calibrate", interrupted)
    ran = command("calibrate", configure("good"), "--labels", folder / "cases.csv", "--out", folder / "cal.json")
    assert (ran.code, ran.err) == (130, "error: interrupted.\n")
    assert signal.getsignal(signal.SIGTERM) is before


def test_only_the_first_sigterm_interrupts(before: object) -> None:
    with terminable():
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_ignored_signals_stay_ignored_and_other_threads_change_nothing(before: object) -> None:
    seen: list[object] = []

    def look() -> None:
        with terminable():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    look()
    assert seen == [before, signal.SIG_IGN]


def test_an_interrupt_between_two_results(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = JudgeHarness.evaluate_many

    def once(self: JudgeHarness, *arguments: Any) -> Iterator[HarnessResult]:
        yield next(answered(self, *arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(JudgeHarness, "evaluate_many", once)
    path = configure("good", "first", execution={"max_concurrency": 1})
    ran = command("run", path, "--out", folder / "out", "--json")
    assert ran.code == 130
    assert "interrupted: " in ran.err
    assert (ran.json["state"], ran.json["judges"][1]["not_graded_cases"]) == ("interrupted", 3)
    assert len((folder / "out" / "results.jsonl").read_text().splitlines()) == 1
