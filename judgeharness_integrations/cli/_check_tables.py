"""A check of a judge as text: its properties in numbers, then in sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from judgeharness_integrations.checking import CheckReport, PropertyCheck
from judgeharness_integrations.cli._check_lines import parts_of
from judgeharness_integrations.cli._printing import console, safe, table
from judgeharness_integrations.reporting.html.wording import plural
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["print_checks"]

_COLUMNS = (
    "property",
    "status",
    "cases",
    "rate %\n[95 %]",
    "asked\nagain",
    "effect\n[95 %]",
    "could\nsee",
    "more\ncases",
)
_LEGEND = (
    "rate: share of cases with what the property forbids. asked again: the same share where nothing was changed. "
    "effect: their difference, of position the net lean. could see: the smallest effect that would have been found. "
    "All in per cent or points. more cases: how many would settle what is open."
)
_STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}
_WIDTH = 96
_LONGEST = 1200


def print_checks(reports: Sequence[CheckReport]) -> None:
    """Print reports, one after the other, and how to read them."""
    screen = console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _WIDTH)  # names of properties stay whole in a pipe
    for number, report in enumerate(reports):
        if number:
            _say(screen, ["", "─" * min(_WIDTH, screen.width)])
        _print(report, screen)
    _say(screen, ["", _LEGEND])


def _say(screen: Console, lines: Iterable[str]) -> None:
    for line in lines:
        filled = textwrap.fill(line, min(_WIDTH, screen.width), subsequent_indent="  ")
        screen.print(Text(filled), soft_wrap=True)


def _print(report: CheckReport, screen: Console) -> None:
    criteria = list(dict.fromkeys(one.criterion for one in report.properties))
    width = min(_WIDTH, screen.width)
    _say(screen, [_heading(report)])
    for criterion in criteria:
        found = [one for one in report.properties if one.criterion == criterion and one.status != "not_checked"]
        if not found:
            continue
        title = "properties" if len(criteria) == 1 else f"properties of {safe_text(criterion, 60)}"
        narrow = width < _WIDTH
        made = table(title, _COLUMNS, (_cells(one, narrow=narrow) for one in found), texts=2)
        if narrow:
            made.box = None  # a column less between two
        screen.print(made)
    for title, lines in parts_of(report, several=len(criteria) > 1, width=width):
        if listed := [safe_text(line, _LONGEST) for line in lines]:
            _say(screen, ["", title, *listed])


def _heading(report: CheckReport) -> str:
    model = "" if report.judge_model in (None, report.judge) else f" ({safe_text(report.judge_model or '', 60)})"
    outcomes = ", ".join(f"{count} {name}" for name, count in report.outcomes.items())
    counts = ", ".join(f"{count} {status}" for status, count in report.counts.items() if count)
    size = f"{plural(report.cases, 'case')}, {plural(report.calls, 'call')}"
    return f"{safe_text(report.judge, 60)}{model}: {counts}; {size}, answers: {outcomes}"


def _cells(check: PropertyCheck, *, narrow: bool) -> tuple[str | Text, ...]:
    """Return a line of the table; where it is narrow, intervals stand below, so that names stay whole."""
    hits = str(check.cases) if check.hits is None else f"{check.hits:.{0 if check.hits % 1 == 0 else 1}f}/{check.cases}"
    status = "open" if narrow and check.status == "inconclusive" else check.status
    between = "\n" if narrow else " "
    return (
        safe(check.name, 40),
        Text(status, style=_STYLES.get(check.status, "")),
        hits,
        f"{_share(check.rate)}{between}{_interval(check.interval)}".rstrip(),
        _share(check.baseline),
        f"{_share(check.effect)}{between}{_interval(check.effect_interval)}".rstrip(),
        "" if check.status == "pass" else _share(check.smallest_effect),
        "" if check.more_cases is None else f"+{check.more_cases}",
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:z.0f}"


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"[{_share(ends[0])}, {_share(ends[1])}]"
