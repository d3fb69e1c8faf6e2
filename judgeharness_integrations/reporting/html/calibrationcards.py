"""The anchor of a judge: how right its rule is against people's labels, and whether it may replace annotators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import join, quote
from typing import Final, Literal

from judgeharness_integrations._rendering import renderer
from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration
from judgeharness_integrations.analysis.calibration.strata import Strata
from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport
from judgeharness_integrations.reporting.calibrationtext import (
    alike,
    calibration_measures,
    calibration_size,
    labels_text,
    uncalibrated,
)
from judgeharness_integrations.reporting.html.charts import Whisker, interval_text, percent, whisker
from judgeharness_integrations.reporting.html.overview import Measure
from judgeharness_integrations.verdictlog.plain import counted, time_text

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
        notes=tuple(filter(None, (*_controls(measured.controls), measured.untold, *_strata(measured.told_strata)))),
        decisions=decisions,
        confusion=tuple(
            (gold, tuple(row.get(name, 0) for name in decisions)) for gold, row in measured.confusion.items()
        ),
    )


def _strata(found: Sequence[Strata]) -> tuple[str, ...]:
    return tuple(line for one in found for line in one.lines())


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
    tested, reason = report.annotators, report.annotators_reason
    if tested is not None:
        section: AnnotatorsSection = renderer(tested, "card")(tested, reason=sentence_of(reason or ""))
        return section
    reason = sentence_of(reason or "no labels of single annotators were given")
    return AnnotatorsSection(answers=(), scope=(), reason=reason, settings="", command=_command_of_annotators(report))


def _command_of_annotators(report: RunReport) -> str:
    """Return what measures it, names quoted since people paste commands; nothing where no command reads it again."""
    if not report.arguments:
        return ""
    labels = "--annotations labels.csv --humans 'annotator_*'"
    return f"judgeharness report {join(report.arguments)} {labels} --html report.html"


def sentence_of(reason: str) -> str:
    """Return a reason as a sentence of its own."""
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}." if reason else ""
