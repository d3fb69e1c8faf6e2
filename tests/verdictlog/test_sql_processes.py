"""Logs that several processes write, and processes that are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import RunBusyError
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow

SPAWN = multiprocessing.get_context("spawn")


def row(run: str, number: int) -> VerdictRow:
    return VerdictRow(case_id=f"c{number}", verdict="A", run=run, probe_hash=f"{run}-{number}")


def write(where: str, run: str, start: Any) -> None:
    """Open the log when all do, and add a hundred rows, few at a time."""
    start.wait()
    with SqlLog(where) as log, log.claim(run):
        for number in range(0, 100, 5):
            log.append(row(run, number + step) for step in range(5))


def write_and_hang(where: str, told: Any) -> None:
    """Commit, say so, and hold a claim until the process is killed."""
    log = SqlLog(where)
    with log.claim("r"):
        log.append([row("r", number) for number in range(50)])
        told.set()
        signal.pause()


@pytest.mark.slow
def test_processes_that_open_and_write_one_log_at_once_lose_nothing(database: str) -> None:
    runs = ["r1", "r2"]
    start = SPAWN.Barrier(len(runs))
    writers = [SPAWN.Process(target=write, args=(database, run, start)) for run in runs]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    with SqlLog(database) as log:
        for run in runs:
            assert list(log.rows(run=run)) == [row(run, number) for number in range(100)]
        assert len(log.known([f"r2-{number}" for number in range(100)], except_run="r1")) == 100


def test_a_killed_process_has_its_rows_and_holds_no_claim(database: str) -> None:
    told = SPAWN.Event()
    writer = SPAWN.Process(target=write_and_hang, args=(database, told))
    writer.start()
    assert told.wait(60)
    assert writer.pid is not None
    with SqlLog(database) as log:
        with pytest.raises(RunBusyError, match=rf"\(pid {writer.pid}, since "), log.claim("r"):
            pass
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        assert list(log.rows()) == [row("r", number) for number in range(50)]
        _claim_soon(log)


def _claim_soon(log: SqlLog) -> None:
    """A server needs a moment to miss a client."""
    for _ in range(200):
        try:
            with log.claim("r"):
                return
        except RunBusyError:
            signal.sigtimedwait([], 0.05)
    pytest.fail("the claim of a killed process is still held")


def test_a_copy_of_the_files_of_a_killed_process_is_a_log(tmp_path: Path) -> None:
    """The rows are in the files, not in the memory of whoever wrote them."""
    with SqlLog(tmp_path / "log.sqlite") as log:
        log.append([row("r", 1)])
        for path in list(tmp_path.glob("log.sqlite*")):
            path.with_name(f"copy{path.name.removeprefix('log')}").write_bytes(path.read_bytes())
        with SqlLog(tmp_path / "copy.sqlite") as copy:
            assert list(copy.rows()) == [row("r", 1)]
