"""One card a judge: decisions, what changes them, failures, cost, and how right its rule is against labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import join, quote
from typing import TYPE_CHECKING, Final, Literal

from judgeharness_integrations._lazy import renderer
from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration
from judgeharness_integrations.analysis.calibration.strata import Strata
from judgeharness_integrations.analysis.certifying.certificate import held_text
from judgeharness_integrations.analysis.replay.report import JudgeReplay
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.report import CriterionSummary, FlipRate, JudgeSection, RunReport
from judgeharness_integrations.analysis.runs.summarising import design_key, gold_of
from judgeharness_integrations.analysis.usage import Usage
from judgeharness_integrations.verdictlog.encoding import counted, number_text, time_text
from judgeharness_integrations.verdictlog.row import OUTCOMES, is_number

from ..calibrationtext import alike, calibration_measures, calibration_size, labels_text, uncalibrated
from ..measured import band_text, figures_text, moved_text
from ..text import tokens_text
from .charts import (
    Bar,
    Dot,
    Histogram,
    Measure,
    Tones,
    Whisker,
    bar,
    decision_word,
    dots,
    grouped,
    histogram,
    informal_of,
    interval_text,
    percent,
    whisker,
)

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.probability.measuring import ProbabilitySummary

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
            title="Not calibrated",
            sentence=f"{_capital(uncalibrated(section.criteria).partition(': ')[2])}.",
            labels="",
            command=_command(section.judge),
            tables=(),
        )
    if not state.valid:
        anchor: Anchor = _NOT_HELD[state.status]
        title = f"Not calibrated: the calibration on {report.name} is {state.status}"
        of = "of the labelled cases, not of these" if state.status == "shifted" else _OTHER_CONFIGURATION
        sentence = f"{state.reason}. The numbers below are {of}."
    elif not report.calibrated:
        anchor, title = "agreement", f"Not calibrated: {report.word} on {report.name}"
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
        notes=tuple(
            filter(None, (*_calibration_controls(measured.controls), measured.untold, *_strata(measured.told_strata)))
        ),
        decisions=decisions,
        confusion=tuple(
            (gold, tuple(row.get(name, 0) for name in decisions)) for gold, row in measured.confusion.items()
        ),
    )


def _strata(found: Sequence[Strata]) -> tuple[str, ...]:
    return tuple(line for one in found for line in one.lines())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _calibration_controls(found: Controls | None) -> tuple[str, ...]:
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


_FAILURES = OUTCOMES[1:]


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A name, what was found, and what it means or stands on."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Flip:
    """How often verdicts with and without one perturbation differ; of `none`, those of two samples of it."""

    name: str
    value: str
    interval: str
    cases: int
    whisker: Whisker
    moved: str = ""


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """How often probabilities come true: of which option, the bins, and what is said of them."""

    event: str
    labels: int
    dots: tuple[Dot, ...]
    sentence: str

    @property
    def words(self) -> str:
        """What it shows, for those who do not see it."""
        return "; ".join(dot.words for dot in self.dots)


@dataclass(frozen=True, kw_only=True)
class CriterionCard:
    """One criterion of a judge under one design."""

    name: str
    design: str
    informal: bool
    numeric: bool
    decisions: Bar
    scores: Histogram | None
    flips: tuple[Flip, ...]
    noise: Flip | None
    unflipped: str
    retest: str
    reliability: Reliability | None
    unreliable: str
    position: tuple[Fact, ...]
    samples: tuple[Fact, ...]
    single_calls: tuple[Fact, ...]
    controls: tuple[Fact, ...]
    beside_controls: str


@dataclass(frozen=True, kw_only=True)
class Badge:
    """What a judge's decisions stand on, in a word, and the `anchor` whose colours it has."""

    word: str
    anchor: Anchor


@dataclass(frozen=True, kw_only=True)
class JudgeCard:
    """One judge: who it is, its criteria, its anchor, its bill."""

    name: str
    models: tuple[str, ...]
    fingerprint: str | None
    cases: str
    criteria: tuple[CriterionCard, ...]
    calibration: CalibrationCard
    certificates: tuple[str, ...]
    badges: tuple[Badge, ...]
    cost: tuple[Fact, ...]
    calibrating: tuple[Fact, ...]
    skipped: tuple[Fact, ...]
    warnings: tuple[str, ...]


def judge_card(section: JudgeSection, results: Sequence[HarnessResult], tones: Tones) -> JudgeCard:
    """Return the card of one judge.

    Args:
        section: what its cases come to.
        results: its cases.
        tones: the page's colours.

    """
    waiting = f", {grouped(section.not_asked)} not asked" if section.not_asked else ""
    card = calibration_card(section)
    return JudgeCard(
        name=section.judge,
        models=section.models,
        fingerprint=section.fingerprint,
        cases=counted(section.cases, "case") + waiting,
        criteria=tuple(_criterion(one, results, tones) for one in section.criteria),
        calibration=card,
        certificates=tuple(held_text(*one).removeprefix("certificate: ") for one in section.certificates),
        badges=tuple(_badges(section, card)),
        cost=tuple(_cost(section.usage, section.cost, section.cases, section.cost_remarks)),
        calibrating=()
        if section.calibration_usage is None
        else tuple(_cost(section.calibration_usage, section.calibration_cost, None, section.cost_remarks)),
        skipped=tuple(
            Fact(name=name, value=counted(count, "case"), note="did not fit, and was not asked")
            for name, count in section.skipped.items()
        ),
        warnings=section.every_warning,
    )


def _badges(section: JudgeSection, card: CalibrationCard) -> Iterator[Badge]:
    """Yield that a judge is calibrated, that it is certified, or else that it is neither."""
    certified = bool(section.certificates) and all(state.valid for _, state in section.certificates)
    if card.state == "valid":
        yield Badge(word="calibrated", anchor="valid")
    elif not certified:
        yield Badge(word="not calibrated", anchor=card.state)
    if certified:
        yield Badge(word="certified", anchor="valid")


def _criterion(summary: CriterionSummary, results: Sequence[HarnessResult], tones: Tones) -> CriterionCard:
    scored = summary.numeric and all(is_number(verdict) for verdict in summary.verdicts)
    return CriterionCard(
        name=summary.criterion,
        design=_design(summary),
        informal=informal_of(summary),
        numeric=scored,
        decisions=_decisions(summary, tones, scored=scored),
        scores=histogram(summary.verdicts) if scored else None,
        flips=tuple(_flip(flip, summary.probabilities) for flip in summary.flips),
        noise=None if summary.noise is None else _flip(summary.noise),
        unflipped=_unflipped(summary),
        retest="" if summary.probabilities is None else sentence_of(band_text(summary.probabilities)),
        reliability=_reliability(summary.probabilities),
        unreliable="" if summary.probabilities is None else summary.probabilities.unlabelled,
        position=tuple(_position(summary.replay)),
        samples=tuple(_samples(summary)),
        single_calls=tuple(_single_calls(summary, results)),
        controls=() if summary.controls is None else tuple(_controls(summary.controls)),
        beside_controls="" if summary.controls is None else summary.controls.sentence,
    )


def _design(summary: CriterionSummary) -> str:
    design = summary.design
    if informal_of(summary):
        return "one sample a case, as the judge gave it: informal, not a measurement"
    when = "chosen before the samples" if design.rule_fixed == "before" else "chosen after the samples: exploratory"
    asked = f"{', '.join(design.perturbations)} \u00d7 {counted(design.repetitions, 'sample')}"
    early = ", with early stopping" if design.curtail else ""
    quorum = "" if design.min_valid is None else f"; at least {counted(design.min_valid, 'valid sample')}"
    return f"{design.rule.name}, {when}; {asked}{early}{quorum}"


def _decisions(summary: CriterionSummary, tones: Tones, *, scored: bool) -> Bar:
    replay, name = summary.replay, summary.criterion
    decided = (
        [("decided", replay.decided, "decided")]
        if scored
        else [(decision_word(verdict), count, tones.of(name, verdict)) for verdict, count in summary.verdicts.items()]
    )
    return bar([*decided, ("ABSTAIN", replay.abstained, "abstain"), ("NOT GRADED", replay.not_graded, "ungraded")])


def _reliability(found: ProbabilitySummary | None) -> Reliability | None:
    if found is None or found.figures is None:
        return None
    first, *others = found.options
    return Reliability(
        event=first if len(others) == 1 else "the most probable answer",
        labels=found.labelled,
        dots=dots(found.figures.curve),
        sentence=sentence_of(figures_text(found.figures)),
    )


def _flip(flip: FlipRate, shares: ProbabilitySummary | None = None) -> Flip:
    moved = None if shares is None else shares.changes.get(flip.perturbation)
    return Flip(
        name=flip.perturbation,
        value=percent(flip.value),
        interval=interval_text(flip.low, flip.high),
        cases=flip.cases,
        whisker=whisker(flip.value, flip.low, flip.high),
        moved="" if moved is None else moved_text(moved),
    )


def _unflipped(summary: CriterionSummary) -> str:
    """Return why there are no flip rates."""
    if summary.design.curtail:
        return "not measured: early stopping asks later perturbations only where the decision is still open"
    if all(name == "none" for name in summary.design.perturbations):
        return "not measured: nothing was changed between the samples"
    return "not measured: no case has valid samples with and without a change"


def _position(replay: JudgeReplay) -> Iterator[Fact]:
    if replay.position_consistency is None:
        return
    yield Fact(
        name="Same verdict in both orders",
        value=percent(replay.position_consistency),
        note=f"of {counted(replay.pairs, 'pair')} of samples that differ in the order alone",
    )
    if replay.first_slot_rate is not None:
        yield Fact(
            name="Wins of the text shown first", value=percent(replay.first_slot_rate), note="50 % without a lean"
        )
    yield Fact(
        name="Always the first slot", value=grouped(replay.always_first or 0), note="pairs that chose it in both orders"
    )
    lean = (
        "" if replay.position_bias_p is None else f"; exact test of a lean over cases: p {replay.position_bias_p:.3f}"
    )
    yield Fact(
        name="Always the second slot",
        value=grouped(replay.always_second or 0),
        note=f"pairs that chose it in both orders{lean}",
    )


def _samples(summary: CriterionSummary) -> Iterator[Fact]:
    asked = sum(summary.outcomes.values())
    planned = "" if asked == summary.planned else f" of {grouped(summary.planned)} planned"
    yield Fact(name="Samples asked", value=grouped(asked) + planned)
    for outcome in _FAILURES:
        if count := summary.outcomes.get(outcome, 0):
            yield Fact(
                name=f"Failed: {outcome}", value=grouped(count), note=f"{percent(count / asked)} of {grouped(asked)}"
            )
    if asked and summary.outcomes.get("ok") == asked:
        yield Fact(name="Failed", value="0", note=f"of {grouped(asked)}: every answer holds a verdict")
    if summary.replay.censored:
        yield Fact(
            name="Stopped early",
            value=counted(summary.replay.censored, "case"),
            note="their decision could no longer change; consistency is that of stopped samples",
        )
    if summary.replay.within_case_sd is not None:
        yield Fact(
            name="Spread within a case", value=number_text(summary.replay.within_case_sd), note="standard deviation"
        )


def _single_calls(summary: CriterionSummary, results: Sequence[HarnessResult]) -> Iterator[Fact]:
    """Yield how right single calls are, of all calls about cases with gold; no interval: those of a case depend."""
    asked: Counter[str] = Counter()
    key = design_key(summary.design)
    for result in results:
        measured = result.criteria.get(summary.criterion)
        gold = gold_of(result, summary.criterion)
        if measured is None or gold is None or is_number(gold) or design_key(result.design) != key:
            continue
        for part in measured.perturbations:
            asked[part.name] += part.asked
    for name, share in (summary.replay.single_call_accuracy or {}).items():
        if share is not None:
            calls = asked[name]
            yield Fact(
                name=name, value=percent(share), note=f"{grouped(round(share * calls))} of {counted(calls, 'call')}"
            )


def _controls(found: Controls) -> Iterator[Fact]:
    """Yield the judge and the judges that read nothing, on the same cases."""
    show = number_text if found.scored else percent
    error = "mean absolute error, " if found.scored else ""
    yield Fact(name="This judge", value=show(found.value), note=f"{error}{counted(found.n, 'decided case')} with gold")
    for one in found.shown:
        name = one.says[:1].upper() + one.says[1:]
        if one.value is None:
            yield Fact(name=name, value="not measured", note=one.reason)
        else:
            yield Fact(
                name=name, value=show(one.value), note="" if one.n == found.n else f"of {counted(one.n, 'case')}"
            )


def _cost(usage: Usage, cost: float | None, cases: int | None, remarks: Sequence[str]) -> Sequence[Fact]:
    each = f"{usage.calls / cases:.1f} a case" if cases else ""
    extra = usage.attempts - usage.calls
    tokens = tokens_text(usage, number=grouped)
    wait = None if usage.latency_s is None else f"{usage.latency_s:,.1f} s"
    mean = f"{usage.latency_s / usage.calls:.2f} s a call" if usage.latency_s is not None and usage.calls else ""
    money = None if cost is None else number_text(cost) if cost else "0"
    by = "by the prices given" if money else "no prices were given"
    return [
        Fact(name="Calls", value=grouped(usage.calls), note=each),
        Fact(name="Attempts", value=grouped(usage.attempts), note=f"{grouped(extra)} tried again" if extra > 0 else ""),
        *([Fact(name="Rewrites", value=grouped(usage.rewrites))] if usage.rewrites else []),
        *(
            [Fact(name="Re-used", value=grouped(usage.reused), note="paid for by an earlier run")]
            if usage.reused
            else []
        ),
        Fact(name="Tokens", value=tokens or "unknown", note="read + written" if tokens else "no call reported them"),
        Fact(name="Waited for the judge", value=wait or "unknown", note=mean if wait else "no call reported it"),
        Fact(name="Money", value=money or "unknown", note="; ".join(remarks) or by),
    ]
