"""The measurement of one rubric as the text ADK carries: a line for people, a line for programs, the reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from judgeharness_integrations.calibration.measure import CriterionCalibration
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.rationales import dissent, rationale, shown_order
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

__all__ = ["headline", "rubric_rationale"]

_DOT = " · "
_LONGEST_REASON = 1_500  # characters; the sidecar has it whole


def rubric_rationale(result: HarnessResult, criterion: str, *, standing: bool = True) -> str:
    """Return the text of a `RubricScore.rationale`.

    Args:
        result: the measurement of the invocation.
        criterion: the rubric.
        standing: the rubric belongs to the metric's criterion; a calibration says nothing about others.

    """
    return "\n".join(
        [
            headline(result, criterion, standing=standing),
            json.dumps(_facts(result, result.criteria[criterion]), separators=(",", ":")),
            *_reasons(result, criterion),
        ]
    )


def headline(result: HarnessResult, criterion: str, *, standing: bool = True) -> str:
    """Return one line: samples, rule, consistency, calibration; first of all `ABSTAIN` or `NOT GRADED`."""
    measured = result.criteria[criterion]
    parts = [_samples(measured)]
    if measured.status != "decided":
        parts.insert(0, "ABSTAIN" if measured.status == "abstained" else "NOT GRADED")
    elif measured.verdict not in ("PASS", "FAIL"):
        parts.insert(0, f"decided {verdict_text(measured.verdict)}, which is neither PASS nor FAIL")
    if result.informal:
        parts.append("one sample, informal")
    else:
        parts.append(result.aggregation_rule)
        parts.append(f"consistency {_rate(measured.consistency_rate)}")
    samples = measured.independence
    if samples.status == "collapsed":
        parts.append(f"{samples.effective} of them independent ({', '.join(samples.evidence)})")
    if result.skipped:
        parts.append(f"without {', '.join(result.skipped)}")
    parts.append(_calibrated(result, criterion) if standing else "uncalibrated: a rubric of this invocation alone")
    if measured.status == "not_graded":
        parts.append(measured.reason)
    return safe_text(_DOT.join(parts))


def _samples(measured: CriterionResult) -> str:
    counts = [f"{count} {verdict_text(verdict)}" for verdict, count in measured.sample_distribution.items()]
    failed = [f"{count} {name}" for name, count in measured.outcomes.items() if name != "ok" and count]
    asked = sum(measured.outcomes.values())
    text = f"{', '.join(counts + failed) or 'no sample'} of {measured.planned}"
    return text if asked == measured.planned else f"{text} ({asked} asked)"


def _calibrated(result: HarnessResult, criterion: str) -> str:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return "uncalibrated"
    if not state.valid:
        return f"calibration {state}"
    rates = report.criteria.get(criterion)
    if rates is None:
        return f"uncalibrated: {report.name} holds no labels of this rubric"
    return _rates(rates) if report.calibrated else f"{report.word}: {_rates(rates)}"


def _rates(rates: CriterionCalibration) -> str:
    precision, recall = (None if rate is None else rate.value for rate in (rates.precision, rates.recall))
    return f"precision {_rate(precision)}, recall {_rate(recall)} (n={rates.n})"


def _rate(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _facts(result: HarnessResult, measured: CriterionResult) -> dict[str, Any]:
    """Return what a program may want of the measurement without the sidecar."""
    state = result.calibration_state
    return {
        "judgeharness": 1,
        "verdict": measured.verdict,
        "status": measured.status,
        "samples": {verdict_text(verdict): count for verdict, count in measured.sample_distribution.items()},
        "planned": measured.planned,
        "failed": {name: count for name, count in measured.outcomes.items() if name != "ok" and count},
        "rule": None if result.informal else result.aggregation_rule,
        "consistency": None if result.informal else measured.consistency_rate,
        "agreement": measured.agreement,
        "independent": measured.independence.status,
        "flips": {name: rate for name, rate in measured.flip_rates.items() if rate is not None},
        "skipped": list(result.skipped),
        "model": result.judge_model,
        "fingerprint": result.fingerprint,
        "calibration": None if state is None else str(state),
    }


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
