"""Fleiss' kappa and Gwet's AC1 and AC2 of a group of raters, with missing answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.kappa.ratings import (
    MOST_CATEGORIES,
    NO_ITEMS,
    Ratings,
    Weights,
    agreement_weights,
)
from judgeharness_integrations.agreement.kappa.statistic import Estimates, Floats, LinearStatistic, beyond_chance

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.units import Units

__all__ = ["fleiss_statistic", "gwet_statistic", "unfit_for_categories"]

_PAIR = 2


def unfit_for_categories(ratings: Ratings) -> str:
    """Return why the ratings are no categories, or nothing."""
    if not ratings.answers.any():
        return NO_ITEMS
    if ratings.categories > MOST_CATEGORIES:
        return f"{ratings.categories} distinct values are no scale of categories: use alpha with metric interval"
    return ""


def fleiss_statistic(ratings: Ratings, units: Units, weights: Weights) -> LinearStatistic:
    """Return Fleiss' kappa (Fleiss 1971) in Gwet's generalisation to missing answers (Gwet 2014, section 2.4).

    Observed agreement is the mean over items with two answers or more of the share of agreeing pairs, expected
    agreement that of two answers drawn from the mean distribution of an item, items with one answer included: every
    item counts the same, however many answered. With equally many answers it is Fleiss' own.
    """
    table = agreement_weights(ratings, weights)
    return _statistic(ratings, units, table, lambda shares: ((shares @ table) * shares).sum(axis=-1))


def gwet_statistic(ratings: Ratings, units: Units, weights: Weights) -> LinearStatistic:
    """Return Gwet's AC1, with weights AC2 (Gwet 2008; 2014, sections 4.3 and 4.5).

    Expected agreement is T sum p(1-p) / (q(q-1)): q categories, T the sum of their weights, p the mean distribution.
    """
    table = agreement_weights(ratings, weights)
    pairs = ratings.categories * (ratings.categories - 1)
    scale = table.sum() / pairs if pairs else np.nan
    return _statistic(ratings, units, table, lambda shares: scale * (shares * (1 - shares)).sum(axis=-1))


def _statistic(ratings: Ratings, units: Units, table: Floats, chance: Callable[[Floats], Floats]) -> LinearStatistic:
    """Return rows (items, 1, 3 + categories): agreement, items with two answers, with any, shares of an item."""
    counts, answers = ratings.counts(), ratings.answers.astype(np.float64)
    several = answers >= _PAIR
    agreeing = (counts * (counts @ table - 1)).sum(axis=1)
    observed = np.where(several, agreeing / np.maximum(answers * (answers - 1), 1), 0.0)
    shares = counts / np.maximum(answers, 1)[:, None]
    rows = np.column_stack([observed, several.astype(np.float64), np.minimum(answers, 1.0), shares])

    def of(sums: Floats) -> Estimates:
        with np.errstate(invalid="ignore", divide="ignore"):
            return beyond_chance(sums[..., 0] / sums[..., 1], chance(sums[..., 3:] / sums[..., 2:3]))

    return LinearStatistic.over(units, rows[:, None, :], of)
