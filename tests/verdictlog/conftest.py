"""Databases for tests of the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.databases import fresh_schema

from judgeharness_integrations.verdictlog import SqlLog


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a new log may be made: a SQLite file, and a schema of PostgreSQL."""
    if request.param == "sqlite":
        yield str(tmp_path / "log.sqlite")
        return
    with fresh_schema() as url:
        yield url


@pytest.fixture
def sql_log(database: str) -> Iterator[SqlLog]:
    """An empty log in either database."""
    with SqlLog(database) as log:
        yield log
