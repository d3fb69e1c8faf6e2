"""Rows of a judge that answers with probabilities -> what is known of each of its questions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion
from judgeharness_integrations.analysis.calibration.items import LabelledItem, read_score
from judgeharness_integrations.analysis.calibration.selection import selection_by_sureness, selection_of_items
from judgeharness_integrations.analysis.certifying.measuring import shortfall, step_tests
from judgeharness_integrations.analysis.certifying.sequence import labels_needed
from judgeharness_integrations.analysis.probability.fitting import choose, fold_of, mapped
from judgeharness_integrations.analysis.probability.forecasts import Forecasts
from judgeharness_integrations.analysis.probability.forms import AnswerChange, RetestBand
from judgeharness_integrations.analysis.probability.maps import ProbabilityMap
from judgeharness_integrations.analysis.probability.passport import VOTES, FormChange, Noise, QuestionPassport, Trust
from judgeharness_integrations.analysis.probability.report import FEWEST, assess
from judgeharness_integrations.analysis.probability.rows import (
    LabelledRows,
    labelled_rows,
    mean_answers,
    rows_band,
    rows_changes,
)
from judgeharness_integrations.verdictlog.plain import counted
from judgeharness_integrations.verdictlog.row import VerdictRow, most_probable

_HALVES = 2
_LABELLED = "labelled"  # which label it is says nothing about how a case was selected
_Shares = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Bars:
    """What answers have to keep to be certified: `agreement` with confidence 1 - `delta`, over all questions together.

    Raises:
        UsageError: one of them does not lie between 0 and 1.

    """

    agreement: float = 0.9
    delta: float = 0.1

    def __post_init__(self) -> None:
        """Check both."""
        for name, value in (("agreement", self.agreement), ("delta", self.delta)):
            if not 0 < value < 1:
                raise UsageError(f"{name} must lie between 0 and 1, not {value:g}.")


def question_passports(
    rows: Sequence[VerdictRow],
    *,
    votes: Iterable[str] = VOTES,
    bars: Bars | None = None,
    seed: int = 0,
) -> tuple[QuestionPassport, ...]:
    """Return what the rows of one judge say of each of its questions.

    Args:
        rows: answers about cases under `none`, other forms and the retest; gold where people labelled.
        votes: the perturbations that are averaged before a decision; the others are forms that are compared alone.
        bars: what is to be certified.
        seed: of folds and simulations.

    Raises:
        UsageError: no row holds probabilities.

    """
    groups = {
        name: group for name, group in by_criterion(rows).items() if any(row.probabilities is not None for row in group)
    }
    if not groups:
        raise UsageError("no answer holds probabilities: a passport is of a judge that answers with them.")
    questions = [_Question.of(name, group, frozenset(votes)) for name, group in groups.items()]
    labelled = sum(one.labelled is not None for one in questions)
    asked = bars or Bars()
    return tuple(one.passport(asked, level=asked.delta / max(1, labelled), seed=seed) for one in questions)


@dataclass(frozen=True, kw_only=True)
class _Question:
    """The answers to one question: what each case comes to, what people said, and how far answers move."""

    criterion: str
    means: Mapping[tuple[str, str], _Shares]
    labelled: LabelledRows | None
    graded: frozenset[str]  # cases of a score with a label
    clusters: Mapping[str, Hashable]
    band: RetestBand | None
    changes: Mapping[str, AnswerChange]

    @classmethod
    def of(cls, criterion: str, rows: Sequence[VerdictRow], votes: frozenset[str]) -> _Question:
        """Read the rows of one criterion."""
        means = {place: mean for place, mean in mean_answers(rows, votes=votes).items() if mean is not None}
        scored = all(read_score(name) is not None for mean in means.values() for name in mean)
        return cls(
            criterion=criterion,
            means=means,
            labelled=None if scored else labelled_rows(rows, votes=votes),
            graded=frozenset(row.case_id for row in rows if scored and row.gold is not None),
            clusters=Clusters.of_rows(rows).by_case(),
            band=rows_band(rows),
            changes=rows_changes(rows),
        )

    def passport(self, bars: Bars, *, level: float, seed: int) -> QuestionPassport:
        """Return what is known of it."""
        band = self.band
        return QuestionPassport(
            criterion=self.criterion,
            options=tuple(dict.fromkeys(name for mean in self.means.values() for name in mean)),
            cases=len(self.means),
            noise=None if band is None else Noise(n=band.n, change=band.change, identical=band.identical),
            forms=tuple(self._forms()),
            trust=self._trust_of_levels(bars.agreement, level)
            if self.labelled is None
            else self._trust(self.labelled, bars.agreement, level, seed),
        )

    def _trust_of_levels(self, agreement: float, level: float) -> Trust | None:
        """Return that labels of a score certify nothing; None without any."""
        if not self.graded:
            return None
        return Trust(
            labelled=len(self.graded),
            clusters=len({self.clusters[case] for case in self.graded}),
            agreement=agreement,
            level=level,
            refusal="its answers are levels of a score, of which none is certified: calibrate the score instead",
        )

    def _forms(self) -> Iterable[FormChange]:
        for form, moved in self.changes.items():
            if moved.excess is not None and moved.bound is not None:
                yield FormChange(form=form, n=moved.n, change=moved.change, excess=moved.excess, bound=moved.bound)

    def _trust(self, labelled: LabelledRows, agreement: float, level: float, seed: int) -> Trust:
        """Return what the labels say: the map from one half of them, the threshold from the other."""
        found = labelled.forecasts
        count = len(set(found.clusters))
        known = Trust(labelled=found.n, clusters=count, agreement=agreement, level=level)
        if count < FEWEST:
            few = f"{counted(count, 'independent label')} tell too little: label {FEWEST} cases or more"
            return replace(known, refusal=few, labels_needed=FEWEST)
        report = assess(found, seed=seed)
        first = fold_of(found, folds=_HALVES, seed=seed) == 0
        by = choose(found.part(first), seed=seed).map
        measured = replace(
            known,
            brier_skill=report.mapped.brier_skill,
            log_skill=report.mapped.log_skill,
            ece_raw=report.raw.calibration.ece,
            ece=report.mapped.calibration.ece,
            map=by,
        )
        barred = self._selected(labelled) or "; ".join(reason.rstrip(".") for reason in report.reasons)
        if barred:
            return replace(measured, refusal=barred, labels_needed=report.labels_needed)
        return _with_threshold(measured, found.part(~first), self._scores(by))

    def _scores(self, by: ProbabilityMap) -> list[float]:
        """Return the calibrated probability of every case's best option, labelled or not."""
        return [max(by.apply(mean).values()) for mean in self.means.values()]

    def _selected(self, labelled: LabelledRows) -> str:
        """Return that cases were labelled by what the judge said of them; empty where nothing shows that.

        By the option it chose, or by how sure it was: labels of the surest answers alone speak for no others.
        """
        people = frozenset(labelled.places)
        items = [
            LabelledItem(
                case_id=place[1],
                criterion=self.criterion,
                gold=_LABELLED if place in people else None,
                verdict=most_probable(mean),
                status="decided",
            )
            for place, mean in self.means.items()
        ]
        by_option = selection_of_items(items, self.criterion, self.clusters)
        by_sureness = selection_by_sureness(
            [max(mean.values()) for mean in self.means.values()],
            [place in people for place in self.means],
            [self.clusters.get(case, case) for _, case in self.means],
        )
        found = next((one for one in (by_option, by_sureness) if one is not None and one.found), None)
        return "" if found is None else found.told("no answer is certified on them")


def _with_threshold(known: Trust, found: Forecasts, scores: Sequence[float]) -> Trust:
    """Return what is known with the threshold that labels the map has not seen certify, or why there is none."""
    assert known.map is not None  # noqa: S101 - it was fitted before
    shares = mapped(found, known.map).probabilities
    best = shares.argmax(axis=1)
    labelled = [
        (float(row[place]), bool(label[place] < 1), cluster)
        for row, label, place, cluster in zip(shares, found.labels, best, found.clusters, strict=True)
    ]
    steps, last = step_tests(labelled, scores, agreement=known.agreement, delta=known.level)
    if last is not None:
        return replace(known, threshold=steps[last].threshold, covered=steps[last].covered / len(scores))
    curve = [(step.labelled / len(labelled), step.wrong / step.labelled) for step in steps if step.labelled]
    needed = labels_needed(curve, agreement=known.agreement, delta=known.level)
    return replace(
        known,
        refusal=shortfall(steps, agreement=known.agreement, level=known.level),
        labels_needed=None if needed is None else _HALVES * max(needed, math.ceil(known.labelled / _HALVES)),
    )
