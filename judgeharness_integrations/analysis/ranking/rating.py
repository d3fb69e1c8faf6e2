"""Judges rated by every method at once, EIP among them; who is first, and why a method has nothing to say.

EIP: judges rank high by being right where right is rare, pairs by defeating judges that are seldom defeated. Two
probability vectors that each follow from the other, as in PageRank, with damping.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.contrasts import (
    ConditionalFit,
    Connections,
    connections_of,
    fit_conditional,
)
from judgeharness_integrations.analysis.ranking.correctness import Credits, Floats, Ints
from judgeharness_integrations.analysis.ranking.jointfit import JointFit, fit_joint


def one_thread() -> AbstractContextManager[Any]:
    """Return a context within which linear algebra keeps to one thread."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - few rank a hundred times over

    limited: AbstractContextManager[Any] = threadpool_limits(1)
    return limited


_MOST_ROUNDS = 100_000


@dataclass(frozen=True, kw_only=True)
class EipOptions:
    """`alpha`: damping; `tolerance`: L1 change of both vectors at which to stop; `low`, `high`: the range of scores.

    `all_equal`: the score of everybody where all are equal and nothing can be stretched over the range.

    Raises:
        UsageError: a value is out of range.

    """

    alpha: float = 0.85
    tolerance: float = 1e-10
    low: float = 0.0
    high: float = 1.0
    all_equal: float = 0.5

    def __post_init__(self) -> None:
        """Refuse values under which nothing converges."""
        if not 0 <= self.alpha < 1:
            raise UsageError(f"EIP's alpha must be at least 0 and below 1, not {self.alpha}.")
        if not self.tolerance > 0:
            raise UsageError(f"EIP's tolerance must be above 0, not {self.tolerance}.")
        if not all(map(math.isfinite, (self.low, self.high, self.all_equal))):
            raise UsageError("EIP's range and the score of equals must be finite numbers.")
        if not self.low < self.high:
            raise UsageError(f"EIP's range must rise, not go from {self.low} to {self.high}.")


@dataclass(frozen=True, kw_only=True, eq=False)
class EipScores:
    """`judges`, `pairs`: scores over the declared range, a pair's is its difficulty; `*_mass`: before that, sum 1."""

    judges: Floats
    pairs: Floats
    judges_mass: Floats
    pairs_mass: Floats
    options: EipOptions
    rounds: int


def eip(matrix: Credits, options: EipOptions | None = None) -> EipScores:
    """Score judges and pairs.

    Args:
        matrix: every judge asked about every pair, no pair unanimous.
        options: damping, tolerance and range.

    Raises:
        UsageError: a judge was not asked about a pair, a pair is unanimous, or the vectors do not settle.

    """
    options = options or EipOptions()
    if not matrix.complete:
        raise UsageError("EIP needs every judge on every pair: ask the missing ones, or rank by bradley-terry.")
    if not matrix.pairs or bool(matrix.unanimous.any()):
        raise UsageError("EIP needs pairs that are not unanimous: leave the others out.")
    right = matrix.values
    wrong = 1 - right
    to_judges = right / np.maximum(right.sum(axis=1, keepdims=True), 1)  # (pairs, judges)
    to_pairs = (wrong / np.maximum(wrong.sum(axis=0, keepdims=True), 1)).T  # (judges, pairs)
    pairs, judges = (np.full(size, 1 / size) for size in right.shape)
    for rounds in range(1, _MOST_ROUNDS + 1):
        new_pairs = _damped(to_pairs.T @ judges, options.alpha)
        new_judges = _damped(to_judges.T @ new_pairs, options.alpha)
        change = np.abs(new_pairs - pairs).sum() + np.abs(new_judges - judges).sum()
        pairs, judges = new_pairs, new_judges
        if change < options.tolerance:
            return EipScores(
                judges=_stretched(judges, options),
                pairs=_stretched(pairs, options),
                judges_mass=judges,
                pairs_mass=pairs,
                options=options,
                rounds=rounds,
            )
    raise UsageError(f"EIP did not settle to {options.tolerance} in {_MOST_ROUNDS} rounds: raise its tolerance.")


def _damped(flow: Floats, alpha: float) -> Floats:
    mass = alpha * flow + (1 - alpha) / len(flow)
    return np.asarray(mass / mass.sum(), np.float64)


def _stretched(mass: Floats, options: EipOptions) -> Floats:
    low, high = float(mass.min()), float(mass.max())
    if high - low <= options.tolerance:
        return np.full(len(mass), options.all_equal)
    return np.asarray(options.low + (options.high - options.low) * (mass - low) / (high - low), np.float64)


Method: TypeAlias = Literal["bradley-terry", "conditional", "eip"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)

_NOBODY = "fewer than two judges can be compared: some pair has to tell them apart"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rating:
    """Informative credits and what the methods make of them.

    `matrix`: all judges, no unanimous pair. The fits are of the judges that can be rated together (see `Connections`)
    and of the pairs that tell those apart; None where a method cannot be used; `reasons`: method -> why.
    """

    matrix: Credits
    connections: Connections
    joint: JointFit | None = None
    conditional: ConditionalFit | None = None
    eip: EipScores | None = None
    reasons: Mapping[Method, str] = field(default_factory=dict)

    def scores(self, method: Method) -> dict[str, float]:
        """Return judge -> Elo (EIP: score) of the judges that the method rates; empty where it cannot be used."""
        if method == "eip":
            return {} if self.eip is None else _named(self.matrix.judges, self.eip.judges)
        fit = self.joint if method == "bradley-terry" else self.conditional
        return {} if fit is None else _named(fit.judges, fit.elo)

    @property
    def difficulty(self) -> Floats:
        """(pairs,) of `matrix`, on the judges' scale; infinite where all rated judges agree, NaN without any."""
        if self.joint is None:
            return np.full(len(self.matrix.pairs), np.nan)
        known = dict(zip(self.joint.pairs, self.joint.difficulty.tolist(), strict=True))
        rated = self.matrix.of_judges(self.joint.judges).values
        right = np.nan_to_num(rated, nan=0.0).sum(axis=1) > 0
        asked = ~np.isnan(rated).all(axis=1)
        beyond = np.where(asked, np.where(right, -np.inf, np.inf), np.nan)
        return np.array([known.get(pair, beyond[place]) for place, pair in enumerate(self.matrix.pairs)], np.float64)


def method_named(name: str) -> Method:
    """Return the method of a name.

    Raises:
        UnknownNameError: there is none of that name; the nearest is offered.

    """
    for method in METHODS:
        if method == name:
            return method
    raise UnknownNameError("method", name, METHODS)


def rate(
    matrix: Credits,
    *,
    methods: Sequence[Method] = METHODS,
    clusters: Ints | None = None,
    eip_options: EipOptions | None = None,
) -> Rating:
    """Rate judges by their credits; unanimous pairs are left out.

    Args:
        matrix: pairs x judges.
        methods: which to use.
        clusters: (pairs,) number of each pair's cluster, for the errors; each pair is one when None.
        eip_options: parameters of EIP.

    """
    informative = ~matrix.unanimous
    kept = matrix.of_pairs(informative)
    connections = connections_of(kept)
    rated = kept.of_judges(connections.judges("rated"))
    telling = ~rated.unanimous
    rated = rated.of_pairs(telling)
    mine = None if clusters is None else np.unique(clusters[informative][telling], return_inverse=True)[1]
    reasons: dict[Method, str] = {}
    joint = conditional = scores = None
    problem = _problem(connections)
    for method in methods:
        try:
            if method == "eip":
                scores = eip(kept, eip_options)
            elif problem is not None:
                reasons[method] = problem
            elif method == "bradley-terry":
                joint = fit_joint(rated, clusters=mine)
            else:
                conditional = fit_conditional(rated, clusters=mine)
        except UsageError as error:
            reasons[method] = str(error).rstrip(".")
    return Rating(
        matrix=kept, connections=connections, joint=joint, conditional=conditional, eip=scores, reasons=reasons
    )


def _problem(connections: Connections) -> str | None:
    apart = connections.judges("apart")
    if apart:
        return "the judges fall into groups that nothing compares, and one scale for all of them would mean nothing"
    return _NOBODY if len(connections.judges("rated")) < 2 else None  # noqa: PLR2004 - two are compared


def _named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


_DECIMALS = 6  # ratings of judges with the same credits differ by rounding alone


def ranked(scores: Mapping[str, float]) -> dict[str, int]:
    """Return name -> rank, 1 for the highest; the same score shares the better rank."""
    rounded = {name: round(score, _DECIMALS) for name, score in scores.items()}
    ordered = sorted(rounded.values())
    return {name: 1 + len(ordered) - bisect_right(ordered, score) for name, score in rounded.items()}


def ranks_of(rating: Rating, method: Method, matrix: Credits) -> dict[str, int]:
    """Return judge -> rank; judges that nothing compares are left out, all of them where no scale holds all.

    Judges that are never beaten come first and those that never win come last, by their share of credit. Where each
    judge beats the next and is never beaten by it, nobody has a rating and all are ranked so.
    """
    scores = rating.scores(method)
    if method == "eip" or rating.connections.judges("apart"):
        return ranked(scores)
    if not scores and len(rating.connections.judges("rated")) != 1:
        return {}
    earned = np.nansum(matrix.values, axis=0) / np.maximum(matrix.seen.sum(axis=0), 1)
    share = dict(zip(matrix.judges, earned.tolist(), strict=True))
    found: dict[str, int] = {}
    for place in ("above", "rated", "below"):
        judges = rating.connections.judges(place)
        values = scores if place == "rated" and scores else share
        found |= {name: rank + len(found) for name, rank in ranked({judge: values[judge] for judge in judges}).items()}
    return found
