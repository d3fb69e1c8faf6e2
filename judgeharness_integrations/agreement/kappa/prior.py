"""What is held likely before an item was seen, as items of small weight beside those of the sample."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.kappa.units import Units

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.ratings import Ratings
    from judgeharness_integrations.agreement.kappa.statistic import Codes

__all__ = ["with_prior"]

_ITEMS = 2.0  # that the prior is worth in all
_DRAWN, _SEED = 256, 0
_MOST = 10  # categories; beyond, answers are measurements, and items drawn anywhere on the scale would say too much
_PAIR = 2


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
