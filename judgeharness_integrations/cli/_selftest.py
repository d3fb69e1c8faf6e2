"""What `judgeharness selftest` does."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console
from judgeharness_integrations.cli._selftest_tables import selftest_tables
from judgeharness_integrations.cli.exits import GATE_FAILED, OK
from judgeharness_integrations.testing.selftest import CheckFound, SelftestReport, registry, run_selftest
from judgeharness_integrations.testing.selftest.criteria import CRITERIA
from judgeharness_integrations.testing.selftest.report import Kind

__all__ = ["show_selftest"]

_DRAWN: tuple[tuple[str, frozenset[Kind]], ...] = (
    ("replicates a point", frozenset({"coverage", "size"})),
    ("reports on a judge", frozenset({"power", "false_alarms"})),
)


def show_selftest(*, full: bool, only: Sequence[str], seed: int, as_json: bool) -> int:
    """Run the self-test, print what it found and return the exit code."""
    _check_names(only)
    report = run_selftest(full=full, only=only, seed=seed, progress=_progress())
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report)
    return OK if report.passed else GATE_FAILED


def _check_names(only: Sequence[str]) -> None:
    """Refuse a part of no name, after the names: so many in a sentence could not be read."""
    names = [check.name for check in registry.CHECKS]
    for part in only:
        if not any(part.casefold() in name.casefold() for name in names):
            typer.echo("\n".join(names), err=True)
            raise UsageError(f"unknown check {part!r}: give a part of a name above.")


def _progress() -> Callable[[str], None] | None:
    """Return what shows one line that is written over, None where nobody watches."""
    if not sys.stderr.isatty():
        return None

    def show(line: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{line[:100]}\r")
        sys.stderr.flush()

    return show


def _print(report: SelftestReport) -> None:
    screen = console()
    version = "full" if report.full else "fast"
    for line in textwrap.wrap(f"self-test, {version} version: {_drawn(report)}, seed {report.seed}", screen.width):
        screen.print(line)
    for kind, table in selftest_tables(report.checks):
        screen.print(table)
        screen.print(textwrap.fill(f"ok: {CRITERIA[kind]}", screen.width), soft_wrap=True)
    screen.print()
    for line in _deviations(report.checks):
        screen.print(textwrap.fill(line, screen.width, subsequent_indent="  ", break_long_words=False), soft_wrap=True)
    misses, unclear = (sum(check.verdict == said for check in report.checks) for said in ("miss", "unclear"))
    if unclear:
        screen.print(f"{unclear} unclear: beyond what is ok by less than three standard errors")
    screen.print(f"{len(report.checks)} checks, {misses} of them miss")


def _drawn(report: SelftestReport) -> str:
    """Return how many draws stand behind a number: `4000 replicates a point, 1000 reports on a judge`."""
    parts: list[str] = []
    for what, kinds in _DRAWN:
        checks = [check for check in report.checks if check.kind in kinds]
        most = max((one.replicates for check in checks for one in check.points), default=0)
        if most:
            parts.append(f"{'' if report.full else 'at most '}{most} {what}")
    return ", ".join(parts) or "every sequence"


def _deviations(checks: Sequence[CheckFound]) -> Iterator[str]:
    for check in checks:
        undefined = sum(point.undefined for point in check.points)
        parts = [part for part in (check.reason, check.note) if part]
        if undefined:
            tried = sum(point.replicates for point in check.points)
            parts.append(f"{undefined} of {tried} replicates gave none")
        if parts:
            yield f"{check.name}: {'; '.join(parts)}"
