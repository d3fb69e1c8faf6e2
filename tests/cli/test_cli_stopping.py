"""SIGINT and SIGTERM while a judge is asked: what was answered is kept, and counted as what it is."""
# ruff: noqa: S603 - what is run is this interpreter and the command under test

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.cli import run as _run_going
from judgeharness_integrations.cli import summary as _summary
from judgeharness_integrations.cli._command import Terminated, terminable, undisturbed
from judgeharness_integrations.judging.harness import JudgeHarness
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
FINISHING = "finishing the calls in flight (Ctrl-C again drops them)\n"
TAKES_A_WHILE = """
import pathlib, time

def slow(case):
    said = pathlib.Path(__file__).with_name("asked")
    first = not said.exists()  # which goes alone
    with said.open("a") as asked:
        asked.write("x\\n")
    while not first and not pathlib.Path(__file__).with_name("answer").exists():
        time.sleep(0.01)
    return "A"
"""
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


def rows_in(log: Path) -> int:
    """Count committed rows as any reader could, while the run writes."""
    if not log.exists():
        return 0
    with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as connection:
        try:
            (count,) = connection.execute("SELECT count(*) FROM judgeharness_verdicts").fetchone()
        except sqlite3.OperationalError:  # the tables are being made
            return 0
    return int(count)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not condition():
        time.sleep(0.05)
    assert condition()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "how"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_an_interrupted_run_leaves_a_valid_log(
    configure: Command, folder: Path, number: signal.Signals, code: int, how: str
) -> None:
    path = configure("slow", "good", execution={"max_concurrency": 8})
    out_folder = folder / "out"
    log, rows = out_folder / "verdicts.sqlite", out_folder / "verdicts.jsonl"
    with started("run", path, "--out", folder / "out") as process:
        wait_for(lambda: rows_in(log) == 4)
        process.send_signal(number)
        if number == signal.SIGINT:  # the first one waits for the calls in flight
            assert process.stderr is not None
            assert process.stderr.readline() == FINISHING
            process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err == f"{how}: 4 rows in {log}; the same command goes on from there.\n"
    assert "state: interrupted" in out
    assert "slow: 1 of 3 cases, counted as not graded, were never asked or cut off before an answer" in out
    assert "4 attempts in the log, 6 in all" in out
    assert len(read_log(rows)) == 4
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["state"] == "interrupted"
    assert (summary["judged_cases"], summary["not_graded_cases"], summary["not_asked_cases"]) == (2, 4, 4)
    assert [judge["not_graded_cases"] for judge in summary["judges"]] == [1, 3]
    assert [judge["not_asked_cases"] for judge in summary["judges"]] == [1, 3]
    assert summary["judges"][0]["criteria"][0]["decided"] == 2
    assert (summary["usage"]["attempts"], summary["attempts_spent"]) == (4, 6)


@pytest.mark.slow
def test_an_interrupt_waits_for_the_calls_in_flight_and_keeps_them(configure: Command, folder: Path) -> None:
    (folder / "cli_judges.py").write_text(TAKES_A_WHILE)
    path, asked = configure("slow", execution={"max_concurrency": 2}), folder / "asked"
    log = folder / "out" / "verdicts.sqlite"
    with started("run", path, "--out", folder / "out") as process:
        wait_for(lambda: asked.exists() and asked.read_text().count("x") == 3)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() == FINISHING
        (folder / "answer").touch()
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == f"interrupted: 3 rows in {log}; the same command goes on from there.\n"
    assert asked.read_text().count("x") == rows_in(log) == 3
    with started("run", path, "--out", folder / "out") as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert asked.read_text().count("x") == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "how"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_an_interrupted_calibration_says_so(
    configure: Command, folder: Path, number: signal.Signals, code: int, how: str
) -> None:
    (folder / "cli_judges.py").write_text(ASKED)
    arguments = ("--labels", folder / "cases.csv", "--out", folder / "cal.json")
    with started("calibrate", "--source", "human", configure("slow"), *arguments) as process:
        wait_for((folder / "asked").exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err.strip().splitlines()[-1] == f"error: {how}."
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
    assert ran.err.splitlines()[-1].startswith("terminated: 0 rows in ")
    monkeypatch.setattr(JudgeHarness, "calibrate", terminated)
    ran = command(
        "calibrate",
        "--source",
        "human",
        configure("good"),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "cal.json",
    )
    assert (ran.code, ran.err.splitlines()[-1]) == (143, "error: terminated.")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(JudgeHarness, "calibrate", interrupted)
    ran = command(
        "calibrate",
        "--source",
        "human",
        configure("good"),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "cal.json",
    )
    assert (ran.code, ran.err.splitlines()[-1]) == (130, "error: interrupted.")
    assert signal.getsignal(signal.SIGTERM) is before


def test_only_the_first_sigterm_interrupts(before: object) -> None:
    with terminable():
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_nothing_cuts_off_what_is_written_down(before: object) -> None:
    handler = signal.getsignal(signal.SIGINT)
    with undisturbed():
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)
        thread = threading.Thread(target=undisturbed().__enter__)
        thread.start()
        thread.join()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == (handler, before)


def test_a_second_interrupt_during_the_summary_changes_nothing(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    def summed_up(*arguments: Any, **options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        return _summary.summary_document(*arguments, **options)

    monkeypatch.setattr(JudgeHarness, "evaluate_many", interrupted)
    monkeypatch.setattr(_run_going, "summary_document", summed_up)
    ran = command("run", configure("good"), "--out", folder / "out")
    assert ran.code == 130
    assert ran.err.endswith("; the same command goes on from there.\n")
    assert json.loads((folder / "out" / "summary.json").read_text())["state"] == "interrupted"


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
