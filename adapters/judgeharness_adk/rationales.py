"""The measurement of one rubric as the text ADK carries: a line for people, a short one for programs, the reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judgeharness_integrations.reporting.headline import headline as headline_of
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.rationales import dissent, rationale, shown_order
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

__all__ = ["VERSION", "counted", "headline", "machine_line", "overall_rationale", "rubric_rationale"]

VERSION = 2  # of the line for programs
_LISTED = 10  # invocations whose lines an overall row repeats
_LONGEST_REASON = 1_500  # characters; the sidecar has it whole


def rubric_rationale(result: HarnessResult, criterion: str, line: str) -> str:
    """Return the text of a `RubricScore.rationale`: its second line is for programs, and a judge's words come after it.

    Args:
        result: the measurement of the invocation.
        criterion: the rubric.
        line: its `headline`.

    """
    return "\n".join(
        [
            line,
            machine_line(_facts(result, result.criteria[criterion])),
            *_reasons(result, criterion),
        ]
    )


def machine_line(facts: Mapping[str, Any]) -> str:
    """Return the line for programs."""
    return json.dumps(facts, separators=(",", ":"))


def counted(words: Iterable[str]) -> str:
    """Return decisions with how often they were made: `2 PASS, 1 ABSTAIN`."""
    return ", ".join(f"{count} {word}" for word, count in Counter(words).items())


def overall_rationale(group: Sequence[tuple[str, str]]) -> str:
    """Return what the overall row of a rubric says of its invocations, each a decision and the line for people.

    It is the only invocation's line, or the count of decisions and a line an invocation; its row has the rest.
    """
    if len(group) == 1:
        return group[0][1]
    lines = [f"{place}. {line}" for place, (_, line) in enumerate(group[:_LISTED], start=1)]
    more = [f"… and {len(group) - _LISTED} more"] if len(group) > _LISTED else []
    return "\n".join([f"{len(group)} invocations: {counted(word for word, _ in group)}", *lines, *more])


def headline(result: HarnessResult, criterion: str, *, standing: bool = True) -> str:
    """Return one line: samples, rule, consistency, calibration; first of all `ABSTAIN` or `NOT GRADED`.

    A rubric is `standing` that belongs to the metric's criterion; a calibration says nothing about others.
    """
    verdict = result.criteria[criterion].verdict
    odd = None if verdict in ("PASS", "FAIL") else f"decided {verdict_text(verdict)}, which is neither PASS nor FAIL"
    anchor = None if standing else "uncalibrated: a rubric of this invocation alone"
    return headline_of(result, criterion, decided=odd, anchor=anchor)


def _facts(result: HarnessResult, measured: CriterionResult) -> dict[str, Any]:
    """Return what a program may want of the measurement without the sidecar; what is empty is left out."""
    independence = measured.independence.status
    counted = {
        "samples": {verdict_text(verdict): count for verdict, count in measured.sample_distribution.items()},
        "failed": {name: count for name, count in measured.outcomes.items() if name != "ok" and count},
        "rule": None if result.informal else result.aggregation_rule,
        "independent": None if independence == "independent" else independence,
        "flips": {name: rate for name, rate in measured.flip_rates.items() if rate},
        "skipped": list(result.skipped),
        "model": result.judge_model,
        "fingerprint": result.fingerprint,
    }
    told = {name: value for name, value in counted.items() if value}
    return {"judgeharness": VERSION, "verdict": measured.verdict, "planned": measured.planned, **told}


def _reasons(result: HarnessResult, criterion: str) -> Iterator[str]:
    for word, row in (("reason", rationale(result, criterion)), ("dissent", dissent(result, criterion))):
        if row is not None and (text := safe_text(row.reasoning or "", _LONGEST_REASON)):
            yield f"{word} ({verdict_text(row.verdict)}{shown_order(row)}): {text}"
    failed = [row for row in result.rows if row.criterion == criterion and not row.ok]
    for (outcome, text), count in Counter((row.outcome, _why(row)) for row in failed).most_common(1):
        if text:
            yield f"failed ({count} {outcome}): {text}"


def _why(row: VerdictRow) -> str:
    said = row.error or row.reasoning or ""
    return "" if said.startswith("sha256:") else safe_text(said, _LONGEST_REASON)  # kept as a hash
