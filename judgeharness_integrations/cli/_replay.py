"""What `judgeharness replay` does, and gates of commands: read before anything is asked; what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.cases import case_decisions
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion, copied_cases
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.aggregation.rules import rule as named_rule
from judgeharness_integrations.analysis.calibration.candidates import calibrated_beside, candidates_beside
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState, SavedMeasurement
from judgeharness_integrations.analysis.calibration.transport import (
    LABELLED_ALONE,
    OF_SOME,
    facts_of_decisions,
    labelled_alone,
    labels_apart,
)
from judgeharness_integrations.analysis.certifying.cascade import Cascade, cascade_log, certificate_on_run
from judgeharness_integrations.analysis.certifying.certificate import Certificate, HeldCertificate
from judgeharness_integrations.analysis.gates.checking import check_gates
from judgeharness_integrations.analysis.gates.gate import STOPPED, GateReport, Gates
from judgeharness_integrations.analysis.replay import ReplayReport, replay, rows_about, rows_of_judges
from judgeharness_integrations.analysis.replay.report import Certificates, replay_anchor, replay_state
from judgeharness_integrations.analysis.replay.votes import panel_votes
from judgeharness_integrations.analysis.runs.building import gates_of_decisions, replay_at_stop, run_report
from judgeharness_integrations.analysis.runs.folder import (
    Calibrations,
    NotedRun,
    calibrations_of_run,
    cascade_of_run,
    certificates_of_run,
    documents_of_run,
    noted_of_run,
    passport_of_run,
    prices_of_run,
    rule_fixed_of_run,
    unknown_certificate,
)
from judgeharness_integrations.analysis.runs.reading import results_of_log
from judgeharness_integrations.analysis.runs.report import nothing_graded
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.encoding import REUSED_FROM, safe_text
from judgeharness_integrations.verdictlog.patterns import CasePatterns
from judgeharness_integrations.verdictlog.runfolder import folder_of

from ._command import GATE_FAILED, NOT_GRADED, OK, GateOptions, ends_of
from ._output import cases_of_log, print_json, rows_of_log, without_garbage_collection

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.row import VerdictRow


def gates_of(options: GateOptions, configured: Gates | None = None, *, until: Sequence[str] = ()) -> Gates:
    """Return the gates of a configuration with those of the command: expressions are added, limits go first.

    Those a run asks `until` are its only ones, and sequential.

    Raises:
        UsageError: an expression cannot be read, or can never pass, or an option would count for nothing.

    """
    gates = (configured or Gates()).with_options(
        fail_under=options.fail_under,
        max_abstention=options.max_abstention,
        min_consistency=options.min_consistency,
        require_calibration=options.require_calibration,
        point_estimates=options.point_estimates,
        sequential=options.sequential,
        about=options.about,
        scale=ends_of(options.scale),
    )
    if not until:
        _check_sequential(options, gates)
        return gates
    if gates.listed or gates.point_estimates:
        raise UsageError(
            "a run that asks until its gate is settled has no other gates: intervals and values would be of a number "
            "of cases that depends on the answers; leave out --fail-under, --max-abstention, --min-consistency, "
            "--point-estimates and the key gates, or --until."
        )
    return gates.with_options(fail_under=until, sequential=True)


def _check_sequential(options: GateOptions, gates: Gates) -> None:
    """Refuse options that say how sequential gates look at cases, where none does."""
    given = {"--about": options.about, "--scale": options.scale}
    if not gates.sequential and (named := " and ".join(name for name, value in given.items() if value is not None)):
        raise UsageError(f"{named} count{'s' * (' ' not in named)} for sequential gates alone: add --sequential.")
    if options.sequential and not gates.listed:
        raise UsageError("--sequential says how gates look at cases: give a gate, as --fail-under 'pass_rate>=0.8'.")


def gate_exit(gates: GateReport | None, *, graded: bool = True) -> int:
    """Return the exit code of what gates said: 1 unless every one passed, 3 where nothing was `graded`."""
    if not graded:
        return NOT_GRADED
    return OK if gates is None or gates.passed else GATE_FAILED


def rule_of(spec: str) -> Rule:
    """Return the rule of a name, of a passport's file, or of `module:function`, as seen from the working directory."""
    if ":" not in spec and not spec.endswith(".json"):  # of a passport
        return named_rule(spec)
    from judgeharness_integrations.judging.functionsource import imported_rule  # noqa: PLC0415 - few rules are imported

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
    cascade: Path | None = None,
    panel: str | None = None,
    as_json: bool = False,
    gates: GateOptions | None = None,
) -> int:
    """Read a log, or one run of it, fold it, print the report and return the exit code.

    It is 1 where a gate fails and 3 where nothing was graded.

    Raises:
        UsageError: runs of the log share answers and none was chosen, or a gate is about nothing in the log.

    """
    chosen = passport_of_run(log, rule) or rule_of(rule)
    asked, checked = _gates(gates), None
    with without_garbage_collection():
        evidence = any([asked, criteria, calibration, certificate, cascade, panel, folder_of(log)])
        cases = _cases(log, chosen, run=run, labels=labels, evidence=evidence)
        if run is None:
            _check_paid_once(cases.rows, str(log))
        rows = rows_about(cases.rows, criteria)
        noted, groups = noted_of_run(log, run), rows_of_judges(rows, judges)
        options: dict[str, Any] = {"judges": judges, "min_valid": min_valid, "tolerance": tolerance}
        options |= _found_beside(log, rows, chosen, certificate, noted=noted, groups=groups, min_valid=min_valid)
        report = replay(rows, chosen, planned=noted.cases, like=cases.like, **options)
        several: dict[str, Any] = {"cascade": cascade, "panel": panel, "judges": [*groups], "ended": noted.ended}
        shown: dict[str, Any] = {
            "stopped": noted.gates is not None and noted.gates.stopped,
            "source": str(log),
            "as_json": as_json,
            "noted": noted,
            "cases": cases,
            "together": _together(log, rows, chosen, min_valid=min_valid, **several),
            "apart": [],
        }
        if any(0 < one.labelled < one.decided for one in report.judges):  # every row is needed, not patterns of them
            whole = rows_about(rows_of_log(log, run=run, labels=labels), criteria) if cases.like else rows
            shown["apart"] = [*_apart(rows_of_judges(whole, judges), chosen, min_valid)]
        known = _calibrations(log, calibration, groups)
        report, shown["at_stop"] = _at_stop(report, rows, chosen, noted, **options)
        if known or report.certificates:
            report = anchored(report, known, groups, chosen, min_valid=min_valid, stopped=shown["stopped"])
        if asked is not None:
            options |= {"every": cases.rows if run is None else rows_of_log(log, labels=labels), "own": noted.gates}
            checked = check_replay(asked, rows, chosen, known, planned=noted.cases, **options)
        _show(report, checked, rows, judges, **shown)
        if checked is not None:
            tell_gates(checked, stderr=as_json)
        return gate_exit(checked, graded=report.graded)


def _found_beside(
    log: Path,
    rows: Sequence[VerdictRow],
    chosen: Rule,
    certificate: Path | None,
    *,
    noted: NotedRun,
    groups: Mapping[str, Sequence[VerdictRow]],
    min_valid: int | None,
) -> dict[str, Any]:
    """Return what is known of a log beside its rows: when its rule was fixed, certificates, how much was asked."""
    certificates = _certificates(log, certificate, groups, chosen)
    if not certificates and (unknown := unknown_certificate(log, rows)):
        typer.echo(unknown, err=True)
    return {
        "rule_fixed": rule_fixed_of_run(log, groups, chosen, min_valid=min_valid),
        "certificates": _until_budget(certificates, groups, noted),
        "samples": noted.samples_of(rows),
    }


def _apart(judges: Mapping[str, Sequence[VerdictRow]], rule: Rule, min_valid: int | None) -> Iterator[str]:
    """Yield of which judges the cases with a gold label are no sample of all their cases."""
    for judge, rows in judges.items():
        criteria = by_criterion(rows)
        for name, group in criteria.items():
            decided = list(case_decisions(group, rule, min_valid=min_valid))
            told = labels_apart(name, decided, LABELLED_ALONE)
            if not told and (column := labelled_alone(name, decided)):
                told = OF_SOME + column
            if told:
                yield f"{judge}: {name}: {told}" if len(criteria) > 1 else f"{judge}: {told}"


def _at_stop(
    report: ReplayReport, rows: Sequence[VerdictRow], rule: Rule, noted: NotedRun, **options: Any
) -> tuple[ReplayReport, list[str]]:
    """Return a replay with what counts of a run that its gates stopped, and what is said of that; else as it is."""
    if noted.gates is None or not noted.gates.stopped:
        return report, []
    own = _gates_at_stop(noted.gates, rows, rule, noted, **options)
    found = [replay_at_stop(one, own) for one in report.judges]
    told = [f"{one.judge}: {said}" for one, said in found if said]
    return replace(report, judges=tuple(one for one, _ in found)), told


def _gates_at_stop(
    own: GateReport, rows: Sequence[VerdictRow], rule: Rule, noted: NotedRun, **options: Any
) -> GateReport:
    """Return what the gates that stopped a run say of its decisions under a rule."""
    if options["rule_fixed"] == "before":
        return own

    report = run_report(results_of_log(rows, rule, **options), planned=noted.cases, gates=own)
    return gates_of_decisions(report, own)


def _cases(log: Path, rule: Rule, *, run: str | None, labels: bool, evidence: bool) -> CasePatterns:
    """Return the cases of a log, with everything their rows hold where that may be read."""
    if evidence or not rule.by_verdicts:
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


def _until_budget(held: Certificates, judges: Mapping[str, Sequence[VerdictRow]], noted: NotedRun) -> Certificates:
    """Return certificates; where a budget ended a run before any case was asked in full, its design is not another."""
    if not noted.ended:
        return held
    why = f"no case was asked in full before the run ended early: {noted.ended}"
    cut = {
        judge: (given, CalibrationState(status="unverifiable", reason=why))
        for judge, (given, state) in held.items()
        if state.status == "expired" and not noted.asked_in_full(judges[judge])
    }
    return {**held, **cut}


def _show(
    report: ReplayReport,
    checked: GateReport | None,
    rows: Sequence[VerdictRow],
    judges: Sequence[str] | None,
    *,
    stopped: bool,
    source: str,
    noted: NotedRun,
    cases: CasePatterns,
    together: dict[str, Any],
    at_stop: Sequence[str],
    apart: Sequence[str],
    as_json: bool,
) -> None:
    asked = rows_of_judges(rows, judges)
    stop = [f"the run {STOPPED}", *at_stop] if stopped else []
    if noted.ended:
        stop.append(f"the run ended early: {noted.ended}; with a larger budget the same command goes on from there")
    notes = [*stop, *_missing(asked, noted, cases), *_ungraded(report), *apart]
    if as_json:
        for note in notes:
            typer.echo(safe_text(note), err=True)
        gates = {} if checked is None else {"gates": checked.to_dict()}
        print_json(report.to_dict() | ({"stopped": True} if stopped else {}) | gates | together)
        return
    from judgeharness_integrations.reporting.measured import (  # noqa: PLC0415
        replay_section,
        together_sections,
    )
    from judgeharness_integrations.reporting.terminal import console, show_section  # noqa: PLC0415

    groups = [group for mine in asked.values() for group in by_criterion(mine).values()]
    screen = console()
    show_section(replay_section(report, groups, like=cases.like, source=source, notes=notes), screen)
    for section in together_sections(together):
        show_section(section, screen)


def _together(
    log: Path,
    rows: Sequence[VerdictRow],
    rule: Rule,
    *,
    min_valid: int | None,
    cascade: Path | None,
    panel: str | None,
    judges: Sequence[str],
    ended: str,
) -> dict[str, Any]:
    """Return what judges that decide together make of the log, as documents keep it; nothing where none was asked for.

    Raises:
        ConfigError: the cascade cannot be read.
        UsageError: the cascade is of other judges or another rule, or nobody can be a panel of these judges.

    """
    found: dict[str, Any] = {}
    known = cascade_of_run(log) if cascade is None else Cascade.load(cascade)
    if cascade is None and known is not None and not {row.judge for row in rows} <= set(judges):
        known = None  # of some judges of a cascade nobody asks what all of them come to
    prices = None if known is None and panel is None else prices_of_run(log)
    if known is not None:
        known.check([step.judge for step in known.steps], rule.name)
        if unknown := next((name for name, one in known.certificates.items() if one.parts is None), None):
            raise UsageError(
                f"the cascade was certified without --config, so that nobody can tell which {unknown!r:.60} it holds "
                "for: certify it again with --config."
            )
        if unnamed := _without_model(rows, known):
            raise UsageError(
                f"answers of {unnamed!r:.60} do not name the model they came from, so that nobody can tell whether the "
                "cascade holds for them: give the log with its column model."
            )
        try:
            found["cascade"] = cascade_log(rows, known, prices=prices).to_dict()
        except UnknownNameError as error:
            if not ended:
                raise
            raise UsageError(
                f"the run ended early ({ended}), before {error.name!r:.60} was asked about the cases that come to it: "
                "the same command goes on with a larger budget."
            ) from error
    if panel is not None:
        votes = panel_votes(rows, judges, member_rule=rule, min_valid=min_valid)
        found["panel"] = votes.record(rule_of(panel), asked=rows, prices=prices)
    return found


def _without_model(rows: Iterable[VerdictRow], cascade: Cascade) -> str | None:
    """Return the judge of a cascade that was certified for a model, and whose answers do not name theirs."""
    known = {name: (one.parts or {}).get("model") for name, one in cascade.certificates.items()}
    return next((row.judge for row in rows if row.answered and row.model is None and known.get(row.judge)), None)


def _missing(asked: Mapping[str, Sequence[VerdictRow]], noted: NotedRun, cases: CasePatterns) -> Iterator[str]:
    """Yield how many of a judge's planned cases and samples have no row, and how many cases are copies."""
    for judge, rows in asked.items():
        yield from (f"{judge}: {line}" for line in noted.gaps(judge, rows, cases.like))
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


def check_replay(
    gates: Gates,
    rows: Sequence[VerdictRow],
    rule: Rule,
    known: Calibrations,
    *,
    every: Iterable[VerdictRow],
    planned: Mapping[str, int],
    own: GateReport | None,
    **options: Any,
) -> GateReport:
    """Check gates on the rows of a log under a rule.

    Args:
        gates: what is asked of it.
        rows: of the log.
        rule: how they are folded.
        known: the calibrations its results are compared with.
        every: all rows of the log: what is not replayed of it may have been tried on the same labels.
        planned: judge -> cases of the run, as far as that is known: those that were never asked are not graded.
        own: what the run's own gates said.
        options: those of `results_of_log`.

    """
    results, judges = results_of_log(rows, rule, **options), options.get("judges")
    groups = rows_of_judges(rows, judges)
    if known:
        from judgeharness_integrations.analysis.runs.folder import anchored_results  # noqa: PLC0415 - few have one

        results = anchored_results(results, known, groups, rule)
    wanted = {judge: count for judge, count in planned.items() if not judges or judge in judges}
    beside = candidates_beside(every, chain.from_iterable(groups.values()))
    facts: dict[str, Any] = {"gates": own, "beside": beside, "calibrated_beside": calibrated_beside(known, groups)}
    return check_gates(run_report(results, planned=wanted, **facts), gates)


def tell_gates(checked: GateReport, *, stderr: bool) -> None:
    """Print what the gates said."""
    from judgeharness_integrations.reporting.measured import gates_section, last_lines  # noqa: PLC0415 - few have gates
    from judgeharness_integrations.reporting.terminal import console, say, show_section  # noqa: PLC0415

    screen = console(stderr=stderr)
    show_section(gates_section(checked), screen)
    for line in last_lines(checked):
        say(screen, line)
