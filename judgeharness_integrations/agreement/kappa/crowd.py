"""Cohen's kappa of very many pairs of raters, without resamples: counts of all pairs are products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from judgeharness_integrations.agreement.kappa.cohen import Pair, of_moments, unless_constant
from judgeharness_integrations.agreement.kappa.ratings import Ratings, Weights, agreement_weights
from judgeharness_integrations.agreement.kappa.statistic import Codes, Estimates, Floats, beyond_chance

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cohen_values", "shared_items"]

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
    found = _moments(ratings, mine, theirs) if weights == "quadratic" else _margins(ratings, mine, theirs, weights)
    return Estimates(*(part[place] for part in found)), shared_items(mine, theirs)[place]


def _margins(ratings: Ratings, mine: Codes, theirs: Codes, weights: Weights) -> Estimates:
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


def _moments(ratings: Ratings, mine: Codes, theirs: Codes) -> Estimates:
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
