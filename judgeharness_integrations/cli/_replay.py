"""What `judgeharness replay` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._reading import rows_of_log, without_garbage_collection
from judgeharness_integrations.replay import ReplayReport, replay, rows_about, rows_of_judges
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog import VerdictRow

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
) -> None:
    """Read a log, or one run of it, fold it and print the report.

    Raises:
        UsageError: runs of the log share answers, and none was chosen.

    """
    chosen = rule_of(rule)
    with without_garbage_collection():
        whole = rows_of_log(log, run=run, labels=labels)
        if run is None:
            _check_paid_once(whole, str(log))
        rows = rows_about(whole, criteria)
        report = replay(rows, chosen, judges=judges, min_valid=min_valid, tolerance=tolerance)
        if as_json:
            print_json(report.to_dict())
            return
        groups = [group for mine in rows_of_judges(rows, judges).values() for group in by_criterion(mine).values()]
        _print(report, groups, str(log))


def _print(report: ReplayReport, groups: Sequence[Sequence[VerdictRow]], source: str) -> None:
    from judgeharness_integrations.cli._printing import console, safe  # noqa: PLC0415 - JSON needs no tables
    from judgeharness_integrations.cli._replay_tables import replay_tables  # noqa: PLC0415

    screen = console()
    screen.print(safe(f"replay of {source}", 200))
    screen.print(f"rule: {report.rule}")
    screen.print("rule chosen after the samples: exploratory")
    for part in replay_tables(report, groups):
        screen.print(part)
