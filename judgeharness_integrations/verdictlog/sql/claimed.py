"""Whether a run is being written, seen without claiming it: whoever looks never keeps a writer out."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import text

from judgeharness_integrations._errors import LogStorageError
from judgeharness_integrations.verdictlog.sql.store import Store

__all__ = ["is_claimed", "lock_file", "lock_key"]

# a key of 64 bits stands there in two halves, https://www.postgresql.org/docs/current/view-pg-locks.html
_HELD = text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND ((CAST(classid AS bigint) << 32) | CAST(objid AS bigint)) = :key"
)


def lock_file(database: Path, run: str) -> Path:
    """Return the file whose lock is the claim on a run of a SQLite database."""
    name = blake2b(run.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return Path(f"{database}.{name}.lock")


def lock_key(schema: str, run: str) -> int:
    """Return the key of the advisory lock that is the claim on a run in a schema of PostgreSQL."""
    digest = blake2b(f"judgeharness\0{schema}\0{run}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)


def is_claimed(store: Store, run: str) -> bool | None:
    """Whether a process writes the run; None where that cannot be known, as of a log that is read-only here."""
    path = store.address.path
    try:
        if path is None:
            return _is_held(store, run)
        file = lock_file(path, run)
        if store.address.read_only and file.exists():
            return None
        # claims are taken while the database's write lock is held: none is tried for while the file is locked here
        return file.exists() and store.write(lambda _: _is_locked(file))
    except (LogStorageError, OSError):
        return None


def _is_locked(file: Path) -> bool:
    if not file.exists():
        return False
    try:
        FileLock(file, timeout=0).acquire().lock.release()
    except Timeout:
        return True
    return False


def _is_held(store: Store, run: str) -> bool:
    def look(schema: str) -> int:
        return store.read(lambda connection: connection.execute(_HELD, {"key": lock_key(schema, run)}).scalar() or 0)

    return look(str(store.read(lambda connection: connection.execute(text("SELECT current_schema()")).scalar()))) > 0
