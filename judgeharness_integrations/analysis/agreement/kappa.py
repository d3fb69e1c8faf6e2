"""Coefficients of agreement with intervals: of a group of raters, of every pair, of a rater who never varies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.agreement.bootstrap import (
    Bootstrap,
    Coefficient,
    Resamples,
    Sample,
    known,
    measure,
    unmeasured,
)
from judgeharness_integrations.analysis.agreement.coefficients import (
    Metric,
    Pair,
    Statistic,
    alpha_statistic,
    cohen_statistic,
    cohen_values,
    fleiss_statistic,
    gwet_statistic,
    unfit_for_alpha,
    unfit_for_categories,
    unfit_for_cohen,
    with_prior,
)
from judgeharness_integrations.analysis.agreement.ratings import NO_ITEMS, Ratings, Units, Weights
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.agreement.ratings import Answers, Scale

CoefficientName: TypeAlias = Literal["cohen", "fleiss", "alpha", "gwet"]
Measured: TypeAlias = "tuple[list[Coefficient], Resamples]"
COEFFICIENTS: tuple[CoefficientName, ...] = ("cohen", "fleiss", "alpha", "gwet")
METRICS: dict[Weights, Metric] = {"none": "nominal", "linear": "ordinal", "quadratic": "interval"}
_AT_ONCE = 4_000_000  # numbers in the rows of one block of pairs
_CONSTANT = "one of the two never varies, so chance alone could agree as much"
_UNANIMOUS = "both give one and the same answer always, so chance alone could agree as much"


def pairwise(
    ratings: Ratings,
    pairs: Sequence[Pair],
    *,
    coefficient: CoefficientName = "cohen",
    weights: Weights = "none",
    bootstrap: Bootstrap,
) -> Measured:
    """Return the coefficient of each pair of raters (by place) over the items both answered, and its resamples.

    Args:
        ratings: categories and scale are theirs, also where a pair uses less of them.
        pairs: at least one.
        coefficient: which; alpha has metric nominal without weights, ordinal with linear, interval with quadratic.
        weights: how far partial agreement counts.
        bootstrap: how intervals are drawn: the same resamples of items or clusters for every pair.

    """
    if coefficient == "cohen":
        return _cohen(ratings, pairs, weights, bootstrap)
    before, units = with_prior(ratings, everyone=True) if bootstrap.replicates else (ratings, Units.of_ratings(ratings))
    parts = []
    for pair in pairs:
        shared, drawn_from = _shared(ratings, pair), _shared(before, pair)
        if not bootstrap.replicates:  # nothing is drawn: only the items of this pair matter
            shared = drawn_from = replace(shared, codes=shared.codes[:, shared.codes[0] >= 0], clusters=None)
            units = Units.of_ratings(shared)
        parts.append(_other(shared, drawn_from, units, name=coefficient, weights=weights, bootstrap=bootstrap))
    return [found for part, _ in parts for found in part], Resamples.beside([drawn for _, drawn in parts])


def _cohen(ratings: Ratings, pairs: Sequence[Pair], weights: Weights, bootstrap: Bootstrap) -> Measured:
    samples = [
        Sample(name="cohen", weights=weights, ratings=ratings, raters=pair, undefined=_CONSTANT) for pair in pairs
    ]
    if reason := unfit_for_cohen(ratings, weights):
        return [unmeasured(sample, reason) for sample in samples], _nothing(len(pairs), bootstrap)
    if not bootstrap.replicates:
        return _bare(ratings, pairs, weights), _nothing(len(pairs), bootstrap)
    before, units = with_prior(ratings, everyone=True)
    columns = 6 if weights == "quadratic" else 1 + 2 * ratings.categories
    block = max(1, _AT_ONCE // max(1, columns * before.codes.shape[1]))
    starts = range(0, len(pairs), block)
    parts = [
        measure(
            cohen_statistic(before, pairs[at : at + block], units, weights), units, samples[at : at + block], bootstrap
        )
        for at in starts
    ]
    return [found for part, _ in parts for found in part], Resamples.beside([drawn for _, drawn in parts])


def _bare(ratings: Ratings, pairs: Sequence[Pair], weights: Weights) -> list[Coefficient]:
    """Return Cohen's kappa of each pair without an interval."""
    found, items = cohen_values(ratings, pairs, weights)
    rows = zip(*(part.tolist() for part in (*found, items)), strict=True)
    return [
        Coefficient(
            name="cohen",
            weights=weights,
            value=known(value),
            observed=known(observed),
            expected=known(expected),
            items=int(shared),
            singles=0,
            raters=2 if shared else 0,
            categories=ratings.categories,
            reason="" if math.isfinite(value) else _CONSTANT if shared else NO_ITEMS,
        )
        for value, observed, expected, shared in rows
    ]


def _shared(ratings: Ratings, pair: Pair) -> Ratings:
    """Return the ratings of two raters, of the items both answered alone."""
    codes = ratings.codes[list(pair)]
    return replace(ratings, codes=np.where((codes >= 0).all(axis=0), codes, -1))


def _other(
    shared: Ratings,
    drawn_from: Ratings,
    units: Units,
    *,
    name: CoefficientName,
    weights: Weights,
    bootstrap: Bootstrap,
) -> Measured:
    """Return the coefficient of two raters; `drawn_from` is `shared` with what is held likely before."""
    metric = METRICS[weights]
    shown = metric if name == "alpha" else weights
    sample = Sample(name=name, weights=shown, ratings=shared, raters=(0, 1), undefined=_UNANIMOUS)
    if reason := unfit_for_alpha(shared, metric) if name == "alpha" else unfit_for_categories(shared):
        return [unmeasured(sample, reason)], _nothing(1, bootstrap)
    statistic: Statistic = (
        alpha_statistic(drawn_from, units, metric)
        if name == "alpha"
        else (fleiss_statistic if name == "fleiss" else gwet_statistic)(drawn_from, units, weights)
    )
    return measure(statistic, units, [sample], bootstrap)


def _nothing(coefficients: int, bootstrap: Bootstrap) -> Resamples:
    return Resamples(np.full((bootstrap.replicates, coefficients), np.nan), None, np.ones(1))


_PAIR = 2
_DEFAULT = Bootstrap()
_COEFFICIENTS_UNANIMOUS = "every answer is the same, so chance alone could agree as much"


def cohen(ratings: Ratings, *, weights: Weights = "none", bootstrap: Bootstrap = _DEFAULT) -> Coefficient:
    """Return Cohen's kappa of two raters over the items both answered (Cohen 1960; weighted: Cohen 1968).

    Args:
        ratings: of exactly two raters.
        weights: `linear` and `quadratic` count partial agreement by distance on the scale.
        bootstrap: how the interval is drawn.

    Raises:
        UsageError: there are not two raters.

    """
    if ratings.raters != _PAIR:
        raise UsageError(f"Cohen's kappa is of two raters, not of {ratings.raters}: use Fleiss' kappa or alpha.")
    return pairwise(ratings, [(0, 1)], weights=weights, bootstrap=bootstrap)[0][0]


def fleiss(ratings: Ratings, *, weights: Weights = "none", bootstrap: Bootstrap = _DEFAULT) -> Coefficient:
    """Return Fleiss' kappa of all raters, in Gwet's generalisation to missing answers.

    Every item counts the same, however many answered about it; an item with one answer enters the expected agreement
    alone (Gwet 2014, section 2.4). With equally many answers per item it is Fleiss' own (Fleiss 1971).
    """
    return _of_group(
        _sample("fleiss", weights, ratings),
        unfit_for_categories(ratings),
        lambda ratings, units: fleiss_statistic(ratings, units, weights),
        bootstrap,
    )


def gwet(ratings: Ratings, *, weights: Weights = "none", bootstrap: Bootstrap = _DEFAULT) -> Coefficient:
    """Return Gwet's AC1 of all raters, with weights AC2 (Gwet 2008; 2014, chapters 4 and 5).

    It depends on how many categories there are: those of `ratings`, declared or seen. Missing answers as in `fleiss`.
    """
    return _of_group(
        _sample("gwet", weights, ratings),
        unfit_for_categories(ratings),
        lambda ratings, units: gwet_statistic(ratings, units, weights),
        bootstrap,
    )


def alpha(ratings: Ratings, *, metric: Metric = "nominal", bootstrap: Bootstrap = _DEFAULT) -> Coefficient:
    """Return Krippendorff's alpha of all raters (Krippendorff 2011); items with one answer are left out.

    Args:
        ratings: any number of raters; metrics other than nominal take the categories as ordered.
        metric: how far two answers lie apart.
        bootstrap: how the interval is drawn.

    """
    return _of_group(
        _sample("alpha", metric, ratings),
        unfit_for_alpha(ratings, metric),
        lambda ratings, units: alpha_statistic(ratings, units, metric),
        bootstrap,
    )


def _sample(name: str, weights: str, ratings: Ratings) -> Sample:
    return Sample(
        name=name, weights=weights, ratings=ratings, raters=range(ratings.raters), undefined=_COEFFICIENTS_UNANIMOUS
    )


def _of_group(
    sample: Sample, reason: str, statistic: Callable[[Ratings, Units], Statistic], bootstrap: Bootstrap
) -> Coefficient:
    if reason:
        return unmeasured(sample, reason)
    ratings, units = with_prior(sample.ratings, everyone=False)
    return measure(statistic(ratings, units), units, [sample], bootstrap)[0][0]


_LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class ConstantAgreement:
    """An annotator who reads nothing and gives every item the humans' commonest answer, of numbers their median.

    `says` is what it answers, `value` its mean coefficient with the humans for whom one is defined, of whom there are
    `humans`, and `observed` the mean agreement behind it, which a coefficient corrects for chance. Where a coefficient
    is undefined since one side never varies, its agreement is that of chance, and counts as 0. None where there is no
    coefficient.
    """

    says: str
    value: float | None
    observed: float | None
    humans: int


def constant_agreement(
    scale: Scale, humans: Sequence[str], *, coefficient: CoefficientName, weights: Weights
) -> ConstantAgreement | None:
    """Return how far the constant annotator agrees with humans; None where they answered nothing."""
    answers = scale.answers(humans)
    present = ~np.isnan(answers) if answers.dtype.kind == "f" else answers >= 0
    if not present.any():
        return None
    constant = _commonest(answers[present])
    both = np.vstack([answers, np.full((1, answers.shape[1]), constant, answers.dtype)])
    found, _ = pairwise(
        scale.ratings(both),
        [(place, len(humans)) for place in range(len(humans)) if present[place].any()],
        coefficient=coefficient,
        weights=weights,
        bootstrap=Bootstrap(replicates=0),
    )
    known = [(value, one.observed) for one in found if (value := _beyond_chance(one)) is not None]
    values, observed = zip(*known, strict=True) if known else ((), ())
    return ConstantAgreement(
        says=f"always {_text(scale, constant):.{_LONGEST_NAME}}",
        value=float(np.mean(values)) if known else None,
        observed=float(np.mean(observed)) if known else None,
        humans=len(known),
    )


def _beyond_chance(one: Coefficient) -> float | None:
    if one.value is None and one.observed is not None and one.expected is not None and one.expected < 1:
        return 0.0
    return one.value


def _commonest(given: Answers) -> float | int:
    if given.dtype.kind == "f":
        return float(np.sort(given)[(len(given) - 1) // 2])
    return int(np.bincount(given).argmax())


def _text(scale: Scale, constant: float) -> str:
    panel = scale.panel
    if panel.kind == "numbers":
        return f"{constant:g}"
    if panel.kind == "labels":
        return panel.labels[int(constant)]
    marked = panel.values[np.flatnonzero(panel.codes == constant)[0]]
    return verdict_text(frozenset(label for label, mark in zip(panel.labels, marked.tolist(), strict=True) if mark))
