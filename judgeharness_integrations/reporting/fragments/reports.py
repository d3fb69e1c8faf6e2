"""A ranking and a calibration as HTML tables that a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport
from judgeharness_integrations.reporting.fragments.results import rendered
from judgeharness_integrations.verdictlog.plain import counted, ends, fixed, time_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.ranking.report import RankReport

__all__ = ["calibration_fragment", "rank_fragment"]


_RATES: Final = ("precision", "recall", "accuracy", "coverage", "specificity")
_MEASURES: Final = (
    *_RATES,
    "balanced_accuracy",
    "kappa",
    "lift",
    "ac1",
    "macro_f1",
    "spearman",
    "kendall",
    "quadratic_kappa",
)


def _measured_rows(report: CalibrationReport) -> list[tuple[str, ...]]:
    """Return (criterion, measure, value, interval, denominator) of every measure that is defined."""
    return [row for measured in report.criteria.values() for row in _rows(measured)]


def _rows(measured: CriterionCalibration) -> Iterator[tuple[str, ...]]:
    for name in _MEASURES:
        value: Any = getattr(measured, name)
        if value is not None:
            of = f"{value.successes}/{value.trials}" if isinstance(value, Rate) else f"n={value.n}"
            yield measured.criterion, name.replace("_", " "), fixed(value.value), _interval(value), of
    if (errors := measured.errors) is not None:
        for name in ("mean_absolute_error", "bias"):
            value, interval = fixed(getattr(errors, name)), ends(getattr(errors, f"{name}_interval"))
            yield measured.criterion, name.replace("_", " "), value, interval, f"n={errors.n}"


def _interval(value: Any) -> str:
    low, high = getattr(value, "low", None), getattr(value, "high", None)
    if low is not None and high is not None:
        return ends((low, high))
    error = getattr(value, "se", None)
    return "-" if error is None else f"SE {error:.3f}"


_MOST: Final = 40
_MOST_NOTES: Final = 12
_NOTHING: Final = "-"


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


def rank_fragment(report: RankReport) -> str:
    """Return a leaderboard as HTML: a row a judge, by rank."""
    longer = any(one.measures.prefers_longer is not None for one in report.judges)
    rows = [
        (
            _NOTHING if one.rank is None else str(one.rank),
            one.judge,
            one.place if one.elo is None else fixed(one.elo, 0),
            ends(one.ci95, 0),
            "{}-{}".format(*one.rank_range) if one.rank_range else _NOTHING,
            f"{fixed(one.right_of_labelled)} ({one.correct:g}/{one.n})",
            *([fixed(one.eip)] if report.method == "eip" else []),
            *([fixed(one.measures.prefers_longer), fixed(one.measures.better_longer)] if longer else []),
        )
        for one in report.judges
    ]
    eip = ["EIP"] if report.method == "eip" else []
    lengths = ["prefers longer", "better is longer"] if longer else []
    columns = ("rank", "judge", "Elo", "95 %", "ranks", "right of all labelled", *eip, *lengths)
    judges = counted(len(report.judges), "judge")
    title = f"ranking by {report.method}: {judges}, {report.n_pairs} of {report.n_pairs_total} pairs"
    left_out = {
        "flagged by people": report.n_flagged,
        "unanimous": report.n_unanimous,
        "unanswered": report.n_unanswered,
        "cut as the hardest": report.n_cut,
    }
    without = ", ".join(f"{count} {why}" for why, count in left_out.items() if count)
    notes = (
        f"rule {report.rule}, failures {report.failures}, ties {report.ties}",
        without and f"left out: {without}",
        *report.controls(),
        *(panel.sentence for panel in report.panels[-1:]),
        *report.diagnostics.sentences(),
    )
    return _table(title, columns, rows, notes=notes, texts=2)


def calibration_fragment(report: CalibrationReport) -> str:
    """Return a calibration as HTML: a row a criterion and measure, then the table of confusions."""
    labels = f"labels: {report.source}, consensus {report.consensus}, {report.excluded_ties} ties left out"
    confusions = (
        f"{name}, gold {gold}: " + ", ".join(f"{decision} {count}" for decision, count in row.items())
        for name, measured in report.criteria.items()
        for gold, row in measured.confusion.items()
    )
    reasons = (f"{name}: {measured.reason}" for name, measured in report.criteria.items() if measured.reason)
    controls = (
        f"{name}: {sentence}"
        for name, measured in report.criteria.items()
        for sentence in (measured.untold, *((measured.controls.sentence,) if measured.controls is not None else ()))
        if sentence
    )
    notes = (f"judge {report.judge}, measured {time_text(report.measured_at)}", *reasons, *controls, *confusions)
    columns = ("criterion", "measure", "value", "95 %", "of")
    return _table(f"{report.word} on {report.name} ({labels})", columns, _measured_rows(report), notes=notes, texts=2)
