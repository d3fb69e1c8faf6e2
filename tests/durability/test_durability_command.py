"""SIGKILL through `judgeharness run`, and two of them on one run."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest
from support.kill_scenes import chance
from support.killed_command import CASES, CONCURRENCY, RunFolder, ended

from judgeharness_integrations.verdictlog import SqlLog, VerdictRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.counting_server import CountingServer

PLANNED = CASES * 6
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")


@pytest.fixture
def run_folder(tmp_path: Path, server: CountingServer) -> Iterator[Callable[[str], RunFolder]]:
    with ExitStack() as folders:
        yield lambda name: folders.enter_context(closing(RunFolder(tmp_path / name, server.port)))


def rows_of(folder: RunFolder) -> list[VerdictRow]:
    with SqlLog(folder.out / "verdicts.sqlite", create=False) as log:
        return list(log.rows())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_five_kills_leave_the_files_of_an_uninterrupted_run(
    run_folder: Callable[[str], RunFolder], server: CountingServer
) -> None:
    moments = chance()
    killed, whole = run_folder("killed"), run_folder("whole")
    rows: list[VerdictRow] = []
    lost = 0
    for _ in range(5):
        asked = server.total
        process = killed.start()
        server.await_requests(asked + moments.randint(1, (PLANNED - len(rows)) // 3))
        time.sleep(moments.uniform(0, 0.01))
        assert ended(process, kill=True).returncode == -9
        server.await_idle()
        before, rows = rows, rows_of(killed)
        assert rows[: len(before)] == before
        in_flight = server.total - asked - (len(rows) - len(before))
        assert 0 <= in_flight <= CONCURRENCY
        lost += in_flight
    finished = killed.run()
    assert finished.returncode == 0, finished.stderr
    assert len({row.key for row in rows_of(killed)}) == len(rows_of(killed)) == PLANNED
    assert {row.run for row in rows_of(killed)} == {rows[0].run}
    assert server.total - PLANNED <= lost
    assert whole.run().returncode == 0
    assert killed.files() == whole.files()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_second_command_on_one_run_says_so_and_disturbs_nothing(
    run_folder: Callable[[str], RunFolder], server: CountingServer
) -> None:
    folder = run_folder("shared")
    server.hold_after(PLANNED // 2)
    first = folder.start()
    server.await_requests(PLANNED // 2 + CONCURRENCY)
    second = folder.run()
    assert second.returncode == 2
    sentences = second.stderr.splitlines()
    assert sentences[-1].startswith("error: ")
    assert "is being written by another process: wait for it, or give another --out" in sentences[-1]
    server.hold_after(None)
    assert ended(first).returncode == 0
    assert server.total == PLANNED
    assert len(folder.files()["results.jsonl"]) == CASES
    assert len(folder.files()["verdicts.jsonl"]) == PLANNED
