"""The head of the page: what was judged, by whom, under which rule, what it comes to, and what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.runs.report import RunReport
from judgeharness_integrations.analysis.runs.summary import CriterionSummary
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.reporting.html.charts import Whisker, interval_text, percent, whisker
from judgeharness_integrations.verdictlog.plain import counted, number_text
from judgeharness_integrations.verdictlog.row import verdict_text

_NAMES = {"PASS": "Rate of PASS", "A": "Rate of A"}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One number with what it stands on. `value` None: it was not measured, and `note` says why."""

    name: str
    value: str | None
    interval: str = ""
    of: str = ""
    note: str = ""
    whisker: Whisker | None = None


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What one judge and criterion come to under one design; `place` is the judge's, from 1."""

    place: int
    judge: str
    criterion: str
    rule: str
    exploratory: bool
    cases: int
    measures: tuple[Measure, ...]


def informal_of(summary: CriterionSummary) -> bool:
    """Whether its cases are single samples, so that nothing was aggregated."""
    return len(summary.design.perturbations) * summary.design.repetitions <= 1


def headlines(report: RunReport) -> list[Headline]:
    """Return the headline numbers of every judge and criterion, in order."""
    return [
        Headline(
            place=place,
            judge=one.judge,
            criterion=one.criterion,
            rule=one.design.rule.name,
            exploratory=one.design.rule_fixed == "after",
            cases=one.cases,
            measures=tuple(_measures(one, informal=report.informal)),
        )
        for place, section in enumerate(report.judges, start=1)
        for one in section.criteria
    ]


def column_names(lines: Sequence[Headline]) -> list[str]:
    """Return what the columns of several headlines are called; `Result` where they differ."""
    columns = zip(*([measure.name for measure in line.measures] for line in lines), strict=True)
    return [names[0] if len(set(names)) == 1 else "Result" for names in columns]


def _measures(summary: CriterionSummary, *, informal: bool) -> Iterator[Measure]:
    if summary.numeric and not summary.verdicts.keys() & {"PASS", "FAIL"}:
        yield _mean(summary.mean_score)
    elif summary.numeric:
        yield _share(_NAMES["PASS"], summary.positive_rate, _cases(summary, summary.positive_rate))
    elif summary.positive is not None:
        yield _share(_NAMES[summary.positive], summary.positive_rate, _cases(summary, summary.positive_rate))
    else:
        leading = next(iter(summary.verdicts), None)
        rate = None if leading is None else summary.rate_of(leading)
        name = "Most frequent" if leading is None else f"Most frequent: {verdict_text(leading)}"
        yield _share(name, rate, _cases(summary, rate), missing="no case was decided" if summary.cases else "no case")
    yield _share("Answered" if informal else "Decided", summary.coverage, "{} cases")
    if not informal:
        yield _share("Abstained", summary.abstention, "{} cases", note=_ungraded(summary))
        yield _consistency(summary)
    yield _right(summary)


def _cases(summary: CriterionSummary, rate: Rate | None) -> str:
    """Return what a rate is of: all cases, or of a run stopped by its gates those they looked at."""
    return "all {} cases" if rate is None or rate.trials == summary.cases else "{} cases its gate looked at"


def _share(name: str, rate: Rate | None, of: str, *, note: str = "", missing: str = "no case") -> Measure:
    if rate is None:
        return Measure(name=name, value=None, note=missing)
    return Measure(
        name=name,
        value=percent(rate.value),
        interval=interval_text(rate.low, rate.high),
        of=f"{rate.successes:,} of {of.format(f'{rate.trials:,}')}",
        note=note,
        whisker=whisker(rate.value, rate.low, rate.high),
    )


def _ungraded(summary: CriterionSummary) -> str:
    return f"and {summary.replay.not_graded:,} not graded" if summary.replay.not_graded else ""


def _mean(mean: Estimate | None) -> Measure:
    if mean is None:
        return Measure(name="Mean score", value=None, note="no case was decided")
    return Measure(
        name="Mean score",
        value=number_text(mean.value),
        interval=interval_text(mean.low, mean.high, scale=1.0),
        of=f"over {counted(mean.n, 'decided case')}",
    )


def _consistency(summary: CriterionSummary) -> Measure:
    rate, chance = summary.consistency_rate, summary.chance_consistency
    if rate is None:
        return Measure(name="Consistency", value=None, note="no case has two valid samples")
    notes = []
    if chance is not None:
        notes.append(f"a guessing judge shows {percent(chance)}")
    elif summary.replay.curtailed:
        notes.append("early stopping: no chance level")
    if summary.agreement is not None:
        notes.append(f"pairs of samples agree {percent(summary.agreement)}")
    return Measure(
        name="Consistency",
        value=percent(rate),
        of="mean over cases",
        note="; ".join(notes),
        whisker=whisker(rate, mark=chance),
    )


def _right(summary: CriterionSummary) -> Measure:
    name = "Right against gold"
    error = summary.replay.mean_absolute_error
    if error is not None:
        of = f"mean absolute error over {counted(summary.replay.labelled, 'decided case')} with gold"
        return Measure(name="Error against gold", value=number_text(error), of=of)
    if summary.accuracy is None:
        return Measure(name=name, value=None, note="no decided case has a gold label")
    return _share(name, summary.accuracy, "{} decided cases with gold")
