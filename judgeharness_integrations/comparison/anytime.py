"""A difference that may be looked at after every case: its evidence instead of a test of a fixed number of cases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.sequential import log_e_shift, log_e_signs, mean_interval
from judgeharness_integrations.sequential.clusters import unequal_clusters

if TYPE_CHECKING:
    from judgeharness_integrations.comparison.difference import Difference

__all__ = ["anytime", "p_of_labels"]

_NO_SCALE: Final = "the ends of the scale are not known"
_BETTING = "betting e-process and confidence sequence"


def anytime(
    found: Difference,
    changes: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    span: float | None,
    every: Sequence[Hashable] | None = None,
) -> Difference:
    """Return a difference with a p-value and an interval that hold however often one looks.

    Args:
        found: the difference.
        changes: after - before, one a case.
        clusters: which cluster each case is in: clusters are the units.
        span: the largest change there can be; None where nobody says, and then nothing is tested.
        every: the clusters of all cases that were measured twice, those without a change among them; nothing is tested
            where some hold more cases than others.

    """
    nothing: dict[str, Any] = {"error": None, "degrees": None}
    missing = _NO_SCALE if not changes or span is None else unequal_clusters(clusters if every is None else every)
    if not changes or span is None or missing:
        return replace(found, p=None, low=None, high=None, method=f"none: {missing}", **nothing)
    sizes = Counter(clusters)
    most = max(Counter(clusters if every is None else every).values())
    sums = _sums(changes, clusters)
    weights = np.array(list(sizes.values()), dtype=np.float64)
    signs = most == 1 and set(changes) <= {-1.0, 0.0, 1.0}
    log_e = float(log_e_signs(found.rose, found.fell) if signs else log_e_shift(sums, span * most))
    low, high = mean_interval((sums / span + weights) / 2, weights, most=most)
    method = f"mixture e-process of signs, {_BETTING}" if signs else _BETTING
    return replace(found, p=_p(log_e), low=span * (2 * low - 1), high=span * (2 * high - 1), method=method, **nothing)


def p_of_labels(
    before: Sequence[int], after: Sequence[int], clusters: Sequence[Hashable], *, labels: int
) -> float | None:
    """Return the p-value of unchanged shares of all labels: of the mean of the evidence about each of them.

    None where some clusters hold more cases than others.
    """
    if unequal_clusters(clusters):
        return None
    most = max(Counter(clusters).values())
    found = []
    for label in range(labels):
        changes = [float(now == label) - float(was == label) for was, now in zip(before, after, strict=True)]
        found.append(float(log_e_shift(_sums(changes, clusters), float(most))))
    return _p(float(np.logaddexp.reduce(found)) - math.log(labels))


def _sums(changes: Sequence[float], clusters: Sequence[Hashable]) -> NDArray[np.float64]:
    sums: dict[Hashable, float] = {}
    for change, cluster in zip(changes, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + change
    return np.array(list(sums.values()))


def _p(log_e: float) -> float:
    return math.exp(-max(0.0, log_e))
