"""Newton's method on the joint likelihood of judges and pairs; pairs are solved out, so that J + P is never squared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from judgeharness_integrations.ranking.arrays import Floats, Marks
from judgeharness_integrations.ranking.bradleyterry.gauge import gauge_of

__all__ = ["JointEstimate", "JointModel", "maximise"]

_TOLERANCE = 1e-9  # logits
_LONGEST_STEP = 3.0  # logits
_MOST_STEPS = 200
_SHORTEST = 2.0**-40  # share of a step


@dataclass(frozen=True, kw_only=True, eq=False)
class JointModel:
    """Matches of judges against pairs, in layers that share a shift of the logit.

    `seen` (layers, pairs, judges): the match was played; `shift` (layers,): what multiplies the nuisance parameter;
    `wins` (judges,), `total` (pairs,) and `layer_wins` (layers,): credits; `count` (pairs,): how many pairs are alike.
    """

    seen: Marks
    shift: Floats
    wins: Floats
    total: Floats
    count: Floats
    layer_wins: Floats

    @property
    def shifted(self) -> bool:
        """Whether there is a nuisance parameter."""
        return bool(np.any(self.shift))


@dataclass(frozen=True, kw_only=True, eq=False)
class JointEstimate:
    """Maximum of the joint likelihood, in logits, judges' mean 0.

    `ability` (judges,), `easiness` (pairs,), `shift`: the nuisance parameter; `expected` (layers, pairs, judges):
    chance of being right, 0 where no match was played; `cross` (pairs, k): how far a pair's easiness gives way to each
    ability (and to the shift, last); `schur` (k, k): information about these when pairs are solved out.
    """

    ability: Floats
    easiness: Floats
    shift: float
    expected: Floats
    cross: Floats
    schur: Floats
    log_likelihood: float
    steps: int


def maximise(model: JointModel) -> JointEstimate | None:
    """Return the maximum likelihood estimate; None where it is not reached, as when there is no finite one."""
    ability, easiness, shift = _start(model)
    value = _log_likelihood(model, ability, easiness, shift)
    for step in range(1, _MOST_STEPS + 1):
        try:
            with np.errstate(divide="raise", invalid="raise"):
                state = _state(model, ability, easiness, shift)
                move, ease_move = _direction(model, state)
        except (FloatingPointError, np.linalg.LinAlgError):  # on the way to infinity the information runs out
            return None
        longest = max(float(np.abs(move).max()), float(np.abs(ease_move).max()))
        if longest < _TOLERANCE:
            return _estimate(model, (ability, easiness, shift), state, value, step)
        (ability, easiness, shift), value = _moved(model, (ability, easiness, shift), (move, ease_move), value)
    return None


def _moved(
    model: JointModel, at: tuple[Floats, Floats, float], move: tuple[Floats, Floats], value: float
) -> tuple[tuple[Floats, Floats, float], float]:
    """Return where the longest step leads that does not lower the likelihood, and the likelihood there."""
    ability, easiness, shift = at
    scale = min(1.0, _LONGEST_STEP / max(float(np.abs(part).max()) for part in move))
    while True:
        reached = (
            ability + scale * move[0][: len(ability)],
            easiness + scale * move[1],
            shift + (scale * float(move[0][-1]) if model.shifted else 0.0),
        )
        found = _log_likelihood(model, *reached)
        if found >= value - 1e-9 * abs(value) or scale < _SHORTEST:  # as good, as far as rounding shows
            return reached, found
        scale /= 2


@dataclass(frozen=True, kw_only=True, eq=False)
class _State:
    """Derivatives at one point; `cross` (pairs, k) is what a pair and each ability (and the shift) share."""

    expected: Floats
    weight: Floats
    cross: Floats
    schur: Floats


def _start(model: JointModel) -> tuple[Floats, Floats, float]:
    played = np.einsum("lpj,p->j", model.seen, model.count)
    ability = np.log((model.wins + 0.5) / (played - model.wins + 0.5))
    asked = model.seen.sum(axis=(0, 2))
    easiness = np.log((model.total + 0.5) / (asked - model.total + 0.5))
    return ability - ability.mean(), easiness + ability.mean(), 0.0


def _logits(model: JointModel, ability: Floats, easiness: Floats, shift: float) -> Floats:
    return np.asarray(ability + easiness[:, None] + (shift * model.shift)[:, None, None], np.float64)


def _log_likelihood(model: JointModel, ability: Floats, easiness: Floats, shift: float) -> float:
    logits = _logits(model, ability, easiness, shift)
    lost = np.logaddexp(0.0, logits, where=model.seen, out=np.zeros(logits.shape)).sum(axis=(0, 2))
    won = model.wins @ ability + (model.count * model.total) @ easiness + shift * (model.shift @ model.layer_wins)
    return float(won - model.count @ lost)


def _state(model: JointModel, ability: Floats, easiness: Floats, shift: float) -> _State:
    expected = np.where(model.seen, special.expit(_logits(model, ability, easiness, shift)), 0.0)
    weight = expected * (1 - expected)
    cross = weight.sum(axis=0)
    diagonal = model.count @ cross
    top = np.diag(diagonal)
    if model.shifted:
        cross = np.column_stack([cross, np.einsum("lpj,l->p", weight, model.shift)])
        border = np.einsum("lpj,l,p->j", weight, model.shift, model.count)
        corner = np.einsum("lpj,l,p->", weight, model.shift**2, model.count)
        top = np.block([[top, border[:, None]], [border[None, :], np.array([[corner]])]])
    information = weight.sum(axis=(0, 2))
    schur = top - (cross * (model.count / information)[:, None]).T @ cross
    return _State(expected=expected, weight=weight, cross=cross, schur=schur)


def _direction(model: JointModel, state: _State) -> tuple[Floats, Floats]:
    """Return the Newton step of the abilities (and the shift) and of the pairs; the abilities' mean stays."""
    judges = len(model.wins)
    residual = model.wins - np.einsum("lpj,p->j", state.expected, model.count)
    if model.shifted:
        layers = np.einsum("lpj,p->l", state.expected, model.count)
        residual = np.append(residual, model.shift @ (model.layer_wins - layers))
    information = state.weight.sum(axis=(0, 2))
    missing = model.total - state.expected.sum(axis=(0, 2))
    target = residual - state.cross.T @ (model.count * missing / information)
    move = np.linalg.solve(state.schur + gauge_of(judges, len(target)), target)
    return move, missing / information - (state.cross / information[:, None]) @ move


def _estimate(
    model: JointModel, at: tuple[Floats, Floats, float], state: _State, value: float, steps: int
) -> JointEstimate:
    ability, easiness, shift = at
    mean = ability.mean()
    return JointEstimate(
        ability=ability - mean,
        easiness=easiness + mean,
        shift=shift if model.shifted else 0.0,
        expected=state.expected,
        cross=state.cross / state.weight.sum(axis=(0, 2))[:, None],
        schur=state.schur,
        log_likelihood=value,
        steps=steps,
    )
