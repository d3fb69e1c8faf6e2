"""Cohen's and Fleiss' kappa, Krippendorff's alpha, Gwet's AC1 and AC2, from sums over items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from ..statistics.agreement import chance_corrected
from .ratings import MOST_CATEGORIES, NO_ITEMS, Ratings, Units, Weights, agreement_weights, pairable

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Codes: TypeAlias = "NDArray[np.intp]"
Flags: TypeAlias = "NDArray[np.bool_]"
_NOTHING = 1e-12


class Estimates(NamedTuple):
    """Coefficients (...,), with the agreement observed and the one expected by chance; NaN where undefined."""

    value: Floats
    observed: Floats
    expected: Floats


def beyond_chance(observed: Floats, expected: Floats) -> Estimates:
    """Return (observed - expected) / (1 - expected), undefined where chance alone agrees always."""
    room = 1.0 - expected
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(room > _NOTHING, chance_corrected(observed, expected), np.nan)
    return Estimates(value, observed, expected)


class Statistic(Protocol):
    """Coefficients as a function of how often each unit is drawn."""

    @property
    def coefficients(self) -> int:
        """How many coefficients it gives at once."""
        ...

    def estimate(self, weights: Floats) -> Estimates:
        """Return (..., coefficients) from weights (..., units)."""
        ...

    def leave_one_out(self, base: Floats) -> Floats | None:
        """Return (units, coefficients) without one of each unit; None where that takes too long."""
        ...


@dataclass(frozen=True, eq=False)
class LinearStatistic:
    """Coefficients that depend on the items by sums of fixed rows.

    Attributes:
        rows: (units, coefficients, columns) what one draw of a unit adds.
        of: sums (..., coefficients, columns) -> estimates (..., coefficients).

    """

    rows: Floats
    of: Callable[[Floats], Estimates]

    @property
    def coefficients(self) -> int:
        """How many coefficients it gives at once."""
        return int(self.rows.shape[1])

    @classmethod
    def over(cls, units: Units, rows: Floats, of: Callable[[Floats], Estimates]) -> LinearStatistic:
        """Return the statistic of rows (items, coefficients, columns)."""
        return cls(units.gather(rows), of)

    def estimate(self, weights: Floats) -> Estimates:
        """Return (..., coefficients) from weights (..., units)."""
        flat = self.rows.reshape(len(self.rows), -1)
        return self.of((weights @ flat).reshape(*weights.shape[:-1], *self.rows.shape[1:]))

    def leave_one_out(self, base: Floats) -> Floats | None:
        """Return (units, coefficients) without one of each unit."""
        total = np.tensordot(base, self.rows, axes=1)
        return self.of(total - self.rows).value


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


_AT_ONCE = 4_000_000  # numbers in one block of ranks
_TOO_MANY = 4_000  # units; above it the skewness of one in so many changes no interval


@dataclass(frozen=True, kw_only=True, eq=False)
class OrdinalAlpha:
    """Alpha of metric ordinal: alpha of metric interval on the mean ranks of the answers.

    The distance of two categories, half of both and all answers between, is the distance of their mean ranks.
    `counts` is (items, categories) over items with two answers or more, `largest` its longer side, `weight` (items,)
    1 / (answers - 1).
    """

    counts: csr_array
    largest: int
    weight: Floats
    units: Units

    @property
    def coefficients(self) -> int:
        """How many coefficients it gives at once."""
        return 1

    @classmethod
    def of_ratings(cls, ratings: Ratings, units: Units) -> OrdinalAlpha:
        """Return the statistic of ratings."""
        weight = pairable(ratings)
        used = (ratings.codes >= 0) & (weight > 0)
        item = np.nonzero(used)[1]
        shape = (ratings.codes.shape[1], ratings.categories)
        counts = csr_array((np.ones(len(item)), (item, ratings.codes[used])), shape=shape)
        return cls(counts=counts, largest=max(1, *shape), weight=weight, units=units)

    def estimate(self, weights: Floats) -> Estimates:
        """Return (..., 1) from weights (..., units)."""
        drawn = self.units.spread(np.atleast_2d(weights))
        block = max(1, _AT_ONCE // self.largest)
        parts = [self._block(drawn[start : start + block]) for start in range(0, len(drawn), block)]
        shape = (*weights.shape[:-1], 1)
        return Estimates(*(np.concatenate(part).reshape(shape) for part in zip(*parts, strict=True)))

    def leave_one_out(self, base: Floats) -> Floats | None:
        """Return (units, 1) without one of each unit; None for thousands of them."""
        return None if len(base) > _TOO_MANY else self.estimate(base - np.eye(len(base))).value

    def _block(self, drawn: Floats) -> Estimates:
        """Return (block,) from item weights (block, items)."""
        used = (self.counts.T @ drawn.T).T
        answers = used.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            # ranks as shares of all answers, around 0
            ranks = (np.cumsum(used, axis=1) - used / 2) / answers[:, None] - 0.5
            reach = (ranks[:, -1] - ranks[:, 0]) ** 2 * answers**2
        within, total = (drawn * self.weight), (self.counts @ ranks.T).T
        squares = (self.counts @ (ranks**2).T).T
        apart = 2 * (within * (self._answers * squares - total**2)).sum(axis=1)
        by_chance = 2 * (answers * (used * ranks**2).sum(axis=1) - (used * ranks).sum(axis=1) ** 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return beyond_chance(1 - apart * (answers - 1) / reach, 1 - by_chance / reach)

    @property
    def _answers(self) -> Floats:
        return np.asarray(self.counts.sum(axis=1), np.float64)


_ITEMS = 2.0  # that the prior is worth in all
_DRAWN, _SEED = 256, 0
_MOST = 10  # categories; beyond, answers are measurements, and items drawn anywhere on the scale would say too much


def with_prior(ratings: Ratings, *, everyone: bool) -> tuple[Ratings, Units]:
    """Return ratings with items of a prior behind their own, and the units of both.

    The prior is worth two items. They are exchangeable answers: the first is any category, each next one repeats one
    of those before with the chance that makes two of them agree in three of four items (Polya's urn, Blackwell and
    MacQueen 1973); with two categories their share among the raters has Jeffreys' prior. Without a prior, what was
    not seen cannot be drawn, and intervals at rare labels are far too short. With more than ten categories, or one,
    there is none: units are drawn with replacement.

    Args:
        ratings: the sample.
        everyone: whether every rater answers about the items of the prior, which pairs need; else as many as on
            average answered about an item.

    """
    units, categories = Units.of_ratings(ratings), ratings.categories
    answering = ratings.answers[ratings.answers >= _PAIR]
    if not 1 < categories <= _MOST or not len(answering):
        return ratings, units
    raters = ratings.raters if everyone else round(float(answering.mean()))
    drawn, counts = np.unique(_urn(raters, categories), axis=1, return_counts=True)
    items = np.full((ratings.raters, drawn.shape[1]), -1, np.intp)
    items[:raters] = drawn
    real = len(units.base)
    prior = np.concatenate([np.zeros(real), counts * _ITEMS / _DRAWN])
    both = Units(
        of=np.concatenate([units.of, real + np.arange(len(counts))]),
        base=np.concatenate([units.base, np.zeros(len(counts))]),
        prior=prior,
        size=len(units.of) / units.drawn,
        split=np.concatenate([np.zeros(real, bool), (drawn != drawn[0]).any(axis=0)]),
    )
    return replace(ratings, codes=np.concatenate([ratings.codes, items], axis=1), clusters=None), both


def _urn(raters: int, categories: int) -> Codes:
    """Return (raters, 256) exchangeable answers, of which two agree in three of four items."""
    generator = np.random.default_rng(_SEED)
    fresh = categories / (3 * categories - 4)
    answers: Codes = generator.integers(0, categories, (raters, _DRAWN))
    for place in range(1, raters):
        repeats = generator.random(_DRAWN) < place / (place + fresh)
        earlier = answers[generator.integers(0, place, _DRAWN), np.arange(_DRAWN)]
        answers[place] = np.where(repeats, earlier, answers[place])
    return answers


_SPARSE = 0.1  # of the cells: below, only what is there is multiplied
Matrix: TypeAlias = "sparse.csr_array | NDArray[np.float64]"


def shared_items(first: Codes, second: Codes) -> Floats:
    """Return (raters, other raters): about how many items both answered; codes (raters, items), -1 where missing."""
    return _product(_matrix((first >= 0).astype(np.float64)), _matrix((second >= 0).astype(np.float64)))


def cohen_values(ratings: Ratings, pairs: Sequence[Pair], weights: Weights) -> tuple[Estimates, Floats]:
    """Return the kappas (pairs,) of `cohen_statistic` for the sample as it is, and the items of each pair."""
    one, two = np.array(pairs, np.intp).reshape(-1, 2).T
    rows, row = np.unique(one, return_inverse=True)
    columns, column = np.unique(two, return_inverse=True)
    place = (row.reshape(-1), column.reshape(-1))
    mine, theirs = ratings.codes[rows], ratings.codes[columns]
    found = (
        _moments_of_crowd(ratings, mine, theirs)
        if weights == "quadratic"
        else _margins_of_crowd(ratings, mine, theirs, weights)
    )
    return Estimates(*(part[place] for part in found)), shared_items(mine, theirs)[place]


def _margins_of_crowd(ratings: Ratings, mine: Codes, theirs: Codes, weights: Weights) -> Estimates:
    """Return estimates (raters, other raters), category by category."""
    answered = [_matrix((codes >= 0).astype(np.float64)) for codes in (mine, theirs)]
    common = _product(answered[0], answered[1])
    agreed, expected, most = np.zeros_like(common), np.zeros_like(common), np.zeros_like(common)
    for code, near in enumerate(agreement_weights(ratings, weights)):
        said, said_there = (_matrix((codes == code).astype(np.float64)) for codes in (mine, theirs))
        close = said_there if weights == "none" else _matrix(np.where(theirs >= 0, near[theirs], 0.0))
        margin = _product(said, answered[1])
        agreed += _product(said, close)
        expected += margin * _product(answered[0], close)
        most = np.maximum(most, np.maximum(margin, _product(answered[0], said_there)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return unless_constant(most == common, beyond_chance(agreed / common, expected / common**2))


def _moments_of_crowd(ratings: Ratings, mine: Codes, theirs: Codes) -> Estimates:
    """Return estimates (raters, other raters) from sums of numbers and of their squares."""
    values = ratings.centred()
    answered = [_matrix((codes >= 0).astype(np.float64)) for codes in (mine, theirs)]
    place = [np.where(codes >= 0, values[codes], 0.0) for codes in (mine, theirs)]
    first, second = (_matrix(numbers) for numbers in place)
    one_squared = _product(_matrix(place[0] ** 2), answered[1])
    two_squared = _product(answered[0], _matrix(place[1] ** 2))
    apart = np.maximum(one_squared + two_squared - 2 * _product(first, second), 0.0)
    sums = (_product(first, answered[1]), _product(answered[0], second), one_squared, two_squared, apart)
    return of_moments(np.stack([_product(answered[0], answered[1]), *sums], axis=-1))


def _matrix(values: Floats) -> Matrix:
    return sparse.csr_array(values) if np.count_nonzero(values) < _SPARSE * values.size else values


def _product(first: Matrix, second: Matrix) -> Floats:
    """Return first @ second.T as an array."""
    made: Any = first @ second.T
    found: Floats = made.toarray() if sparse.issparse(made) else made
    return found
