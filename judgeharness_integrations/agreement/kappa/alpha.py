"""Krippendorff's alpha of a group of raters, with missing answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from judgeharness_integrations.agreement.kappa.ratings import MOST_CATEGORIES, NO_ITEMS, Ratings, pairable
from judgeharness_integrations.agreement.kappa.statistic import (
    Estimates,
    Floats,
    LinearStatistic,
    Statistic,
    beyond_chance,
)

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.units import Units

__all__ = ["Metric", "alpha_statistic", "unfit_for_alpha"]

Metric: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]


def unfit_for_alpha(ratings: Ratings, metric: Metric) -> str:
    """Return why the ratings have no alpha of that metric, or nothing."""
    if not ratings.answers.any():
        return NO_ITEMS
    if metric in {"nominal", "ratio"} and ratings.categories > MOST_CATEGORIES:
        return f"{ratings.categories} distinct values are too many for metric {metric}: use interval or ordinal"
    if metric == "ratio" and ratings.values is not None and ratings.values.min(initial=0.0) < 0:
        return "metric ratio needs numbers from 0"
    return ""


def alpha_statistic(ratings: Ratings, units: Units, metric: Metric) -> Statistic:
    """Return alpha = 1 - observed / expected disagreement over pairable answers (Krippendorff 2011).

    Agreement is 1 - disagreement as a share of the largest there is, with the small-sample term in the observed one:
    observed = 1 - Do (N-1)/N and expected = 1 - De (N-1)/N of N answers, which leaves alpha as it is.
    """
    if metric == "ordinal":
        from judgeharness_integrations.agreement.kappa.ordinal import OrdinalAlpha  # noqa: PLC0415 - brings scipy.sparse

        return OrdinalAlpha.of_ratings(ratings, units)
    if metric == "interval":
        return _interval(ratings, units)
    distances = _distances(ratings, metric)
    counts, weight = ratings.counts(), pairable(ratings)
    apart = ((counts @ distances) * counts).sum(axis=1) * weight
    rows = np.column_stack([apart, counts * (weight > 0)[:, None]])

    def of(sums: Floats) -> Estimates:
        used = sums[..., 1:]
        answers = used.sum(axis=-1)
        return _estimates(sums[..., 0], ((used @ distances) * used).sum(axis=-1), answers)

    return LinearStatistic.over(units, rows[:, None, :], of)


def _estimates(apart: Floats, apart_by_chance: Floats, answers: Floats) -> Estimates:
    """Return alpha from sums of distances of ordered pairs, within items (weighted) and among all N answers."""
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = apart * (answers - 1) / answers**2
        return beyond_chance(1 - observed, 1 - apart_by_chance / answers**2)


def _distances(ratings: Ratings, metric: Metric) -> Floats:
    """Return squared distances of categories (categories, categories), between 0 and 1."""
    if metric == "nominal" or ratings.values is None:
        return 1 - np.eye(ratings.categories)
    one, two = ratings.values[:, None], ratings.values[None, :]
    total = one + two
    return np.divide(one - two, total, out=np.zeros_like(total), where=total > 0) ** 2


def _interval(ratings: Ratings, units: Units) -> LinearStatistic:
    """Return alpha of metric interval: sums of squares are enough, however many distinct values there are."""
    weight = pairable(ratings)
    present = ratings.codes >= 0
    place = np.where(present, ratings.centred()[ratings.codes], 0.0)
    used = weight > 0
    answers, total, squares = present.sum(axis=0) * used, place.sum(axis=0) * used, (place**2).sum(axis=0) * used
    apart = 2 * np.maximum(answers * squares - total**2, 0.0) * weight
    rows = np.column_stack([apart, answers, total, squares])

    def of(sums: Floats) -> Estimates:
        within, number, total, squares = np.moveaxis(sums, -1, 0)
        return _estimates(within, 2 * (number * squares - total**2), number)

    return LinearStatistic.over(units, rows[:, None, :], of)
