"""What a database reports, as one sentence that says what to do, and whether another attempt makes sense."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from judgeharness_integrations._errors import LogStorageError
from judgeharness_integrations.redacting import REDACTED
from judgeharness_integrations.verdictlog.sql.address import Address

__all__ = ["is_lost", "told"]

_KEPT = "what was committed is kept"
_DAMAGED = (
    "is damaged: move it away and restore a copy, or save what can be read with "
    "`sqlite3 FILE .recover | sqlite3 NEW.sqlite`"
)
_SQLITE = {  # primary result codes, https://www.sqlite.org/rescode.html
    sqlite3.SQLITE_FULL: f"the disk is full: free some space and start the run again; {_KEPT}",
    sqlite3.SQLITE_READONLY: f"is read-only: make the file and its folder writable; {_KEPT}",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: "is no SQLite database: give another path",
    sqlite3.SQLITE_BUSY: f"stays locked by another process: wait for it, then start the run again; {_KEPT}",
    sqlite3.SQLITE_LOCKED: f"stays locked by another connection: wait for it; {_KEPT}",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: its folder must exist, and both must be readable and writable",
    sqlite3.SQLITE_IOERR: f"the disk cannot be read or written: check it; {_KEPT}",
}
_TOO_LONG = "case id, run, judge and criterion are too long together (about 2,700 bytes): use shorter names"
_POSTGRES = {  # https://www.postgresql.org/docs/current/errcodes-appendix.html
    "25006": f"is read-only: give a server and a role that may write; {_KEPT}",
    "42501": "the role may not do this: grant it USAGE and CREATE on the schema, and its tables",
    "3F000": "there is no schema to make tables in: make it first, or name another in search_path",
    "22003": "a number of a row is too large for the database",
    "53100": f"the server's disk is full: free some space and start the run again; {_KEPT}",
    "54000": _TOO_LONG,
}
# lost connections, a server that restarts or has none free, and transactions that the server asks to repeat
_PASSING = ("08", "57P", "40001", "40P01", "53300")


def is_lost(error: BaseException) -> bool:
    """Whether the same work may succeed on a new connection to PostgreSQL."""
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # libpq knows no state where no server answered
        return error.connection_invalidated or type(error.orig).__name__ == "OperationalError"
    return str(state).startswith(_PASSING)


@contextmanager
def told(address: Address) -> Iterator[None]:
    """Turn errors of the database into a LogStorageError of one sentence without the password."""
    try:
        yield
    except OverflowError as error:
        raise LogStorageError(f"{address.name}: a number of a row is too large for the database.") from error
    except SQLAlchemyError as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        known = _known(original)
        if known is None and is_lost(error):
            known = f"the server cannot be reached ({_brief(original, address)}): try the same again later; {_KEPT}"
        raise LogStorageError(f"{address.name}: {known or _brief(original, address)}.") from error


def _known(error: BaseException | None) -> str | None:
    if isinstance(error, sqlite3.Error):
        return _SQLITE.get(getattr(error, "sqlite_errorcode", -1) & 0xFF)
    return _POSTGRES.get(str(getattr(error, "sqlstate", None)))


def _brief(error: BaseException | None, address: Address) -> str:
    """Return the last line that says something, as the server's comes after those of the client."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines[0] if lines else type(error).__name__).rstrip(".")
    return text.replace(address.secret, REDACTED) if address.secret else text
