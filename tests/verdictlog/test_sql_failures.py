from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Connection, make_url
from support.databases import administering, fresh_database, fresh_schema

from judgeharness_integrations._errors import LogStorageError, RunBusyError
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow
from judgeharness_integrations.verdictlog.sql import store
from judgeharness_integrations.verdictlog.sql import store as schema


def rows(run: str, count: int = 3, length: int = 10) -> list[VerdictRow]:
    return [
        VerdictRow(case_id=f"c{number}", verdict="A", run=run, raw=f"{number}" * length, probe_hash=f"{number}")
        for number in range(count)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log with three rows."""
    with SqlLog(tmp_path / "log.sqlite") as log:
        log.append(rows("kept"))
    return tmp_path / "log.sqlite"


def one_sentence(error: BaseException, start: str) -> bool:
    text = str(error)
    return text.startswith(start) and "\n" not in text and "SQL" not in text.replace("SQLite", "")


def test_a_full_disk_keeps_what_was_committed(path: Path) -> None:
    with SqlLog(path) as log:
        log.close()
        event.listen(
            log._store.engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count = 30")
        )
        with pytest.raises(LogStorageError) as caught:
            log.append(rows("lost", 500, 1000))
        assert one_sentence(caught.value, f"{path}: the disk is full: free some space and start the run again")
    with SqlLog(path) as log:
        assert list(log.rows()) == rows("kept")
        log.append(rows("lost", 500, 1000))
        assert sum(1 for _ in log.rows(run="lost")) == 500


def test_a_log_that_is_read_only_is_read(path: Path) -> None:
    with SqlLog(f"sqlite:///{path}?mode=ro") as log:
        assert list(log.rows(run="kept")) == rows("kept")
        with pytest.raises(LogStorageError) as caught:
            log.append(rows("new"))
        assert one_sentence(caught.value, f"{path}: is read-only: make the file and its folder writable")


@pytest.mark.parametrize("given", ["{}", "sqlite:///{}?mode=ro"])
def test_a_log_in_a_read_only_folder_is_read_and_leaves_nothing_beside_it(
    path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda place, mode: place != path.parent or mode != os.W_OK)  # as for root, too
    with SqlLog(given.format(path), create=False) as log:
        reading = log.rows()
        assert next(reading) == rows("kept")[0]
        assert list(path.parent.iterdir()) == [path]  # SQLite would put two more files there
        assert list(reading) == rows("kept")[1:]
        with pytest.raises(LogStorageError) as caught:
            log.append(rows("new"))
        assert one_sentence(caught.value, f"{path}: is read-only: make the file and its folder writable")


def test_a_log_in_use_is_never_taken_for_one_that_nobody_changes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqlLog(path) as writer:
        writer.append(rows("new"))
        monkeypatch.setattr("os.access", lambda place, mode: place != path.parent or mode != os.W_OK)
        with SqlLog(f"sqlite:///{path}?mode=ro") as log:
            assert list(log.rows(run="new")) == rows("new")


def test_an_old_log_that_is_read_only_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def later(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE judgeharness_more (x)")

    for module in (schema, store):
        monkeypatch.setattr(module, "MIGRATIONS", (*schema.MIGRATIONS, later))
    with pytest.raises(LogStorageError, match="is read-only"):
        SqlLog(f"sqlite:///{path}?mode=ro")


def test_a_server_that_is_read_only_says_so() -> None:
    with fresh_schema() as url:
        SqlLog(url).close()
        reading = make_url(url)
        options = f"{reading.query['options']} -cdefault_transaction_read_only=on"
        reading = reading.update_query_dict({"options": options})
        said = "is read-only: give a server and a role that may write"
        read_only = reading.render_as_string(hide_password=False)
        with SqlLog(read_only) as log, pytest.raises(LogStorageError, match=said):
            log.append(rows("new"))


def test_a_damaged_log_says_so(path: Path) -> None:
    with SqlLog(path) as log:
        log.append(rows("more", 300, 500))
    content = bytearray(path.read_bytes())
    content[4096 * 3 : -4096] = b"\xa5" * (len(content) - 4 * 4096)
    path.write_bytes(content)
    with SqlLog(path) as log, pytest.raises(LogStorageError) as caught:
        list(log.rows())
    assert one_sentence(caught.value, f"{path}: is damaged: move it away and restore a copy")


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are my notes\n" * 100)
    with pytest.raises(LogStorageError) as caught:
        SqlLog(path)
    assert one_sentence(caught.value, f"{path}: is no SQLite database: give another path")
    assert path.read_text() == "these are my notes\n" * 100


def test_a_log_that_stays_locked_says_so(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other, SqlLog(path, busy_s=0.1) as log:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogStorageError) as caught:
            log.append(rows("new"))
        assert one_sentence(caught.value, f"{path}: stays locked by another process: wait for it")
        assert list(log.rows()) == rows("kept")  # readers do not wait for the writer
        other.execute("ROLLBACK")
        log.append(rows("new"))
        assert list(log.rows(run="new")) == rows("new")


def test_a_file_made_while_another_process_holds_it_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE theirs (x)")
        other.execute("BEGIN EXCLUSIVE")
        timer = threading.Timer(0.3, other.rollback)
        timer.start()
        with SqlLog(path) as log:
            log.append(rows("new"))
        timer.join()


def test_a_file_that_is_read_while_it_becomes_a_log_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE theirs (x)")
        other.execute("BEGIN")
        other.execute("SELECT * FROM theirs").fetchall()
        timer = threading.Timer(0.3, other.rollback)
        timer.start()
        with SqlLog(path, busy_s=0.01) as log:
            log.append(rows("new"))
        timer.join()


def test_a_claim_leaves_no_file_behind(path: Path) -> None:
    with SqlLog(path) as log:
        with log.claim("r1"):
            assert len(list(path.parent.glob("*.lock"))) == 1
        assert list(path.parent.glob("*.lock")) == []
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            with SqlLog(path, busy_s=0.05) as hasty, hasty.claim("r1"):
                other.execute("BEGIN IMMEDIATE")  # so that the claim's file cannot be removed: it stays, without a lock
            other.execute("ROLLBACK")
        assert len(list(path.parent.glob("*.lock"))) == 1
        with log.claim("r1"):
            pass
        assert [one.name for one in path.parent.iterdir() if one.suffix == ".lock"] == []


def test_a_number_that_is_too_large_is_an_error(sql_log: SqlLog) -> None:
    with pytest.raises(LogStorageError, match="a number of a row is too large for the database"):
        sql_log.append([VerdictRow(case_id="c", verdict="A", input_tokens=2**70)])
    assert not sql_log.has_rows()


def test_a_name_that_is_too_long_for_postgresql_is_an_error() -> None:
    noise = "".join(chr(0x4E00 + (number * 7919) % 20000) for number in range(6000))
    with fresh_schema() as url, SqlLog(url) as log, pytest.raises(LogStorageError, match="are too long together"):
        log.append([VerdictRow(case_id=noise, verdict="A")])


def test_a_lock_file_that_cannot_be_made_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqlLog(path) as log, log.claim("r1"):
        lock = next(path.parent.glob("*.lock"))
    lock.unlink(missing_ok=True)
    lock.mkdir()
    said = r"cannot be locked .*: make its folder writable"
    with SqlLog(path) as log, pytest.raises(LogStorageError, match=said), log.claim("r1"):
        pass


@pytest.fixture
def served() -> Iterator[str]:
    """The URL of a database of PostgreSQL whose connections may be cut."""
    with fresh_database() as url:
        yield url


def cut(url: str, *, allow: bool) -> None:
    """End every connection to a database; do not allow new ones unless told so."""
    name = make_url(url).database
    administering(
        f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allow}",
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",  # noqa: S608
    )


ACTIONS: list[Callable[[SqlLog], Any]] = [
    lambda log: log.append(rows("new")),
    lambda log: log.of_cases(run="kept", judge="judge", case_ids=["c0"]),
]


def test_a_connection_that_is_lost_is_made_anew(served: str) -> None:
    with SqlLog(served) as log, log.claim("kept"):
        log.append(rows("kept"))
        for action in ACTIONS:
            cut(served, allow=True)
            action(log)
        assert list(log.rows()) == [*rows("kept"), *rows("new")]
        with SqlLog(served) as other, pytest.raises(RunBusyError), other.claim("kept"):
            pass


@pytest.mark.slow
def test_a_server_that_is_back_in_time_loses_nothing(served: str) -> None:
    with SqlLog(served, retry_s=30) as log:
        log.append(rows("kept"))
        cut(served, allow=False)
        timer = threading.Timer(
            0.7, administering, [f"ALTER DATABASE {make_url(served).database} ALLOW_CONNECTIONS true"]
        )
        timer.start()
        log.append(rows("new"))
        timer.join()
        assert list(log.rows()) == [*rows("kept"), *rows("new")]


def test_a_server_that_stays_away_is_told_in_one_sentence(served: str) -> None:
    with SqlLog(served, retry_s=0.3) as log, SqlLog(served, retry_s=0) as hasty:
        log.append(rows("kept"))
        hasty.has_rows()
        cut(served, allow=False)
        for one in (log, hasty):
            with pytest.raises(LogStorageError) as caught:
                one.append(rows("new"))
            assert one_sentence(caught.value, f"{log.name}: the server cannot be reached (")
            assert str(caught.value).endswith("what was committed is kept.")
        cut(served, allow=True)
        assert log.add(rows("kept")) == 0


def test_a_run_that_was_taken_over_meanwhile_is_not_written(served: str) -> None:
    with SqlLog(served) as log, SqlLog(served) as other, log.claim("kept"):
        cut(served, allow=True)
        with other.claim("kept"), pytest.raises(RunBusyError, match="is being written by another process"):
            log.append(rows("kept"))
        assert not other.has_rows()


def test_a_claim_that_a_dead_connection_of_ours_still_holds_is_ours(served: str) -> None:
    with SqlLog(served) as log, log.claim("kept"), closing(psycopg.connect(libpq(served), autocommit=True)) as dead:
        key = dead.execute(
            "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchone()
        writers = "datname = current_database() AND pid <> pg_backend_pid()"
        dead.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {writers}")  # noqa: S608
        assert key is not None
        dead.execute("SELECT pg_advisory_lock(%s)", key)
        log.append(rows("kept"))
        assert list(log.rows()) == rows("kept")


def libpq(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def test_a_claim_outlives_the_connection_that_writes(served: str) -> None:
    with SqlLog(served) as log, log.claim("kept"):
        name = make_url(served).database
        writers = f"datname = '{name}' AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"  # noqa: S608 - our own name
        log.append(rows("first"))
        ending = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {writers}"  # noqa: S608 - our own name
        administering(ending)
        log.append(rows("kept"))
        assert list(log.rows(run="kept")) == rows("kept")
