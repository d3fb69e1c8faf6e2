"""The tables of `judgeharness selftest`, one a kind of check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from judgeharness_integrations.cli._printing import percent, table
from judgeharness_integrations.testing.selftest.report import CheckFound, Kind, PointFound

__all__ = ["selftest_tables"]

_TITLES: dict[Kind, str] = {
    "coverage": "coverage of nominal 95 % intervals",
    "size": "rejections of true hypotheses at nominal 5 %",
    "power": "planted faults: how many reports name them",
    "false_alarms": "judges without a fault: how many reports fail them",
    "failures": "what failed samples cannot do",
}
_RATES = ("check\n  its worst point", "verdict", "points", "mean\n%", "worst\n%", "repli-\ncates")
_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "coverage": _RATES,
    "size": _RATES,
    "power": ("fault\n  how strong", "verdict", "named\n%", "others\n%", "reports"),
    "false_alarms": ("judge\n  what it is like", "verdict", "failed\n%", "reports"),
    "failures": ("promise", "verdict", "rules\nand n", "tried", "broken\n%"),
}


def selftest_tables(checks: Sequence[CheckFound]) -> Iterator[tuple[Kind, Table]]:
    """Yield the kinds of checks there are, each with its table."""
    for kind, title in _TITLES.items():
        found = [check for check in checks if check.kind == kind]
        if found:
            yield kind, table(title, _COLUMNS[kind], (row for check in found for row in _rows(check)))


def _rows(check: CheckFound) -> Iterator[tuple[str, ...]]:
    if check.kind in ("coverage", "size"):
        worst = check.worst
        numbers = (str(len(check.points)), percent(check.mean), percent(worst.rate), str(worst.replicates))
        yield f"{check.name}\n  {worst}", check.verdict, *numbers
    elif check.kind == "failures":
        tried = sum(point.replicates for point in check.points)
        yield check.name, check.verdict, str(len(check.points)), str(tried), percent(check.worst.rate)
    else:
        yield check.name, check.verdict, *[""] * (len(_COLUMNS[check.kind]) - 2)
        yield from (_point(point) for point in check.points)


def _point(point: PointFound) -> tuple[str, ...]:
    """Return a strength of a fault, or a judge without one, below the name of its check."""
    rates = [percent(point.rate)] if point.others is None else [percent(point.rate), percent(point.others)]
    return f"  {point}{' *' if point.declared else ''}", "", *rates, str(point.replicates)
