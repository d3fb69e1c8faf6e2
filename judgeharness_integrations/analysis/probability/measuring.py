"""Rows of a judge that answers with probabilities -> what is known of each of its questions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.aggregation.grouping import by_case, by_criterion
from judgeharness_integrations.analysis.aggregation.probabilities import averaged
from judgeharness_integrations.analysis.calibration.items import LabelledItem, read_golds
from judgeharness_integrations.analysis.calibration.selection import selection_of_items
from judgeharness_integrations.analysis.certifying.measuring import shortfall, step_tests
from judgeharness_integrations.analysis.certifying.sequence import labels_needed
from judgeharness_integrations.analysis.probability.fitting import choose, fold_of, mapped
from judgeharness_integrations.analysis.probability.forecasts import Forecasts, forecasts
from judgeharness_integrations.analysis.probability.forms import RetestBand, answer_change, retest_band
from judgeharness_integrations.analysis.probability.maps import ProbabilityMap
from judgeharness_integrations.analysis.probability.passport import FormChange, Noise, QuestionPassport, Trust
from judgeharness_integrations.analysis.probability.report import FEWEST, assess
from judgeharness_integrations.verdictlog.plain import counted
from judgeharness_integrations.verdictlog.row import RETEST, Verdict, VerdictRow, is_number, most_probable, verdict_text

_PLAIN = "none"
VOTES: Final = (_PLAIN, "position_swap")  # what a decision is averaged over
_HALVES = 2
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
    labelled = sum(bool(one.golds) for one in questions)
    asked = bars or Bars()
    return tuple(one.passport(asked, level=asked.delta / max(1, labelled), seed=seed) for one in questions)


@dataclass(frozen=True, kw_only=True)
class _Question:
    """The answers to one question: case -> perturbation -> answers, and what people said."""

    criterion: str
    options: tuple[str, ...]
    answers: Mapping[str, Mapping[str, list[_Shares]]]
    means: Mapping[str, _Shares]
    golds: Mapping[str, str]
    clusters: Mapping[str, Hashable]

    @classmethod
    def of(cls, criterion: str, rows: Sequence[VerdictRow], votes: frozenset[str]) -> _Question:
        """Read the rows of one criterion."""
        clusters = Clusters.of_rows(rows)
        answers: dict[str, dict[str, list[_Shares]]] = {}
        means: dict[str, _Shares] = {}
        said: dict[str, Verdict] = {}
        for (_, case_id), group in by_case(rows).items():
            found = answers.setdefault(case_id, {})
            for row in group:
                if row.probabilities is not None:
                    found.setdefault(row.perturbation, []).append(row.probabilities)
                if row.gold is not None:
                    said[case_id] = row.gold
            mean = averaged(row for row in group if row.perturbation in votes)
            if mean is not None:
                means[case_id] = mean
        options = tuple(dict.fromkeys(name for mean in means.values() for name in mean))
        return cls(
            criterion=criterion,
            options=options,
            answers=answers,
            means=means,
            golds=_golds(said, options, means),
            clusters={case_id: clusters.of(case_id) for case_id in answers},
        )

    def passport(self, bars: Bars, *, level: float, seed: int) -> QuestionPassport:
        """Return what is known of it."""
        band = self._band()
        return QuestionPassport(
            criterion=self.criterion,
            options=self.options,
            cases=len(self.means),
            noise=None if band is None else Noise(n=band.n, change=band.change, identical=band.identical),
            forms=() if band is None else tuple(self._forms(band)),
            trust=self._trust(bars.agreement, level, seed) if self.golds else None,
        )

    def _band(self) -> RetestBand | None:
        """Return how far answers to `none` and the retest move by themselves; None where none was repeated."""
        repeats = {case: [*found.get(_PLAIN, ()), *found.get(RETEST, ())] for case, found in self.answers.items()}
        if all(len(some) < _HALVES for some in repeats.values()):
            return None
        return retest_band(list(repeats.values()), clusters=[self.clusters[case] for case in repeats])

    def _forms(self, band: RetestBand) -> Iterable[FormChange]:
        names = dict.fromkeys(name for found in self.answers.values() for name in found)
        for form in names:
            pairs = [
                (found[_PLAIN][0], found[form][0], self.clusters[case])
                for case, found in self.answers.items()
                if _PLAIN in found and form in found
            ]
            if form in (_PLAIN, RETEST) or not pairs:
                continue
            plain, other, clusters = zip(*pairs, strict=True)
            moved = answer_change(plain, other, band=band, clusters=clusters)
            yield FormChange(form=form, n=moved.n, change=moved.change, excess=moved.excess, bound=moved.bound)

    def _trust(self, agreement: float, level: float, seed: int) -> Trust:
        """Return what the labels say: the map from one half of them, the threshold from the other."""
        cases = [case for case in self.golds if case in self.means]
        found = forecasts(
            [self.means[case] for case in cases],
            [self.golds[case] for case in cases],
            options=self.options,
            clusters=[self.clusters[case] for case in cases],
        )
        count = len(set(found.clusters))
        known = Trust(labelled=len(cases), clusters=count, agreement=agreement, level=level)
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
        barred = self._selected(cases) or "; ".join(reason.rstrip(".") for reason in report.reasons)
        if barred:
            return replace(measured, refusal=barred)
        return _with_threshold(measured, found.part(~first), self._scores(by))

    def _scores(self, by: ProbabilityMap) -> list[float]:
        """Return the calibrated probability of every case's best option, labelled or not."""
        return [max(by.apply(mean).values()) for mean in self.means.values()]

    def _selected(self, cases: Sequence[str]) -> str:
        """Return that cases were labelled by what the judge said of them; empty where nothing shows that."""
        labelled = frozenset(cases)
        items = [
            LabelledItem(
                case_id=case,
                criterion=self.criterion,
                gold=self.golds[case] if case in labelled else None,
                verdict=most_probable(mean),
                status="decided",
            )
            for case, mean in self.means.items()
        ]
        found = selection_of_items(items, self.criterion, dict(self.clusters))
        return "" if found is None or not found.found else found.told("no answer is certified on them")


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


def _golds(said: Mapping[str, Verdict], options: Sequence[str], means: Mapping[str, _Shares]) -> dict[str, str]:
    """Return case -> the option that people chose, of answers to a question of labels; none of scores."""
    if all(_is_level(option) for option in options) or not said:
        return {}
    read = read_golds(said.values(), options)
    found = {case: read[gold] for case, gold in said.items() if case in means}
    return {case: verdict_text(gold) for case, gold in found.items() if gold in options}


def _is_level(option: str) -> bool:
    try:
        return is_number(float(option))
    except ValueError:
        return False
