"""Whether the data rank the judges at all: contrasts, and ratings by conditional maximum likelihood.

Whether the data rank the judges at all: Ford's condition (Ford 1957), judge by judge. One judge beats another where
some pair has it right and the other wrong. A finite maximum of the likelihood exists if and only if every judge can
be reached from every other by such steps; else Elo is whatever the iteration stopped at.

What it is worth to a judge that the better answer is shown first: a nuisance parameter of Bradley-Terry. Fitted by
conditional maximum likelihood, as judges are: every answer in an order is one of 2 J columns, and pairs are
conditioned away. Joint estimation would inflate the effect by about 2J / (2J - 1), and its interval would miss it.

Who was right among the judges of a pair, given how many were: moments of the conditional Bernoulli distribution. They
are ratios of elementary symmetric functions of the judges' strengths. These come from the Fourier transform of the
generating function (as Hong 2013 does for the Poisson binomial), with the strengths scaled so that the expected total
is the observed one: the wanted coefficient is then the largest, and nothing cancels.

Conditional maximum likelihood: pairs are conditioned away, and ratings are essentially unbiased. The Rasch model
given how many judges were right on each pair (Andersen 1970). Joint estimation inflates ratings by about J / (J - 1)
at J judges, since every pair brings a parameter of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from scipy import special
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from judgeharness_integrations._errors import UsageError

from ..statistics.means import normal_interval, z_p
from ..statistics.paired import bisected_each
from ..statistics.proportions import step_up
from .correctness import Credits, Floats, Ints, Marks
from .jointfit import (
    ELO_MEAN,
    ELO_POINTS,
    JointModel,
    Patterns,
    by_cluster,
    gauge_of,
    joint_model,
    maximise,
    patterns_of,
)

_CELLS = 1 << 20  # complex numbers at a time: 16 MB
_TILTING_STEPS = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalMoments:
    """Given the totals of the patterns.

    `log_gamma` (patterns,): log of the elementary symmetric function; `chance` (patterns, judges): of being right;
    `covariance` (judges, judges): of who is right, summed over all pairs.
    """

    log_gamma: Floats
    chance: Floats
    covariance: Floats


def conditional_moments(patterns: Patterns, ability: Floats) -> ConditionalMoments:
    """Return the moments at abilities (judges,), in logits; totals are whole numbers, none of them 0 or all judges."""
    judges = len(ability)
    chance = np.zeros(patterns.seen.shape)
    log_gamma = np.zeros(len(patterns.total))
    second = np.zeros((judges, judges))
    tilt = _tilt(patterns, ability)
    for part in _parts(len(patterns.total), judges):
        share = np.where(patterns.seen[part], special.expit(ability + tilt[part, None]), 0.0)
        first, mixed, mass = _moments(share, patterns.total[part], patterns.count[part])
        chance[part] = first
        second += mixed
        lost = np.where(patterns.seen[part], np.logaddexp(0.0, ability + tilt[part, None]), 0.0).sum(axis=1)
        log_gamma[part] = np.log(mass) + lost - patterns.total[part] * tilt[part]
    weighted = patterns.count[:, None] * chance
    np.fill_diagonal(second, weighted.sum(axis=0))
    return ConditionalMoments(log_gamma=log_gamma, chance=chance, covariance=second - weighted.T @ chance)


def _parts(patterns: int, judges: int) -> Iterator[slice]:
    size = max(1, _CELLS // (judges * (judges // 2 + 1)))
    return (slice(start, start + size) for start in range(0, patterns, size))


def _tilt(patterns: Patterns, ability: Floats) -> Floats:
    """Return (patterns,) the shift of all logits that makes the expected total the observed one, nearly."""
    low, high = np.full(len(patterns.total), -ability.max() - 30), np.full(len(patterns.total), 30 - ability.min())

    def short(shift: Floats) -> Marks:
        expected = np.where(patterns.seen, special.expit(ability + shift[:, None]), 0.0).sum(axis=1)
        return np.asarray(expected < patterns.total, np.bool_)

    low, high = bisected_each(short, low, high, steps=_TILTING_STEPS)
    return np.asarray((low + high) / 2, np.float64)


def _moments(share: Floats, total: Floats, count: Floats) -> tuple[Floats, Floats, Floats]:
    """Return chances (patterns, judges), second moments summed over pairs, and the mass at each total (patterns,).

    An odd number of frequencies keeps away from -1, where a factor of an even chance would be 0.
    """
    points = share.shape[1] + 1 + share.shape[1] % 2
    frequencies = 2j * np.pi * np.arange(points // 2 + 1) / points
    turn = np.exp(frequencies)[None, :, None]
    factor = 1 - share[:, None, :] + share[:, None, :] * turn
    wave = np.prod(factor, axis=2) * np.exp(-frequencies[None, :] * total[:, None])
    wave[:, 1:] *= 2  # the other half is the complex conjugate
    mass = wave.real.sum(axis=1) / points
    ratio = wave / (points * mass[:, None])
    part = share[:, None, :] * turn / factor
    first = np.einsum("pl,plj->pj", ratio, part).real
    flat = part.reshape(-1, share.shape[1])
    weight = (count[:, None] * ratio).reshape(-1, 1)
    return first, ((flat * weight).T @ flat).real, mass


SINGULAR = 1e10  # condition number of an information from which on something cannot be told apart
_TOLERANCE = 1e-9  # logits
_LONGEST_STEP = 2.0
_MOST_STEPS = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalEstimate:
    """Maximum of the conditional likelihood, in logits; abilities, which come first, have mean 0.

    `values` (k,); `information` (k, k) with its gauge; `chance` (patterns, columns) of being right given the total.
    """

    values: Floats
    information: Floats
    chance: Floats
    log_likelihood: float
    steps: int


def conditional_maximum(
    patterns: Patterns, design: Floats, *, judges: int, start: Floats
) -> ConditionalEstimate | None:
    """Return the maximum; None where it is not finite.

    Args:
        patterns: of credits, pairs x columns.
        design: (columns, k) parameters behind the logit of each column; the first `judges` are abilities.
        judges: how many.
        start: (k,) in logits.

    """
    estimate: Floats = start
    move: Floats = np.zeros(len(start))
    value, scale = -np.inf, 0.0
    for step in range(1, _MOST_STEPS + 1):
        reached = estimate + scale * move
        moments = conditional_moments(patterns, design @ reached)
        likelihood = float(patterns.wins @ design @ reached - patterns.count @ moments.log_gamma)
        if likelihood < value - 1e-9 * abs(value):
            scale /= 2
            continue
        estimate, value = reached, likelihood
        information = design.T @ moments.covariance @ design + gauge_of(judges, len(start))
        if np.linalg.cond(information) > SINGULAR:  # on the way to infinity
            return None
        slope = design.T @ (patterns.wins - patterns.count @ moments.chance)
        move = np.asarray(np.linalg.solve(information, slope), np.float64)
        longest = float(np.abs(move).max())
        if longest < _TOLERANCE:
            estimate = estimate - np.where(np.arange(len(estimate)) < judges, estimate[:judges].mean(), 0.0)
            return ConditionalEstimate(
                values=estimate,
                information=information,
                chance=moments.chance,
                log_likelihood=value,
                steps=step,
            )
        scale = min(1.0, _LONGEST_STEP / longest)
    return None


_FRACTIONS = (
    "conditional maximum likelihood counts right answers and takes no fractional credit: count ties as wrong, or "
    "rank by bradley-terry."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalFit:
    """`theta` (judges,) in logits, sum 0; `elo` = 1500 + 400 theta / ln 10; `covariance` (judges, judges), squared."""

    judges: tuple[str, ...]
    theta: Floats
    elo: Floats
    covariance: Floats
    log_likelihood: float
    steps: int

    @property
    def se(self) -> Floats:
        """(judges,) standard errors of `elo`, in Elo."""
        return np.sqrt(np.diag(self.covariance))


def fit_conditional(matrix: Credits, *, clusters: Ints | None = None) -> ConditionalFit:
    """Fit the Rasch model by conditional maximum likelihood.

    Errors are cluster-robust, with the factor G / (G - 1) of G clusters.

    Args:
        matrix: pairs x judges of 0 and 1, NaN where a judge was not asked; connected and without unanimous pairs.
        clusters: (pairs,) 0-based number of each pair's cluster; each pair is one when None.

    Raises:
        UsageError: a credit is a fraction, or there is no finite maximum.

    """
    if matrix.fractional:
        raise UsageError(_FRACTIONS)
    patterns = patterns_of(matrix.values)
    found = _maximum(patterns)
    residuals = np.where(matrix.seen, matrix.values - found.chance[patterns.of], 0.0)
    summed = by_cluster(residuals, clusters)
    moved = np.linalg.solve(found.information, summed.T).T
    groups = len(summed)
    return ConditionalFit(
        judges=matrix.judges,
        theta=found.values,
        elo=ELO_MEAN + ELO_POINTS * found.values,
        covariance=ELO_POINTS**2 * groups / max(groups - 1, 1) * (moved.T @ moved),
        log_likelihood=found.log_likelihood,
        steps=found.steps,
    )


def _maximum(patterns: Patterns) -> ConditionalEstimate:
    judges = len(patterns.wins)
    joint = maximise(joint_model(patterns))
    found = joint and conditional_maximum(
        patterns, np.eye(judges), judges=judges, start=joint.ability * (judges - 1) / judges
    )
    if not found:
        raise UsageError("conditional maximum likelihood has no finite maximum here: some judges are never beaten.")
    return found


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
            ci95=normal_interval(float(difference[place]), float(se[place])),
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


Place: TypeAlias = Literal["rated", "above", "below", "apart", "unseen"]
PLACES: Final[tuple[Place, ...]] = get_args(Place)

_DECIMALS = 6  # sums of fractions differ by rounding alone


@dataclass(frozen=True, kw_only=True)
class Connections:
    """Where each judge stands towards the largest group of judges that can be rated together.

    Of groups as large, the one with more answers is taken, then with more credit, then the first by name.
    `rated` judges are that group. Those `above` beat it and are never beaten by it, directly or over others; `below` is
    the reverse; `apart` is neither, so that nothing compares them with it. `unseen` judges hold no credit at all.
    """

    places: tuple[tuple[str, Place], ...]

    def judges(self, place: Place) -> tuple[str, ...]:
        """Return the judges of a place, in order of the matrix."""
        return tuple(judge for judge, found in self.places if found == place)

    @property
    def connected(self) -> bool:
        """Whether all judges are rated together."""
        return all(place == "rated" for _, place in self.places)


def connections_of(matrix: Credits) -> Connections:
    """Return which judges can be rated together, and where the others stand."""
    beats = _beats(matrix)
    _, component = connected_components(csr_array(beats), directed=True, connection="strong")
    asked = matrix.seen.sum(axis=0)
    main = (component == _largest(matrix, component)) & (asked > 0)
    if main.all():
        return Connections(places=tuple((judge, "rated") for judge in matrix.judges))
    reaches = np.isfinite(shortest_path(csr_array(beats), unweighted=True))
    above = reaches[:, main].any(axis=1) & ~main
    below = reaches[main].any(axis=0) & ~main
    return Connections(
        places=tuple(
            (
                judge,
                _place(rated=bool(main[place]), above=bool(above[place]), below=bool(below[place]))
                if asked[place]
                else "unseen",
            )
            for place, judge in enumerate(matrix.judges)
        )
    )


def _largest(matrix: Credits, component: Ints) -> int:
    """Return the number of the largest group, whatever order judges and pairs come in."""
    asked = matrix.seen.sum(axis=0)
    credit = np.nansum(matrix.values, axis=0)

    def size(number: int) -> tuple[int, int, float]:
        mine = component == number
        return int((asked[mine] > 0).sum()), int(asked[mine].sum()), round(float(credit[mine].sum()), _DECIMALS)

    by_name = sorted(range(len(component)), key=matrix.judges.__getitem__)
    return max(dict.fromkeys(int(component[place]) for place in by_name), key=size)


def _beats(matrix: Credits) -> Marks:
    """Return (judges, judges): whether some pair gives the row's judge credit and denies some to the column's."""
    won = (np.nan_to_num(matrix.values, nan=0.0) > 0).astype(np.float32)
    lost = (np.nan_to_num(matrix.values, nan=1.0) < 1).astype(np.float32)
    beats = (won.T @ lost) > 0
    np.fill_diagonal(beats, val=False)
    return np.asarray(beats, np.bool_)


def _place(*, rated: bool, above: bool, below: bool) -> Place:
    if rated:
        return "rated"
    if above:
        return "above"
    return "below" if below else "apart"


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
        ci95=normal_interval(effect, se),
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
