"""The coefficient of every pair of raters, over the same resamples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from judgeharness_integrations.agreement.kappa.alpha import Metric, alpha_statistic, unfit_for_alpha
from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap, Resamples
from judgeharness_integrations.agreement.kappa.chance import fleiss_statistic, gwet_statistic, unfit_for_categories
from judgeharness_integrations.agreement.kappa.coefficient import Coefficient
from judgeharness_integrations.agreement.kappa.cohen import Pair, cohen_statistic, unfit_for_cohen
from judgeharness_integrations.agreement.kappa.crowd import cohen_values
from judgeharness_integrations.agreement.kappa.measuring import Sample, known, measure, unmeasured
from judgeharness_integrations.agreement.kappa.prior import with_prior
from judgeharness_integrations.agreement.kappa.ratings import NO_ITEMS, Ratings, Weights
from judgeharness_integrations.agreement.kappa.units import Units

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.statistic import Statistic

__all__ = ["COEFFICIENTS", "METRICS", "CoefficientName", "Measured", "pairwise"]

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
