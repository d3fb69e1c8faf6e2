"""The calibration card: what a label set says about a rule, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.analysis.boundary import UNCALIBRATED
from judgeharness_integrations.analysis.calibration.holdout import confidence_text
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration, RiskCoverage, RiskPoint
from judgeharness_integrations.analysis.calibration.rates import ScoreErrors
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState
from judgeharness_integrations.analysis.calibration.strata import Strata
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.verdictlog.plain import safe_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.runs.report import JudgeSection
    from judgeharness_integrations.analysis.runs.summary import CriterionSummary

__all__ = [
    "READ_OFF",
    "alike",
    "anchor_text",
    "calibrated_rates",
    "calibration_text",
    "calibration_word",
    "uncalibrated",
]

_RATES = ("precision", "recall", "specificity", "accuracy", "coverage", "base_rate")
_ESTIMATES = {
    "ac1": "AC1",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "quadratic_kappa": "quadratic kappa",
}
_MOST_CLASSES = 20
_MOST_POINTS = 5
READ_OFF = (
    "a threshold read off here keeps no promise: in 41 % of studies (GPT-4, 200 labels) new cases fell short of the "
    "accuracy it was chosen for; `judgeharness certify` tests thresholds"
)


def anchor_text(report: CalibrationReport | None, state: CalibrationState | None) -> str:
    """Return in a sentence what a rule is anchored to; "calibrated" is said of people's and executed labels alone."""
    if report is None or state is None:
        return UNCALIBRATED
    if not state.valid:
        return f"uncalibrated: the calibration on {report.name} is {state}"
    if not report.calibrated:
        return f"uncalibrated: {report.word} on {report.name}, whose labels are a model's, not people's"
    return f"calibrated on {report.name}" + (f"; {why}" if (why := report.untold()) else "")


def uncalibrated(criteria: Iterable[CriterionSummary | Mapping[str, Any]]) -> str:
    """Return that a run has no calibration; where its own cases hold gold labels, these say how right it is on them."""
    known = (one if isinstance(one, Mapping) else _rightness(one) for one in criteria)
    own = any(one["accuracy"] is not None or one["mean_absolute_error"] is not None for one in known)
    return UNCALIBRATED + (" beyond these cases' own gold labels" if own else "")


def _rightness(one: CriterionSummary) -> dict[str, Any]:
    return {"accuracy": one.accuracy, "mean_absolute_error": one.replay.mean_absolute_error}


def alike(section: JudgeSection) -> Iterator[str]:
    """Yield that a judge's cases are like those its calibration was measured on, where that was tested and holds."""
    if section.calibrated and section.shift is not None and section.shift.shifted is False:
        yield section.shift.sentence


def calibrated_rates(section: JudgeSection) -> Iterator[str]:
    """Yield precision and recall that a calibration gives a judge's criteria, of scores their errors."""
    report = section.calibration if section.calibrated else None
    judged = {one.criterion for one in section.criteria}
    for name, measured in ({} if report is None else report.criteria).items():
        if name not in judged:
            continue
        if measured.errors is not None:
            yield f"{safe_text(name)}: calibrated on {_size(measured)}: {_errors(measured.errors)}"
        else:
            rates = (f"calibrated_{rate} {getattr(measured, rate) or 'none'}" for rate in ("precision", "recall"))
            yield f"{safe_text(name)}: {', '.join(rates)}, {_size(measured)}"


def calibration_word(result: HarnessResult, criterion: str) -> str:
    """Return the state of the calibration for one criterion, or `none`; of a model's labels, what they show."""
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return "none"
    if not state.valid:
        return state.status
    if criterion not in report.criteria:
        return "none"
    return "valid" if report.calibrated else report.word


def calibration_text(report: CalibrationReport) -> Iterator[str]:
    """Yield the card: source, rates with intervals and denominators, agreement, confusion table, risk-coverage."""
    name = safe_text(report.name)
    labels = f"labels: {safe_text(report.source)}, consensus {report.consensus}, {report.excluded_ties} ties left out"
    yield f"{safe_text(report.word)} on {name} ({labels})"
    yield from _candidates(report)
    for measured in report.criteria.values():
        prefix = f"  {safe_text(measured.criterion)}: " if len(report.criteria) > 1 else "  "
        yield prefix + _size(measured)
        yield from (f"    {line}" for line in (*_measures(measured), *_plain(measured), *_beside_controls(measured)))
        for gold, row in measured.confusion.items():
            yield f"    gold {safe_text(gold)}: " + ", ".join(f"{safe_text(d)} {count}" for d, count in row.items())
        if measured.strata is not None:
            yield from (f"    {safe_text(line)}" for line in _few(measured.strata))
        yield from _classes(measured)
        if measured.risk_coverage is not None:
            yield from _curve(measured.risk_coverage)


def _candidates(report: CalibrationReport) -> Iterator[str]:
    """Yield how many candidates there were, what that does to the intervals, and which part was looked at."""
    if (count := report.candidates) is not None:
        told = f"  candidates measured on these labels: {count}"
        if count > 1:
            told += (
                f"; intervals hold for all of them together (each at {confidence_text(report.confidence)}): those to "
                "report of the candidate that is chosen"
            )
        yield told
    if report.holdout is not None:
        held = f"  a share of {report.holdout:g} of the labelled cases is held back"
        if report.part == "choosing":
            yield f"{held}: these are the others, to choose on; report the chosen one's numbers from --final"
        else:
            yield f"{held}: these are its numbers"


def _plain(measured: CriterionCalibration) -> Iterator[str]:
    if measured.plain:
        told = ", ".join(
            f"{name.replace('_', ' ')} [{low:.3f}, {high:.3f}]" for name, (low, high) in measured.plain.items()
        )
        yield f"95 % intervals of a single candidate, too narrow for the best of several: {told}"


def _few(strata: Strata) -> Iterator[str]:
    """Yield the lines of strata; of very many the largest, and what the tests say."""
    lines = list(strata.lines())
    if (more := len(strata.listed) - _MOST_CLASSES) > 0:
        lines[_MOST_CLASSES : len(strata.listed)] = [f"and {more} more, in the JSON"]
    yield from lines


def _size(measured: CriterionCalibration) -> str:
    return f"n={measured.n}" + (f" in {measured.clusters} clusters" if measured.clusters is not None else "")


def _measures(measured: CriterionCalibration) -> Iterator[str]:
    for name in _RATES:
        rate = getattr(measured, name)
        if rate is not None:
            yield f"{name.replace('_', ' ')} {rate}"
    if (kappa := measured.kappa) is not None:
        error = "none" if kappa.se is None else f"{kappa.se:.3f}"
        ends = "" if kappa.low is None else f" [{kappa.low:.3f}, {kappa.high:.3f}]"
        yield f"kappa {kappa.value:.3f}{ends} (SE {error}, n={kappa.n})"
    if measured.balanced_accuracy is not None:
        yield f"balanced accuracy {measured.balanced_accuracy}"
    if measured.errors is not None:
        yield _errors(measured.errors)
    for name, title in _ESTIMATES.items():
        estimate = getattr(measured, name)
        if estimate is not None:
            yield f"{title} {estimate}"
        elif name in measured.undefined and name not in measured.withheld:
            yield f"{title} none ({safe_text(measured.undefined[name])})"
    if measured.reason:
        yield measured.reason


def _beside_controls(measured: CriterionCalibration) -> Iterator[str]:
    """Yield what judges that read nothing come to, and whether the labels tell this one from them."""
    if measured.controls is not None:
        yield safe_text(measured.controls.line)
        yield safe_text(measured.controls.sentence)
    if measured.n and measured.untold:
        yield safe_text(measured.untold)
    if measured.withheld:
        yield f"withheld: {', '.join(name.replace('_', ' ') for name in measured.withheld)}"


def _errors(errors: ScoreErrors) -> str:
    absolute, bias = (
        "" if interval is None else f" [{interval[0]:{sign}.3f}, {interval[1]:{sign}.3f}]"
        for interval, sign in ((errors.mean_absolute_error_interval, ""), (errors.bias_interval, "+"))
    )
    numbers = f"{errors.mean_absolute_error:.3f}{absolute}, bias {errors.bias:+.3f}{bias}"
    return f"mean absolute error {numbers} (n={errors.n})"


def _classes(measured: CriterionCalibration) -> Iterator[str]:
    """Yield the rates of each label where precision and recall above are not about one of two labels already."""
    if measured.positive is not None and len(measured.per_class) <= 2:  # noqa: PLR2004 - the other is its mirror image
        yield from _macro_f1(measured, "")
        return
    for label, rates in list(measured.per_class.items())[:_MOST_CLASSES]:
        precision, recall = (rate or "none" for rate in (rates.precision, rates.recall))
        yield f"    class {safe_text(label, 60)}: precision {precision}, recall {recall}"
    if (more := len(measured.per_class) - _MOST_CLASSES) > 0:
        yield f"    and {more} more labels, in the JSON"
    yield from _macro_f1(measured, f" over {len(measured.per_class)} labels")


def _macro_f1(measured: CriterionCalibration, over: str) -> Iterator[str]:
    if measured.macro_f1 is not None:
        why = measured.undefined.get("macro_f1_interval")
        yield f"    macro F1 {measured.macro_f1}{over}" + (f", no interval: {safe_text(why, 120)}" if why else "")


def _curve(curve: RiskCoverage) -> Iterator[str]:
    """Yield a few points of the risk-coverage curve, the surest decisions and all of them among them."""
    apart = f", {curve.unordered} decisions without a consistency not covered" if curve.unordered else ""
    count = len(curve.points)
    yield f"    risk-coverage: AURC {curve.aurc:.3f} over {curve.points[-1].n} decisions of {curve.n} items{apart}"
    steps = min(count, _MOST_POINTS)
    for place in [round(step * (count - 1) / max(1, steps - 1)) for step in range(steps)]:
        yield f"      {_point(curve.points[place], curve.n)}"
    if steps > 1:
        yield f"      {READ_OFF}"


def _point(point: RiskPoint, items: int) -> str:
    accuracy = f"accuracy {point.accuracy:.3f} [{point.low:.3f}, {point.high:.3f}] ({point.n} decisions)"
    return f"consistency >= {point.threshold:.3f}: coverage {point.coverage:.3f} ({point.n}/{items}), {accuracy}"
