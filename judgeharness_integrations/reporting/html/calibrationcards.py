"""The anchor of a judge: how right its rule is against people's labels, and whether it may replace annotators."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import join, quote
from typing import Final, Literal

from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AltTestReport, AnnotatorTest
from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration
from judgeharness_integrations.analysis.calibration.strata import Strata
from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport
from judgeharness_integrations.analysis.statistics.means import t_interval
from judgeharness_integrations.reporting.calibrationtext import (
    alike,
    calibration_measures,
    calibration_size,
    labels_text,
    uncalibrated,
)
from judgeharness_integrations.reporting.html.charts import NONE, Whisker, interval_text, percent, whisker
from judgeharness_integrations.reporting.html.overview import Measure
from judgeharness_integrations.verdictlog.plain import counted, p_text, time_text

__all__ = [
    "Anchor",
    "AnnotatorLine",
    "AnnotatorsSection",
    "Answer",
    "CalibrationCard",
    "CalibrationTable",
    "annotators_section",
    "calibration_card",
]


Anchor = Literal["valid", "agreement", "expired", "unverifiable", "shifted", "none"]

_NOT_HELD: Final[dict[str, Anchor]] = {"expired": "expired", "unverifiable": "unverifiable", "shifted": "shifted"}
_OTHER_CONFIGURATION: Final = "of the configuration it was measured on, not of this one"


@dataclass(frozen=True, kw_only=True)
class CalibrationTable:
    """One criterion against its labels. `confusion` has a row a gold label: its name, and a count a decision."""

    criterion: str
    size: str
    positive: str | None
    rates: tuple[Measure, ...]
    reason: str
    notes: tuple[str, ...]
    decisions: tuple[str, ...]
    confusion: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, kw_only=True)
class CalibrationCard:
    """Whether the judge is calibrated, on what, and its rates; without a calibration, what would make one."""

    state: Anchor
    title: str
    sentence: str
    labels: str
    command: str
    tables: tuple[CalibrationTable, ...]


def calibration_card(section: JudgeSection) -> CalibrationCard:
    """Return the card; "calibrated" stands on it only while a calibration holds."""
    report, state = section.calibration, section.calibration_state
    if report is None or state is None:
        return CalibrationCard(
            state="none",
            title="Uncalibrated",
            sentence=f"{uncalibrated(section.criteria).partition(': ')[2].capitalize()}.",
            labels="",
            command=_command(section.judge),
            tables=(),
        )
    if not state.valid:
        anchor: Anchor = _NOT_HELD[state.status]
        title = f"Uncalibrated: the calibration on {report.name} is {state.status}"
        of = "of the labelled cases, not of these" if state.status == "shifted" else _OTHER_CONFIGURATION
        sentence = f"{state.reason}. The numbers below are {of}."
    elif not report.calibrated:
        anchor, title = "agreement", f"Uncalibrated: {report.word} on {report.name}"
        sentence = "The labels are a model's, not people's: they say whether two models agree, not who is right."
    else:
        anchor, title = "valid", f"Calibrated on {report.name}"
        held = "It holds for this judge, model, prompt, perturbations, repetitions and rule."
        held = " ".join([held, *(f"{_capital(text)}." for text in alike(section))])
        sentence = f"{held} But {why}." if (why := report.untold()) else held
    return CalibrationCard(
        state=anchor,
        title=title,
        sentence=sentence,
        labels=f"{labels_text(report)}; measured {time_text(report.measured_at)}",
        command="" if anchor == "valid" else _command(section.judge),
        tables=tuple(_table(one) for one in report.criteria.values()),
    )


def _command(judge: str) -> str:
    """Return what measures the rule on labels; a name is quoted, since people paste commands."""
    asked = f"judgeharness calibrate config.yaml --judge {quote(judge)} --labels labels.csv"
    return f"{asked} --source human --out calibration.json"


def _table(measured: CriterionCalibration) -> CalibrationTable:
    decisions = tuple(dict.fromkeys(name for row in measured.confusion.values() for name in row))
    return CalibrationTable(
        criterion=measured.criterion,
        size=calibration_size(measured),
        positive=measured.positive,
        rates=tuple(_measures(measured)),
        reason=measured.reason,
        notes=tuple(filter(None, (*_controls(measured.controls), measured.untold, *_strata(measured.strata)))),
        decisions=decisions,
        confusion=tuple(
            (gold, tuple(row.get(name, 0) for name in decisions)) for gold, row in measured.confusion.items()
        ),
    )


def _strata(found: Strata | None) -> tuple[str, ...]:
    return () if found is None else tuple(found.lines())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _controls(found: Controls | None) -> tuple[str, ...]:
    return () if found is None else (found.line, found.sentence)


def _measures(measured: CriterionCalibration) -> Iterator[Measure]:
    for one in calibration_measures(measured):
        rate = one.rate
        yield Measure(
            name=_capital(one.name),
            value=None if one.value is None else one.text if rate is None else percent(rate.value),
            interval=interval_text(*(one.interval or (None, None)), scale=1.0 if rate is None else 100.0),
            of=one.of,
            note=one.note,
            whisker=None if rate is None else whisker(rate.value, rate.low, rate.high),
        )
    if (curve := measured.risk_coverage) is not None:
        yield Measure(
            name="Risk over coverage", value=f"{curve.aurc:.3f}", of=f"AURC, {counted(curve.n, 'labelled case')}"
        )


_PASSES = 0.5
_MOST_LINES = 60  # of one forest; a crowd is summed up instead


@dataclass(frozen=True, kw_only=True)
class AnnotatorLine:
    """The judge against one annotator: how much closer it is to the others, and whether that is enough."""

    annotator: str
    items: int
    difference: str
    interval: str
    candidate: str
    human: str
    p: str
    tango_p: str
    clustered_p: str
    rejected: bool
    whisker: Whisker


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer for one judge, score and epsilon."""

    judge: str
    test: str
    verdict: Literal["yes", "no", "unmeasured"]
    sentence: str
    measures: tuple[Measure, ...]
    caveats: tuple[str, ...]
    lines: tuple[AnnotatorLine, ...]
    more_lines: int
    skipped: tuple[str, ...]
    clustered: bool


@dataclass(frozen=True, kw_only=True)
class AnnotatorsSection:
    """Every judge's answer, and what all of them hold for; `reason` says why nothing was measured."""

    answers: tuple[Answer, ...]
    scope: tuple[str, ...]
    reason: str
    settings: str
    command: str

    @property
    def measured(self) -> bool:
        """Whether any judge was tested."""
        return any(answer.verdict != "unmeasured" for answer in self.answers)


def annotators_section(report: RunReport) -> AnnotatorsSection:
    """Return the section of a report."""
    tested = report.annotators
    if tested is None:
        reason = _sentence_of(report.annotators_reason or "no labels of single annotators were given")
        return AnnotatorsSection(
            answers=(), scope=(), reason=reason, settings="", command=_command_of_annotators(report)
        )
    return AnnotatorsSection(
        answers=tuple(_answer(test, tested) for test in tested.candidates),
        scope=(*tested.controls(), *tested.scope.sentences()),
        reason=_sentence_of(report.annotators_reason or ""),
        settings=f"Alternative annotator test, false discovery rate {tested.q:g}, annotators with at least "
        f"{counted(tested.min_instances, 'case')}",
        command="",
    )


def _command_of_annotators(report: RunReport) -> str:
    """Return what measures it, names quoted since people paste commands; nothing where no command reads it again."""
    if not report.arguments:
        return ""
    labels = "--annotations labels.csv --humans 'annotator_*'"
    return f"judgeharness report {join(report.arguments)} {labels} --html report.html"


def _sentence_of(reason: str) -> str:
    """Return a reason as a sentence of its own."""
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}." if reason else ""


def _answer(test: AltTest, report: AltTestReport) -> Answer:
    kind = " of each annotator's own rate" if test.multiplicative else ""
    shown = test.annotators[:_MOST_LINES]
    return Answer(
        judge=test.candidate,
        test=f"epsilon {test.epsilon:g}{kind}, score {test.score}",
        verdict="unmeasured" if test.passed is None else "yes" if test.passed else "no",
        sentence=_sentence(test),
        measures=tuple(_measures_of_annotators(test)),
        caveats=tuple(_caveats(test, report.scope.cluster)),
        lines=tuple(_lines(test, shown)),
        more_lines=len(test.annotators) - len(shown),
        skipped=test.skipped,
        clustered=report.scope.cluster is not None,
    )


def _sentence(test: AltTest) -> str:
    if test.passed is None:
        return test.reason or "nobody could be tested"
    beaten = f"{test.n_rejected} of {counted(test.m_tested, 'annotator')}"
    worse = f"worse than they are by {test.epsilon:g} or more" if test.epsilon else "no better than they are"
    least = math.ceil(test.m_tested * _PASSES)
    return f"For {beaten} it is ruled out that the judge is {worse}; it takes {least} to pass."


def _measures_of_annotators(test: AltTest) -> Iterator[Measure]:
    if test.omega is None or test.rho is None:
        return
    yield Measure(
        name="Winning rate (omega)",
        value=f"{test.omega:.2f}",
        of=f"{test.n_rejected} of {counted(test.m_tested, 'annotator')}",
        note="passes from 0.50",
        whisker=whisker(test.omega, mark=_PASSES),
    )
    low, high = test.rho_interval or (None, None)
    yield Measure(
        name="Advantage (rho) of the judge",
        value=percent(test.rho),
        interval=interval_text(low, high),
        of=f"over {counted(test.n_instances, 'case')}",
        note="at least as close to the other people as the one left out",
        whisker=whisker(test.rho, low, high, mark=test.rho_human),
    )
    yield Measure(name="Advantage (rho) of people", value=percent(test.rho_human), note="the mark beside the judge's")
    yield Measure(
        name="Ties",
        value=percent(test.tie_rate),
        of="of the comparisons, which both win",
        note="there is no other comparison"
        if test.decisive_rate is None
        else f"of the others the judge wins {percent(test.decisive_rate)}",
    )
    yield from _beside(test)


def _beside(test: AltTest) -> Iterator[Measure]:
    """Yield what the tests beside the paper's say."""
    for name, omega in (("Omega by Tango's test", test.omega_tango), ("Omega by clusters", test.omega_clustered)):
        if omega is not None:
            same = (omega >= _PASSES) == bool(test.passed)
            note = "says the same" if same else "says the opposite"
            yield Measure(name=name, value=f"{omega:.2f}", note=note, whisker=whisker(omega, mark=_PASSES))


def _caveats(test: AltTest, cluster: str | None) -> Iterator[str]:
    yield from test.warnings
    if test.clustered_reason:
        yield f"clustered by {cluster} nothing can be told: {test.clustered_reason}"
    if test.interval_reason:
        yield f"no interval of rho: {test.interval_reason}"


def _lines(test: AltTest, tests: Sequence[AnnotatorTest]) -> Iterator[AnnotatorLine]:
    intervals = [_interval(one) for one in tests]
    ends = [abs(end) for pair in intervals if pair for end in pair]
    reach = max([0.1, test.epsilon, *(abs(one.rho_f - one.rho_h) for one in tests), *ends])
    for one, limits in zip(tests, intervals, strict=True):
        difference = one.rho_f - one.rho_h
        low, high = limits or (None, None)
        edge = -test.epsilon * (one.rho_h if test.multiplicative else 1)
        yield AnnotatorLine(
            annotator=one.annotator,
            items=one.n,
            difference=f"{100 * difference:+.1f}",
            interval=interval_text(low, high),
            candidate=percent(one.rho_f),
            human=percent(one.rho_h),
            p=p_text(one.p_adjusted, none=NONE),
            tango_p=p_text(one.tango_p_adjusted, none=NONE),
            clustered_p=p_text(one.clustered_p_adjusted, none=NONE),
            rejected=one.rejected,
            whisker=whisker(difference, low, high, mark=edge, axis=(-reach, reach)),
        )


def _interval(one: AnnotatorTest) -> tuple[float, float] | None:
    """Return the 95 % t interval of the judge's rate minus the annotator's; None where nothing varies."""
    mean = (one.n_candidate_win - one.n_human_win) / one.n
    squares = one.n_candidate_win * (1 - mean) ** 2 + one.n_human_win * (1 + mean) ** 2 + one.n_tie * mean**2
    if one.n == 1 or not squares:
        return None
    return t_interval(mean, math.sqrt(squares / (one.n - 1) / one.n), one.n - 1)
