"""What stands below the tables of a check: what fails, what is open, what speaks loudest, what was not looked at."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from judgeharness_integrations.analysis.checking import CheckReport, PropertyCheck
from judgeharness_integrations.reporting.checkpage.cards import next_step, rule_text
from judgeharness_integrations.reporting.terminal import console, safe, table
from judgeharness_integrations.verdictlog.plain import counted, percent, safe_text

__all__ = ["parts_of", "print_checks"]


_SHOWN = {"fail": 3, "inconclusive": 1, "pass": 0, "not_checked": 0}  # worst cases
_PLAIN = ("format", "verbosity")


def parts_of(report: CheckReport, *, several: bool, width: int) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the headings and lines below the tables; headings without lines are left out.

    Args:
        report: of one judge.
        several: whether it has several criteria, which are then named.
        width: columns that a line may take.

    """
    yield "what it fails", _failed(report, several=several)
    yield "what is open", _open(report, several=several)
    yield "what passes though it is there", _small(report, several=several)
    yield "what speaks loudest against it", _worst(report, several=several, width=width)
    yield "beside that", _facts(report, several=several)
    yield "not checked", _unchecked(report, several=several)
    yield "about these answers", iter(report.notes)
    yield "what pass and fail mean", iter([rule_text(report)])


def _name(check: PropertyCheck, *, several: bool) -> str:
    return f"{check.criterion} · {check.name}" if several else check.name


def _failed(report: CheckReport, *, several: bool) -> Iterator[str]:
    for check in report.properties:
        if check.status == "fail":
            yield f"{_name(check, several=several)}: {check.reason}"
    plain = [name for name in _PLAIN if name in report.failed]
    if plain and any(name.startswith("injection.") for name in report.failed):
        yield f"injections make an answer longer and format it: they may fail for the cause of {' and '.join(plain)}"


def _open(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield what is open; properties that lack the same stand together below what they lack."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for check in report.properties:
        if check.status == "inconclusive":
            seen, _, lacks = check.reason.rpartition(": ")
            step = "" if check.more_cases is not None else f". {next_step(check)}"
            more = "" if check.more_calls is None else f" ({counted(check.more_calls, 'more call')})"
            alike = groups.setdefault(f"{lacks}{step}", {})
            alike.setdefault((seen, more), []).append(_name(check, several=several))
    for lacks, alike in groups.items():
        count = sum(map(len, alike.values()))
        if count > 1:
            yield f"{count} properties: {lacks}"
        for (seen, more), names in alike.items():
            each = more.replace(")", " each)") if len(names) > 1 else more
            parts = (", ".join(names), seen, "" if count > 1 else lacks)
            yield f"{'- ' if count > 1 else ''}{': '.join(filter(None, parts))}{each}"


def _small(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield the effects within the tolerance that are more than chance."""
    for check in report.properties:
        if check.status == "pass" and check.adjusted_p is not None and check.adjusted_p <= report.alpha:
            yield f"{_name(check, several=several)}: {check.reason}"


def _worst(report: CheckReport, *, several: bool, width: int) -> Iterator[str]:
    for check in report.properties:
        for case in check.worst[: _SHOWN[check.status]]:
            raw = f": {safe_text(case.raw, 120)}" if case.raw else ""
            changed = f"{case.before} -> {case.after} under {case.perturbation}"
            yield f"{_name(check, several=several)}: case {safe_text(case.case_id, 60)}, {changed}{raw}"
            if case.shown:
                yield safe_text(f"- shown: {case.shown}", width)


def _facts(report: CheckReport, *, several: bool) -> Iterator[str]:
    for fact in report.facts:
        about = f"{fact['criterion']}: " if several else ""
        if fact.get("consistency") is not None:
            where = "both orders" if fact.get("consistency_of") == "orders" else "repetitions"
            same, of = percent(fact["consistency"]), fact["consistency_cases"]
            yield f"{about}same verdict in {where}: {same} % of {counted(of, 'case')}"
        if fact.get("right_of_labelled") is not None:
            ends = fact.get("right_of_labelled_interval")
            interval = "" if ends is None else f" [{100 * ends[0]:.0f}, {100 * ends[1]:.0f}]"
            of = counted(fact["labelled_cases"], "case")
            right = percent(fact["right_of_labelled"])
            yield f"{about}single answers that agree with gold: {right} %{interval} of {of}"
        if (controls := fact.get("controls")) is not None:
            yield f"{about}{controls.line}"
            if controls.beaten:  # else it is said below
                yield f"{about}{controls.sentence}"


def _unchecked(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield `name, name: reason`, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for check in report.properties:
        if check.status == "not_checked":
            reason = check.reason.replace(f"no sample of the probe {check.name}", "no sample of the probe")
            reasons.setdefault(reason, []).append(_name(check, several=several))
    for reason, names in reasons.items():
        yield f"{', '.join(names)}: {reason}"


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
    "All in per cent or points. more cases: how many would settle what is open; asking them is a second look: "
    "a judge without faults is twice as likely, at most, to fail at least one of two reports as a single one."
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
    size = f"{counted(report.cases, 'case')}, {counted(report.calls, 'call')}"
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
