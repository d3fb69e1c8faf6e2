"""How many of the best by one rating are among the best by another."""

from __future__ import annotations

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats

__all__ = ["top_overlap"]


def top_overlap(first: Floats, second: Floats, k: int) -> float:
    """Return the share, from 0 to 1, of the first k places that two ratings give to the same names.

    Names tied at the edge share the places that are left for them in equal parts, on either side, so that neither order
    of names nor of arguments matters: the overlap is the sum over names of the smaller part, divided by k.

    Args:
        first: ratings (names,), the higher the better; ties are equal numbers.
        second: the other ratings of the same names.
        k: places, from 1 to the number of names.

    """
    return float(np.minimum(_parts(first, k), _parts(second, k)).sum() / k)


def _parts(values: Floats, k: int) -> Floats:
    """Return (names,) how much of a place among the first k each has: 1, 0, or a part where names tie at the edge."""
    edge = np.sort(values)[-k]
    above, tied = values > edge, values == edge
    return np.where(above, 1.0, np.where(tied, (k - above.sum()) / tied.sum(), 0.0))
