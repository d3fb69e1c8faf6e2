"""Where a database is: a path or a URL, and a name for messages that holds no password."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from judgeharness_integrations._errors import UsageError

__all__ = ["DATABASE_SUFFIXES", "Address", "Synchronous", "address_of", "shown"]

Synchronous: TypeAlias = Literal["normal", "full"]

DATABASE_SUFFIXES = (".sqlite", ".db")
_POSTGRES = {"postgres", "postgresql", "postgresql+psycopg"}
_SQLITE = {"sqlite", "sqlite+pysqlite"}
_WANTED = "a path ending in .sqlite or .db, sqlite:///PATH, or postgresql+psycopg://USER@HOST/DATABASE"

# a URL that lost a slash, also behind the folder it was taken to be in
_SCHEME = re.compile(r"(^|/)(postgres(ql)?|sqlite|mysql|mariadb|mssql|oracle)(\+\w+)?:", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Address:
    """A database. `path` is that of a SQLite file and None for PostgreSQL; `name` is for messages."""

    name: str
    url: URL
    path: Path | None = None
    synchronous: Synchronous = "normal"
    read_only: bool = False

    @property
    def secret(self) -> str | None:
        """The password, which no message may hold."""
        return str(self.url.query.get("password") or self.url.password or "") or None


def address_of(where: str | PathLike[str], *, synchronous: Synchronous | None = None) -> Address:
    """Return the address of a path or URL.

    Args:
        where: `.sqlite` or `.db`, `sqlite:///PATH?synchronous=full&mode=ro`, or a PostgreSQL URL.
        synchronous: wins over the URL's.

    Raises:
        UsageError: it is neither.

    """
    text = fspath(where)
    if "://" not in text:
        if Path(text).suffix.lower() not in DATABASE_SUFFIXES or _SCHEME.search(text):
            raise UsageError(f"{shown(text)}: a verdict log's database is {_WANTED}.")
        return _sqlite(Path(text), {}, synchronous)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError(f"the database URL cannot be read: it is {_WANTED}.") from None
    if url.drivername in _SQLITE:
        if url.database in (None, "", ":memory:"):
            raise UsageError(f"a verdict log in memory is a MemoryLog; the database of an SqlLog is {_WANTED}.")
        return _sqlite(Path(str(url.database)), dict(url.query), synchronous)
    if url.drivername in _POSTGRES:
        port = f":{url.port}" if url.port else ""
        name = f"postgresql://{url.host or 'localhost'}{port}/{url.database or ''}"
        return Address(name=name, url=url.set(drivername="postgresql+psycopg"))
    raise UsageError(f"databases of the kind {url.drivername!r} are not supported: give {_WANTED}.")


def shown(where: str | PathLike[str]) -> str:
    """Return a path as messages name it; what may be a mistyped URL, and hold a password, is not repeated."""
    text = fspath(where)
    return "what is given as a log" if "@" in text or _SCHEME.search(text) else text


def _sqlite(path: Path, options: dict[str, Any], synchronous: Synchronous | None) -> Address:
    mode, level = options.pop("mode", "rw"), options.pop("synchronous", "normal")
    level = (synchronous or str(level)).lower()
    if options or mode not in ("rw", "ro") or level not in ("normal", "full"):
        raise UsageError(f"{path}: the options of a SQLite URL are synchronous=normal or full, and mode=rw or ro.")
    return Address(
        name=str(path),
        url=URL.create("sqlite", database=str(path)),
        path=path,
        synchronous="full" if level == "full" else "normal",
        read_only=mode == "ro",
    )
