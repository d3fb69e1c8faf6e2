"""A run at its end, for people: what was decided, against what, and where everything stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.gates.report import STOPPED
from judgeharness_integrations.analysis.replay.report import JudgeReplay
from judgeharness_integrations.analysis.runs.report import state_text
from judgeharness_integrations.reporting.calibrationtext import uncalibrated
from judgeharness_integrations.reporting.measured import (
    Measured,
    control_line,
    level_text,
    measured_table,
    named_after,
    stopping_sentences,
    verdict_shares,
)
from judgeharness_integrations.reporting.sections import Block, Section, Strong
from judgeharness_integrations.reporting.text import cost_text, tokens_text


def ended_section(
    document: Mapping[str, Any], folder: Path, *, log: str, certificates: Mapping[str, str] = MappingProxyType({})
) -> Section:
    """Return the summary of a run for people.

    Args:
        document: the summary as JSON keeps it.
        folder: where its files are.
        log: what its log is called.
        certificates: judge -> what its decisions stand under.

    """
    cases = document["judged_cases"] + document["not_asked_cases"]
    state = state_text(document["state"], not_graded=document["not_graded_cases"], cases=cases)
    return Section(
        title=f"run {document['run']}, state: {state}",
        blocks=(*_measured(document), *_judges(document, certificates), *_bill(document), *_places(folder, log)),
    )


def _measured(document: Mapping[str, Any]) -> Iterator[Block]:
    if _stopped(document):
        yield Strong(f"the run {STOPPED}")
    for judge in document["judges"]:
        yield from (Strong(f"{judge['judge']}: {alert}") for alert in judge["alerts"])
    yield measured_table(_entry(entry, judge) for judge in document["judges"] for entry in judge["criteria"])
    yield f"rule: {document['rule']}, chosen before the samples"
    yield f"perturbations: {', '.join(document['perturbations'])}; {document['repetitions']} samples each"


def _entry(entry: Mapping[str, Any], judge: Mapping[str, Any]) -> Measured:
    verdicts = {one["verdict"]: one["count"] for one in entry["verdicts"]}
    return Measured(
        name=named_after(entry["judge"], entry["criterion"]),
        replay=JudgeReplay.from_dict(entry),
        result=verdict_shares(verdicts, entry["cases"]),
        never=judge["not_asked_cases"],
    )


def _judges(document: Mapping[str, Any], certificates: Mapping[str, str]) -> Iterator[str]:
    for judge in document["judges"]:
        for line in (*_about(judge, stopped=_stopped(document)), *filter(None, [certificates.get(judge["judge"])])):
            yield f"{judge['judge']}: {line}"


def _bill(document: Mapping[str, Any]) -> Iterator[str]:
    usage = document["usage"]
    cost = cost_text(usage["cost"], usage["cost_remarks"])
    attempts = f"{usage['attempts'] or 0} attempts in rows, {document['attempts_spent']} attempts spent in all"
    told = f"usage: {usage['calls']} calls, {attempts}, tokens {tokens_text(usage) or 'unknown'}"
    yield told + ("" if cost is None else f", {cost}")
    for run, calls in document["reused_from"].items():
        yield f"re-used: {calls} calls that run {run} paid for"


def _places(folder: Path, log: str) -> Iterator[str]:
    yield f"log: {log}; written to {folder}: verdicts.jsonl, results.jsonl, summary.json"


def _stopped(document: Mapping[str, Any]) -> bool:
    """Whether asking ended because of what was answered."""
    return bool((document.get("gates") or {}).get("stopped"))


def _about(judge: Mapping[str, Any], *, stopped: bool = False) -> Iterator[str]:
    yield from [uncalibrated(judge["criteria"])] if judge["calibration"] is None else _anchor(judge["calibration"])
    yield from (f"not measured: {sentence}" for sentence in judge["not_measured"])
    if unasked := judge["not_asked_cases"]:
        cases = judge["judged_cases"] + unasked
        yield f"{unasked} of {cases} cases, counted as not graded, were never asked or cut off before an answer"
    if judge["saved_calls"]:
        yield f"{judge['saved_calls']} calls saved by stopping early"
    yield from stopping_sentences(JudgeReplay.from_dict(entry) for entry in judge["criteria"])
    for entry in judge["criteria"]:
        if entry.get("controls"):
            yield _of(entry["criterion"], control_line(Controls.from_dict(entry["controls"]), stopped=stopped))
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
        shown = [f"{what} {_level(rates[what])}" for what in ("precision", "recall", "coverage") if rates[what]]
        if shown:
            yield _of(name, f"{', '.join(shown)}, n={rates['n']}")
        if rates.get("untold"):
            yield _of(name, rates["untold"])


def _of(criterion: str, line: str) -> str:
    """Return what is said of a criterion, with its name where it has one."""
    return ": ".join(filter(None, (named_after("", criterion), line)))


def _level(rate: Mapping[str, Any]) -> str:
    return level_text(rate["value"], rate["low"], rate["high"], rate["n"])
