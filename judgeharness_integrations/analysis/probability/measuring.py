"""Rows of a judge that answers with probabilities -> what is known of its questions, and what that is worth."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, most_probable

from ..aggregation.cases import case_decisions
from ..aggregation.grouping import Clusters, by_criterion
from ..calibration.items import LabelledItem, check_candidates, read_score, simultaneous_alpha, simultaneous_level
from ..calibration.population import Population, population_of
from ..calibration.saved import CalibrationState
from ..calibration.strata import selection_by_sureness, selection_of_items
from ..calibration.transport import facts_of_decisions
from ..certifying.measuring import HALVES, Labels, shortfall, step_tests
from ..certifying.sequence import labels_needed
from .forecasts import (
    AnnotatorShares,
    AnswerChange,
    Forecasts,
    LabelledRows,
    RetestBand,
    labelled_rows,
    mean_answers,
    rows_band,
    rows_changes,
    shares_about,
)
from .maps import ProbabilityMap
from .passport import VOTES, FormChange, Noise, Passport, QuestionPassport, Trust
from .report import FEWEST, ProbabilityFigures, assess, figures, half_fitted, mapped, too_few

_SEVERAL = 2
_LABELLED = "labelled"  # which label it is says nothing about how a case was selected
_HALF = 0.5  # of the annotators: of a single label all or none
_Shares = Mapping[str, float]
_Labels: TypeAlias = Mapping[Verdict, float]


@dataclass(frozen=True, kw_only=True)
class Bars:
    """What answers have to keep to be certified: `agreement` with confidence 1 - `delta`, over all questions together.

    So it is for all `candidates` (judges, prompts, seeds) that were measured on these labels, whichever is chosen: the
    level of each is `delta` / candidates, and its skill is held against an interval that holds for all of them.

    Raises:
        UsageError: one of the first two does not lie between 0 and 1, or there are no candidates.

    """

    agreement: float = 0.9
    delta: float = 0.1
    candidates: int = 1

    def __post_init__(self) -> None:
        """Check them."""
        check_candidates(self.candidates)
        for name, value in (("agreement", self.agreement), ("delta", self.delta)):
            if not 0 < value < 1:
                raise UsageError(f"{name} must lie between 0 and 1, not {value:g}.")


def passport_of_rows(
    rows: Sequence[VerdictRow],
    labels: Labels,
    *,
    judge: str,
    measured_at: str,
    votes: Sequence[str] = VOTES,
    bars: Bars | None = None,
    seed: int = 0,
    shares: AnnotatorShares = MappingProxyType({}),
    **known: Any,
) -> Passport:
    """Return the passport that the rows of one judge come to.

    Args:
        rows: see `question_passports`.
        labels: where the gold labels of the rows come from.
        judge: its name.
        measured_at: when it answered, as an ISO 8601 time with offset.
        votes: see `question_passports`.
        bars: see there.
        seed: see there.
        shares: see there.
        known: further fields of `Passport`, that rows do not tell.

    Raises:
        UsageError: no row holds probabilities.

    """
    asked = bars or Bars()
    taken = Passport(
        name=labels.name,
        judge=judge,
        source=labels.source,
        consensus=labels.consensus,
        excluded_ties=labels.ties,
        measured_at=measured_at,
        questions=question_passports(rows, votes=votes, bars=asked, seed=seed, shares=shares),
        models=answering_models(rows),
        candidates=asked.candidates,
        **known,
    )
    return replace(taken, population=_population(taken, [row for row in rows if row.perturbation in votes]))


def answering_models(rows: Iterable[VerdictRow]) -> tuple[str, ...]:
    """Return the models that answers with probabilities say they came from, in alphabetical order."""
    return tuple(sorted({row.model for row in rows if row.probabilities is not None and row.model}))


def _population(taken: Passport, rows: Sequence[VerdictRow]) -> Population | None:
    """Return what the labelled cases are like, decided as the passport says; None without labels."""
    labelled = {row.case_id for row in rows if row.gold is not None}
    if not labelled:
        return None
    groups = by_criterion([row for row in rows if row.case_id in labelled])
    rule = taken.rule(CalibrationState(status="valid"))
    decided = {name: case_decisions(group, rule) for name, group in groups.items()}
    return population_of(facts_of_decisions(decided, column=None))


def question_passports(
    rows: Sequence[VerdictRow],
    *,
    votes: Iterable[str] = VOTES,
    bars: Bars | None = None,
    seed: int = 0,
    shares: AnnotatorShares = MappingProxyType({}),
) -> tuple[QuestionPassport, ...]:
    """Return what the rows of one judge say of each of its questions.

    Args:
        rows: answers about cases under `none`, other forms and the retest; gold where people labelled.
        votes: the perturbations that are averaged before a decision; the others are forms that are compared alone.
        bars: what is to be certified.
        seed: of folds and simulations.
        shares: case -> criterion -> label -> share of its annotators, which go before the gold of rows. A map is fitted
            on them; a decision is right where more than half of the annotators gave it.

    Raises:
        UsageError: no row holds probabilities.

    """
    groups = {
        name: group for name, group in by_criterion(rows).items() if any(row.probabilities is not None for row in group)
    }
    if not groups:
        raise UsageError("no answer holds probabilities: a passport is of a judge that answers with them.")
    questions = [
        _Question.of(name, group, frozenset(votes), shares_about(name, shares)) for name, group in groups.items()
    ]
    labelled = sum(one.labelled is not None for one in questions)
    asked = bars or Bars()
    level = simultaneous_alpha(asked.delta, asked.candidates) / max(1, labelled)
    return tuple(one.passport(asked, level=level, seed=seed) for one in questions)


@dataclass(frozen=True, kw_only=True)
class _Question:
    """The answers to one question: what each case comes to, what people said, and how far answers move."""

    criterion: str
    means: Mapping[tuple[str, str], _Shares]
    labelled: LabelledRows | None
    graded: frozenset[str]  # cases of a score with a label
    clusters: Mapping[str, Hashable]
    models: tuple[str, ...]
    band: RetestBand | None
    changes: Mapping[str, AnswerChange]

    @classmethod
    def of(
        cls, criterion: str, rows: Sequence[VerdictRow], votes: frozenset[str], shares: Mapping[str, _Labels]
    ) -> _Question:
        """Read the rows of one criterion."""
        means = {place: mean for place, mean in mean_answers(rows, votes=votes).items() if mean is not None}
        scored = all(read_score(name) is not None for mean in means.values() for name in mean)
        return cls(
            criterion=criterion,
            means=means,
            labelled=None if scored else labelled_rows(rows, votes=votes, labels=shares),
            graded=frozenset(row.case_id for row in rows if scored and row.gold is not None),
            clusters=Clusters.of_rows(rows).by_case(),
            models=answering_models(rows),
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
            else self._trust(self.labelled, bars, level, seed),
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

    def _trust(self, labelled: LabelledRows, bars: Bars, level: float, seed: int) -> Trust:
        """Return what the labels say: the map from one half of them, the threshold from the other."""
        found = labelled.forecasts
        count = len(set(found.clusters))
        known = Trust(labelled=found.n, clusters=count, agreement=bars.agreement, level=level)
        if count < FEWEST:
            return replace(known, refusal=too_few(count), labels_needed=FEWEST)
        report = assess(found, seed=seed, confidence=simultaneous_level(bars.candidates))
        by, first = half_fitted(found, seed=seed)
        measured = replace(
            known,
            brier_skill=report.mapped.brier_skill,
            log_skill=report.mapped.log_skill,
            ece_raw=report.raw.calibration.ece,
            ece=report.mapped.calibration.ece,
            map=by,
        )
        barred = self._mixed() or self._selected(labelled) or "; ".join(reason.rstrip(".") for reason in report.reasons)
        if barred:
            return replace(measured, refusal=barred, labels_needed=report.labels_needed)
        return _with_threshold(measured, found.part(~first), self._scores(by))

    def _scores(self, by: ProbabilityMap) -> list[float]:
        """Return the calibrated probability of every case's best option, labelled or not."""
        return [max(by.apply(mean).values()) for mean in self.means.values()]

    def _mixed(self) -> str:
        """Return that several models answered, of which labels of the mixture certify none; else nothing."""
        if len(self.models) < _SEVERAL:
            return ""
        return (
            f"the answers came from {len(self.models)} models ({', '.join(self.models):.200}), and what holds of them "
            "together need not hold of one: ask for one of them by its name"
        )

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
        (float(row[place]), bool(label[place] <= _HALF), cluster)
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
        labels_needed=None if needed is None else HALVES * max(needed, math.ceil(known.labelled / HALVES)),
    )


@dataclass(frozen=True, kw_only=True)
class ProbabilitySummary:
    """How far answers move under each perturbation, beyond `band`, and how they stand beside labels.

    `figures` are those of the mean probabilities of `labelled` cases as the judge gave them, without a map; `options`
    are those of the question. Where there are none `unlabelled` says why. `band` is None where nothing was asked twice.
    """

    band: RetestBand | None
    changes: Mapping[str, AnswerChange]
    options: tuple[str, ...]
    labelled: int
    figures: ProbabilityFigures | None
    unlabelled: str


def probability_summary(rows: Sequence[VerdictRow]) -> ProbabilitySummary:
    """Return what the probabilities of one judge and criterion come to.

    Args:
        rows: of one judge and criterion, some with probabilities, those of the retest among them; gold where people
            labelled.

    """
    options = tuple(dict.fromkeys(name for row in rows for name in row.probabilities or ()))
    found, why = None, "no case has a label"
    if all(read_score(name) is not None for name in options):
        why = "its answers are levels of a score"
    else:
        try:
            found = labelled_rows(rows)
        except UsageError as error:
            why = str(error)
    return ProbabilitySummary(
        band=rows_band(rows),
        changes=rows_changes(rows),
        options=options if found is None else found.forecasts.options,
        labelled=0 if found is None else found.forecasts.n,
        figures=None if found is None else figures(found.forecasts),
        unlabelled="" if found is not None else why,
    )
