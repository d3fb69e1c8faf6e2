"""What it is worth to a judge that the better answer is shown first: a nuisance parameter of Bradley-Terry.

Fitted by conditional maximum likelihood, as judges are: every answer in an order is one of 2 J columns, and pairs are
conditioned away. Joint estimation would inflate the effect by about 2J / (2J - 1), and its interval would miss it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.bradleyterry.conditionalnewton import SINGULAR, conditional_maximum
from judgeharness_integrations.ranking.bradleyterry.connections import connections_of
from judgeharness_integrations.ranking.bradleyterry.gauge import gauge_of
from judgeharness_integrations.ranking.bradleyterry.newton import JointModel, maximise
from judgeharness_integrations.ranking.bradleyterry.patterns import Patterns, patterns_of
from judgeharness_integrations.ranking.bradleyterry.scale import ELO_MEAN, ELO_POINTS
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.statistics.means import Z95, z_p

__all__ = ["OrderEffect", "order_effect"]

_SHIFT = (0.5, -0.5)
_NO_SPREAD = 1e-6  # Elo: answers in both orders are alike


@dataclass(frozen=True, kw_only=True)
class OrderEffect:
    """Elo that showing the better answer first is worth, over all judges; errors clustered by pair.

    `judges`: (name, Elo, SE) with that effect taken out, judges' mean 1500. `matches` were played, on `pairs` pairs.
    p is 1 where the answers in both orders are alike throughout.
    """

    elo: float
    se: float
    ci95: tuple[float, float]
    p: float
    judges: tuple[tuple[str, float, float], ...]
    pairs: int
    matches: int

    def to_dict(self) -> dict[str, Any]:
        """Return the effect as JSON keeps it."""
        judges = [{"judge": judge, "elo": elo, "se": se} for judge, elo, se in self.judges]
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"ci95": list(self.ci95), "judges": judges}


def order_effect(better_first: Credits, better_second: Credits) -> OrderEffect | None:
    """Fit logit P(right) = judge - pair +- effect / 2 by conditional maximum likelihood.

    Args:
        better_first: credits where the better answer was shown first; NaN where it was not shown so.
        better_second: the same judges and pairs the other way round.

    Returns:
        The effect; None where the judges cannot be rated together, where credits are fractions, or where the effect
        cannot be told from the pairs' difficulty (no judge saw a pair in both orders) or has no finite estimate.

    """
    if better_first.fractional or better_second.fractional:
        return None
    both = np.stack([better_first.values, better_second.values])
    played = ~np.isnan(both)
    if not played.all(axis=0).any():  # else the effect may not be told from difficulty, or from the judges
        return None
    times = played.sum(axis=0)
    mean = np.divide(np.nansum(both, axis=0), times, out=np.full(times.shape, np.nan), where=times > 0)
    averaged = replace(better_first, values=mean)
    kept = ~averaged.unanimous
    if not kept.any() or not connections_of(averaged.of_pairs(kept)).connected:
        return None
    return _fitted(better_first.judges, np.concatenate([better_first.values, better_second.values], axis=1)[kept])


def _fitted(judges: tuple[str, ...], values: Floats) -> OrderEffect | None:
    """Fit answers (pairs, 2 judges), of the one order and then of the other."""
    design = np.column_stack([np.tile(np.eye(len(judges)), (2, 1)), np.repeat(_SHIFT, len(judges))])
    patterns = patterns_of(values)
    start = _start(patterns, len(judges)) if _told_apart(values, design) else None
    found = None if start is None else conditional_maximum(patterns, design, judges=len(judges), start=start)
    if found is None:
        return None
    seen = ~np.isnan(values)
    scores = np.where(seen, values - found.chance[patterns.of], 0.0) @ design
    moved = np.linalg.solve(found.information, scores.T)
    pairs = len(values)
    errors = ELO_POINTS * np.sqrt(np.square(moved).sum(axis=1) * pairs / max(pairs - 1, 1))
    effect, se = float(ELO_POINTS * found.values[-1]), float(errors[-1])
    elo = ELO_MEAN + ELO_POINTS * found.values[:-1]
    return OrderEffect(
        elo=effect,
        se=se,
        ci95=(effect - Z95 * se, effect + Z95 * se),
        p=float(z_p(effect / se)) if se > _NO_SPREAD else 1.0,
        judges=tuple(zip(judges, elo.tolist(), errors[:-1].tolist(), strict=True)),
        pairs=pairs,
        matches=int(seen.sum()),
    )


def _told_apart(values: Floats, design: Floats) -> bool:
    """Return whether the columns of the design differ within pairs: else the pairs' difficulty takes their place."""
    seen = (~np.isnan(values)).astype(np.float64)
    within = np.diag(seen.sum(axis=0)) - (seen / seen.sum(axis=1, keepdims=True)).T @ seen
    return bool(np.linalg.cond(design.T @ within @ design + gauge_of(design.shape[1] - 1, design.shape[1])) < SINGULAR)


def _start(values: Patterns, judges: int) -> Floats | None:
    """Return the joint estimate, brought back by what it inflates; None where there is no finite one."""
    seen = np.stack([values.seen[:, :judges], values.seen[:, judges:]])
    wins = values.wins.reshape(2, judges)
    found = maximise(
        JointModel(
            seen=seen,
            shift=np.array(_SHIFT),
            wins=wins.sum(axis=0),
            total=values.total,
            count=values.count,
            layer_wins=wins.sum(axis=1),
        )
    )
    return None if found is None else np.append(found.ability, found.shift) * (2 * judges - 1) / (2 * judges)
