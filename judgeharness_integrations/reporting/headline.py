"""A measurement in one line: samples, rule, consistency, calibration."""

from __future__ import annotations

from judgeharness_integrations.calibration.measure import CriterionCalibration
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import verdict_text

__all__ = ["headline"]

_DOT = " · "
_INVERTED = "reliably wrong by its labels"
_UNTOLD = "its labels cannot tell it from a constant judge"


def headline(result: HarnessResult, criterion: str, *, decided: str | None = None, anchor: str | None = None) -> str:
    """Return one line: samples, rule, consistency, calibration; first of all `ABSTAIN` or `NOT GRADED`.

    Args:
        result: the measurement.
        criterion: which of its criteria.
        decided: what stands first where there is a decision.
        anchor: what to say of calibration instead of what the result says.

    """
    measured = result.criteria[criterion]
    parts = [_samples(measured)]
    if measured.status != "decided":
        parts.insert(0, "ABSTAIN" if measured.status == "abstained" else "NOT GRADED")
    elif decided is not None:
        parts.insert(0, decided)
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
    parts.append(anchor or _calibrated(result, criterion))
    if measured.status == "not_graded":
        parts.append(measured.reason)
    return safe_text(_DOT.join(parts))


def _samples(measured: CriterionResult) -> str:
    counts = [f"{count} {verdict_text(verdict)}" for verdict, count in measured.sample_distribution.items()]
    failed = [f"{count} {name}" for name, count in measured.outcomes.items() if name != "ok" and count]
    asked = sum(measured.outcomes.values())
    text = f"{', '.join(counts + failed) or 'no sample'} of {measured.planned}"
    if asked == measured.planned:
        return text
    return f"{text} (stopped early after {asked})" if measured.censored else f"{text} ({asked} asked)"


def _calibrated(result: HarnessResult, criterion: str) -> str:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return "uncalibrated"
    if not state.valid:
        return f"calibration {state}"
    rates = report.criteria.get(criterion)
    if rates is None:
        return f"uncalibrated: {report.name} holds no labels of this criterion"
    untold = _INVERTED if rates.inverted else _UNTOLD
    told = f"{_rates(rates)}; {untold}" if rates.untold else _rates(rates)
    return told if report.calibrated else f"{report.word}: {told}"


def _rates(rates: CriterionCalibration) -> str:
    precision, recall = (None if rate is None else rate.value for rate in (rates.precision, rates.recall))
    return f"precision {_rate(precision)}, recall {_rate(recall)} (n={rates.n})"


def _rate(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
