"""Databases of the tests' own: SQLite files, and schemas or databases of a PostgreSQL server.

The server's URL is that of JUDGEHARNESS_TEST_POSTGRES, else the loopback default. Where it cannot be reached, tests
that need it are skipped, in CI they fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from uuid import uuid4

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

__all__ = ["administering", "fresh_database", "fresh_schema", "postgres_server"]

VARIABLE = "JUDGEHARNESS_TEST_POSTGRES"
DEFAULT = "postgresql+psycopg://postgres@127.0.0.1:5432/test"


def postgres_server() -> URL:
    """Return the URL of the tests' server, or skip (in CI: fail) the test."""
    url, problem = _reached(os.environ.get(VARIABLE) or DEFAULT)
    if problem is not None:
        sentence = f"no PostgreSQL server for the tests ({problem}): name one in {VARIABLE}"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return url


@cache
def _reached(text: str) -> tuple[URL, str | None]:
    url = make_url(text)
    try:
        engine = _engine(url)
        with engine.connect():
            return url, None
    except (SQLAlchemyError, ImportError) as error:
        return url, type(error).__name__


def _engine(url: URL) -> Engine:
    return create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool, connect_args={"connect_timeout": 10})


def administering(*statements: str, url: URL | None = None) -> None:
    """Run statements on the tests' server, each in a transaction of its own."""
    with _engine(url or postgres_server()).connect() as connection:
        connection.exec_driver_sql("SET lock_timeout = '20s'")
        for statement in statements:
            connection.exec_driver_sql(statement)


@contextmanager
def fresh_schema() -> Iterator[str]:
    """Yield the URL of the tests' database with a schema of its own, which is dropped afterwards."""
    server, name = postgres_server(), f"judgeharness_{uuid4().hex[:12]}"
    administering(f"CREATE SCHEMA {name}")
    try:
        yield server.update_query_dict({"options": f"-csearch_path={name}"}).render_as_string(hide_password=False)
    finally:
        administering(f"DROP SCHEMA {name} CASCADE")


@contextmanager
def fresh_database() -> Iterator[str]:
    """Yield the URL of a database of its own, which is dropped afterwards with every connection to it."""
    server, name = postgres_server(), f"judgeharness_{uuid4().hex[:12]}"
    administering(f"CREATE DATABASE {name}")
    try:
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        administering(f"DROP DATABASE {name} WITH (FORCE)")
