"""What `judgeharness replay` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.cases import case_decisions
from judgeharness_integrations.analysis.aggregation.clusters import copied_cases
from judgeharness_integrations.analysis.aggregation.grouping import by_case, by_criterion
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.aggregation.rules import rule as named_rule
from judgeharness_integrations.analysis.calibration.facts import facts_of_decisions
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState, SavedMeasurement
from judgeharness_integrations.analysis.certifying.certificate import Certificate, HeldCertificate
from judgeharness_integrations.analysis.certifying.transport import certificate_on_run
from judgeharness_integrations.analysis.gates.report import STOPPED
from judgeharness_integrations.analysis.replay import ReplayReport, replay, rows_about, rows_of_judges
from judgeharness_integrations.analysis.replay.anchoring import replay_anchor, replay_state
from judgeharness_integrations.analysis.runs.folder import (
    Calibrations,
    calibrations_of_run,
    certificates_of_run,
    documents_of_run,
    noted_of_run,
    rule_fixed_of_run,
    unknown_certificate,
)
from judgeharness_integrations.analysis.runs.report import never_asked, nothing_graded
from judgeharness_integrations.cli._gate_options import GateOptions
from judgeharness_integrations.cli._gates import gate_exit
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._reading import cases_of_log, rows_of_log, without_garbage_collection
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.encoding import REUSED_FROM
from judgeharness_integrations.verdictlog.patterns import CasePatterns
from judgeharness_integrations.verdictlog.plain import safe_text
from judgeharness_integrations.verdictlog.runfolder import folder_of

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.gates.gate import Gates
    from judgeharness_integrations.analysis.gates.report import GateReport
    from judgeharness_integrations.analysis.replay.report import Certificates


def rule_of(spec: str) -> Rule:
    """Return the rule of a name or of `module:function`, modules in the working directory included."""
    if ":" not in spec:
        return named_rule(spec)
    from judgeharness_integrations.judging.importing import imported_rule  # noqa: PLC0415 - few rules are imported

    return imported_rule(spec, folder=Path.cwd(), where="--rule")


def _check_paid_once(rows: Sequence[VerdictRow], source: str) -> None:
    """Refuse runs that share answers, which would count twice."""
    holders: dict[str, dict[str, None]] = {}  # the run that paid for answers -> the runs that hold them
    for row in rows:
        holders.setdefault(str(row.attributes.get(REUSED_FROM, row.run)), {})[row.run] = None
    shared = next((list(runs) for runs in holders.values() if len(runs) > 1), None)
    if shared is not None:
        names = safe_text(", ".join(repr(name) for name in shared), 200)
        raise UsageError(f"{source}: runs {names} share answers, which would count twice: choose one with --run.")


def replay_log(
    log: Path,
    rule: str,
    *,
    judges: Sequence[str] | None = None,
    criteria: Sequence[str] | None = None,
    run: str | None = None,
    labels: bool = False,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    calibration: Path | None = None,
    certificate: Path | None = None,
    as_json: bool = False,
    gates: GateOptions | None = None,
) -> int:
    """Read a log, or one run of it, fold it, print the report and return the exit code.

    It is 1 where a gate fails and 3 where nothing was graded.

    Raises:
        UsageError: runs of the log share answers and none was chosen, or a gate is about nothing in the log.

    """
    chosen = rule_of(rule)
    asked = _gates(gates)
    with without_garbage_collection():
        evidence = any([asked, criteria, calibration, certificate, folder_of(log)])
        cases = _cases(log, chosen, run=run, labels=labels, evidence=evidence)
        if run is None:
            _check_paid_once(cases.rows, str(log))
        rows = rows_about(cases.rows, criteria)
        options: dict[str, Any] = {"judges": judges, "min_valid": min_valid, "tolerance": tolerance}
        groups = rows_of_judges(rows, judges)
        options["rule_fixed"] = rule_fixed_of_run(log, groups, chosen, min_valid=min_valid)
        options["certificates"] = _certificates(log, certificate, groups, chosen)
        if not options["certificates"] and (unknown := unknown_certificate(log, rows)):
            typer.echo(unknown, err=True)
        planned, own = noted_of_run(log, run)
        report = replay(rows, chosen, planned=planned, like=cases.like, **options)
        shown: dict[str, Any] = {
            "stopped": own is not None and own.stopped,
            "source": str(log),
            "as_json": as_json,
            "planned": planned,
            "cases": cases,
        }
        known = _calibrations(log, calibration, groups)
        if known or report.certificates:
            report = anchored(report, known, groups, chosen, min_valid=min_valid, stopped=shown["stopped"])
        if asked is None:
            _show(report, None, rows, judges, **shown)
            return gate_exit(None, graded=report.graded)
        from judgeharness_integrations.cli._replay_gates import check_replay, tell_gates  # noqa: PLC0415 - for few

        every = cases.rows if run is None else rows_of_log(log, labels=labels)
        checked = check_replay(asked, rows, chosen, known, every=every, planned=planned, own=own, **options)
        _show(report, checked, rows, judges, **shown)
        tell_gates(checked, stderr=as_json)
        return gate_exit(checked, graded=report.graded)


def _cases(log: Path, rule: Rule, *, run: str | None, labels: bool, evidence: bool) -> CasePatterns:
    """Return the cases of a log, with everything their rows hold where that may be read."""
    if evidence or not rule.own:
        return CasePatterns(rows=rows_of_log(log, run=run, labels=labels))
    return cases_of_log(log, run=run, labels=labels)


def _calibrations(log: Path, path: Path | None, judges: Mapping[str, Sequence[VerdictRow]]) -> Calibrations:
    """Return the calibrations the replay is held against."""
    if path is None and folder_of(log) is None:
        return {}

    return calibrations_of(log, path, judges)


def _certificates(log: Path, path: Path | None, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule) -> Certificates:
    """Return the certificates that decisions of the replay stand under."""
    if path is None and folder_of(log) is None:
        return {}

    return certificates_of(log, path, judges, rule)


def _show(
    report: ReplayReport,
    checked: GateReport | None,
    rows: Sequence[VerdictRow],
    judges: Sequence[str] | None,
    *,
    stopped: bool,
    source: str,
    planned: Mapping[str, int],
    cases: CasePatterns,
    as_json: bool,
) -> None:
    asked = rows_of_judges(rows, judges)
    notes = [*([f"the run {STOPPED}"] if stopped else ()), *_missing(asked, planned, cases), *_ungraded(report)]
    if as_json:
        for note in notes:
            typer.echo(safe_text(note), err=True)
        gates = {} if checked is None else {"gates": checked.to_dict()}
        print_json(report.to_dict() | ({"stopped": True} if stopped else {}) | gates)
        return
    from judgeharness_integrations.reporting.replaysection import replay_section  # noqa: PLC0415 - JSON needs no
    from judgeharness_integrations.reporting.terminal import console, show_section  # noqa: PLC0415 - tables

    groups = [group for mine in asked.values() for group in by_criterion(mine).values()]
    show_section(replay_section(report, groups, like=cases.like, source=source, notes=notes), console())


def _missing(
    asked: Mapping[str, Sequence[VerdictRow]], planned: Mapping[str, int], cases: CasePatterns
) -> Iterator[str]:
    """Yield how many of a judge's planned cases have no row, and how many are copies."""
    for judge, rows in asked.items():
        wanted, groups = planned.get(judge, 0), by_case(rows)
        found = sum(cases.like.get((held, judge, case_id), 1) for held, case_id in groups)
        if (never := wanted - found) > 0:
            yield f"{judge}: {never_asked(never, wanted)}: not graded"
        yield from (f"{judge}: {line}" for line in copied_cases(rows))  # patterns stand for no copies


def _ungraded(report: ReplayReport) -> Iterator[str]:
    """Yield the judges that graded nothing."""
    cases = {one.judge: one.cases for one in report.judges}
    graded = {one.judge for one in report.judges if one.graded}
    yield from (f"{judge}: {nothing_graded(count)}" for judge, count in cases.items() if judge not in graded)


def _gates(options: GateOptions | None) -> Gates | None:
    """Return the gates, read before the log is; None without any."""
    if options is None or not options.given:
        return None
    from judgeharness_integrations.cli._gates import gates_of  # noqa: PLC0415 - few replays have gates

    return gates_of(options) or None


def calibrations_of(log: Path, path: Path | None, judges: Mapping[str, Sequence[VerdictRow]]) -> Calibrations:
    """Return the calibrations of a replay of these rows of judges.

    Raises:
        ConfigError: the file cannot be read.
        UsageError: it is of another judge than any of these.

    """
    if path is None:
        return calibrations_of_run(log, judges)
    report = CalibrationReport.load(path)
    if report.judge not in judges:
        raise _of_another(f"{path}", report, judges, "calibrate")
    return {report.judge: (report, None)}


def certificates_of(
    log: Path, path: Path | None, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule
) -> dict[str, HeldCertificate]:
    """Return judge -> the certificate its decisions under a rule stand under, and whether it holds for them.

    One of a file holds where the rows are of a run that notes the same fingerprint, until it expires; what a run's own
    was worth to it was noted with its results.

    Raises:
        ConfigError: the file cannot be read.
        UsageError: it is of another judge than any of these.

    """
    if path is None:
        return certificates_of_run(log, judges, rule)
    given = Certificate.load(path)
    if given.judge not in judges:
        raise _of_another(f"{path}", given, judges, "certify")
    rows = judges[given.judge]
    return {given.judge: (given, replay_state(given, rows, rule, _held(given, documents_of_run(log, rows))))}


def _held(certificate: Certificate, documents: Sequence[Mapping[str, Any]]) -> CalibrationState | None:
    """Return whether a certificate of a file holds for the run of these results; None where nobody knows."""
    known = {one["fingerprint"] for one in documents} - {None}
    if not known or certificate.fingerprint is None:
        return None
    if known == {certificate.fingerprint}:
        return certificate.state(certificate.parts, now=datetime.now(UTC))
    answered = " or ".join(sorted(known))
    return CalibrationState(status="expired", reason=f"fingerprint {certificate.fingerprint} before, {answered} now")


def _of_another(path: str, saved: SavedMeasurement, judges: Iterable[str], command: str) -> UsageError:
    names = ", ".join(judges)
    return UsageError(f"{path} is of judge {saved.judge!r:.60}, the log of {names:.200}: {command} that judge.")


def anchored(
    report: ReplayReport,
    known: Calibrations,
    judges: Mapping[str, Sequence[VerdictRow]],
    rule: Rule,
    *,
    min_valid: int | None,
    stopped: bool,
) -> ReplayReport:
    """Return a replay with what calibrations and certificates are worth for the decisions of its rule.

    Args:
        report: the replay.
        known: the calibrations.
        judges: the rows of each judge.
        rule: what decided.
        min_valid: see `replay`.
        stopped: whether asking ended because of what was answered: such cases are compared with no labelled ones.

    """
    anchors = {
        judge: replay_anchor(known[judge][0], rows, rule, held=known[judge][1], min_valid=min_valid)
        for judge, rows in judges.items()
        if judge in known
    }
    certificates: dict[str, HeldCertificate] = {}
    for judge, held in report.certificates.items():
        groups = by_criterion(judges[judge])
        decided = {name: case_decisions(group, rule, min_valid=min_valid) for name, group in groups.items()}
        beside = anchors.get(judge)
        certificates[judge] = certificate_on_run(
            held,
            facts_of_decisions(decided, column=held[0].stratum),
            None if beside is None else known[judge][0],
            None if beside is None else beside.state,
            stopped=stopped,
        )
    return replace(report, anchors=tuple(anchors.values()), certificates=certificates)
