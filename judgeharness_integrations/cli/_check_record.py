"""What a check notes of its runs in the log, for `judgeharness runs`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from judgeharness_integrations import __version__
from judgeharness_integrations.cli._check_parts import CheckParts
from judgeharness_integrations.redacting import redacted
from judgeharness_integrations.verdictlog.sql.records import RunRecord

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog

__all__ = ["note_beginning", "note_end"]


def note_beginning(parts: CheckParts, log: SqlLog) -> None:
    """Note what is to be asked, before anything is."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    config = redacted(parts.config.model_dump(mode="json", exclude_none=True))
    for one in parts.judges:
        facts: dict[str, Any] = {
            "state": "running",
            "config": config,
            "planned_cases": one.plan.cases,
            "planned_calls": one.plan.calls,
            "version": __version__,
        }
        if log.record(one.run) is None:
            log.begin(RunRecord(run=one.run, created_at=now, updated_at=now, **facts))
        else:
            log.note(one.run, **facts)


def note_end(parts: CheckParts, log: SqlLog, *, state: str) -> None:
    """Note how it ended; of a check that is complete, as many calls were planned as there are."""
    for one in parts.judges:
        answered = sum(used.calls for used in log.usage(one.run))
        log.note(one.run, state=state, planned_calls=answered if state == "complete" else one.plan.calls)
