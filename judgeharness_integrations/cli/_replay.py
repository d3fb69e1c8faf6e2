"""What `judgeharness replay` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.copies import copied_cases
from judgeharness_integrations.aggregation.grouping import by_case, by_criterion
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.cli._gate_options import GateOptions
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._reading import rows_of_log, without_garbage_collection
from judgeharness_integrations.cli.exits import OK
from judgeharness_integrations.gates.report import STOPPED
from judgeharness_integrations.replay import ReplayReport, replay, rows_about, rows_of_judges
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.runs.folder import noted_of_run, unknown_certificate
from judgeharness_integrations.reporting.statetext import never_asked
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.runfolder import folder_of

if TYPE_CHECKING:
    from judgeharness_integrations.gates.gate import Gates
    from judgeharness_integrations.gates.report import GateReport
    from judgeharness_integrations.replay.report import Certificates
    from judgeharness_integrations.reporting.runs.folder import Calibrations

__all__ = ["replay_log", "rule_of"]

_REUSED_FROM = "reused_from"  # attribute of a copied row: the run that paid for the answer


def rule_of(spec: str) -> Rule:
    """Return the rule of a name or of `module:function`, modules in the working directory included."""
    if ":" not in spec:
        return named_rule(spec)
    from judgeharness_integrations.config.importing import imported_rule  # noqa: PLC0415 - few rules are imported

    return imported_rule(spec, folder=Path.cwd(), where="--rule")


def _check_paid_once(rows: list[VerdictRow], source: str) -> None:
    """Refuse runs that share answers, which would count twice."""
    holders: dict[str, dict[str, None]] = {}  # the run that paid for answers -> the runs that hold them
    for row in rows:
        holders.setdefault(str(row.attributes.get(_REUSED_FROM, row.run)), {})[row.run] = None
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
    """Read a log, or one run of it, fold it, print the report and return the exit code: 1 where a gate fails.

    Raises:
        UsageError: runs of the log share answers and none was chosen, or a gate is about nothing in the log.

    """
    chosen = rule_of(rule)
    asked = _gates(gates)
    with without_garbage_collection():
        whole = rows_of_log(log, run=run, labels=labels)
        if run is None:
            _check_paid_once(whole, str(log))
        rows = rows_about(whole, criteria)
        options: dict[str, Any] = {"judges": judges, "min_valid": min_valid, "tolerance": tolerance}
        groups = rows_of_judges(rows, judges)
        options["certificates"] = _certificates(log, certificate, groups, chosen)
        if not options["certificates"] and (unknown := unknown_certificate(log, rows)):
            typer.echo(unknown, err=True)
        planned, own = noted_of_run(log, run)
        report = replay(rows, chosen, planned=planned, **options)
        shown: dict[str, Any] = {
            "stopped": own is not None and own.stopped,
            "source": str(log),
            "as_json": as_json,
            "planned": planned,
        }
        known = _calibrations(log, calibration, groups)
        if known or report.certificates:
            from judgeharness_integrations.cli._replay_calibration import anchored  # noqa: PLC0415 - few have one

            report = anchored(report, known, groups, chosen, min_valid=min_valid, stopped=shown["stopped"])
        if asked is None:
            _show(report, None, rows, judges, **shown)
            return OK
        from judgeharness_integrations.cli._replay_gates import check_replay, tell_gates  # noqa: PLC0415 - for few

        checked = check_replay(asked, rows, chosen, known, planned=planned, own=own, **options)
        _show(report, checked, rows, judges, **shown)
        return tell_gates(checked, stderr=as_json)


def _calibrations(log: Path, path: Path | None, judges: Mapping[str, Sequence[VerdictRow]]) -> Calibrations:
    """Return the calibrations the replay is held against."""
    if path is None and folder_of(log) is None:
        return {}
    from judgeharness_integrations.cli._replay_calibration import calibrations_of  # noqa: PLC0415 - few have one

    return calibrations_of(log, path, judges)


def _certificates(log: Path, path: Path | None, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule) -> Certificates:
    """Return the certificates that decisions of the replay stand under."""
    if path is None and folder_of(log) is None:
        return {}
    from judgeharness_integrations.cli._replay_calibration import certificates_of  # noqa: PLC0415 - few have one

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
    as_json: bool,
) -> None:
    asked = rows_of_judges(rows, judges)
    notes = [*([f"the run {STOPPED}"] if stopped else ()), *_missing(asked, planned)]
    if as_json:
        for note in notes:
            typer.echo(safe_text(note), err=True)
        gates = {} if checked is None else {"gates": checked.to_dict()}
        print_json(report.to_dict() | ({"stopped": True} if stopped else {}) | gates)
        return
    groups = [group for mine in asked.values() for group in by_criterion(mine).values()]
    _print(report, groups, source, notes=notes)


def _missing(asked: Mapping[str, Sequence[VerdictRow]], planned: Mapping[str, int]) -> Iterator[str]:
    """Yield how many of a judge's planned cases have no row, and how many are copies."""
    for judge, rows in asked.items():
        cases = planned.get(judge, 0)
        if (never := cases - len(by_case(rows))) > 0:
            yield f"{judge}: {never_asked(never, cases)}: not graded"
        yield from (f"{judge}: {line}" for line in copied_cases(rows))


def _gates(options: GateOptions | None) -> Gates | None:
    """Return the gates, read before the log is; None without any."""
    if options is None or not options.given:
        return None
    from judgeharness_integrations.cli._gates import gates_of  # noqa: PLC0415 - few replays have gates

    return gates_of(options) or None


def _print(
    report: ReplayReport,
    groups: Sequence[Sequence[VerdictRow]],
    source: str,
    *,
    notes: Sequence[str],
) -> None:
    from judgeharness_integrations.cli._printing import console, safe  # noqa: PLC0415 - JSON needs no tables
    from judgeharness_integrations.cli._replay_tables import replay_tables  # noqa: PLC0415
    from judgeharness_integrations.reporting.certificatetext import held_text  # noqa: PLC0415

    screen = console()
    screen.print(safe(f"replay of {source}", 200))
    screen.print(f"rule: {report.rule}")
    screen.print("rule chosen after the samples: exploratory")
    for note in notes:
        screen.print(safe(note, 200))
    for part in replay_tables(report, groups):
        screen.print(part)
    for judge, held in report.certificates.items():
        for line in (held_text(*held), *held[0].warnings(one.criterion for one in report.judges if one.judge == judge)):
            screen.print(safe(f"{judge}: {line}", 800), soft_wrap=True)
    for anchor in report.anchors:
        for line in anchor.lines():
            screen.print(safe(line, 800), soft_wrap=True)
