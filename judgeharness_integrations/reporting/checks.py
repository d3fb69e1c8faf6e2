"""A check of judges for people: what fails, what is open, each property in numbers, what was not looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.reporting.checkpage.cards import next_step, rule_text, status_word
from judgeharness_integrations.reporting.checkpage.rendering import headline
from judgeharness_integrations.reporting.sections import Block, Bullets, Section, Table
from judgeharness_integrations.verdictlog.plain import counted, ends, fixed, percent, safe_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.checking import CheckReport, PropertyCheck

_TABLES: Final = {"fail": "properties it fails", "inconclusive": "open properties", "pass": "properties it passes"}
_WORST: Final = {"fail": 3, "inconclusive": 1, "pass": 0, "not_checked": 0}  # cases that are shown
_PLAIN: Final = ("format", "verbosity")
_COLUMNS: Final = ("property", "cases", "rate %\n[95 %]", "asked\nagain", "effect\n[95 %]")
_COULD_SEE: Final = "could\nsee"  # of a pass it says nothing
_LEGEND: Final = (
    (
        "rate: share of cases with what the property forbids; asked again: the same share where nothing was changed; "
        "effect: their difference, of position the net lean; could see: the smallest effect that would have been "
        "found; all in per cent or points"
    ),
    (
        "more cases: how many would settle what is open; asking them is a second look: a judge without faults is "
        "twice as likely, at most, to fail at least one of two reports as a single one"
    ),
)


def checks_section(reports: Sequence[CheckReport]) -> Section:
    """Return the reports of one or several judges: the answer, then a section a judge, those that fail first."""
    ordered = sorted(reports, key=lambda report: -len(report.failed))
    return Section(
        title=headline(reports),
        blocks=(*map(_judge, ordered), Section(title="how to read it", blocks=(Bullets(_LEGEND),), folded=True)),
    )


def _judge(report: CheckReport) -> Section:
    several = len({one.criterion for one in report.properties}) > 1
    parts = (
        ("what passes though it is there", _small(report, several=several), False),
        ("what speaks loudest against it", _worst(report, several=several), False),
        ("beside that", _facts(report, several=several), False),
        ("not checked", _unchecked(report, several=several), True),
        ("about these answers", report.notes, True),
        ("what pass and fail mean", (rule_text(report),), True),
    )
    return Section(
        title=_title(report),
        blocks=(
            *_part("what it fails", _failed(report, several=several)),
            *_open(report, several=several),
            *_properties(report, several=several),
            *(block for title, lines, folded in parts for block in _part(title, lines, folded=folded)),
        ),
    )


def _title(report: CheckReport) -> str:
    model = "" if report.judge_model in (None, report.judge) else f" ({report.judge_model})"
    outcomes = ", ".join(f"{count} {name}" for name, count in report.outcomes.items())
    counts = ", ".join(f"{count} {status_word(status)}" for status, count in report.counts.items() if count)
    size = f"{counted(report.cases, 'case')}, {counted(report.calls, 'call')}"
    return f"{report.judge}{model}: {counts}; {size}, answers: {outcomes}"


def _part(title: str, lines: Iterable[str], *, folded: bool = False) -> Iterator[Section]:
    if shown := tuple(lines):
        yield Section(title=title, blocks=(Bullets(shown),), folded=folded)


def _name(check: PropertyCheck, *, several: bool) -> str:
    return f"{check.criterion} · {check.name}" if several else check.name


def _failed(report: CheckReport, *, several: bool) -> Iterator[str]:
    for check in report.properties:
        if check.status == "fail":
            yield f"{_name(check, several=several)}: {check.reason}"
    plain = [name for name in _PLAIN if name in report.failed]
    if plain and any(name.startswith("injection.") for name in report.failed):
        yield f"injections make an answer longer and format it: they may fail for the cause of {' and '.join(plain)}"


def _open(report: CheckReport, *, several: bool) -> Iterator[Section]:
    """Yield what is open; properties that lack the same stand together below what they lack."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for check in report.properties:
        if check.status == "inconclusive":
            seen, _, lacks = check.reason.rpartition(": ")
            step = "" if check.more_cases is not None else f". {next_step(check)}"
            alike = groups.setdefault(f"{lacks}{step}", {})
            alike.setdefault((seen, _more(check)), []).append(_name(check, several=several))
    if groups:
        yield Section(title="what is open", blocks=tuple(_grouped(groups)))


def _more(check: PropertyCheck) -> str:
    """Return ` (9 more cases, 36 more calls)`, what would settle it."""
    numbers = ((check.more_cases, "more case"), (check.more_calls, "more call"))
    told = ", ".join(counted(count, noun) for count, noun in numbers if count is not None)
    return told and f" ({told})"


def _grouped(groups: dict[str, dict[tuple[str, str], list[str]]]) -> Iterator[Block]:
    for lacks, alike in groups.items():
        count = sum(map(len, alike.values()))
        if count > 1:
            yield f"{count} properties: {lacks}"
        yield Bullets(
            tuple(
                ": ".join(filter(None, (", ".join(names), seen, "" if count > 1 else lacks)))
                + (more.replace(")", " each)") if len(names) > 1 else more)
                for (seen, more), names in alike.items()
            )
        )


def _properties(report: CheckReport, *, several: bool) -> Iterator[Table]:
    """Yield the numbers, a table a criterion and status, what fails first."""
    for criterion in dict.fromkeys(one.criterion for one in report.properties):
        for status, title in _TABLES.items():
            mine = [one for one in report.properties if one.criterion == criterion and one.status == status]
            if mine:
                columns = _COLUMNS if status == "pass" else (*_COLUMNS, _COULD_SEE)
                yield Table.of(f"{title}, {criterion}" if several else title, columns, map(_row, mine))


def _row(check: PropertyCheck) -> tuple[str, ...]:
    hits = str(check.cases) if check.hits is None else f"{check.hits:.{0 if check.hits % 1 == 0 else 1}f}/{check.cases}"
    return (
        check.name,
        hits,
        _share(check.rate, check.interval),
        _share(check.baseline),
        _share(check.effect, check.effect_interval),
        *([] if check.status == "pass" else [_share(check.smallest_effect)]),
    )


def _share(value: float | None, interval: tuple[float, float] | None = None) -> str:
    shown = fixed(None if value is None else 100 * value, 0)
    return shown if interval is None else f"{shown} {ends(interval, 0, scale=100)}"


def _small(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield the effects within the tolerance that are more than chance."""
    for check in report.properties:
        if check.status == "pass" and check.adjusted_p is not None and check.adjusted_p <= report.alpha:
            yield f"{_name(check, several=several)}: {check.reason}"


def _worst(report: CheckReport, *, several: bool) -> Iterator[str]:
    for check in report.properties:
        for case in check.worst[: _WORST[check.status]]:
            raw = f": {safe_text(case.raw, 120)}" if case.raw else ""
            changed = f"{case.before} -> {case.after} under {case.perturbation}"
            shown = f"; shown: {safe_text(case.shown, 120)}" if case.shown else ""
            yield f"{_name(check, several=several)}: case {safe_text(case.case_id, 60)}, {changed}{raw}{shown}"


def _facts(report: CheckReport, *, several: bool) -> Iterator[str]:
    for fact in report.facts:
        about = f"{fact['criterion']}: " if several else ""
        if fact.get("consistency") is not None:
            where = "both orders" if fact.get("consistency_of") == "orders" else "repetitions"
            same, of = percent(fact["consistency"]), fact["consistency_cases"]
            yield f"{about}same verdict in {where}: {same} % of {counted(of, 'case')}"
        if fact.get("right_of_labelled") is not None:
            interval = fact.get("right_of_labelled_interval")
            shown = "" if interval is None else f" {ends(interval, 0, scale=100)}"
            of = counted(fact["labelled_cases"], "case")
            right = percent(fact["right_of_labelled"])
            yield f"{about}single answers that agree with gold: {right} %{shown} of {of}"
        if (controls := fact.get("controls")) is not None:
            yield f"{about}{controls.line}"
            if controls.beaten:  # else the notes say it
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
