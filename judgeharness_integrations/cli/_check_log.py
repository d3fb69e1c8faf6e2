"""What `judgeharness check --log` does: nothing is asked."""

from __future__ import annotations

from pathlib import Path

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.checking import check_rows
from judgeharness_integrations.cli._check_ending import CHECK, exit_code, show
from judgeharness_integrations.cli._check_request import CheckRequest
from judgeharness_integrations.cli._reading import rows_of_log, without_garbage_collection
from judgeharness_integrations.replay import rows_about
from judgeharness_integrations.verdictlog.runfolder import LOG, MARK, VERDICTS, read_mark

__all__ = ["check_log"]


def check_log(log: Path, request: CheckRequest) -> int:
    """Report on judges of a log, or of the one in the folder of a run or a check, and return the exit code.

    Raises:
        UsageError: the log has several judges or runs and none was chosen, or the folder has no log.

    """
    log, run = (_held(log) if log.is_dir() else log), request.run or _begun(log)
    with without_garbage_collection():
        rows = rows_about(rows_of_log(log, run=run, labels=request.labels), request.criteria or None)
        reports = [
            check_rows(
                rows,
                judge=name,
                tolerance=request.tolerance,
                alpha=request.alpha,
                score_tolerance=request.score_tolerance,
            )
            for name in request.judges or (None,)
        ]
    show(reports, request)
    return exit_code(reports)


def _held(folder: Path) -> Path:
    """Return the log in a folder: of a check its export, since its database keeps the runs of older settings."""
    names = (VERDICTS, LOG) if (folder / CHECK).exists() else (LOG, VERDICTS)
    found = next((folder / name for name in names if (folder / name).exists()), None)
    if found is None:
        raise UsageError(f"{folder} holds neither {LOG} nor {VERDICTS}: give a verdict log as --log.")
    return found


def _begun(log: Path) -> str | None:
    """Return the run that was begun in the folder of a run; None of anything else."""
    mark = log / MARK
    found = read_mark(mark).get("run") if mark.exists() else None
    return None if found is None else str(found)
