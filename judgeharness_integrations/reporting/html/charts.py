"""What the page's pictures and numbers are made of, and its head: what was judged, by whom, what it comes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.report import CriterionSummary, RunReport
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.verdictlog.encoding import counted, number_text
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.probability.scores import ReliabilityPoint

_MOST_STEPS, _RANGES = 40, 20
_FEWEST = 5  # columns are no wider than if there were so many
_OFF = 1e-6


@dataclass(frozen=True, kw_only=True)
class Column:
    """Scores of one value, or from `label` on; geometry in percent of the picture."""

    label: str
    count: int
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Columns from the lowest to the highest score."""

    columns: tuple[Column, ...]
    low: str
    high: str
    tallest: int

    @property
    def words(self) -> str:
        """What it shows, for those who do not see it."""
        return ", ".join(f"{one.label}: {one.count}" for one in self.columns if one.count)


def histogram(verdicts: Mapping[Verdict, int]) -> Histogram | None:
    """Return the columns of scores and their counts; None without any.

    The axis is true: scores on a grid of at most 41 steps have a column a step, also where it is empty; others are
    counted in 20 ranges of one width.
    """
    counts = {float(score): count for score, count in verdicts.items()}  # type: ignore[arg-type]
    if not counts:
        return None
    low, high = min(counts), max(counts)
    steps = _on_grid(counts, low, high) or _ranges(counts, low, high)
    tallest = max(count for _, count in steps)
    width = 100 / max(len(steps), _FEWEST)
    before = (100 - width * len(steps)) / 2
    columns = tuple(
        Column(
            label=label,
            count=count,
            x=f"{before + place * width + width * 0.06:.2f}%",
            y=f"{100 - 100 * count / tallest:.2f}%",
            width=f"{width * 0.88:.2f}%",
            height=f"{100 * count / tallest:.2f}%",
        )
        for place, (label, count) in enumerate(steps)
    )
    return Histogram(columns=columns, low=verdict_text(low), high=verdict_text(high), tallest=tallest)


def _on_grid(counts: Mapping[float, int], low: float, high: float) -> list[tuple[str, int]]:
    """Return a column a step of the smallest distance between two scores; none where they lie on no such grid."""
    scores = sorted(counts)
    step = min((after - before for before, after in pairwise(scores)), default=1.0)
    number = (high - low) / step
    if number > _MOST_STEPS or any(abs((score - low) / step - round((score - low) / step)) > _OFF for score in scores):
        return []
    places = {round((score - low) / step): (verdict_text(score), counts[score]) for score in scores}
    return [places.get(place, (f"{low + place * step:.6g}", 0)) for place in range(round(number) + 1)]


def _ranges(counts: Mapping[float, int], low: float, high: float) -> list[tuple[str, int]]:
    width = high / _RANGES - low / _RANGES
    totals = [0] * _RANGES
    for score, count in counts.items():
        totals[min(int((score - low) / width), _RANGES - 1)] += count
    return [(f"{low + step * width:.4g} to", total) for step, total in enumerate(totals)]


NONE = "\u2013"
FIELDS = {"input": "Input", "output": "Answer", "output_b": "Answer B", "reference": "Reference", "context": "Context"}


def percent(share: float | None, *, sign: str = "") -> str:
    """Return `41.7 %`; `0 %` and `100 %` only where they are exact; a dash when it was not measured."""
    if share is None:
        return NONE
    whole = share in (0, 1, -1)
    return f"{100 * share:{sign}.{0 if whole else 1}f}\u00a0%"


def interval_text(low: float | None, high: float | None, *, scale: float = 100.0) -> str:
    """Return `[24.5, 61.2]`, in percent unless scaled otherwise; nothing where there is none."""
    if low is None or high is None:
        return ""
    digits = 1 if scale == 100.0 else 3  # noqa: PLR2004 - percent
    return f"[{scale * low:.{digits}f}, {scale * high:.{digits}f}]"


def grouped(count: float) -> str:
    """Return a count with its thousands apart: `27,235`."""
    return f"{count:,}" if isinstance(count, int) else number_text(count)


def decision_word(verdict: Verdict | None) -> str:
    """Return the decision for people."""
    return "NOT GRADED" if verdict is None else verdict_text(verdict)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One part of a bar: where it starts and how wide it is, in percent of the bar."""

    label: str
    count: int
    share: str
    tone: str
    x: str
    width: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Counts side by side that add up to `total`."""

    segments: tuple[Segment, ...]
    total: int

    @property
    def words(self) -> str:
        """What it shows, for those who do not see it."""
        return ", ".join(f"{one.count}\u00d7 {one.label}" for one in self.segments) or "none"


@dataclass(frozen=True, kw_only=True)
class Whisker:
    """A value on an axis, its interval (None: there is none) and a mark to compare it with, in percent of the axis."""

    at: str
    low: str | None = None
    high: str | None = None
    mark: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A bin of a reliability curve in percent of the picture, its interval upright, and in words."""

    x: str
    y: str
    top: str | None
    foot: str | None
    words: str


def dots(curve: Iterable[ReliabilityPoint]) -> tuple[Dot, ...]:
    """Return the bins of a reliability curve: to the right what the judge said, upwards how often it came true."""
    return tuple(
        Dot(
            x=_percent(one.probability),
            y=_percent(1 - one.share.value),
            top=None if one.share.high is None else _percent(1 - one.share.high),
            foot=None if one.share.low is None else _percent(1 - one.share.low),
            words=f"said {percent(one.probability)}, true {percent(one.share.value)} of {grouped(one.n)}",
        )
        for one in curve
    )


def bar(counts: Iterable[tuple[str, int, str]]) -> Bar:
    """Return the bar of (label, count, tone), without empty parts."""
    kept = [one for one in counts if one[1]]
    total, segments, before = sum(count for _, count, _ in kept), list[Segment](), 0
    for label, count, tone in kept:
        place, width = _percent(before / total), _percent(count / total)
        segments.append(
            Segment(label=label, count=count, share=percent(count / total), tone=tone, x=place, width=width)
        )
        before += count
    return Bar(segments=tuple(segments), total=total)


def whisker(
    value: float,
    low: float | None = None,
    high: float | None = None,
    *,
    mark: float | None = None,
    axis: Sequence[float] = (0.0, 1.0),
) -> Whisker:
    """Return where a value, its interval and a mark stand on an axis from its first to its second end."""
    start, span = axis[0], (axis[1] - axis[0]) or 1.0

    def place(number: float | None) -> str | None:
        return None if number is None else _percent(min(max((number - start) / span, 0.0), 1.0))

    return Whisker(at=str(place(value)), low=place(low), high=place(high), mark=place(mark))


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


_FIXED = {
    "PASS": "pass",
    "FAIL": "fail",
    "A": "first",
    "B": "second",
    "TIE": "tie",
    "ABSTAIN": "abstain",
    "NOT GRADED": "ungraded",
}
_LABELS = 8  # colours of other labels, after which they start again
_STEPS = 7  # from the lowest score to the highest


class Tones:
    """Criterion and verdict -> the name of a colour.

    Args:
        results: everything the page shows.

    """

    def __init__(self, results: Iterable[HarnessResult]) -> None:
        """Learn which verdicts there are."""
        found: dict[str, set[Verdict]] = {}
        for result in results:
            for name, measured in result.criteria.items():
                verdicts = found.setdefault(name, set())
                verdicts.update(measured.sample_distribution)
                if measured.verdict is not None:
                    verdicts.add(measured.verdict)
        self._labels = {name: _numbered(verdicts) for name, verdicts in found.items()}
        self._scores = {name: _ends(verdicts) for name, verdicts in found.items()}

    def of(self, criterion: str, verdict: Verdict | None) -> str:
        """Return the colour of one verdict of a criterion."""
        if is_number(verdict):
            low, high = self._scores[criterion]
            share = (float(verdict) - low) / (high - low) if high > low else 0.5  # type: ignore[arg-type]
            return f"score-{min(int(share * _STEPS), _STEPS - 1) + 1}"
        word = decision_word(verdict)
        return _FIXED.get(word) or self._labels[criterion][word]


def _numbered(verdicts: Iterable[Verdict]) -> Mapping[str, str]:
    words = sorted({verdict_text(one) for one in verdicts if not is_number(one)} - _FIXED.keys())
    return {word: f"label-{number % _LABELS + 1}" for number, word in enumerate(words)}


def _ends(verdicts: Iterable[Verdict]) -> tuple[float, float]:
    scores = [float(one) for one in verdicts if isinstance(one, (int, float))]
    return (min(scores), max(scores)) if scores else (0.0, 0.0)


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
