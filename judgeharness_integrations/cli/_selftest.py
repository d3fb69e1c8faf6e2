"""What `judgeharness selftest` does and shows: a table for each kind of check."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._selftest_commands import COMMANDS
from judgeharness_integrations.cli.exits import GATE_FAILED, OK
from judgeharness_integrations.cli.selftest import SelftestRequest
from judgeharness_integrations.reporting.sections import Block, Bullets, Section, Strong, Table
from judgeharness_integrations.reporting.terminal import console, show_section
from judgeharness_integrations.testing.selftest import SelftestReport, registry, run_selftest
from judgeharness_integrations.testing.selftest.check import Check
from judgeharness_integrations.testing.selftest.report import CRITERIA, CheckFound, Kind, PointFound
from judgeharness_integrations.verdictlog.plain import counted, ends, percent

_TITLES: dict[Kind, str] = {
    "coverage": "coverage of nominal 95 % intervals",
    "size": "rejections of true hypotheses at nominal 5 %",
    "power": "planted faults: how many reports name them",
    "false_alarms": "judges without a fault: how many reports fail them",
    "failures": "what failed samples cannot do",
    "promises": "whole workflows: what is promised, and what they deliver",
}
_RATES = ("check\nits worst point", "verdict", "points", "mean\n%", "worst\n%", "repli-\ncates")
_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "coverage": _RATES,
    "size": _RATES,
    "power": ("fault\nhow strong", "verdict", "named\n%", "others\n%", "reports"),
    "false_alarms": ("judge\nwhat it is like", "verdict", "failed\n%", "reports"),
    "failures": ("promise", "verdict", "rules\nand n", "tried", "broken\n%"),
    "promises": ("workflow: what happens\nplanted", "verdict", "promised\n%", "delivered\n% [95 %]", "stud-\nies"),
}


def selftest_section(report: SelftestReport) -> Section:
    """Return a self-test for people: how many checks miss, a table a kind of check, what deviates."""
    misses = sum(check.verdict in {"miss", "broken"} for check in report.checks)
    return Section(
        title=f"{counted(len(report.checks), 'check')}, {misses} of them miss", blocks=tuple(_blocks(report))
    )


def _blocks(report: SelftestReport) -> Iterator[Block]:
    yield f"self-test, {'full' if report.full else 'fast'} version: {_drawn(report)}, seed {report.seed}"
    for kind, title in _TITLES.items():
        checks = [check for check in report.checks if check.kind == kind]
        if checks:
            yield Table.of(title, _COLUMNS[kind], (row for check in checks for row in _rows(check)))
            yield f"ok: {CRITERIA[kind]}"
    if deviations := tuple(_deviations(report.checks)):
        yield Bullets(deviations)
    unclear, untold = (sum(check.verdict == said for check in report.checks) for said in ("unclear", "not told"))
    if unclear:
        yield f"{unclear} unclear: beyond what is ok by less than three standard errors"
    if untold:
        yield f"{untold} not told at this number of studies{'' if report.full else ': see --full'}"


def _rows(check: CheckFound) -> Iterator[tuple[str, ...]]:
    if check.kind in ("coverage", "size"):
        worst = check.worst
        numbers = (str(len(check.points)), percent(check.mean), percent(worst.rate), str(worst.replicates))
        yield f"{check.name}\n{worst}", check.verdict, *numbers
    elif check.kind == "failures":
        tried = sum(point.replicates for point in check.points)
        yield check.name, check.verdict, str(len(check.points)), str(tried), percent(check.worst.rate)
    elif check.kind == "promises":
        yield Strong(f"{check.name}: {check.promise}"), check.verdict, *[""] * 3
        yield from (_delivered(point, ">=" if check.at_least else "<=") for point in check.points)
    else:
        yield Strong(check.name), check.verdict, *[""] * (len(_COLUMNS[check.kind]) - 2)
        yield from (_point(point) for point in check.points)


def _point(point: PointFound) -> tuple[str, ...]:
    """Return a strength of a fault, or a judge without one, below the name of its check."""
    rates = [percent(point.rate)] if point.others is None else [percent(point.rate), percent(point.others)]
    return f"{point}{' *' if point.declared else ''}", "", *rates, str(point.replicates)


def _delivered(point: PointFound, word: str) -> tuple[str, ...]:
    """Return what the studies of a planted truth delivered, below the name of their workflow."""
    interval = "" if point.low is None else f" {ends((point.low, point.high), 1, scale=100)}"
    studies = str(point.replicates - point.undefined)
    return (
        str(point),
        point.verdict or "",
        f"{word} {percent(point.promised)}",
        f"{percent(point.rate)}{interval}",
        studies,
    )


_DRAWN: tuple[tuple[str, frozenset[Kind]], ...] = (
    ("replicates a point", frozenset({"coverage", "size"})),
    ("reports on a judge", frozenset({"power", "false_alarms"})),
    ("studies of a workflow", frozenset({"promises"})),
)


def show_selftest(request: SelftestRequest) -> int:
    """Run the self-test, print what it found and return the exit code."""
    _check_names(request.only)
    report = run_selftest(_checks(), full=request.full, only=request.only, seed=request.seed, progress=_progress())
    if request.as_json:
        print_json(report.to_dict())
    else:
        show_section(selftest_section(report), console())
    return OK if report.passed else GATE_FAILED


def _checks() -> tuple[Check, ...]:
    """Return all checks there are; those of the commands can be made where the commands are."""
    return (*registry.CHECKS, *COMMANDS)


def _check_names(only: Sequence[str]) -> None:
    """Refuse a part of no name, after the names: so many in a sentence could not be read."""
    names = [check.name for check in _checks()]
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
            what = "studies promised nothing" if check.kind == "promises" else "replicates gave none"
            parts.append(f"{undefined} of {tried} {what}")
        if parts:
            yield f"{check.name}: {'; '.join(parts)}"
