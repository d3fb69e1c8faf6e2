"""Maps fitted to labels, chosen out of fold, and what each answer is mapped to by maps that have not seen its label."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.probability.distributions import FLOOR
from judgeharness_integrations.analysis.probability.forecasts import Floats, Forecasts
from judgeharness_integrations.analysis.probability.maps import KINDS, MapKind, ProbabilityMap
from judgeharness_integrations.analysis.probability.scores import log_scores
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

FOLDS: Final = 5
ISOTONIC_LABELS: Final = 500  # below it a map with so many steps follows the noise
SHRINKAGE: Final = 1.0  # nats, the standard deviation of log temperature and biases around none
_NO_BETTER: Final = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossFit:
    """Answers `mapped` by maps that have not seen their labels, of `kinds`, each with the number of its folds."""

    mapped: Forecasts
    kinds: Mapping[MapKind, int]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A map fitted on all labels, of the kind with the best logarithmic score out of fold, `scores` (nats) by kind."""

    map: ProbabilityMap
    scores: Mapping[MapKind, float]


def fit(found: Forecasts, kind: MapKind) -> ProbabilityMap:
    """Return the map of a kind that fits the labels best, shrunk towards none.

    Temperature and biases have the best logarithmic score less a ridge penalty, that of independent normal priors of
    log temperature and biases around 0 with the standard deviation `SHRINKAGE`: a hundred labels outweigh it, five do
    not. The isotonic map is pooled adjacent violators', with ends no nearer to 0 and 1 than 1 / (n + 2).

    Raises:
        UsageError: an isotonic map of more than two options.

    """
    if kind == "none":
        return ProbabilityMap(kind=kind, options=found.options, labels=found.n)
    if kind == "isotonic":
        return _isotonic(found)
    temperature, biases = _logistic(found, biased=kind == "temperature+bias")
    return ProbabilityMap(kind=kind, options=found.options, labels=found.n, temperature=temperature, biases=biases)


def _logistic(found: Forecasts, *, biased: bool) -> tuple[float, tuple[float, ...]]:
    from scipy.optimize import minimize  # noqa: PLC0415 - SciPy, for maps alone
    from scipy.special import log_softmax  # noqa: PLC0415

    raised = np.maximum(found.probabilities, FLOOR)
    logs = np.log(raised / raised.sum(axis=1, keepdims=True))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        steep = np.exp(-parameters[0])
        logits = log_softmax(steep * logs + (parameters[1:] if biased else 0.0), axis=1)
        wrong = np.exp(logits) - found.labels
        slope = -steep * float((wrong * logs).sum())
        gradient = np.concatenate([[slope], wrong.sum(axis=0) if biased else []]) + parameters / SHRINKAGE**2
        penalty = float(parameters @ parameters) / (2 * SHRINKAGE**2)
        return penalty - float((found.labels * logits).sum()), gradient

    start = np.zeros(1 + (len(found.options) if biased else 0))
    best = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return float(np.exp(best[0])), tuple(best[1:].tolist())


def _isotonic(found: Forecasts) -> ProbabilityMap:
    if len(found.options) != 2:  # noqa: PLR2004 - what rises is one number
        raise UsageError(f"an isotonic map is one of two options, not {len(found.options)}: fit temperature+bias.")
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - as above

    raw, place, weights = np.unique(found.probabilities[:, 0], return_inverse=True, return_counts=True)
    shares = np.bincount(place, found.labels[:, 0]) / weights
    end = 1 / (found.n + 2)
    rising = np.clip(isotonic_regression(shares, weights=weights).x, end, 1 - end)
    inner = np.zeros(len(raw), dtype=bool)  # of a flat stretch only the two ends matter
    inner[1:-1] = (rising[1:-1] == rising[:-2]) & (rising[1:-1] == rising[2:])
    knots = tuple(zip(raw[~inner].tolist(), rising[~inner].tolist(), strict=True))
    return ProbabilityMap(kind="isotonic", options=found.options, labels=found.n, knots=knots)


def mapped(found: Forecasts, by: ProbabilityMap) -> Forecasts:
    """Return answers with the probabilities that a map makes of theirs."""
    return found.answered([by.apply_values(row) for row in found.probabilities.tolist()])


def candidates(found: Forecasts) -> tuple[MapKind, ...]:
    """Return the kinds of maps worth trying, the simplest first: isotonic for two options and from 500 labels on."""
    isotonic = len(found.options) == 2 and len(set(found.clusters)) >= ISOTONIC_LABELS  # noqa: PLR2004 - as above
    return KINDS if isotonic else KINDS[:-1]


def choose(found: Forecasts, *, kinds: Sequence[MapKind] | None = None, folds: int = FOLDS, seed: int = 0) -> Choice:
    """Return the map, fitted on all labels, of the kind that has the best logarithmic score out of fold.

    Args:
        found: answers and labels.
        kinds: those to choose from, the simplest first, which wins a tie; see `candidates`.
        folds: into how many parts whole clusters are dealt.
        seed: of the folds.

    Raises:
        UsageError: the labels are of one cluster, or `folds` is below 2.

    """
    tried: Sequence[MapKind] = candidates(found) if kinds is None else kinds
    scores = _scores(found, tried, folds, seed)
    return Choice(map=fit(found, _best(scores)), scores=scores)


def cross_fit(
    found: Forecasts, *, kinds: Sequence[MapKind] | None = None, folds: int = FOLDS, seed: int = 0
) -> CrossFit:
    """Return each answer mapped by a map that was chosen and fitted without the labels of its fold.

    The choice is made anew for each fold, within the labels of the others: what the result is worth is what a map made
    in the same way from a few labels less is worth on new cases. See `choose` for the arguments and errors.
    """
    tried: Sequence[MapKind] = candidates(found) if kinds is None else kinds
    parts = fold_of(found, folds=folds, seed=seed)
    probabilities = np.empty_like(found.probabilities)
    chosen: Counter[MapKind] = Counter()
    for held_out in _masks(parts):
        rest = found.part(~held_out)
        kind = next(iter(tried))
        if len(tried) > 1 and len(set(rest.clusters)) > 1:
            kind = _best(_scores(rest, tried, folds, seed + 1))
        chosen[kind] += 1
        probabilities[held_out] = mapped(found.part(held_out), fit(rest, kind)).probabilities
    return CrossFit(mapped=found.answered(probabilities), kinds=dict(chosen))


def half_fitted(found: Forecasts, *, seed: int = 0) -> tuple[ProbabilityMap, NDArray[np.bool_]]:
    """Return a map of one half of the labels, in whole clusters, and which answers (n,) these are of.

    A threshold that is set on the other half is tested by labels that the map has not seen.

    Raises:
        UsageError: the labels are of one cluster.

    """
    first = fold_of(found, folds=2, seed=seed) == 0
    half = found.part(first)
    return choose(half, seed=seed).map if len(set(half.clusters)) > 1 else fit(half, "none"), first


def fold_of(found: Forecasts, *, folds: int = FOLDS, seed: int = 0) -> NDArray[np.intp]:
    """Return the fold of each answer (n,): whole clusters, in the order of a digest, into the emptiest fold.

    So the order of the answers changes nothing, as far as their clusters have names.

    Raises:
        UsageError: the labels are of one cluster, or `folds` is below 2.

    """
    sizes = Counter(found.clusters)
    if folds < 2 or len(sizes) < 2:  # noqa: PLR2004 - one part to fit, another to look
        raise UsageError(
            f"a map takes labels of two clusters and two folds or more, not {len(sizes)} and {folds}: label more cases."
        )
    held = [0] * min(folds, len(sizes))
    fold: dict[object, int] = {}
    for key in sorted(sizes, key=lambda key: _digest(seed, key)):
        fold[key] = held.index(min(held))
        held[fold[key]] += sizes[key]
    return np.array([fold[key] for key in found.clusters], dtype=np.intp)


def _digest(seed: int, key: object) -> str:
    return hashlib.sha256(f"{seed} {key!r}".encode(errors=LONE_SURROGATES)).hexdigest()


def _masks(parts: NDArray[np.intp]) -> list[NDArray[np.bool_]]:
    return [parts == number for number in range(int(parts.max()) + 1)]


def _scores(found: Forecasts, kinds: Sequence[MapKind], folds: int, seed: int) -> dict[MapKind, float]:
    """Return kind -> mean logarithmic score of maps of that kind on the labels of folds they were not fitted on."""
    totals: dict[MapKind, float] = dict.fromkeys(kinds, 0.0)
    for held_out in _masks(fold_of(found, folds=folds, seed=seed)):
        rest, part = found.part(~held_out), found.part(held_out)
        for kind in kinds:
            totals[kind] += float(log_scores(mapped(part, fit(rest, kind)).probabilities, part.labels).sum())
    return {kind: total / found.n for kind, total in totals.items()}


def _best(scores: Mapping[MapKind, float]) -> MapKind:
    least = min(scores.values())
    return next(kind for kind, score in scores.items() if score <= least + _NO_BETTER)
