"""The folder of a run, or recorded results, as a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from judgeharness_integrations._documents import DATABASE_SUFFIXES
from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import rule as named_rule
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState
from judgeharness_integrations.analysis.certifying.certificate import Certificate, HeldCertificate
from judgeharness_integrations.analysis.document import RECORDED_SCHEMA, row_record
from judgeharness_integrations.analysis.rebuilding import rebuilt_result
from judgeharness_integrations.analysis.replay.anchoring import replay_state
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.building import bill_of_summary, run_report
from judgeharness_integrations.analysis.runs.noted import gates_of_summary, json_lines, planned_cases, summary_of
from judgeharness_integrations.analysis.runs.report import RunReport
from judgeharness_integrations.analysis.runs.summarising import told_apart
from judgeharness_integrations.analysis.usage import Usage
from judgeharness_integrations.verdictlog.plain import safe_text
from judgeharness_integrations.verdictlog.runfolder import (
    MARK,
    RESULTS,
    SUMMARY,
    folder_of,
    read_mark,
    record_of,
    rows_of_folder,
    run_of,
)

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.aggregation.rules import Rule, RuleLike
    from judgeharness_integrations.analysis.design import RuleFixed
    from judgeharness_integrations.verdictlog.row import VerdictRow


# judge -> its calibration, and whether that held for the run; None where nobody knows
Calibrations: TypeAlias = Mapping[str, tuple[CalibrationReport, CalibrationState | None]]

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
    summary = summary_of(folder / SUMMARY)
    mark = read_mark(folder / MARK) if (folder / MARK).exists() else {}
    run = str(mark.get("run", "")) if (folder / MARK).exists() else summary.get("run")
    rows = _rows(folder, run)
    calibrations = {judge["judge"]: judge.get("calibration_report") for judge in summary.get("judges", ())}
    certificate = mark.get("certificate")
    results = [_result(document, rows, calibrations, certificate, rule) for document in json_lines(folder / RESULTS)]
    planned = planned_cases(summary, mark)
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
        cases_digest=None if (record := record_of(folder)) is None else record.cases_digest,
        gates=gates_of_summary(summary),
        **facts,
    )
    return report if report.of_known_size else _of_unknown_size(report)


def documents_of_run(log: Path, rows: Sequence[VerdictRow]) -> list[dict[str, Any]]:
    """Return the results of the run that the rows of a judge are of; none where their log stands apart from them.

    Args:
        log: the run's folder, or its log in it.
        rows: of one judge.

    """
    return list(_documents(log, rows))


def _documents(log: Path, rows: Sequence[VerdictRow]) -> Iterator[dict[str, Any]]:
    folder = log if log.is_dir() else log.parent
    if (folder / RESULTS).is_file() and {row.run for row in rows} == {run_of(folder)}:
        yield from (one for one in json_lines(folder / RESULTS) if one.get("judge") == rows[0].judge)


def rule_fixed_of_run(
    log: Path, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule, *, min_valid: int | None = None
) -> RuleFixed:
    """Return whether a rule and its quorum were fixed before the samples: those of a run were, any others were not.

    Args:
        log: the run's folder, or its log in it; of a log apart from it nobody knows what it was sampled for.
        judges: judge -> rows.
        rule: what decides now.
        min_valid: valid samples a verdict needs now.

    """
    own = {(one.get("rule"), one.get("min_valid"), one.get("rule_fixed")) for one in _designs(log, judges)}
    return "before" if own == {(rule.name, min_valid, "before")} else "after"


def rule_of_run(log: Path, judges: Mapping[str, Sequence[VerdictRow]]) -> tuple[Rule, int | None] | None:
    """Return the rule of the run that rows are of, and its quorum; None where its results do not stand beside them.

    Args:
        log: see `rule_fixed_of_run`.
        judges: see there.

    Raises:
        UsageError: the rule is a function of the caller's own, which no folder holds.

    """
    known = next(filter(None, _designs(log, judges)), None)  # a run has one rule
    if known is None:
        return None
    if known["rule"] is None:
        raise UsageError(f"{log}: its rule is a function of the caller's own, which it does not hold: give --rule.")
    return named_rule(known["rule"]), known["min_valid"]


def _designs(log: Path, judges: Mapping[str, Sequence[VerdictRow]]) -> list[Mapping[str, Any]]:
    """Return the design of each judge of a run, empty where it is not known; there is one a judge."""
    return [next(_documents(log, rows), {}).get("design", {}) for rows in judges.values()]


def certificates_of_run(
    path: Path, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule
) -> dict[str, HeldCertificate]:
    """Return judge -> the certificate its decisions in a run stand under, and whether it holds for those of a rule.

    Args:
        path: the run's folder, or its log in it; of any other log nothing is known.
        judges: judge -> the rows that are read.
        rule: what decides.

    Raises:
        ConfigError: what the folder notes of its run cannot be read.
        UsageError: the rows are those of other runs as well, whose certificates nobody knows.

    """
    folder = folder_of(path)
    noted = {} if folder is None or not (folder / MARK).is_file() else read_mark(folder / MARK)
    runs = {row.run for rows in judges.values() for row in rows}
    if folder is None or noted.get("certificate") is None or noted.get("run") not in runs:
        return {}
    if len(runs) > 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs, and decisions of {noted['run']!r:.80} stand under a certificate: choose "
            "one with --run."
        )
    saved = Certificate.from_dict(noted["certificate"])
    return {
        judge: (saved, replay_state(saved, rows, rule, _noted_state(documents_of_run(folder, rows))))
        for judge, rows in judges.items()
    }


def calibrations_of_run(path: Path, judges: Mapping[str, Sequence[VerdictRow]]) -> Calibrations:
    """Return the calibrations in the summary of a run; none where it has not ended, or the rows are not its alone.

    Args:
        path: see `certificates_of_run`.
        judges: see there.

    """
    folder = folder_of(path)
    summary = {} if folder is None else summary_of(folder / SUMMARY)
    if not summary or {row.run for rows in judges.values() for row in rows} != {summary.get("run")}:
        return {}
    return {
        one["judge"]: (
            CalibrationReport.from_dict(one["calibration_report"]),
            CalibrationState(status=one["calibration"]["status"], reason=one["calibration"]["reason"]),
        )
        for one in summary.get("judges", ())
        if one.get("calibration_report") and one.get("calibration")
    }


def anchored_results(
    results: Sequence[HarnessResult], known: Calibrations, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule
) -> list[HarnessResult]:
    """Return results with the calibrations that go with them, whose cases nobody has compared yet."""
    states = {
        judge: replay_state(report, judges[judge], rule, held)
        for judge, (report, held) in known.items()
        if judge in judges
    }
    return [
        replace(one, calibration=known[one.judge][0], calibration_state=states[one.judge])
        if one.judge in states
        else one
        for one in results
    ]


def unknown_certificate(log: Path, rows: Iterable[VerdictRow]) -> str:
    """Return that a database notes a certificate of the runs of rows, which it does not hold itself; else nothing."""
    if log.suffix.lower() not in DATABASE_SUFFIXES:
        return ""
    from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

    runs = {row.run for row in rows}
    with SqlLog(log, create=False) as opened:
        named = [record.run for record in opened.records() if record.run in runs and record.parts.get("certificate")]
    if not named:
        return ""
    return (
        f"run {safe_text(named[0])} decided under a certificate, which its log does not hold: these are the decisions "
        "of the rule alone; give the folder of that run, or replay with --certificate FILE"
    )


def _noted_state(documents: Sequence[Mapping[str, Any]]) -> CalibrationState | None:
    """Return what a run's results say its certificate was worth; None where nobody knows."""
    states = [one["certificate"] for one in documents if "certificate" in one]
    return CalibrationState(status=states[0]["status"], reason=states[0]["reason"]) if states else None


def _of_unknown_size(report: RunReport) -> RunReport:
    """Return a report that says of every judge that nobody knows what is missing."""
    unknown = "how many cases were planned is not known: the run was cut off"
    return replace(
        report, judges=tuple(replace(section, warnings=(*section.warnings, unknown)) for section in report.judges)
    )


def _rows(folder: Path, run: str | None) -> _Rows:
    """Return the records of a run's rows by judge and case: from its log, else from the file it was exported to."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows_of_folder(folder, run):
        groups.setdefault((row.judge, row.case_id), []).append(row_record(row))
    return groups


def _result(
    document: Mapping[str, Any], rows: _Rows, calibrations: Mapping[str, Any], certificate: Any, rule: RuleLike | None
) -> HarnessResult:
    judge = document["judge"]
    held = {"rows": rows.get((judge, document["case_id"]), []), "calibration_report": calibrations.get(judge)}
    if held["calibration_report"] is None:  # an older run wrote none: its rates alone hold no calibration
        held["calibration"] = None
    if "certificate" in document:
        held["certificate_report"] = certificate
    return rebuilt_result({**document, **held}, rule=rule)


def recorded_result(line: Mapping[str, Any], *, rule: RuleLike | None = None) -> HarnessResult:
    """Return the result of what `recorded_line` returned."""
    return replace(rebuilt_result(line["result"], rule=rule), test=line.get("test"))


def report_of_recorded(
    lines: Iterable[Mapping[str, Any]], *, source: str, rule: RuleLike | None = None, **facts: Any
) -> RunReport:
    """Return the report of recorded results.

    Args:
        lines: what `recorded_line` returned.
        source: for people, where they come from.
        rule: the rule they were folded with, where that is a function of the caller's own.
        facts: further fields of `RunReport`; `case_texts` go before recorded ones.

    Raises:
        ConfigError: a line is of another schema, or damaged.

    """
    results, texts = [], {}
    for line in lines:
        if line.get("schema") != RECORDED_SCHEMA:
            raise ConfigError(f"{source}: not a record of schema {RECORDED_SCHEMA}: found {line.get('schema')!r:.60}.")
        results.append(recorded_result(line, rule=rule))
        texts[results[-1].case_id] = {str(name): str(text) for name, text in line["case"].items()}
    facts["case_texts"] = {**texts, **facts.get("case_texts", {})}
    return run_report(told_apart(results), source=source, **facts)
