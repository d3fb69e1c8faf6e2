"""What `judgeharness replay` does."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.replay import ReplayReport, replay, rows_about, rows_of_judges
from judgeharness_integrations.verdictlog import VerdictRow, read_log

__all__ = ["replay_log", "rule_of"]


def rule_of(spec: str) -> Rule:
    """Return the rule of a name or of `module:function`, modules in the working directory included."""
    if ":" not in spec:
        return named_rule(spec)
    from judgeharness_integrations.config.importing import imported_rule  # noqa: PLC0415 - few rules are imported

    return imported_rule(spec, folder=Path.cwd(), where="--rule")


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Spare a short-lived process the search for cycles: the rows of a log hold none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def replay_log(
    log: Path,
    rule: str,
    *,
    judges: Sequence[str] | None = None,
    criteria: Sequence[str] | None = None,
    labels: bool = False,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    as_json: bool = False,
) -> None:
    """Read a log, fold it and print the report."""
    chosen = rule_of(rule)
    with _without_garbage_collection():
        rows = rows_about(read_log(log, labels=labels), criteria)
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
