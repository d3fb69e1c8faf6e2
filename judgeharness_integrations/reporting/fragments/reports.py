"""A calibration, a replay and a run as pieces of HTML that a notebook shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.reporting.calibrationtext import calibration_section
from judgeharness_integrations.reporting.fragments.results import rendered, section_html
from judgeharness_integrations.reporting.text import cost_text
from judgeharness_integrations.verdictlog.plain import counted

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.saved import CalibrationReport
    from judgeharness_integrations.analysis.replay.report import ReplayReport
    from judgeharness_integrations.analysis.runs.report import RunReport
    from judgeharness_integrations.analysis.runs.summary import CriterionSummary

__all__ = [
    "calibration_fragment",
    "replay_fragment",
    "report_fragment",
]


_MOST: Final = 40
_MOST_NOTES: Final = 12
_NOTHING: Final = "-"
_Interval = tuple[float | None, float | None] | None


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, notes: Sequence[str] = (), texts: int = 1
) -> str:
    """Return a titled table; the first `texts` columns are texts, the others numbers."""
    return rendered(
        "table.html",
        title=title,
        columns=columns,
        rows=rows[:_MOST],
        more=max(0, len(rows) - _MOST),
        notes=_shortened([note for note in notes if note]),
        texts=texts,
    )


def _shortened(notes: list[str]) -> list[str]:
    """Return the notes, or the first of them and how many more there are."""
    if len(notes) <= _MOST_NOTES:
        return notes
    return [*notes[: _MOST_NOTES - 1], f"and {len(notes) - _MOST_NOTES + 1} more notes"]


def _number(value: float | None, digits: int = 3) -> str:
    return _NOTHING if value is None else f"{value:.{digits}f}"


def _interval_of_reports(ends: _Interval, digits: int = 3) -> str:
    low, high = ends or (None, None)
    return _NOTHING if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def replay_fragment(report: ReplayReport) -> str:
    """Return a replay as HTML: a row a judge and criterion."""
    rows = [
        (
            one.judge,
            one.criterion,
            f"{one.decided} of {one.cases}",
            str(one.abstained),
            str(one.not_graded),
            _NOTHING if one.correct is None else f"{_number(one.accuracy)} ({one.correct}/{one.labelled})",
            _interval_of_reports(one.accuracy_interval),
            _number(one.consistency_rate),
            _number(one.position_consistency),
        )
        for one in report.judges
    ]
    columns = (
        "judge",
        "criterion",
        "decided",
        "abstained",
        "not graded",
        "accuracy",
        "95 %",
        "consistency",
        "position",
    )
    chosen = "" if report.rule_fixed == "before" else "rule chosen after the samples: exploratory"
    about = "accuracy is of decided cases with a gold label; position: same verdict in both orders"
    return _table(f"replay under {report.rule}", columns, rows, notes=(chosen, about), texts=2)


def report_fragment(report: RunReport) -> str:
    """Return a run or log as HTML: a row a judge and criterion, then what was not measured, and how often."""
    counts = ("judge", "criterion", "rule", "decided", "abstained", "not graded")
    columns = (*counts, "result", "95 %", "accuracy", "consistency")
    sections = report.judges
    word = "calibrated" if sections and all(section.calibrated for section in sections) else "not calibrated"
    state = "" if report.state == "complete" else f"the run did not finish: {report.state.replace('_', ' ')}"
    bills = ((one.judge, cost_text(one.cost, one.cost_remarks)) for one in sections)
    cost = [f"{judge}: {money}" for judge, money in bills if money is not None]
    said: dict[str, int] = {}
    for section in sections:
        for sentence, cases in section.not_measured.items():
            said[sentence] = said.get(sentence, 0) + cases
    boundary = (f"{sentence} ({cases} of {len(report.results)} results)" for sentence, cases in said.items())
    title = f"{report.source}: {counted(report.cases, 'case')}, {counted(len(sections), 'judge')}, {word}"
    rows = [_summary(one) for one in report.summaries]
    controls = (
        f"{one.judge}, {one.criterion}: {one.controls.sentence}" for one in report.summaries if one.controls is not None
    )
    return _table(title, columns, rows, notes=(state, *cost, *controls, *boundary), texts=3)


def _summary(one: CriterionSummary) -> tuple[str, ...]:
    shown = one.mean_score or one.positive_rate  # scores that a rule turns into PASS and FAIL have the latter
    what = "mean" if one.mean_score else one.positive or "rate"
    return (
        one.judge,
        one.criterion,
        one.design.rule.name,
        f"{one.replay.decided} of {one.cases}",
        str(one.replay.abstained),
        str(one.replay.not_graded),
        _NOTHING if shown is None else f"{what} {shown.value:.3f}",
        _NOTHING if shown is None else _interval_of_reports((shown.low, shown.high)),
        _right(one),
        _number(one.consistency_rate),
    )


def _right(one: CriterionSummary) -> str:
    error, accuracy = one.replay.mean_absolute_error, one.accuracy
    if error is not None:
        return f"off by {error:.3f} ({one.replay.labelled})"
    return _NOTHING if accuracy is None else f"{accuracy.value:.3f} ({accuracy.successes}/{accuracy.trials})"


def calibration_fragment(report: CalibrationReport) -> str:
    """Return a calibration as HTML that a notebook shows."""
    return section_html(calibration_section(report))
