"""Bradley-Terry by joint maximum likelihood, as published: judges play pairs, with cluster-robust errors.

Cluster-robust errors: V = I+ B I+, with pairs solved out of the information I (Schur complement). At the maximum the
residuals of a pair sum to 0, so the score of a cluster of pairs has no part at the pairs and B is R'R of the judges'
residuals alone. No correction for few clusters, as published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import special

from judgeharness_integrations._errors import UsageError

from ..statistics.means import cluster_sums
from .correctness import Credits, Floats, Ints, Marks


def by_cluster(residuals: Floats, clusters: Ints | None) -> Floats:
    """Return residuals (pairs, k) summed by cluster, (clusters, k); each pair is one when None."""
    if clusters is None:
        return residuals
    return cluster_sums(residuals, clusters)


def influences(schur: Floats, residuals: Floats) -> Floats:
    """Return (clusters, judges): how far each cluster moves the abilities, whose mean is 0."""
    return np.asarray(np.linalg.solve(schur + 1.0 / len(schur), residuals.T).T, np.float64)


def published_errors(moved: Floats, cross: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Return the standard errors (logits) of judges and of patterns of pairs, in the gauge of the pseudo-inverse.

    That gauge holds the mean over all players, judges and pairs, at 0.

    Args:
        moved: (clusters, judges), `influences`.
        cross: (patterns, judges), how far a pair's difficulty follows each ability.
        count: (patterns,) pairs of each.

    """
    players = moved.shape[1] + float(count.sum())
    mean = (moved.sum(axis=1) + moved @ (cross.T @ count)) / players
    judges = np.sqrt(np.square(moved - mean[:, None]).sum(axis=0))
    meat = moved.T @ moved
    drag = moved.T @ mean
    spread = np.einsum("pj,jk,pk->p", cross, meat, cross, optimize=True) - 2 * cross @ drag + float(mean @ mean)
    return judges, np.sqrt(np.maximum(spread, 0.0))


ELO_MEAN: Final = 1500.0
ELO_POINTS: Final = 400 / math.log(10)  # of a logit


def published_elo(strengths: Floats) -> Floats:
    """Return Elo with the mean strength of all players at 1: 400 log10(p) + 1500, of log-strengths (players,)."""
    centre = np.asarray(special.logsumexp(strengths)) - math.log(len(strengths))
    return np.asarray(ELO_MEAN + ELO_POINTS * (strengths - centre), np.float64)


def gauge_of(judges: int, size: int) -> Floats:
    """Return (size, size) what keeps the mean of the first `judges` parameters, added to an information."""
    gauge = np.zeros((size, size))
    gauge[:judges, :judges] = 1.0 / judges
    return gauge


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Patterns:
    """Sufficient statistics of the Rasch model, over patterns (which judges were asked, and their total).

    `seen` (patterns, judges); `total` (patterns,) credits of a pair; `count` (patterns,) pairs of it; `of` (pairs,) the
    pattern of each pair; `wins` (judges,) credits of a judge.
    """

    seen: Marks
    total: Floats
    count: Floats
    of: Ints
    wins: Floats


def patterns_of(values: Floats) -> Patterns:
    """Return the patterns of credits (pairs, judges), NaN where a judge was not asked."""
    seen = ~np.isnan(values)
    given = np.where(seen, values, 0.0)
    total = given.sum(axis=1)
    marks = np.packbits(seen, axis=1)
    keys = np.concatenate([total[:, None].view(np.uint8).reshape(len(total), -1), marks], axis=1)
    rows = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, of, count = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    return Patterns(
        seen=seen[first],
        total=total[first],
        count=count.astype(np.float64),
        of=np.asarray(of, np.intp).ravel(),
        wins=given.sum(axis=0),
    )


def joint_model(patterns: Patterns) -> JointModel:
    """Return the joint model of these patterns: one layer, and nothing that shifts it."""
    return JointModel(
        seen=patterns.seen[None],
        shift=np.zeros(1),
        wins=patterns.wins,
        total=patterns.total,
        count=patterns.count,
        layer_wins=np.zeros(1),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class JointFit:
    """Elo of judges and pairs; a pair's is its difficulty. Errors are worked out when they are asked for.

    `elo` and `covariance` (judges, judges, Elo squared) hold the judges' mean at 1500, and `difficulty` (pairs,) is on
    their scale. `elo_published`, `se_published` and `difficulty_published` keep the gauges of the paper: Elo with mean
    strength 1 over all players, errors with the mean over all players at 0. `log_strengths` (judges + pairs,) sum to 0.
    `pattern` (pairs,) numbers pairs that are alike: their difficulty is the same.
    """

    matrix: Credits
    patterns: Patterns
    estimate: JointEstimate
    clusters: Ints | None

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges."""
        return self.matrix.judges

    @property
    def pairs(self) -> tuple[str, ...]:
        """Names of the pairs."""
        return self.matrix.pairs

    @property
    def pattern(self) -> Ints:
        """(pairs,) number of what each pair is like."""
        return self.patterns.of

    @property
    def log_likelihood(self) -> float:
        """At the maximum."""
        return self.estimate.log_likelihood

    @property
    def steps(self) -> int:
        """How many Newton took."""
        return self.estimate.steps

    @property
    def elo(self) -> Floats:
        """(judges,) in Elo, mean 1500."""
        return ELO_MEAN + ELO_POINTS * self.estimate.ability

    @property
    def difficulty(self) -> Floats:
        """(pairs,) in Elo, on the scale of `elo`."""
        return ELO_MEAN - ELO_POINTS * self.estimate.easiness[self.pattern]

    @property
    def log_strengths(self) -> Floats:
        """(judges + pairs,) in logits, sum 0."""
        return np.asarray(self._strengths - self._strengths.mean(), np.float64)

    @property
    def elo_published(self) -> Floats:
        """(judges,) in Elo, mean strength of all players 1."""
        return published_elo(self._strengths)[: len(self.judges)]

    @property
    def difficulty_published(self) -> Floats:
        """(pairs,) in Elo, mean strength of all players 1."""
        return published_elo(self._strengths)[len(self.judges) :]

    @cached_property
    def covariance(self) -> Floats:
        """(judges, judges) of `elo`, in Elo squared."""
        return np.asarray(ELO_POINTS**2 * (self._moved.T @ self._moved), np.float64)

    @property
    def se(self) -> Floats:
        """(judges,) standard errors of `elo`, in Elo."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def se_published(self) -> Floats:
        """(judges,) standard errors of `elo_published`, in Elo."""
        return ELO_POINTS * self._published[0]

    @property
    def difficulty_se_published(self) -> Floats:
        """(pairs,) standard errors of `difficulty_published`, in Elo."""
        return ELO_POINTS * self._published[1][self.pattern]

    @property
    def _strengths(self) -> Floats:
        return np.concatenate([self.estimate.ability, -self.estimate.easiness[self.pattern]])

    @cached_property
    def _moved(self) -> Floats:
        matrix = self.matrix
        residuals = np.where(matrix.seen, matrix.values - self.estimate.expected[0][self.pattern], 0.0)
        return influences(self.estimate.schur, by_cluster(residuals, self.clusters))

    @cached_property
    def _published(self) -> tuple[Floats, Floats]:
        return published_errors(self._moved, self.estimate.cross, self.patterns.count)


def fit_joint(matrix: Credits, *, clusters: Ints | None = None) -> JointFit:
    """Fit Bradley-Terry to credits without unanimous pairs.

    Any missing cells, any fractions. Newton's method with pairs solved out reaches the maximum to 1e-9 logits; errors
    are cluster-robust (Huber-White), by pair unless told otherwise.

    Args:
        matrix: pairs x judges; connected (see `connections_of`) and without unanimous pairs.
        clusters: (pairs,) 0-based number of each pair's cluster.

    Raises:
        UsageError: there is no finite maximum.

    """
    patterns = patterns_of(matrix.values)
    found = maximise(joint_model(patterns))
    if found is None:
        raise UsageError(
            "Bradley-Terry has no finite maximum here: leave out unanimous pairs and judges that are never wrong or "
            "never right."
        )
    return JointFit(matrix=matrix, patterns=patterns, estimate=found, clusters=clusters)
