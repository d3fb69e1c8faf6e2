"""How much better one judge is than another on the same pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.statistics.means import mean_interval, t_p, z_p
from judgeharness_integrations.statistics.paired import tango_interval

__all__ = ["PairedDifference", "paired_difference"]


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """Mean credit of one judge minus that of another over the `n` pairs both were asked about.

    `ci95` and the two-sided `p` go together: Tango's score interval and McNemar's test (without correction) for whole
    credits, Student's for fractional ones. None where nothing varies, as far as the method then tells nothing.
    """

    n: int
    mean: float
    ci95: tuple[float, float] | None
    p: float | None


def paired_difference(one: Floats, other: Floats) -> PairedDifference | None:
    """Return the difference of two judges' credits (pairs,), NaN where not asked; None where they share no pair."""
    shared = ~(np.isnan(one) | np.isnan(other))
    one, other = one[shared], other[shared]
    if not len(one):
        return None
    if np.isin(np.concatenate([one, other]), (0.0, 1.0)).all():
        return _whole(int(np.sum(one > other)), int(np.sum(one < other)), len(one))
    return _fractional(one - other)


def _whole(gained: int, lost: int, n: int) -> PairedDifference:
    discordant = gained + lost
    z = abs(gained - lost) / math.sqrt(discordant) if discordant else None
    return PairedDifference(
        n=n,
        mean=(gained - lost) / n,
        ci95=tango_interval(gained, lost, n),
        p=None if z is None else float(z_p(z)),
    )


def _fractional(differences: Floats) -> PairedDifference:
    n, mean = len(differences), float(differences.mean())
    interval = mean_interval(differences)
    if interval is None:
        return PairedDifference(n=n, mean=mean, ci95=None, p=None)
    t = abs(mean) * math.sqrt(n) / float(differences.std(ddof=1))
    return PairedDifference(n=n, mean=mean, ci95=interval, p=t_p(t, n - 1))
