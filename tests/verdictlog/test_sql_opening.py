from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from sqlalchemy import text
from support.databases import administering, fresh_schema, postgres_server

from judgeharness_integrations._errors import LogStorageError, NotInstalledError, UsageError
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow
from judgeharness_integrations.verdictlog.sql import store
from judgeharness_integrations.verdictlog.sql import store as schema
from judgeharness_integrations.verdictlog.sql.store import address_of

ROW = VerdictRow(case_id="c", verdict="A", probe_hash="h")


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("log.txt", "log.txt: a verdict log's database is a path ending in .sqlite or .db"),
        ("sqlite://", "a verdict log in memory is a MemoryLog"),
        ("sqlite:///:memory:", "a verdict log in memory is a MemoryLog"),
        ("sqlite:///x.db?synchronous=off", "the options of a SQLite URL are synchronous=normal or full"),
        ("sqlite:///x.db?mode=rwc", "the options of a SQLite URL are"),
        ("sqlite:///x.db?cache=shared", "the options of a SQLite URL are"),
        ("mysql://me:s3cret@host/db", "databases of the kind 'mysql' are not supported"),
        ("postgresql://me:s3cret@host:port/db", "the database URL cannot be read"),
        ("://", "the database URL cannot be read"),
        ("postgresql+psycopg:/me:s3cret@host/db", "what is given as a log: a verdict log's database is"),
        ("/folder/postgresql:/host/db?password=s3cret", "what is given as a log: a verdict log's database is"),
        ("sqlite:me/s3cret.sqlite", "what is given as a log: a verdict log's database is"),
        ("me:s3cret@host", "what is given as a log: a verdict log's database is"),
    ],
)
def test_what_is_no_address_is_an_error(where: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        SqlLog(where)
    assert str(caught.value).startswith(problem) or problem in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_name_of_postgresql_is_read(scheme: str) -> None:
    address = address_of(f"{scheme}://me:s3cret@host:5433/db?password=other")
    assert address.url.drivername == "postgresql+psycopg"
    assert (address.name, address.path) == ("postgresql://host:5433/db", None)
    assert address_of(f"{scheme}:///db").name == "postgresql://localhost/db"


def test_paths_and_urls_of_sqlite_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a b%20?.sqlite"
    with SqlLog(path) as log:
        log.append([ROW])
        assert log.name == str(path)
    assert path.exists()
    other = tmp_path / "log.DB"
    with SqlLog(f"sqlite:///{other}?synchronous=full") as log, log._store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    with SqlLog(other, synchronous="normal") as log, log._store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1


def test_a_log_that_is_not_there_is_made_only_if_so_wished(tmp_path: Path) -> None:
    with pytest.raises(LogStorageError, match=r"log.db: there is no such verdict log\."):
        SqlLog(tmp_path / "log.db", create=False)
    with pytest.raises(LogStorageError, match="its folder does not exist: make it first"):
        SqlLog(tmp_path / "x" / "log.db")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(LogStorageError, match="is a folder: give the path of a database file"):
        SqlLog(tmp_path / "folder.db")
    sqlite3.connect(tmp_path / "other.db").close()
    with pytest.raises(LogStorageError, match=r"other.db: holds no verdict log\."):
        SqlLog(tmp_path / "other.db", create=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.db", "other.db"]


def test_a_schema_without_a_log_holds_none() -> None:
    with fresh_schema() as url, pytest.raises(LogStorageError, match=r"/\w+: holds no verdict log\."):
        SqlLog(url, create=False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", range(1, len(schema.MIGRATIONS)))
def test_a_log_of_every_earlier_version_keeps_its_rows(
    database: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = ("case_id", "verdict", "run", "judge", "criterion", "perturbation", "repetition", "swapped", "outcome")
    values = ("c", '"A"', "", "judge", "verdict", "none", 0, False, "ok", "h")
    with monkeypatch.context() as patched:
        for module in (schema, store):
            patched.setattr(module, "MIGRATIONS", schema.MIGRATIONS[:version])
        with SqlLog(database) as log, log._store.engine.begin() as connection:
            assert schema.schema_version(connection, "") == version
            names = (*written, "probe_hash")
            slots = ", ".join(f":{name}" for name in names)
            insert = text(f"INSERT INTO judgeharness_verdicts ({', '.join(names)}) VALUES ({slots})")  # noqa: S608
            connection.execute(insert, dict(zip(names, values, strict=True)))
    with SqlLog(database, create=False) as log:
        with log._store.engine.connect() as connection:
            assert schema.schema_version(connection, "") == len(schema.MIGRATIONS)
        paid = VerdictRow(case_id="d", verdict="B", cached_input_tokens=7, service_tier="flex", finish_reason="stop")
        assert log.add([ROW, paid]) == 1
        assert list(log.rows()) == [ROW, paid]
        assert list(log.known(["h"], except_run="mine").values()) == [[[ROW]]]
        assert log.add_rewrite("w", "text", "words") == "words"


def test_a_migration_that_fails_leaves_the_log_as_it_was(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: object) -> None:
        schema._reuse(connection)  # type: ignore[arg-type]
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        for module in (schema, store):
            patched.setattr(module, "MIGRATIONS", (schema._rows_and_runs, broken))
        with pytest.raises(ZeroDivisionError):
            SqlLog(database)
    with SqlLog(database) as log:
        assert log.add_rewrite("w", "text", "words") == "words"


def test_a_log_of_a_newer_version_is_refused(database: str) -> None:
    with SqlLog(database) as log, log._store.engine.begin() as connection:
        connection.execute(text("INSERT INTO judgeharness_schema VALUES (99, 'tomorrow')"))
        connection.commit()
    with pytest.raises(
        LogStorageError, match=r"newer version of judgeharness \(schema 99, this one knows 5\): upgrade"
    ):
        SqlLog(database)


def test_without_its_driver_postgresql_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NotInstalledError, match=r"psycopg is not installed: pip install .*\[postgres\]"):
        SqlLog("postgresql://me@host/db")


def test_a_server_that_cannot_be_used_is_told_in_one_sentence() -> None:
    server = postgres_server()
    nowhere = server.set(port=1, password="s3cret")  # noqa: S106
    with pytest.raises(LogStorageError) as caught:
        SqlLog(nowhere.render_as_string(hide_password=False))
    assert "the server cannot be reached" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(LogStorageError, match="does not exist"):
        SqlLog(server.set(database="judgeharness_nowhere").render_as_string(hide_password=False))


def test_a_schema_that_is_missing_is_told_in_one_sentence() -> None:
    server = postgres_server().update_query_dict({"options": "-csearch_path=judgeharness_nowhere"})
    with pytest.raises(LogStorageError, match="there is no schema to make tables in"):
        SqlLog(server.render_as_string(hide_password=False))


def test_the_columns_that_statements_name_are_those_of_the_tables(database: str) -> None:
    from sqlalchemy import inspect

    from judgeharness_integrations.verdictlog.sql import store as schema

    with SqlLog(database) as log:
        inspector = inspect(log._store.engine)
        for table in (schema.VERDICTS, schema.RUNS, schema.CLAIMS, schema.REWRITES):
            there = sorted(one["name"] for one in inspector.get_columns(table.name))
            assert there == sorted(one.name for one in table.columns)


def test_a_role_without_rights_is_told_so() -> None:
    server = postgres_server()
    with fresh_schema() as url:
        SqlLog(url).close()
        name = url.rsplit("judgeharness_", 1)[1]
        role = f"judgeharness_role_{name}"
        administering(f"CREATE ROLE {role} LOGIN", f"GRANT USAGE ON SCHEMA judgeharness_{name} TO {role}")
        try:
            with pytest.raises(LogStorageError, match="the role may not do this: grant it"):
                SqlLog(url.replace(f"{server.username}@", f"{role}@", 1))
        finally:
            administering(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_the_link_settings_of_the_url_win() -> None:
    with (
        fresh_schema() as url,
        SqlLog(f"{url}&application_name=mine") as log,
        log._store.engine.connect() as connection,
    ):
        assert connection.exec_driver_sql("SHOW application_name").scalar() == "mine"
