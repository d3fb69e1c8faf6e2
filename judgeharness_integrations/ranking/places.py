"""Who is first: ranks by a method, the judges beyond any finite rating included."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np

from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.rating import Method, Rating

__all__ = ["ranked", "ranks_of"]

_DECIMALS = 6  # ratings of judges with the same credits differ by rounding alone


def ranked(scores: Mapping[str, float]) -> dict[str, int]:
    """Return name -> rank, 1 for the highest; the same score shares the better rank."""
    rounded = {name: round(score, _DECIMALS) for name, score in scores.items()}
    ordered = sorted(rounded.values())
    return {name: 1 + len(ordered) - bisect_right(ordered, score) for name, score in rounded.items()}


def ranks_of(rating: Rating, method: Method, matrix: Credits) -> dict[str, int]:
    """Return judge -> rank; judges that nothing compares are left out, all of them where no scale holds all.

    Judges that are never beaten come first and those that never win come last, by their share of credit. Where each
    judge beats the next and is never beaten by it, nobody has a rating and all are ranked so.
    """
    scores = rating.scores(method)
    if method == "eip" or rating.connections.judges("apart"):
        return ranked(scores)
    if not scores and len(rating.connections.judges("rated")) != 1:
        return {}
    earned = np.nansum(matrix.values, axis=0) / np.maximum(matrix.seen.sum(axis=0), 1)
    share = dict(zip(matrix.judges, earned.tolist(), strict=True))
    found: dict[str, int] = {}
    for place in ("above", "rated", "below"):
        judges = rating.connections.judges(place)
        values = scores if place == "rated" and scores else share
        found |= {name: rank + len(found) for name, rank in ranked({judge: values[judge] for judge in judges}).items()}
    return found
