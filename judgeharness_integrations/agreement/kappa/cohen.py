"""Cohen's kappa of pairs of raters, from sums over items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from judgeharness_integrations.agreement.kappa.ratings import (
    MOST_CATEGORIES,
    NO_ITEMS,
    Ratings,
    Weights,
    agreement_weights,
)
from judgeharness_integrations.agreement.kappa.statistic import (
    Codes,
    Estimates,
    Flags,
    Floats,
    LinearStatistic,
    beyond_chance,
)

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.units import Units

__all__ = ["Pair", "cohen_statistic", "of_moments", "unfit_for_cohen", "unless_constant"]

Pair: TypeAlias = "tuple[int, int]"
_CONSTANT = 1e-12


def unfit_for_cohen(ratings: Ratings, weights: Weights) -> str:
    """Return why the ratings have no such kappa, or nothing."""
    if not ratings.answers.any():
        return NO_ITEMS
    if weights != "quadratic" and ratings.categories > MOST_CATEGORIES:
        return f"{ratings.categories} distinct values are no scale of categories: use quadratic weights"
    return ""


def cohen_statistic(ratings: Ratings, pairs: Sequence[Pair], units: Units, weights: Weights) -> LinearStatistic:
    """Return the kappas of pairs of raters over the items both answered (Cohen 1960; weighted: Cohen 1968).

    It is undefined where one of the two never varies.
    """
    first, second = (ratings.codes[list(side)] for side in zip(*pairs, strict=True))
    both = (first >= 0) & (second >= 0)
    if weights == "quadratic":
        return LinearStatistic.over(units, _moments(ratings, first, second, both), of_moments)
    table = agreement_weights(ratings, weights)
    rows = _margins(table, first, second, both)
    return LinearStatistic.over(units, rows, lambda sums: _of_margins(sums, table))


def _margins(table: Floats, first: Codes, second: Codes, both: Flags) -> Floats:
    """Return rows (items, pairs, 1 + 2 categories): agreement, and who used which category."""
    categories = len(table)
    rows = np.zeros((both.shape[1], len(both), 1 + 2 * categories))
    pair, item = np.nonzero(both)
    one, two = first[pair, item], second[pair, item]
    rows[item, pair, 0] = table[one, two]
    rows[item, pair, 1 + one] = 1.0
    rows[item, pair, 1 + categories + two] = 1.0
    return rows


def _of_margins(sums: Floats, table: Floats) -> Estimates:
    categories = len(table)
    first, second = sums[..., 1 : 1 + categories], sums[..., 1 + categories :]
    items = first.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = sums[..., 0] / items
        expected = ((first @ table) * second).sum(axis=-1) / items**2
    constant = (first.max(axis=-1) == items) | (second.max(axis=-1) == items)
    return unless_constant(constant, beyond_chance(observed, expected))


def _moments(ratings: Ratings, first: Codes, second: Codes, both: Flags) -> Floats:
    """Return rows (items, pairs, 6): items, both sums, both sums of squares, sum of squared differences.

    Quadratic weights need no table of categories: 1 - kappa = E(a - b)^2 over the same under independence.
    """
    place = ratings.centred()
    one, two = np.where(both, place[first], 0.0), np.where(both, place[second], 0.0)
    return np.stack([both.astype(np.float64), one, two, one**2, two**2, (one - two) ** 2], axis=-1).swapaxes(0, 1)


def of_moments(sums: Floats) -> Estimates:
    """Return estimates (...,) from sums (..., 6) of the rows of `_moments`."""
    with np.errstate(invalid="ignore", divide="ignore"):
        one, two, one_squared, two_squared, apart = np.moveaxis(sums[..., 1:] / sums[..., :1], -1, 0)
    constant = (one_squared - one**2 <= _CONSTANT * one_squared) | (two_squared - two**2 <= _CONSTANT * two_squared)
    return unless_constant(constant, beyond_chance(1 - apart, 1 - (one_squared + two_squared - 2 * one * two)))


def unless_constant(constant: Flags, found: Estimates) -> Estimates:
    """Return estimates without a value where one of the two never varies."""
    return found._replace(value=np.where(constant, np.nan, found.value))
