"""What a check found, in one sentence a judge, and what to do next: the same words in every format."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import join
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.verdictlog.encoding import counted, listed, percent

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.checking import CheckReport, PropertyCheck

_NAMED: Final = 4  # properties of a judge, or judges


def worst_first(reports: Sequence[CheckReport]) -> list[CheckReport]:
    """Return the reports, judges that fail most first."""
    return sorted(reports, key=lambda report: -len(report.failed))


def headline(reports: Sequence[CheckReport]) -> str:
    """Return the finding in one sentence: about the judge that fails most, or that no judge fails."""
    if len(reports) > 1 and not any(report.failed for report in reports):
        return f"None of {len(reports)} judges fails a property"
    return answer(worst_first(reports)[0])


def others(reports: Sequence[CheckReport]) -> tuple[str, ...]:
    """Return a sentence about each judge that the headline is not about; of many judges how many fail."""
    ordered = worst_first(reports)
    if len(ordered) > _NAMED:
        failing = sum(bool(report.failed) for report in ordered)
        return (f"{failing} of {len(ordered)} judges fail a property",) if failing else ()
    told = tuple(map(answer, ordered if len(ordered) > 1 else ()))
    return tuple(line for line in told if line != headline(reports))


def answer(report: CheckReport) -> str:
    """Return what a judge fails, with in how many cases; else what is inconclusive, or that it passes."""
    counts = report.counts
    checked = len(report.properties) - counts["not_checked"]
    failed, unsure = (
        [check for check in report.properties if check.status == status] for status in ("fail", "inconclusive")
    )
    several = len({check.criterion for check in report.properties}) > 1
    if not checked:
        return f"Nothing about {report.judge} could be checked"
    if failed:
        told = [f"{property_name(check, several=several)}, {_seen(check)}" for check in failed]
        return f"{report.judge} FAILS {len(failed)} of {checked}: {listed(told, _NAMED, '; ')}"
    if unsure:
        names = [property_name(check, several=several) for check in unsure]
        return f"{report.judge} fails none of {checked}; {len(unsure)} inconclusive: {listed(names, _NAMED)}"
    return f"{report.judge} passes {'the one property' if checked == 1 else f'all {checked}'} that could be checked"


def property_name(check: PropertyCheck, *, several: bool) -> str:
    """Return the property, with its criterion where there are `several`."""
    return f"{check.criterion} · {check.name}" if several else check.name


def _seen(check: PropertyCheck) -> str:
    """Return `42 of 42`; of what part of a case's samples show, the mean share over cases."""
    if check.hits is not None and check.hits % 1 == 0:
        return f"{check.hits:,.0f} of {check.cases:,}"
    return f"{percent(check.rate)} % of {counted(check.cases, 'case')}"


def next_command(reports: Sequence[CheckReport], source: Sequence[str]) -> str:
    """Return the command that follows from a check: all about what fails, more cases, or a run.

    Args:
        reports: of the judges that were checked.
        source: the arguments that name what was checked: a configuration, or `--log` and a log; empty where that is
            not known, and nothing is returned.

    """
    if not source:
        return ""
    check, ordered = ["judgeharness", "check", *source], worst_first(reports)
    of_log = "--log" in source
    if ordered[0].failed:
        one = [*_without(check, "--judge"), "--judge", ordered[0].judge] if len(ordered) > 1 else check
        return join([*one, "--all"])
    more = [one.more_cases for report in reports for one in report.properties if one.more_cases is not None]
    if more and not of_log:
        cases = max(one.cases for one in reports) + max(more)
        return join([*_without(check, "--cases"), "--cases", str(cases)])
    return join([*check, "--all"]) if of_log else join(["judgeharness", "run", source[0]])


def _without(arguments: Sequence[str], option: str) -> list[str]:
    """Return arguments without an option and its values."""
    names = ("", *arguments[:-1])
    return [one for one, before in zip(arguments, names, strict=True) if option not in (one, before)]
