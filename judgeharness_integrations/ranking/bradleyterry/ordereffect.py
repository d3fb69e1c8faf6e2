"""What it is worth to a judge that the better answer is shown first: a nuisance parameter of Bradley-Terry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.bradleyterry.connections import connections_of
from judgeharness_integrations.ranking.bradleyterry.contrasts import Z95
from judgeharness_integrations.ranking.bradleyterry.newton import JointModel, maximise
from judgeharness_integrations.ranking.bradleyterry.sandwich import influences
from judgeharness_integrations.ranking.bradleyterry.scale import ELO_MEAN, ELO_POINTS
from judgeharness_integrations.ranking.credits import Credits

__all__ = ["OrderEffect", "order_effect"]

_SHIFT = np.array([0.5, -0.5])


@dataclass(frozen=True, kw_only=True)
class OrderEffect:
    """Elo that showing the better answer first is worth, over all judges; errors clustered by pair.

    `judges`: (name, Elo, SE) with that effect taken out, judges' mean 1500. `matches` were played, on `pairs` pairs.
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
    """Fit logit P(right) = judge - pair +- effect / 2 by joint maximum likelihood.

    Args:
        better_first: credits where the better answer was shown first; NaN where it was not shown so.
        better_second: the same judges and pairs the other way round.

    Returns:
        The effect; None where the judges cannot be rated together, no pair was shown in both orders, or nothing but the
        order decides.

    """
    both = np.stack([better_first.values, better_second.values])
    played = ~np.isnan(both)
    if not played.any(axis=2).all(axis=0).any():  # else the effect cannot be told from the pairs' difficulty
        return None
    times = played.sum(axis=0)
    mean = np.divide(np.nansum(both, axis=0), times, out=np.full(times.shape, np.nan), where=times > 0)
    kept = ~replace(better_first, values=mean).unanimous
    if not connections_of(replace(better_first, values=mean).of_pairs(kept)).connected:
        return None
    return _fitted(better_first.judges, both[:, kept])


def _fitted(judges: tuple[str, ...], both: Floats) -> OrderEffect | None:
    seen = ~np.isnan(both)
    given = np.where(seen, both, 0.0)
    found = maximise(
        JointModel(
            seen=seen,
            shift=_SHIFT,
            wins=given.sum(axis=(0, 1)),
            total=given.sum(axis=(0, 2)),
            count=np.ones(both.shape[1]),
            layer_wins=given.sum(axis=(1, 2)),
        )
    )
    if found is None:
        return None
    residuals = np.where(seen, given - found.expected, 0.0)
    scores = np.column_stack([residuals.sum(axis=0), np.einsum("lpj,l->p", residuals, _SHIFT)])
    moved = influences(found.schur, scores, len(judges))
    errors = ELO_POINTS * np.sqrt(np.square(moved).sum(axis=0))
    effect, se = ELO_POINTS * found.shift, float(errors[-1])
    elo = ELO_MEAN + ELO_POINTS * found.ability
    return OrderEffect(
        elo=effect,
        se=se,
        ci95=(effect - Z95 * se, effect + Z95 * se),
        p=float(2 * special.ndtr(-abs(effect) / se)),
        judges=tuple(zip(judges, elo.tolist(), errors[:-1].tolist(), strict=True)),
        pairs=both.shape[1],
        matches=int(seen.sum()),
    )
