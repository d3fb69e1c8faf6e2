"""The folder of a run -> its report: results as they were written, measured again from the rows of its log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import ConfigError, JudgeHarnessError
from judgeharness_integrations.reporting.document import row_record
from judgeharness_integrations.reporting.rebuilding import rebuilt_result
from judgeharness_integrations.reporting.runs.bill import bill_of_summary
from judgeharness_integrations.reporting.runs.building import run_report
from judgeharness_integrations.reporting.runs.jsonlines import json_lines
from judgeharness_integrations.reporting.runs.report import RunReport
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.usage import Usage
from judgeharness_integrations.verdictlog.files import read_log
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.runfolder import MARK, RESULTS, SUMMARY, VERDICTS, log_of, read_mark

if TYPE_CHECKING:
    from judgeharness_integrations.aggregation.rules import RuleLike
    from judgeharness_integrations.gates.report import GateReport

__all__ = ["report_of_folder"]

_Rows = Mapping[tuple[str, str], list[dict[str, Any]]]


def report_of_folder(folder: Path, *, rule: RuleLike | None = None, **facts: Any) -> RunReport:
    """Return the report of a run that stands in a folder, also of one that is still going or was cut off.

    Args:
        folder: what `judgeharness run --out` wrote.
        rule: the rule it was folded with, where that is a function of the caller's own.
        facts: further fields of `RunReport`.

    Raises:
        ConfigError: the folder holds no results, or damaged ones.
        UsageError: its log cannot be reached.

    """
    summary = _summary(folder / SUMMARY)
    mark = read_mark(folder / MARK) if (folder / MARK).exists() else {}
    run = str(mark.get("run", "")) if (folder / MARK).exists() else summary.get("run")
    rows = _rows(folder, run)
    calibrations = {judge["judge"]: judge.get("calibration_report") for judge in summary.get("judges", ())}
    results = [_result(document, rows, calibrations, rule) for document in json_lines(folder / RESULTS)]
    planned = _planned(summary, mark)
    usages: dict[str, list[Usage]] = {}
    for result in results:
        usages.setdefault(result.judge, []).append(result.usage)
    report = run_report(
        results,
        source=str(folder),
        planned=planned,
        bills={
            judge["judge"]: bill_of_summary(judge, usages.get(judge["judge"], []))
            for judge in summary.get("judges", ())
        },
        run=run,
        state=summary.get("state", "unfinished"),
        gates=_gates(summary),
        **facts,
    )
    return report if planned else _of_unknown_size(report)


def _planned(summary: Mapping[str, Any], mark: Mapping[str, Any]) -> dict[str, int]:
    """Return judge -> planned cases, as the summary says; of a run that was cut off, as it was noted at its start."""
    if "judges" in summary:
        return {judge["judge"]: judge["judged_cases"] + judge["not_asked_cases"] for judge in summary["judges"]}
    noted = mark.get("planned_cases")
    return {str(judge): int(cases) for judge, cases in noted.items()} if isinstance(noted, Mapping) else {}


def _of_unknown_size(report: RunReport) -> RunReport:
    """Return a report that says of every judge that nobody knows what is missing."""
    unknown = "how many cases were planned is not known: the run was cut off"
    return replace(
        report, judges=tuple(replace(section, warnings=(*section.warnings, unknown)) for section in report.judges)
    )


def _gates(summary: Mapping[str, Any]) -> GateReport | None:
    """Return what the run's gates said."""
    from judgeharness_integrations.gates.report import GateReport  # noqa: PLC0415 - gates read reports themselves

    found = summary.get("gates")
    return None if found is None else GateReport.from_dict(found)


def _summary(path: Path) -> Mapping[str, Any]:
    """Return a run's summary; nothing of a run that has not finished."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): delete it, the report is made without it.") from error
    return found if isinstance(found, dict) else {}


def _rows(folder: Path, run: str | None) -> _Rows:
    """Return the records of a run's rows by judge and case: from its log, else from the file it was exported to."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in _read(folder, run):
        groups.setdefault((row.judge, row.case_id), []).append(row_record(row))
    return groups


def _read(folder: Path, run: str | None) -> Iterable[VerdictRow]:
    try:
        log = log_of(folder)
        if "://" not in str(log) and not Path(log).exists():
            raise ConfigError(f"{log} does not exist.")
        from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

        with SqlLog(log, create=False) as found:
            return list(found.rows(run=run) if run else found.rows())  # a log that breaks off is read elsewhere, whole
    except JudgeHarnessError:
        if not (folder / VERDICTS).exists():
            raise
        return read_log(folder / VERDICTS)


def _result(
    document: Mapping[str, Any], rows: _Rows, calibrations: Mapping[str, Any], rule: RuleLike | None
) -> HarnessResult:
    judge = document["judge"]
    held = {"rows": rows.get((judge, document["case_id"]), []), "calibration_report": calibrations.get(judge)}
    if held["calibration_report"] is None:  # an older run wrote none: its rates alone hold no calibration
        held["calibration"] = None
    return rebuilt_result({**document, **held}, rule=rule)
