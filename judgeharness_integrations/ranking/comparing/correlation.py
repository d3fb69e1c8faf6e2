"""How alike two ratings order the same judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from judgeharness_integrations.calibration.rankcorrelation import kendall_tau_b
from judgeharness_integrations.calibration.rankcorrelation import spearman as spearman_rho
from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.comparing.topoverlap import top_overlap

__all__ = ["LEAST_JUDGES", "TOPS", "RankCorrelation", "correlate", "correlated"]

LEAST_JUDGES: Final = 3  # two are ordered alike or not, by chance as often as not
TOPS: Final = (3, 5, 10)

_SAME = 1e-8  # of the spread: ratings of judges with the same credits differ by rounding alone
_NO_SPREAD = 1e-10  # of the size


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Ratings `x` and `y` (their labels) of the `judges` (how many) that have both.

    Spearman's rho of mid-ranks and Kendall's tau-b, ties included; Pearson's r of the ratings themselves. None below 3
    judges, or where all ratings of a side are the same. `top`: k -> share of the first k judges that the two have in
    common, for k of 3, 5 and 10 below the number of judges; see `top_overlap` for ties at the edge.
    """

    x: str
    y: str
    group: str | None = None
    judges: int
    spearman: float | None
    kendall: float | None
    pearson: float | None
    top: tuple[tuple[int, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the correlations as JSON keeps them."""
        return asdict(self) | {"top": [list(entry) for entry in self.top]}


def correlate(
    x: Mapping[str, float], y: Mapping[str, float], *, labels: tuple[str, str], group: str | None = None
) -> RankCorrelation:
    """Correlate two ratings over the judges that both hold.

    Args:
        x: judge -> rating, the higher the better.
        y: the other ratings.
        labels: what to call the two.
        group: of which pairs, for the record.

    """
    names = [name for name in x if name in y]
    first, second = (np.array([side[name] for name in names], np.float64) for side in (x, y))
    return correlated(first, second, labels=labels, group=group)


def correlated(
    first: Floats, second: Floats, *, labels: tuple[str, str] = ("x", "y"), group: str | None = None
) -> RankCorrelation:
    """Correlate two columns of finite ratings, (judges,) each."""
    n = len(first)
    one, other = tie_codes(first), tie_codes(second)
    rho = tau = linear = None
    if n >= LEAST_JUDGES and one.max() > 0 and other.max() > 0:
        places = range(n)
        rho, tau = spearman_rho(one, other, places), kendall_tau_b(one, other, places)
        linear = float(np.clip(np.corrcoef(first, second)[0, 1], -1.0, 1.0))
    return RankCorrelation(
        x=labels[0],
        y=labels[1],
        group=group,
        judges=n,
        spearman=None if rho is None else rho.value,
        kendall=None if tau is None else tau.value,
        pearson=linear,
        top=tuple((k, top_overlap(one, other, k)) for k in TOPS if k < n),
    )


def tie_codes(values: Floats) -> Floats:
    """Return (n,) whole numbers in the order of the values, the same where values differ by rounding alone."""
    if not len(values):
        return values
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    spread = float(ordered[-1] - ordered[0])
    least = max(_SAME * spread, _NO_SPREAD * float(np.abs(values).max()))
    codes = np.empty(len(values))
    codes[order] = np.concatenate([[0.0], np.cumsum(np.diff(ordered) > least)])
    return codes
