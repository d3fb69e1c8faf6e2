"""What the change of a judge's Elo from one set of pairs to another is worth, and whether it prefers its own set."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.bradleyterry.conditionalfit import ConditionalFit
from judgeharness_integrations.ranking.bradleyterry.contrasts import LEVEL, NO_SPREAD, tested
from judgeharness_integrations.ranking.bradleyterry.jointfit import JointFit
from judgeharness_integrations.statistics.means import Z95

__all__ = ["EloChange", "Fit", "OwnSet", "changes_of", "own_sets", "wrote"]

Fit: TypeAlias = JointFit | ConditionalFit

_NO_SUCH_ELO = "it has no Elo in one of them"
_BOTH = "it wrote pairs of both"
_NOBODY_ELSE = "every judge in both wrote one of them, so that none is a measure for it"


@dataclass(frozen=True, kw_only=True)
class EloChange:
    """Elo of a judge in the other set minus that in this one, the mean of the judges in both held in each.

    `p` two-sided, `p_adjusted` over all judges (Benjamini-Hochberg); None where there is no spread to test by.
    """

    judge: str
    change: float
    se: float
    ci95: tuple[float, float]
    p: float | None
    p_adjusted: float | None

    @property
    def significant(self) -> bool:
        """Whether it is other than 0 at a false discovery rate of 5 %."""
        return self.p_adjusted is not None and self.p_adjusted <= LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON keeps it."""
        return asdict(self) | {"ci95": list(self.ci95)}


@dataclass(frozen=True, kw_only=True)
class OwnSet:
    """How much more a judge gains in the set it wrote (`own`) than the `others` do that wrote neither, in Elo.

    `gain` is None where that cannot be said; `reason` is why.
    """

    judge: str
    own: str | None
    others: int
    gain: float | None = None
    se: float | None = None
    ci95: tuple[float, float] | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return asdict(self) | {"ci95": None if self.ci95 is None else list(self.ci95)}


def wrote(judge: str, generators: Collection[str]) -> bool:
    """Return whether a judge is one of the models that wrote; `model` stands for `model@variant` too."""
    return judge in generators or judge.partition("@")[0] in generators


def changes_of(one: Fit, other: Fit) -> tuple[EloChange, ...]:
    """Return the change of each judge that both sets rate, in the order of the first.

    The sets are taken as independent, so that the variances of both add up. Where pairs of both were drawn alike the
    ratings vary together, and the errors are too wide rather than too narrow.
    """
    judges, change, covariance = _changed(one, other)
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    told, p, adjusted = tested(change, se)
    return tuple(
        EloChange(
            judge=judge,
            change=float(change[place]),
            se=float(se[place]),
            ci95=_interval(float(change[place]), float(se[place])),
            p=float(p[place]) if told[place] else None,
            p_adjusted=float(adjusted[place]) if told[place] else None,
        )
        for place, judge in enumerate(judges)
    )


def own_sets(
    one: Fit,
    other: Fit,
    *,
    labels: tuple[str, str],
    generators: tuple[Collection[str], Collection[str]],
    judges: Sequence[str],
) -> tuple[OwnSet, ...]:
    """Return, of each judge that wrote a set, its change towards that set against the mean change of the others.

    Args:
        one: the judges rated on the first set.
        other: the judges rated on the second one.
        labels: what the sets are called.
        generators: who wrote each.
        judges: that answered about both, rated or not.

    """
    rated, change, covariance = _changed(one, other)
    sides = {judge: tuple(wrote(judge, names) for names in generators) for judge in judges}
    neutral = np.array([not any(sides[judge]) for judge in rated], np.bool_)
    found = []
    for judge in (judge for judge in judges if any(sides[judge])):
        own = None if all(sides[judge]) else labels[sides[judge].index(True)]
        base = {"judge": judge, "own": own, "others": int(neutral.sum())}
        reason = _reason(sides[judge], rated=judge in rated, others=int(neutral.sum()))
        if reason is not None:
            found.append(OwnSet(**base, reason=reason))  # type: ignore[arg-type]
            continue
        weights = np.where(neutral, -1 / neutral.sum(), 0.0)
        weights[rated.index(judge)] = 1.0
        weights *= -1.0 if sides[judge][0] else 1.0
        gain, se = float(weights @ change), float(np.sqrt(max(weights @ covariance @ weights, 0.0)))
        known = None if se <= NO_SPREAD else _interval(gain, se)
        found.append(OwnSet(**base, gain=gain, se=se, ci95=known))  # type: ignore[arg-type]
    return tuple(found)


def _reason(sides: tuple[bool, ...], *, rated: bool, others: int) -> str | None:
    if all(sides):
        return _BOTH
    if not rated:
        return _NO_SUCH_ELO
    return None if others else _NOBODY_ELSE


def _changed(one: Fit, other: Fit) -> tuple[list[str], Floats, Floats]:
    """Return the judges of both, their changes about their mean, and the covariance of those."""
    judges = [judge for judge in one.judges if judge in other.judges]
    centre = np.eye(len(judges)) - 1 / max(len(judges), 1)
    parts = [_of(fit, judges) for fit in (one, other)]
    change = centre @ (parts[1][0] - parts[0][0])
    return judges, change, centre @ (parts[0][1] + parts[1][1]) @ centre


def _of(fit: Fit, judges: Sequence[str]) -> tuple[Floats, Floats]:
    places = [fit.judges.index(judge) for judge in judges]
    return fit.elo[places], fit.covariance[np.ix_(places, places)]


def _interval(value: float, se: float) -> tuple[float, float]:
    return value - Z95 * se, value + Z95 * se
