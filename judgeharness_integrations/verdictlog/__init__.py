"""The verdict log: every answer of every judge is a row, failures included."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

from .files import JsonlLog, MemoryLog, VerdictLog, read_log, write_log
from .row import Outcome, Verdict, VerdictRow

if TYPE_CHECKING:
    from .sql.log import SqlLog

__all__ = [
    "JsonlLog",
    "MemoryLog",
    "Outcome",
    "SqlLog",
    "Verdict",
    "VerdictLog",
    "VerdictRow",
    "read_log",
    "write_log",
]

# Loaded at first use: a log in memory or in a file should not pay for SQLAlchemy.
__getattr__ = lazy(__name__, {"SqlLog": "sql.log"})
