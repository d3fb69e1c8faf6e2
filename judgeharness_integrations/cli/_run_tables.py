"""A run's summary for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text

from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.runs.report import state_text
from judgeharness_integrations.cli._replay_tables import control_lines, stopping_sentences
from judgeharness_integrations.reporting.calibrationtext import uncalibrated
from judgeharness_integrations.reporting.terminal import RIGHT, console, safe, say, share, table
from judgeharness_integrations.reporting.text import cost_text, tokens_text
from judgeharness_integrations.verdictlog.plain import percent, safe_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.replay import JudgeReplay

__all__ = ["print_summary"]

_MOST_VERDICTS = 6
_LONGEST = 2000  # characters of a line


def print_summary(
    document: Mapping[str, Any], folder: Path, *, log: str, certificates: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Print what was decided, against what, and where everything stands."""
    screen = console()
    screen.print()
    screen.print(f"rule: {document['rule']}, chosen before the samples")
    screen.print(f"perturbations: {', '.join(document['perturbations'])}; {document['repetitions']} samples each")
    columns = [
        "judge",
        "verdicts",
        "decided,\n% of cases",
        RIGHT,
        "ab-\nstained",
        "not\ngraded",
        "consis-\ntency %",
    ]
    rows = [
        [*_entry(entry), str(judge["not_asked_cases"])] for judge in document["judges"] for entry in judge["criteria"]
    ]
    if document["not_asked_cases"]:
        columns.append("never\nasked")
    for judge in document["judges"]:
        for alert in judge["alerts"]:
            screen.print(Text(safe_text(f"{judge['judge']}: {alert}"), style="bold"))
    screen.print(table("measured", columns, [row[: len(columns)] for row in rows], texts=2))
    for judge in document["judges"]:
        for line in (*_about(judge), *filter(None, [certificates.get(judge["judge"])])):
            screen.print(Text(safe_text(f"{judge['judge']}: {line}", _LONGEST)))
    usage = document["usage"]
    cost = cost_text(usage["cost"], usage["cost_remarks"])
    attempts = f"{usage['attempts'] or 0} attempts in rows, {document['attempts_spent']} attempts spent in all"
    told = f"usage: {usage['calls']} calls, {attempts}, tokens {tokens_text(usage) or 'unknown'}"
    say(screen, safe_text(told + ("" if cost is None else f", {cost}"), _LONGEST))
    for run, calls in document["reused_from"].items():
        screen.print(Text(f"re-used: {calls} calls that run {safe_text(run)} paid for"))
    cases = document["judged_cases"] + document["not_asked_cases"]
    state = state_text(document["state"], not_graded=document["not_graded_cases"], cases=cases)
    screen.print(f"run: {document['run']}, state: {state}")
    written = f"log: {safe_text(log)}; written to {safe_text(str(folder))}: verdicts.jsonl, results.jsonl, summary.json"
    screen.print(Text(written), soft_wrap=True)


def _entry(entry: Mapping[str, Any]) -> list[str | Text]:
    name = entry["judge"] if entry["criterion"] == "verdict" else f"{entry['judge']} · {entry['criterion']}"
    accuracy = entry["accuracy"]
    error = entry["mean_absolute_error"]
    right = "-" if accuracy is None else share(entry["correct"], entry["decided_with_gold"])
    return [
        safe(name),
        safe(_verdicts(entry["verdicts"])),
        share(entry["decided"], entry["cases"]),
        right if error is None else f"off by {error:.2f}",
        str(entry["abstained"]),
        str(entry["not_graded"]),
        percent(entry["consistency_rate"]),
    ]


def _verdicts(counts: list[Mapping[str, Any]]) -> str:
    shown = ", ".join(f"{one['verdict']}: {one['count']}" for one in counts[:_MOST_VERDICTS])
    return shown + (", …" if len(counts) > _MOST_VERDICTS else "") or "-"


def _about(judge: Mapping[str, Any]) -> Iterator[str]:
    yield from [uncalibrated(judge["criteria"])] if judge["calibration"] is None else _anchor(judge["calibration"])
    yield from (f"not measured: {sentence}" for sentence in judge["not_measured"])
    if unasked := judge["not_asked_cases"]:
        cases = judge["judged_cases"] + unasked
        yield f"{unasked} of {cases} cases, counted as not graded, were never asked or cut off before an answer"
    if judge["saved_calls"]:
        yield f"{judge['saved_calls']} calls saved by stopping early"
    yield from stopping_sentences([cast("JudgeReplay", SimpleNamespace(**entry)) for entry in judge["criteria"]])
    for entry in judge["criteria"]:
        if entry.get("controls"):
            yield from (
                f"{entry['criterion']}: {line}" for line in control_lines(Controls.from_dict(entry["controls"]))
            )
        if entry["error"]:
            yield f"{entry['criterion']} is not graded: {entry['error']}"
    for name, count in judge["skipped_perturbations"].items():
        yield f"{name} did not fit {count} cases and was skipped"
    for warning in judge["warnings"]:
        yield f"warning: {warning}"


def _anchor(calibration: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the labels say; those of a model are agreed with, and calibrate nothing."""
    word, status, reason = calibration["word"], calibration["status"], calibration["reason"]
    if word == "calibrated":
        yield f"calibration on {calibration['source']} is {status}" + (f": {reason}" if reason else "")
    else:
        yield f"{word} on {calibration['source']}" + ("" if status == "valid" else f" is {status}: {reason}")
    for name, rates in calibration["criteria"].items():
        shown = [f"{what} {_rate(rates[what])}" for what in ("precision", "recall", "coverage") if rates[what]]
        if shown:
            yield f"{name}: " + ", ".join(shown) + f", n={rates['n']}"
        if rates.get("untold"):
            yield f"{name}: {rates['untold']}"


def _rate(rate: Mapping[str, Any]) -> str:
    return f"{percent(rate['value'])} % [{percent(rate['low'])}, {percent(rate['high'])}] of {rate['n']}"
