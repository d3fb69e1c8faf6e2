"""A claim on a run: shared within a log, and watched while it is held."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine
from support.databases import fresh_database

from judgeharness_integrations._errors import RunBusyError
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow
from judgeharness_integrations.verdictlog.sql import log as claims

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROW = VerdictRow(case_id="c", verdict="A", run="r")


@pytest.fixture
def served() -> Iterator[str]:
    """The URL of a database of PostgreSQL."""
    with fresh_database() as url:
        yield url


def end_sessions_that_hold_a_claim(url: str) -> int:
    """End the sessions that hold an advisory lock in a database, and return how many there were."""
    engine = create_engine(url)
    query = "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks JOIN pg_database d ON d.oid = database "
    query += "WHERE locktype = 'advisory' AND d.datname = current_database()"
    with engine.connect() as connection:
        ended = len(connection.exec_driver_sql(query).all())
    engine.dispose()
    return ended


@pytest.mark.parametrize("meanwhile", ["taken", "free"])
def test_a_claim_that_only_the_server_lost_is_noticed(
    served: str, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    monkeypatch.setattr(claims, "_CHECK_S", 0)
    with SqlLog(served) as log, SqlLog(served) as other, log.claim("r"):
        log.append([])
        assert end_sessions_that_hold_a_claim(served) == 1
        if meanwhile == "taken":
            with other.claim("r"), pytest.raises(RunBusyError, match="is being written by another process"):
                log.append([ROW])
        else:
            log.append([ROW])
            with pytest.raises(RunBusyError), other.claim("r"):
                pass
        assert len(list(other.rows())) == (meanwhile == "free")


def test_a_claim_is_checked_now_and_then_only(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    holds = claims._ServerLock._holds

    def noted(lock: claims._ServerLock) -> bool:
        checked.append("")
        return holds(lock)

    monkeypatch.setattr(claims._ServerLock, "_holds", noted)
    with SqlLog(served) as log, log.claim("r"):
        checked.clear()
        for _ in range(20):
            log.append([ROW])
        assert not checked


def test_threads_share_a_claim_in_turn(tmp_path: Path) -> None:
    failures: list[Exception] = []

    def work() -> None:
        for _ in range(30):
            try:
                with log.claim("r"):
                    pass
            except RunBusyError as error:
                failures.append(error)

    with SqlLog(tmp_path / "log.sqlite") as log:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert not log._claims._claims
    assert not list(tmp_path.glob("*.lock"))
