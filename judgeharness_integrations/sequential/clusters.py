"""Which clusters can be units of evidence about a population."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

__all__ = ["unequal_clusters"]


def unequal_clusters(clusters: Iterable[Hashable]) -> str:
    """Return why clusters are no evidence about a population one by one; empty where all hold equally many cases.

    A bet needs a bound of what a cluster can weigh, and the largest one so far is none: a larger one that is still to
    come outweighs all before. Of a suite every cluster is known beforehand.

    Args:
        clusters: which cluster each case is in, itself alone or with others.

    """
    sizes = Counter(clusters).values()
    if len(set(sizes)) <= 1:
        return ""
    sized = f"from {min(sizes)} to {max(sizes)} cases"
    return f"clusters hold {sized}, and how large one of the population can be is not known"
