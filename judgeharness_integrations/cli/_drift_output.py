"""A drift check as text: the answer first, what it stands on, and the checks before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from judgeharness_integrations.calibration.anchors import Place
from judgeharness_integrations.calibration.drift import CriterionDrift, DriftReport
from judgeharness_integrations.calibration.history import History
from judgeharness_integrations.cli._printing import console
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.row import is_number

__all__ = ["print_drift"]

_SHOWN: Final = 5
_NAMED: Final = 3


def print_drift(report: DriftReport, *, judge: str, notes: Sequence[str], history: History, path: Path) -> None:
    """Print a check with the last few of its history."""
    screen = console()
    for line in (*_lines(report, judge, notes), *_history(history, path)):
        screen.print(Text(line), soft_wrap=True)


def _lines(report: DriftReport, judge: str, notes: Sequence[str]) -> Iterator[str]:
    yield f"drift: {report.answer}"
    for change in report.design_changes:
        yield f"what is asked is not what was calibrated: {safe_text(change, 300)}"
    renamed = "" if judge == report.judge else f" (calibrated: {safe_text(report.judge, 60)})"
    yield f"judge: {safe_text(judge, 60)}{renamed}"
    yield f"against: {safe_text(report.calibration, 60)}, measured {safe_text(report.measured_at, 60)}"
    yield from (safe_text(note) for note in notes)
    if report.candidates is not None and report.candidates > 1:
        count = report.candidates
        yield f"chosen from {count} candidates, by chance too: tests at {report.alpha:g} / {count}"
    yield f"anchors: {report.cases}" + _left_out(report)
    if report.changes is None:
        yield f"fingerprint: cannot be compared: {report.incomparable}"
    else:
        changed = ", ".join(map(safe_text, report.changes))
        yield f"fingerprint: {changed} changed" if changed else "fingerprint: unchanged"
    for one in report.criteria.values():
        yield f"{safe_text(one.criterion, 60)}: {one.answer}: {one.reason}"
        yield from (f"  {line}" for line in (_numbers(one), *_evidence(one), _movement(one), _power(one)))


def _left_out(report: DriftReport) -> str:
    told = (("not found", report.missing), ("gold label changed", report.relabelled))
    return "".join(f"; {what}: {_named(places)}" for what, places in told if places)


def _named(places: Sequence[Place]) -> str:
    names = [safe_text(case_id, 40) for case_id, _ in places[:_NAMED]]
    return f"{len(places)} ({', '.join(names)}{', ...' if len(places) > _NAMED else ''})"


def _numbers(one: CriterionDrift) -> str:
    interval = (
        "no interval" if one.low is None or one.high is None else f"95 % interval [{one.low:+.3f}, {one.high:+.3f}]"
    )
    tested = f"p {one.p:.3g}" + ("" if one.p == one.p_adjusted else f" (Holm {one.p_adjusted:.3g})")
    if one.kind == "numbers":
        mean = "not measured" if one.difference is None else f"{one.difference:+.3f}"
        return f"mean distance from gold {mean}, {interval}; sign test {tested} (n={one.n})"
    shares = f"{one.correct_before}/{one.n} correct before, {one.correct_now}/{one.n} now"
    return f"{shares}: difference {one.difference:+.3f}, {interval}; exact McNemar {tested}"


def _evidence(one: CriterionDrift) -> Iterator[str]:
    """Yield what all checks together say, where there were some before."""
    if one.checks is None or one.checks < 2 or one.evidence is None:  # noqa: PLR2004 - one check is a test
        return
    if one.always_low is not None and one.always_high is not None:
        yield f"95 % over all days, however often one looks: [{one.always_low:+.3f}, {one.always_high:+.3f}]"
    if not one.varied:
        yield f"the same decisions in all {one.checks} checks: asking again about the same anchors adds no evidence"
        return
    p = min(1.0, 1 / one.evidence)
    yield f"evidence of change over {one.checks} checks: {one.evidence:.3g} to 1 (p {p:.3g}, however often one looks)"


def _movement(one: CriterionDrift) -> str:
    kinds = (
        ("abstained", one.abstained_before, one.abstained_now),
        ("not graded", one.not_graded_before, one.not_graded_now),
    )
    apart = "".join(f"; {what} {before} before, {now} now" for what, before, now in kinds if before or now)
    ways = f"{one.worse} for the worse, {one.better} for the better"
    neither = f", {same} neither" if (same := one.changed - one.worse - one.better) else ""
    return f"{one.changed} of {one.n} verdicts changed: {ways}{neither}{apart}"


def _power(one: CriterionDrift) -> str:
    if one.minimum_detectable is None:
        anchors = "1 anchor is" if one.n == 1 else f"{one.n} anchors are"
        found = f"{anchors} too few for the test to find any change"
    else:
        found = (
            f"smallest net change the test finds at n={one.n} with 80 % power: {one.minimum_detectable:.3f} of anchors"
        )
    near = one.low is not None and one.high is not None and -one.margin <= one.low and one.high <= one.margin
    if one.answer != "inconclusive" or (near and one.anchors_needed is None):
        return found
    needed = "more than 100,000" if one.anchors_needed is None else f"about {one.anchors_needed}"
    return f"{found}; {needed} anchors are needed"


def _history(history: History, path: Path) -> Iterator[str]:
    checks = history.checks[-_SHOWN:]
    known = "1 check" if len(history.checks) == 1 else f"{len(history.checks)} checks"
    yield f"history: {known} in {safe_text(str(path), 200)}"
    for check in checks:
        when, answer = (safe_text(str(check.get(name)), 40) for name in ("checked_at", "answer"))
        yield f"  {when}  {answer}{_past(check)}"
    if history.unreadable:
        yield f"  lines that cannot be read, and are kept: {history.unreadable}"


def _past(check: Mapping[str, Any]) -> str:
    told = [
        f"  {safe_text(str(one.get('criterion')), 40)} {one['difference']:+.3f} (n={safe_text(str(one.get('n')), 20)})"
        for one in check["criteria"]
        if isinstance(one, dict) and is_number(one.get("difference"))
    ]
    changes = check.get("changes")
    changed = (
        [safe_text(", ".join(map(str, changes)), 100) + " changed"] if isinstance(changes, list) and changes else []
    )
    return "".join(told) + "".join(f"  {text}" for text in changed)
