"""What `judgeharness replay` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.cli._gate_options import GateOptions
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._reading import rows_of_log, without_garbage_collection
from judgeharness_integrations.cli.exits import OK
from judgeharness_integrations.replay import ReplayReport, replay, rows_about, rows_of_judges
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.gates.gate import Gates
    from judgeharness_integrations.gates.report import GateReport

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
        report = replay(rows, chosen, judges=judges, min_valid=min_valid, tolerance=tolerance)
        if asked is None:
            _show(report, None, rows, judges, source=str(log), as_json=as_json)
            return OK
        from judgeharness_integrations.cli._replay_gates import check_replay, tell_gates  # noqa: PLC0415 - for few

        checked = check_replay(asked, rows, chosen, judges=judges, min_valid=min_valid, tolerance=tolerance)
        _show(report, checked, rows, judges, source=str(log), as_json=as_json)
        return tell_gates(checked, stderr=as_json)


def _show(
    report: ReplayReport,
    checked: GateReport | None,
    rows: Sequence[VerdictRow],
    judges: Sequence[str] | None,
    *,
    source: str,
    as_json: bool,
) -> None:
    if as_json:
        print_json(report.to_dict() | ({} if checked is None else {"gates": checked.to_dict()}))
        return
    groups = [group for mine in rows_of_judges(rows, judges).values() for group in by_criterion(mine).values()]
    _print(report, groups, source)


def _gates(options: GateOptions | None) -> Gates | None:
    """Return the gates, read before the log is; None without any."""
    if options is None or not options.given:
        return None
    from judgeharness_integrations.cli._gates import gates_of  # noqa: PLC0415 - few replays have gates

    return gates_of(options)


def _print(report: ReplayReport, groups: Sequence[Sequence[VerdictRow]], source: str) -> None:
    from judgeharness_integrations.cli._printing import console, safe  # noqa: PLC0415 - JSON needs no tables
    from judgeharness_integrations.cli._replay_tables import replay_tables  # noqa: PLC0415

    screen = console()
    screen.print(safe(f"replay of {source}", 200))
    screen.print(f"rule: {report.rule}")
    screen.print("rule chosen after the samples: exploratory")
    for part in replay_tables(report, groups):
        screen.print(part)
