"""What stands below the tables of a check: what fails, what is open, what speaks loudest, what was not looked at."""

from __future__ import annotations

from collections.abc import Iterator

from judgeharness_integrations.checking import CheckReport, PropertyCheck
from judgeharness_integrations.checking.page.words import next_step, rule_text
from judgeharness_integrations.cli._printing import percent
from judgeharness_integrations.reporting.html.wording import plural
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["parts_of"]

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
            more = "" if check.more_calls is None else f" ({plural(check.more_calls, 'more call')})"
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
            yield f"{about}same verdict in {where}: {same} % of {plural(of, 'case')}"
        if fact.get("accuracy") is not None:
            ends = fact.get("accuracy_interval")
            interval = "" if ends is None else f" [{100 * ends[0]:.0f}, {100 * ends[1]:.0f}]"
            of = plural(fact["accuracy_cases"], "case")
            yield f"{about}single answers that agree with gold: {percent(fact['accuracy'])} %{interval} of {of}"


def _unchecked(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield `name, name: reason`, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for check in report.properties:
        if check.status == "not_checked":
            reason = check.reason.replace(f"no sample of the probe {check.name}", "no sample of the probe")
            reasons.setdefault(reason, []).append(_name(check, several=several))
    for reason, names in reasons.items():
        yield f"{', '.join(names)}: {reason}"
