"""Differences between judges: only they are free of the gauge, and only they say who is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats, Marks
from judgeharness_integrations.statistics.means import Z95, z_p
from judgeharness_integrations.statistics.multiplicity import step_up

__all__ = ["LEVEL", "NO_SPREAD", "Contrast", "contrasts_of", "rank_ranges", "tested"]

LEVEL: Final = 0.05
NO_SPREAD: Final = 1e-6  # Elo: an error as small is none, as of judges that answered alike throughout


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """`judge` minus `other` in Elo; `p` two-sided, `p_adjusted` over all contrasts (Benjamini-Hochberg).

    p is None where the two answered alike throughout: there is nothing to test.
    """

    judge: str
    other: str
    difference: float
    se: float
    ci95: tuple[float, float]
    p: float | None
    p_adjusted: float | None

    @property
    def significant(self) -> bool:
        """Whether the two differ at a false discovery rate of 5 %."""
        return self.p_adjusted is not None and self.p_adjusted <= LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return the contrast as JSON keeps it."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"ci95": list(self.ci95)}


def contrasts_of(judges: Sequence[str], elo: Floats, covariance: Floats) -> tuple[Contrast, ...]:
    """Return every pair of judges, the higher first, in order of their ranks.

    Args:
        judges: their names.
        elo: (judges,) ratings.
        covariance: (judges, judges) of them, in Elo squared.

    """
    order = np.argsort(-elo, kind="stable")
    one, other = (order[places].astype(np.intp) for places in np.triu_indices(len(order), k=1))
    difference = elo[one] - elo[other]
    variance = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
    se = np.sqrt(np.maximum(variance, 0.0))
    told, p, adjusted = tested(difference, se)
    return tuple(
        Contrast(
            judge=judges[int(one[place])],
            other=judges[int(other[place])],
            difference=float(difference[place]),
            se=float(se[place]),
            ci95=(float(difference[place] - Z95 * se[place]), float(difference[place] + Z95 * se[place])),
            p=float(p[place]) if told[place] else None,
            p_adjusted=float(adjusted[place]) if told[place] else None,
        )
        for place in range(len(one))
    )


def tested(difference: Floats, se: Floats) -> tuple[Marks, Floats, Floats]:
    """Return (tests,) which differences in Elo have an error, their p-values, and those adjusted; NaN without one."""
    told = se > NO_SPREAD
    p = np.where(told, z_p(difference / np.where(told, se, 1.0)), np.nan)
    return told, p, step_up(p)


def rank_ranges(judges: Sequence[str], contrasts: Sequence[Contrast], *, above: int = 0) -> dict[str, tuple[int, int]]:
    """Return judge -> the best and the worst rank that no significant difference speaks against.

    Args:
        judges: that are rated.
        contrasts: between them.
        above: how many judges rank before all of them.

    """
    better = dict.fromkeys(judges, 0)
    worse = dict.fromkeys(judges, 0)
    for contrast in contrasts:
        if contrast.significant:
            worse[contrast.judge] += 1
            better[contrast.other] += 1
    return {judge: (above + 1 + better[judge], above + len(judges) - worse[judge]) for judge in judges}
