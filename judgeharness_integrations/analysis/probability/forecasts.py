"""Answers with probabilities: rows of a log as arrays beside labels, and what their forms tell without any."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import RETEST, Verdict, VerdictRow, is_probe, verdict_text, voting

from ..aggregation.cases import gold_of
from ..aggregation.folds import averaged
from ..aggregation.grouping import CLUSTER, Clusters, by_case
from ..calibration.items import ONLY_CRITERION, read_golds, read_score
from ..statistics.means import Estimate, estimate
from ..statistics.proportions import share_estimate, unchanged_bound
from .maps import checked, distance

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecasts:
    """`n` answers of one judge to one question, each with a label.

    `probabilities` and `labels` have the shape (n, options), each row sums to 1. A label of people who disagree is
    soft: the shares in which they chose the options. `clusters` says which answers belong together.
    """

    options: tuple[str, ...]
    probabilities: Floats
    labels: Floats
    clusters: tuple[Hashable, ...]

    @property
    def n(self) -> int:
        """How many answers there are."""
        return len(self.probabilities)

    @property
    def base_rates(self) -> Floats:
        """The mean label, of shape (options,)."""
        rates: Floats = self.labels.mean(axis=0)
        return rates

    @property
    def hard(self) -> bool:
        """Whether every label is one option and every answer its own cluster: labels are single, independent draws."""
        return bool(np.isin(self.labels, (0.0, 1.0)).all()) and len(set(self.clusters)) == self.n

    @property
    def event(self) -> tuple[Floats, Floats]:
        """The probability that is held against the labels, and the share of labels it came true in, both (n,).

        Of two options it is that of the first; of more, that of the most probable one, which is what a threshold on
        the probability looks at. Where several are equally probable, the mean of their labels.
        """
        if len(self.options) == 2:  # noqa: PLR2004 - the other one says the same
            return self.probabilities[:, 0], self.labels[:, 0]
        most = self.probabilities.max(axis=1)
        first = self.probabilities >= most[:, None]
        return most, (self.labels * first).sum(axis=1) / first.sum(axis=1)

    def answered(self, probabilities: ArrayLike) -> Forecasts:
        """Return the same labels with other probabilities, as a map makes them."""
        return replace(self, probabilities=np.asarray(probabilities, dtype=np.float64))

    def part(self, where: NDArray[np.bool_]) -> Forecasts:
        """Return the answers of a mask (n,)."""
        clusters = tuple(key for key, kept in zip(self.clusters, where, strict=True) if kept)
        return replace(self, probabilities=self.probabilities[where], labels=self.labels[where], clusters=clusters)


def labelled_answers(
    answers: Sequence[Mapping[str, float]],
    labels: Sequence[str | Mapping[str, float]],
    *,
    options: Sequence[str] | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> Forecasts:
    """Return answers and labels as arrays.

    Args:
        answers: option -> probability, one an answer.
        labels: the option that is right, or option -> share of the people who chose it, one an answer.
        options: of the question, in order; those of the first answer when None.
        clusters: which cluster each answer is in; each in its own when None.

    Raises:
        UsageError: there is none, the lengths differ, or an answer or a label does not fit the options.

    """
    keys = range(len(answers)) if clusters is None else clusters
    if not answers or not len(answers) == len(labels) == len(keys):
        raise UsageError(
            f"each answer needs one label and one cluster: there are {len(answers)} answers, {len(labels)} labels and "
            f"{len(keys)} clusters."
        )
    names = tuple(answers[0] if options is None else options)
    given = [{label: 1.0} if isinstance(label, str) else label for label in labels]
    return Forecasts(
        options=names,
        probabilities=np.array([list(checked(answer, names).values()) for answer in answers]),
        labels=np.array([list(checked(label, names).values()) for label in given]),
        clusters=tuple(keys),
    )


Answer: TypeAlias = Mapping[str, float]
_SAME: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class RetestBand:
    """How far answers move when the very same is asked again, over `n` cases: the null of every other difference.

    `change` is the mean total variation distance of two repeats (of two options |p - q|), `largest` the largest one,
    `identical` the share of pairs of repeats that are the same; each case counts once.
    """

    n: int
    change: Estimate
    identical: Estimate
    largest: float


@dataclass(frozen=True, kw_only=True)
class AnswerChange:
    """How far `n` answers move between two forms of a question, or under a perturbation, beyond the retest band.

    `change` is the mean total variation distance, `excess` that less the band's, None where nothing was asked twice.
    `share_changed` are those that moved at all.
    """

    n: int
    change: Estimate
    share_changed: Estimate
    band: RetestBand | None
    excess: Estimate | None

    @property
    def bound(self) -> Estimate | None:
        """A lower bound of the larger mean distance to the truth that the two forms have, noise left out.

        The distance of two answers is at most the sum of their distances to the truth (triangle inequality), so that of
        two forms one is off by half their distance at least. With confidence 97.5 % it is off by `low`, which is above
        0 only where the forms contradict each other beyond the band. None where the band is not known.
        """
        if self.excess is None:
            return None
        value, low, high = (
            None if one is None else max(0.0, one / 2) for one in (self.excess.value, self.excess.low, self.excess.high)
        )
        return Estimate(value=value or 0.0, low=low, high=high, n=self.n)


def retest_band(repeats: Sequence[Sequence[Answer]], *, clusters: Sequence[Hashable] | None = None) -> RetestBand:
    """Return how far answers to the very same question move.

    Args:
        repeats: the answers of each case, two or more; cases with fewer say nothing.
        clusters: which cluster each case is in; each in its own when None.

    Raises:
        UsageError: no case was asked twice.

    """
    keys = range(len(repeats)) if clusters is None else clusters
    cases = [
        ([distance(one, other) for one, other in combinations(answers, 2)], key)
        for answers, key in zip(repeats, keys, strict=True)
        if len(answers) > 1
    ]
    if not cases:
        raise UsageError("no case was asked the very same twice: ask some again, to know the noise.")
    same, held = [sum(move <= _SAME for move in moves) / len(moves) for moves, _ in cases], [key for _, key in cases]
    return RetestBand(
        n=len(cases),
        change=_mean([math.fsum(moves) / len(moves) for moves, _ in cases], held),
        identical=_share(same, held),
        largest=max(max(moves) for moves, _ in cases),
    )


def answer_change(
    first: Sequence[Answer],
    second: Sequence[Answer],
    *,
    band: RetestBand | None,
    clusters: Sequence[Hashable] | None = None,
) -> AnswerChange:
    """Return how far answers move between two forms, beyond the retest band.

    The interval of the excess is made of those of the two means (MOVER: Zou and Donner 2008, eq. 9). Noise only adds to
    a mean distance, and by no more than its own: the excess is at most what the two forms differ by without noise, as
    far as the second varies no more than the first, of which the band is.

    Args:
        first: one a case.
        second: one a case, in the same order, mapped back to the options of the first.
        band: of the same judge; None where nothing was asked twice.
        clusters: which cluster each case is in; each in its own when None.

    Raises:
        UsageError: there are none, or not as many of each.

    """
    if not first or len(first) != len(second):
        raise UsageError(f"two forms need answers to the same cases: there are {len(first)} and {len(second)}.")
    keys = range(len(first)) if clusters is None else clusters
    moves = [distance(one, other) for one, other in zip(first, second, strict=True)]
    change = _mean(moves, keys)
    return AnswerChange(
        n=len(moves),
        change=change,
        share_changed=_share([float(move > _SAME) for move in moves], keys),
        band=band,
        excess=None if band is None else _less(change, band.change),
    )


def _less(change: Estimate, noise: Estimate) -> Estimate:
    value = change.value - noise.value
    if change.low is None or change.high is None or noise.low is None or noise.high is None:
        return Estimate(value=value, low=None, high=None, n=change.n)
    below = math.hypot(change.value - change.low, noise.high - noise.value)
    above = math.hypot(change.high - change.value, noise.value - noise.low)
    return Estimate(value=value, low=max(-1.0, value - below), high=min(1.0, value + above), n=change.n)


def _share(values: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    mean = math.fsum(values) / len(values)
    return share_estimate(mean, [value - mean for value in values], clusters)


def _mean(moves: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    """Return the mean of distances, its interval made on the logarithm's scale: many are 0, and a few are large.

    Where all are the same, or almost none is above 0, as many may be 0, or as large as the largest, as so few clusters
    cannot rule out.
    """
    mean = math.fsum(moves) / len(moves)
    found = estimate(mean, [move - mean for move in moves], clusters, logarithmic=True)
    count = len(set(clusters))
    if found.high is not None or count == 1:
        return found
    unseen = unchanged_bound(count) * (max(moves) or 1.0)
    return Estimate(value=mean, low=max(0.0, mean - unseen), high=min(1.0, mean + unseen), n=len(moves))


_NONE: Final = "none"
_Place: TypeAlias = tuple[str, str]  # run and case


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """The cases of one judge and criterion with probabilities and a label, and how many lack the one or the other."""

    forecasts: Forecasts
    places: tuple[_Place, ...]
    unlabelled: int
    unanswered: int

    def of(self, cases: Collection[str]) -> Forecasts:
        """Return the answers about some of the cases."""
        return self.forecasts.part(np.array([case in cases for _, case in self.places]))


AnnotatorShares: TypeAlias = Mapping[str, Mapping[str, Mapping[Verdict, float]]]


def shares_about(criterion: str, shares: AnnotatorShares) -> dict[str, Mapping[Verdict, float]]:
    """Return case -> shares of labels of one criterion, those that name none among them."""
    found = {case: parts.get(criterion, parts.get(ONLY_CRITERION)) for case, parts in shares.items()}
    return {case: given for case, given in found.items() if given is not None}


def mean_answers(
    rows: Sequence[VerdictRow], *, votes: Collection[str] | None = None
) -> dict[_Place, dict[str, float] | None]:
    """Return (run, case) -> the mean of its probabilities over orders and wordings; see `averaged`.

    Args:
        rows: of one judge and criterion; those of probes and of the retest do not vote.
        votes: the perturbations that do; all others when None.

    """
    cases = by_case(voting(rows))
    return {
        place: averaged(row for row in group if votes is None or row.perturbation in votes)
        for place, group in cases.items()
    }


def labelled_rows(
    rows: Sequence[VerdictRow],
    *,
    votes: Collection[str] | None = None,
    labels: Mapping[str, Mapping[Verdict, float]] | None = None,
    clusters: str = CLUSTER,
) -> LabelledRows | None:
    """Return the labelled cases of one judge and criterion, each with the mean of its probabilities; None without any.

    Args:
        rows: of one judge and criterion.
        votes: see `mean_answers`.
        labels: case -> label -> share of the people who chose it; gold labels of the rows for other cases.
        clusters: the column that says which cases belong together.

    Raises:
        UsageError: a label is none of the options, or a case has two gold labels.

    """
    soft, answers = labels or {}, mean_answers(rows, votes=votes)
    options = tuple(dict.fromkeys(name for answer in answers.values() for name in answer or ()))
    golds = {place: gold_of(group) for place, group in by_case(rows).items() if place[1] not in soft}
    shared = {case: soft[case] for _, case in answers if case in soft}
    every = {gold for gold in golds.values() if gold is not None} | {
        label for given in shared.values() for label in given
    }
    read = _options_of(every, options) if options else {}
    said = {place: read.get(gold) for place, gold in golds.items() if gold is not None}
    given = {place: _read_shares(shared.get(place[1], {}), read) or said.get(place) for place in answers}
    taken = {place: (answer, label) for place, answer in answers.items() if answer and (label := given[place])}
    if not taken:
        return None
    belongs = Clusters.of_rows(rows, clusters)
    return LabelledRows(
        forecasts=labelled_answers(
            [answer for answer, _ in taken.values()],
            [label for _, label in taken.values()],
            options=options,
            clusters=[belongs.of(case_id) for _, case_id in taken],
        ),
        places=tuple(taken),
        unlabelled=sum(label is None for label in given.values()),
        unanswered=sum(not answer for answer in answers.values()),
    )


def _read_shares(shares: Mapping[Verdict, float], read: Mapping[Verdict, str]) -> dict[str, float]:
    """Return option -> share, of labels that may be one option in several words; empty without options."""
    found: dict[str, float] = {}
    for label, share in shares.items() if read else ():
        found[read[label]] = found.get(read[label], 0.0) + share
    return found


def _options_of(golds: Iterable[Verdict], options: Sequence[str]) -> dict[Verdict, str]:
    """Return which option each gold label is: `yes` is PASS, 3 the level "3".

    Raises:
        UsageError: a label is none of them.

    """
    levels: dict[Verdict, str] = {score: name for name in options if (score := read_score(name)) is not None}
    names = levels if len(levels) == len(options) else dict[Verdict, str](zip(options, options, strict=True))
    found: dict[Verdict, str] = {}
    for gold, label in read_golds(golds, names).items():
        if label is None or label not in names:
            raise UsageError(
                f"the label {verdict_text(gold)!r:.60} is none of the options {', '.join(options)[:200]}: label the "
                "cases with these."
            )
        found[gold] = names[label]
    return found


def rows_band(rows: Sequence[VerdictRow], *, clusters: str = CLUSTER) -> RetestBand | None:
    """Return how far answers of one judge and criterion move when the very same is asked again.

    Repeats are the repetitions of one perturbation, and `retest` of the unperturbed question. None where nothing was
    asked twice.

    Args:
        rows: of one judge and criterion.
        clusters: the column that says which cases belong together.

    """
    asked = {key: same for key, same in _by_question(rows).items() if len(same) > 1}
    if not asked:
        return None
    belongs = Clusters.of_rows(rows, clusters)
    return retest_band(list(asked.values()), clusters=[belongs.of(case_id) for _, case_id, _ in asked])


def rows_changes(rows: Sequence[VerdictRow], *, clusters: str = CLUSTER) -> dict[str, AnswerChange]:
    """Return perturbation -> how far it moves the answers of one judge and criterion, beyond the retest band.

    The first answer under a perturbation is compared with the first one to the unperturbed question, in cases that have
    both. Probabilities in rows are mapped back already. Probes are not looked at.

    Args:
        rows: of one judge and criterion.
        clusters: the column that says which cases belong together.

    """
    asked, band = _by_question(rows), rows_band(rows, clusters=clusters)
    belongs = Clusters.of_rows(rows, clusters)
    changed: dict[str, list[tuple[str, str]]] = {}
    for run, case_id, perturbation in asked:
        if perturbation != _NONE and (run, case_id, _NONE) in asked:
            changed.setdefault(perturbation, []).append((run, case_id))
    return {
        name: answer_change(
            [asked[(*case, _NONE)][0] for case in cases],
            [asked[(*case, name)][0] for case in cases],
            band=band,
            clusters=[belongs.of(case_id) for _, case_id in cases],
        )
        for name, cases in changed.items()
    }


def _by_question(rows: Sequence[VerdictRow]) -> dict[tuple[str, str, str], list[Mapping[str, float]]]:
    """Return (run, case, perturbation) -> answers in order; the retest asks the unperturbed question again."""
    found: dict[tuple[str, str, str], list[Mapping[str, float]]] = {}
    for row in sorted(rows, key=lambda row: (row.perturbation == RETEST, row.repetition)):
        if row.probabilities is not None and (row.perturbation == RETEST or not is_probe(row.perturbation)):
            name = _NONE if row.perturbation == RETEST else row.perturbation
            found.setdefault((row.run, row.case_id, name), []).append(row.probabilities)
    return found
