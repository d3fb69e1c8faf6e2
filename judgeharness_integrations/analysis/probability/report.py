"""Are a judge's probabilities worth anything here? What labels say of them, before and after a map, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from judgeharness_integrations.analysis.probability.fitting import FOLDS, choose, cross_fit
from judgeharness_integrations.analysis.probability.forecasts import Forecasts
from judgeharness_integrations.analysis.probability.maps import MapKind, ProbabilityMap
from judgeharness_integrations.analysis.probability.scores import (
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
from judgeharness_integrations.analysis.statistics import CONFIDENCE, POWER
from judgeharness_integrations.analysis.statistics.means import Estimate, z_quantile
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed

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
