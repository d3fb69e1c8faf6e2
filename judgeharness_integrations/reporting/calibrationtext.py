"""Calibrations and certificates for people: what labels say about a rule or a cascade, in words and as a section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.analysis.calibration.items import confidence_text
from judgeharness_integrations.analysis.certifying.certificate import promise_text
from judgeharness_integrations.analysis.result import UNCALIBRATED, HarnessResult
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, percent, safe_text, time_text

from .fragments import section_html
from .sections import Block, Bullets, Finding, Section, Strong, Table

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration
    from judgeharness_integrations.analysis.calibration.rates import Rate, RiskCoverage
    from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState
    from judgeharness_integrations.analysis.calibration.strata import Strata
    from judgeharness_integrations.analysis.certifying.cascade import Cascade
    from judgeharness_integrations.analysis.certifying.certificate import Certificate
    from judgeharness_integrations.analysis.runs.report import CriterionSummary, JudgeSection

_RATES: Final = ("precision", "recall", "specificity", "accuracy", "coverage", "base_rate")
_ESTIMATES: Final = {
    "balanced_accuracy": "balanced accuracy",
    "lift": "lift over the commonest label",
    "ac1": "AC1",
    "macro_f1": "macro F1",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "quadratic_kappa": "quadratic kappa",
}
_TOLD: Final = ("precision", "recall", "mean absolute error", "bias")  # of a judge, wherever its calibration is named
_MOST_CLASSES: Final = 20
_MOST_POINTS: Final = 5
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
    """Return that a run has no calibration; where its own cases hold gold labels, that these are no label set of it."""
    own = sum(one["decided_with_gold"] if isinstance(one, Mapping) else one.replay.labelled for one in criteria)
    if not own:
        return UNCALIBRATED
    return f"not calibrated: {counted(own, 'gold label')} in this run, no separate label set"


def alike(section: JudgeSection) -> Iterator[str]:
    """Yield that a judge's cases are like those its calibration was measured on, where that was tested and holds."""
    if section.calibrated and section.shift is not None and section.shift.shifted is False:
        yield section.shift.sentence


def calibrated_rates(section: JudgeSection) -> Iterator[str]:
    """Yield precision and recall that a calibration gives a judge's criteria, of scores their errors."""
    report = section.calibration if section.calibrated else None
    judged = {one.criterion for one in section.criteria}
    for name, measured in ({} if report is None else report.criteria).items():
        if name in judged:
            shown = [one for one in calibration_measures(measured) if one.name in _TOLD]
            told = ", ".join(f"calibrated {one.name} {one.text} {ends(one.interval)} ({one.of})" for one in shown)
            yield f"{name}: {told or 'nothing'}; {calibration_size(measured)}"


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


def labels_text(report: CalibrationReport) -> str:
    """Return where the labels come from: `labels: human, consensus majority, 2 ties left out`."""
    ties = f", {counted(report.excluded_ties, 'tie')} left out" if report.excluded_ties else ""
    return f"labels: {report.source}, consensus {report.consensus}{ties}"


def calibration_size(measured: CriterionCalibration) -> str:
    """Return what a criterion was measured on: `6 labelled cases in 3 clusters`."""
    clusters = f" in {counted(measured.clusters, 'cluster')}" if measured.clusters is not None else ""
    return f"{counted(measured.n, 'labelled case')}{clusters}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationMeasure:
    """A measure of a criterion with its interval and denominator; `note` says why a `value` is None, or more of it.

    `signed`: a difference, whose sign is said.
    """

    name: str
    value: float | None
    interval: tuple[float | None, float | None] | None = None
    of: str = ""
    note: str = ""
    rate: Rate | None = None
    signed: bool = False

    @property
    def text(self) -> str:
        """The value with three digits, `-` where there is none."""
        return f"{self.value:+.3f}" if self.signed and self.value is not None else fixed(self.value)


def calibration_measures(measured: CriterionCalibration) -> Iterator[CalibrationMeasure]:
    """Yield the measures that are defined, and those of which it is known why they are not."""
    for name in _RATES:
        rate: Rate | None = getattr(measured, name)
        if rate is not None:
            yield CalibrationMeasure(
                name=name.replace("_", " "),
                value=rate.value,
                interval=(rate.low, rate.high),
                of=f"{rate.successes:,} of {rate.trials:,}",
                rate=rate,
            )
    if (kappa := measured.kappa) is not None:
        error = "no standard error" if kappa.se is None else f"standard error {kappa.se:.3f}"
        ends_of = (kappa.low, kappa.high)
        yield CalibrationMeasure(name="kappa", value=kappa.value, interval=ends_of, of=f"n={kappa.n:,}", note=error)
    if (errors := measured.errors) is not None:
        of = f"n={errors.n:,}"
        absolute, interval = errors.mean_absolute_error, errors.mean_absolute_error_interval
        yield CalibrationMeasure(name="mean absolute error", value=absolute, interval=interval, of=of)
        yield CalibrationMeasure(name="bias", value=errors.bias, interval=errors.bias_interval, of=of, signed=True)
    for name, title in _ESTIMATES.items():
        found = getattr(measured, name)
        if found is not None:
            interval, of = (found.low, found.high), f"n={found.n:,}"
            note = _macro_note(measured) if name == "macro_f1" else ""
            yield CalibrationMeasure(
                name=title, value=found.value, interval=interval, of=of, note=note, signed=name == "lift"
            )
        elif name in measured.undefined and name not in measured.withheld:
            yield CalibrationMeasure(name=title, value=None, note=measured.undefined[name])


def _macro_note(measured: CriterionCalibration) -> str:
    why = measured.undefined.get("macro_f1_interval")
    return f"over {counted(len(measured.per_class), 'label')}" + (f", no interval: {why}" if why else "")


def calibration_section(report: CalibrationReport) -> Section:
    """Return a calibration for people: measures with intervals and denominators, confusions, risk-coverage."""
    level = confidence_text(report.confidence)
    parts = [tuple(_criterion(measured, level)) for measured in report.criteria.values()]
    return Section(
        title=f"{report.word} on {report.name} ({labels_text(report)})",
        blocks=(
            f"judge {report.judge}, measured {time_text(report.measured_at)}",
            *_candidates(report),
            *(block for blocks in parts for block in blocks),
        ),
    )


def calibration_fragment(report: CalibrationReport) -> str:
    """Return a calibration as HTML that a notebook shows."""
    return section_html(calibration_section(report))


def _candidates(report: CalibrationReport) -> Iterator[str]:
    """Yield how many candidates there were, what that does to the intervals, and which part was looked at."""
    if (count := report.candidates) is not None:
        told = f"candidates measured on these labels: {count}"
        if count > 1:
            told += (
                f"; intervals hold for all of them together (each at {confidence_text(report.confidence)}): those to "
                "report of the candidate that is chosen"
            )
        yield told
    if report.holdout is not None:
        held = f"a share of {report.holdout:g} of the labelled cases is held back"
        if report.part == "choosing":
            yield f"{held}: these are the others, to choose on; report the chosen one's numbers from --final"
        else:
            yield f"{held}: these are its numbers"


def _criterion(measured: CriterionCalibration, level: str) -> Iterator[Block]:
    measures = list(calibration_measures(measured))
    title = f"{measured.criterion}, {calibration_size(measured)}"
    if measures:
        rows = ((one.name, one.text, ends(one.interval), one.of) for one in measures)
        yield Table.of(title, ("measure", "value", level, "of"), rows)
    else:
        yield Strong(title)
    if notes := tuple(_notes(measured, measures)):
        yield Bullets(notes)
    if measured.confusion:
        yield Table.of("decisions by gold label", ("gold", "decisions"), _confusions(measured), texts=2)
    for strata in measured.told_strata:
        yield Bullets(tuple(_few(strata)))
    yield from _classes(measured, level)
    if measured.risk_coverage is not None:
        yield from _curve(measured.risk_coverage, level)


def _confusions(measured: CriterionCalibration) -> Iterator[tuple[str, str]]:
    for gold, row in measured.confusion.items():
        yield gold, ", ".join(f"{decision} {count}" for decision, count in row.items())


def _notes(measured: CriterionCalibration, measures: Iterable[CalibrationMeasure]) -> Iterator[str]:
    """Yield what is to be said of single measures, what controls come to, and what the labels do not tell."""
    yield from (f"{one.name}: {one.note}" for one in measures if one.note)
    if measured.reason:
        yield measured.reason
    if measured.plain:
        told = ", ".join(f"{name.replace('_', ' ')} {ends(interval)}" for name, interval in measured.plain.items())
        yield f"95 % intervals of a single candidate, too narrow for the best of several: {told}"
    if measured.controls is not None:
        yield measured.controls.line
        yield measured.controls.sentence
    if measured.n and measured.untold:
        yield measured.untold
    if measured.withheld:
        yield f"withheld: {', '.join(name.replace('_', ' ') for name in measured.withheld)}"


def _few(strata: Strata) -> Iterator[str]:
    """Yield the lines of strata; of very many the largest, and what the tests say."""
    lines = list(strata.lines())
    if (more := len(strata.listed) - _MOST_CLASSES) > 0:
        lines[_MOST_CLASSES : len(strata.listed)] = [f"and {more} more, in the JSON"]
    yield from lines


def _classes(measured: CriterionCalibration, level: str) -> Iterator[Block]:
    """Yield the rates of each label where precision and recall above are not about one of two labels already."""
    if measured.positive is not None and len(measured.per_class) <= 2:  # noqa: PLR2004 - the other is its mirror image
        return
    labels = list(measured.per_class.items())
    if labels:
        columns = ("label", "precision", level, "of", "recall", level, "of")
        rows = ((label, *_rate(one.precision), *_rate(one.recall)) for label, one in labels[:_MOST_CLASSES])
        yield Table.of("by label", columns, rows)
    if (more := len(labels) - _MOST_CLASSES) > 0:
        yield f"and {more} more labels, in the JSON"


def _rate(rate: Rate | None) -> tuple[str, str, str]:
    if rate is None:
        return ("-", "-", "-")
    return fixed(rate.value), ends((rate.low, rate.high)), f"{rate.successes:,} of {rate.trials:,}"


def _curve(curve: RiskCoverage, level: str) -> Iterator[Block]:
    """Yield a few points of the risk-coverage curve, the surest decisions and all of them among them."""
    apart = f", {curve.unordered} decisions without a consistency not covered" if curve.unordered else ""
    count = len(curve.points)
    steps = min(count, _MOST_POINTS)
    points = [curve.points[round(step * (count - 1) / max(1, steps - 1))] for step in range(steps)]
    title = f"risk-coverage: AURC {curve.aurc:.3f} over {curve.points[-1].n} decisions of {curve.n} items{apart}"
    rows = (
        (
            fixed(one.threshold),
            f"{one.n} of {curve.n}",
            fixed(one.coverage),
            fixed(one.accuracy),
            ends((one.low, one.high)),
        )
        for one in points
    )
    yield Table.of(title, ("consistency >=", "decisions", "coverage", "accuracy", level), rows, texts=0)
    if steps > 1:
        yield Bullets((READ_OFF,))


_ANSWERED: Final = 4  # criteria with a sentence of their own


def calibration_finding(report: CalibrationReport, *, before: Sequence[str] = (), following: str = "") -> Finding:
    """Return what a calibration opens with: how often right, of how many, and how many undecided, a line a criterion.

    Args:
        report: what was measured.
        before: what is to be done before the command that comes next.
        following: that command; empty where none is known.

    """
    told = []
    for name, measured in list(report.criteria.items())[:_ANSWERED]:
        about = report.judge if len(report.criteria) == 1 else f"{report.judge}, {name}"
        caution = "" if measured.controls is None else measured.controls.caution
        told.append("; ".join(filter(None, (f"{about}: {answered(measured, report)}", caution))))
    answer, *others = told or ["nothing was measured"]
    return Finding(answer=answer, reasons=(*others, *before), next=following)


def answered(measured: CriterionCalibration, report: CalibrationReport) -> str:
    """Return how often a calibration found a criterion right, or how far off: with interval and denominator."""
    level, said = confidence_text(report.confidence), "right in" if report.calibrated else "like its labels in"
    if (right := measured.accuracy) is not None:
        undecided = counted(measured.n - right.trials, "more case") if measured.n > right.trials else ""
        left = f", {undecided} undecided" if undecided else ""
        shown = f"{percent(right.value)} % of {counted(right.trials, 'decided labelled case')}"
        return f"{said} {shown} ({level} {ends((right.low, right.high), 1, scale=100)}){left}"
    if (errors := measured.errors) is not None:
        return f"off by {fixed(errors.mean_absolute_error)} on average of {counted(errors.n, 'labelled score')}"
    return f"how often it is right is not measured, by {calibration_size(measured)}"


def certificate_finding(certificate: Certificate, *, before: Sequence[str] = (), following: str = "") -> Finding:
    """Return what a certificate opens with.

    Args:
        certificate: what was certified, or refused.
        before: what is to be done before the command that comes next.
        following: that command; empty where none is known.

    """
    return Finding(answer=_answer(certificate), reasons=(*_reasons(certificate), *before), next=following)


def _answer(certificate: Certificate) -> str:
    judge = safe_text(certificate.judge)
    if not certificate.granted:
        return f"{judge}: nothing is certified: it is not shown that its decisions {promise_text(certificate)}"
    covered, cases = (sum(getattr(one, name) for one in certificate.selections) for name in ("covered", "cases"))
    return f"{judge}: {covered:,} of {counted(cases, 'decision')} need no second look: they {promise_text(certificate)}"


def _reasons(certificate: Certificate) -> list[str]:
    granted = [one for one in certificate.selections if one.threshold is not None]
    told = []
    if granted and len(granted) < len(certificate.selections):
        what = "criteria" if certificate.stratum is None else "strata"
        told.append(f"refused for {len(certificate.selections) - len(granted)} of {len(certificate.selections)} {what}")
    if any(one.untold for one in granted):
        told.append("agreement is no sign here that the judge tells anything: see the warning")
    return told


def cascade_finding(cascade: Cascade, *, before: Sequence[str] = (), following: str = "") -> Finding:
    """Return what a cascade opens with once it was certified: how many of its steps decide, or that it is refused.

    Args:
        cascade: the cascade.
        before: what is to be done before the command that comes next.
        following: that command; empty where none is known.

    """
    names = safe_text(", then ".join(step.judge for step in cascade.steps))
    granted, steps = sum(step.granted for step in cascade.steps), counted(len(cascade.steps), "step")
    answer = f"{names}: refused, as no step is certified and every case would wait for people"
    if granted:
        promise = cascade_promise(cascade.agreement, cascade.delta)
        answer = f"{names}: {granted} of {steps} are certified: decided cases {promise}"
    return Finding(answer=answer, reasons=tuple(before), next=following)


def cascade_promise(agreement: float, delta: float) -> str:
    """Return what a cascade promises of the cases it decides."""
    return (
        f"agree with their labels at least {100 * agreement:g} % of the time, with {100 * (1 - delta):g} % confidence"
    )
