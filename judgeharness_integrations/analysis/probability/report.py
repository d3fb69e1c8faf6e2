"""Are a judge's probabilities worth anything here? What labels say of them, before and after a map, and the verdict."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, counted, ends, fixed

from ..statistics import CONFIDENCE, POWER
from ..statistics.means import Estimate, z_quantile
from .forecasts import Floats, Forecasts
from .maps import FLOOR, KINDS, MapKind, ProbabilityMap
from .scores import (
    CalibrationError,
    Murphy,
    ReliabilityPoint,
    auc,
    auc_change,
    brier_skill,
    calibration_error,
    log_scores,
    log_skill,
    murphy,
    reliability_curve,
    resolution_change,
)

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


TOLERANCE: Final = 0.02  # of the area under the ROC curve, and of the uncertainty: what folds alone may cost
FEWEST: Final = 30  # clusters of labels, below which nothing passes


@dataclass(frozen=True, kw_only=True)
class ProbabilityFigures:
    """What labels say of probabilities.

    `log_score` is in nats. Skills are shares of the base rate's score; they are None where all labels are the same, as
    is `auc`, which is of two options alone. `calibration` and `curve` are of the event of `Forecasts`.
    """

    murphy: Murphy
    log_score: float
    brier_skill: Estimate | None
    log_skill: Estimate | None
    auc: Estimate | None
    calibration: CalibrationError
    curve: tuple[ReliabilityPoint, ...]


@dataclass(frozen=True, kw_only=True)
class ProbabilityReport:
    """The verdict of `n` labels on a judge's probabilities for one question.

    `map` is the map chosen and fitted on all labels, for use; `scores` (nats, out of fold) is what it was chosen by.
    The figures `mapped` are out of fold: each answer mapped by a map that was chosen and fitted without its label, of
    the kinds in `kinds`, by number of folds. `raw` are those of the answers as they are. It passes where `reasons` is
    empty: the mapped probabilities beat the base rate by both scores, with their intervals; the map takes neither
    resolution nor order away, beyond chance and `TOLERANCE`; and the calibration error is no more than a perfect judge
    shows at this n. A judge that always says the same has no skill, nor has one whose answers belong to other cases.
    `labels_needed`: so many labels would show a skill like this one in 80 % of studies, and rather fewer do, as a map
    fitted on more labels is a better one; None where labels are not what is missing, or no number would do.
    """

    n: int
    clusters: int
    base_rates: Mapping[str, float]
    raw: ProbabilityFigures
    mapped: ProbabilityFigures
    map: ProbabilityMap
    scores: Mapping[MapKind, float]
    kinds: Mapping[MapKind, int]
    folds: int
    seed: int
    auc_change: Estimate | None
    resolution_change: Estimate | None
    reasons: tuple[str, ...]
    labels_needed: int | None = None

    @property
    def passes(self) -> bool:
        """Whether no bar was missed."""
        return not self.reasons


def figures(
    found: Forecasts, *, bins: int | None = None, seed: int = 0, confidence: float = CONFIDENCE
) -> ProbabilityFigures:
    """Return what the labels say of the probabilities; see `ProbabilityFigures`."""
    return ProbabilityFigures(
        murphy=murphy(found, bins=bins),
        log_score=float(log_scores(found.probabilities, found.labels).mean()),
        brier_skill=brier_skill(found, confidence=confidence),
        log_skill=log_skill(found, confidence=confidence),
        auc=auc(found),
        calibration=calibration_error(found, bins=bins, seed=seed),
        curve=reliability_curve(found, bins=bins),
    )


def assess(
    found: Forecasts,
    *,
    folds: int = FOLDS,
    bins: int | None = None,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> ProbabilityReport:
    """Return the verdict of labels on a judge's probabilities; see `ProbabilityReport`.

    Args:
        found: answers and labels.
        folds: into how many parts whole clusters are dealt.
        bins: of the reliability curve at most; see `reliability.equal_mass`.
        seed: of folds and simulations.
        confidence: of the intervals of both skills, which is more where the judge was chosen from several.

    Raises:
        UsageError: the labels are of one cluster, or `folds` is below 2.

    """
    fitted, chosen = cross_fit(found, folds=folds, seed=seed), choose(found, folds=folds, seed=seed)
    mapped = figures(fitted.mapped, bins=bins, seed=seed, confidence=confidence)
    ordered, resolved = auc_change(found, fitted.mapped), resolution_change(found, fitted.mapped, bins=bins)
    clusters = len(set(found.clusters))
    barred = (
        *_worse("the area under the ROC curve", ordered),
        *_worse("the share of the uncertainty that is resolved", resolved),
        *_uncalibrated(mapped.calibration),
    )
    skills = mapped.brier_skill, mapped.log_skill
    lacking = (*_few(clusters), *_unskilled(*skills))
    return ProbabilityReport(
        n=found.n,
        clusters=clusters,
        base_rates=dict(zip(found.options, found.base_rates.tolist(), strict=True)),
        raw=figures(found, bins=bins, seed=seed, confidence=confidence),
        mapped=mapped,
        map=chosen.map,
        scores=chosen.scores,
        kinds=fitted.kinds,
        folds=folds,
        seed=seed,
        auc_change=ordered,
        resolution_change=resolved,
        reasons=(*lacking, *barred),
        labels_needed=_needed(*skills, z_quantile(confidence)) if lacking and not barred else None,
    )


def unskilled(found: Forecasts, *, confidence: float = CONFIDENCE) -> tuple[str, int | None]:
    """Return why labels do not show that calibrated answers tell more than the base rate does; empty where they do.

    Beside it about how many labels would show it; see `ProbabilityReport`.
    """
    clusters = len(set(found.clusters))
    if clusters < FEWEST:
        return _few(clusters)[0].rstrip("."), FEWEST
    mapped = cross_fit(found).mapped
    skills = brier_skill(mapped, confidence=confidence), log_skill(mapped, confidence=confidence)
    reasons = _unskilled(*skills)
    needed = _needed(*skills, z_quantile(confidence)) if reasons else None
    return "; ".join(reason.rstrip(".") for reason in reasons), needed


def _few(clusters: int) -> tuple[str, ...]:
    if clusters >= FEWEST:
        return ()
    return (f"{too_few(clusters)}.",)


def too_few(clusters: int) -> str:
    """Return that labels in so few clusters tell too little, and how many do."""
    told = counted(clusters, "independent label tells", "independent labels tell")
    return f"{told} too little: label {FEWEST} cases or more"


def _unskilled(brier: Estimate | None, log: Estimate | None) -> tuple[str, ...]:
    if brier is None or log is None:
        return ("all labels are the same: nothing shows that the judge tells them apart.",)
    reasons = []
    for name, skill in (("Brier", brier), ("log", log)):
        if skill.low is None or skill.low <= 0:
            told = f"{fixed(skill.value)} {ends((skill.low, skill.high))}"
            reasons.append(f"the {name} skill over the base rate, {told}, is not shown to be above 0.")
    return tuple(reasons)


def _needed(brier: Estimate | None, log: Estimate | None, z: float) -> int | None:
    """Return about how many labels would show both skills, were they what they seem: a margin falls with sqrt(n)."""
    wanted = [FEWEST]
    for skill in (brier, log):
        if skill is None or skill.low is None or skill.value <= 0:
            return None
        margin = (skill.value - skill.low) * (z + z_quantile(2 * POWER - 1)) / z
        wanted.append(math.ceil(skill.n * (margin / skill.value) ** 2))
    return max(wanted)


def _worse(name: str, change: Estimate | None) -> tuple[str, ...]:
    if change is None or change.high is None or change.high >= 0 or change.value >= -TOLERANCE:
        return ()
    return (
        f"the map changes {name} by {fixed(change.value)} {ends((change.low, change.high))}: it is worse than raw.",
    )


def _uncalibrated(error: CalibrationError) -> tuple[str, ...]:
    if not error.over:
        return ()
    told = f"{fixed(error.ece)}, is {fixed(error.excess.value)} {ends((error.excess.low, error.excess.high))}"
    return (f"the calibration error, {told} above the {fixed(error.perfect)} of a perfect judge at this n.",)
