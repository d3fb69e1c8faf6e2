"""Where a report comes from: the folder of a run, or any verdict log under a rule."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.runs.building import run_report
from judgeharness_integrations.reporting.runs.folder import report_of_folder
from judgeharness_integrations.reporting.runs.fromlog import results_of_log
from judgeharness_integrations.reporting.runs.jsonlines import json_lines
from judgeharness_integrations.reporting.runs.recorded import RECORDED_SCHEMA, report_of_recorded
from judgeharness_integrations.verdictlog.files import read_log
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from os import PathLike

    from judgeharness_integrations.aggregation.rules import RuleLike
    from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["is_recorded", "read_report"]

_HEAD = 200  # the schema stands first in a line


def read_report(
    path: str | PathLike[str],
    rule: RuleLike | None = None,
    *,
    run: str | None = None,
    judges: Sequence[str] | None = None,
    labels: bool = False,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    **facts: Any,
) -> RunReport:
    """Return the report of a run's folder, of recorded results (`recording`), or of a verdict log.

    Args:
        path: what `judgeharness run --out` wrote, what JUDGEHARNESS_RECORD named, or a log (.sqlite, .parquet, .csv or
            .jsonl, also .gz).
        rule: how to fold a log; it was chosen after the samples, and the report says so. A run has its rule; it is
            needed only where that is a function of the caller's own.
        run: the run of a log that holds several.
        judges: only these judges.
        labels: read every verdict of a log as a label, numbers too.
        min_valid: valid samples a verdict needs; at least half of the case's rows when None. Of a log alone.
        tolerance: how far two scores lie apart and still agree, in units of the score. Of a log alone.
        facts: further fields of `RunReport`, such as `case_texts`.

    Raises:
        ConfigError: the folder holds no results of a run, or damaged ones.
        LogFormatError: the log cannot be read.
        UnknownNameError: a judge, run or rule is not known.
        UsageError: a log was given without a rule, or holds several runs and none was chosen.

    """
    place = Path(path)
    if place.is_dir() or is_recorded(place):
        if place.is_dir():
            found = report_of_folder(place, rule=rule, **facts)
        else:
            found = report_of_recorded(json_lines(place), source=str(place), rule=rule, **facts)
        return found if not judges else _only(found, judges)
    if not place.exists() and "://" not in str(path):
        raise ConfigError(f"{place} does not exist: give the folder of a run, recorded results, or a verdict log.")
    if rule is None:
        raise UsageError(f"{place} is a log, which has no rule of its own: give one, as --rule majority.")
    rows = _of_run(read_log(place, labels=labels), run, place)
    results = results_of_log(rows, rule, judges=judges, min_valid=min_valid, tolerance=tolerance)
    return run_report(results, source=str(place), run=run, **facts)


def is_recorded(path: Path) -> bool:
    """Whether a file holds recorded results, by its first line."""
    if path.suffix != ".jsonl":
        return False
    try:
        with path.open("rb") as file:
            return RECORDED_SCHEMA.encode() in file.read(_HEAD)
    except OSError:
        return False


def _only(report: RunReport, judges: Sequence[str]) -> RunReport:
    sections = {section.judge: section for section in report.judges}
    for name in judges:
        if name not in sections:
            raise UnknownNameError("judge", name, sections)
    return run_report(
        [result for result in report.results if result.judge in judges],
        source=report.source,
        planned={name: sections[name].cases + sections[name].not_asked for name in judges},
        costs={name: sections[name].cost for name in judges},
        run=report.run,
        state=report.state,
        created_at=report.created_at,
        case_texts=report.case_texts,
    )


def _of_run(rows: Sequence[VerdictRow], run: str | None, place: Path) -> list[VerdictRow]:
    runs = list(dict.fromkeys(row.run for row in rows))
    if run is None and len(runs) > 1:
        names = safe_text(", ".join(map(repr, runs)), 200)
        raise UsageError(f"{place} holds {len(runs)} runs ({names}): choose one with --run.")
    if run is not None and run not in runs:
        raise UnknownNameError("run", run, runs)
    return [row for row in rows if run in (None, row.run)]
