"""The verdict log in SQLite and PostgreSQL, with run records."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from ..row import ModelUsage
    from .log import SqlLog
    from .runs import RunRecord, RunState

__all__ = ["ModelUsage", "RunRecord", "RunState", "SqlLog"]

# Loaded at first use: reading a file should not pay for SQLAlchemy.
__getattr__ = lazy(__name__, {"ModelUsage": "runs", "RunRecord": "runs", "RunState": "runs", "SqlLog": "log"})
