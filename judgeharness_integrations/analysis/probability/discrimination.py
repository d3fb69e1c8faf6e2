"""Does a probability tell cases apart? Murphy's decomposition with its resolution, and the area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from judgeharness_integrations.analysis.probability.forecasts import Floats, Forecasts
from judgeharness_integrations.analysis.probability.reliability import equal_mass
from judgeharness_integrations.analysis.probability.scores import brier_scores
from judgeharness_integrations.analysis.statistics.means import Estimate, estimate
from judgeharness_integrations.analysis.statistics.tally import share_estimate

_ROUNDING: Final = 1e-12


@dataclass(frozen=True, kw_only=True)
class Murphy:
    """Brier's score as reliability - resolution + uncertainty (Murphy 1973, J Appl Meteorol 12:595).

    Less is better of reliability, the squared distance from the shares that come true; more of resolution, how far
    these shares are apart. Uncertainty is the score of the base rate. Over bins, resolution is the generalised one,
    with what probabilities of one bin tell apart, so that the sum is exact (Stephenson, Coelho and Jolliffe 2008,
    Weather Forecast 23:752). All are summed over the options and halved, as the score is.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float


def murphy(found: Forecasts, *, bins: int | None = None) -> Murphy:
    """Return the decomposition of Brier's score over bins of equal mass of each option; see `equal_mass`."""
    brier = float(brier_scores(found.probabilities, found.labels).mean())
    uncertainty = float(brier_scores(found.base_rates, found.labels).mean())
    reliability = float(_reliability(found, bins)[0])
    return Murphy(
        brier=brier,
        reliability=reliability,
        resolution=reliability + uncertainty - brier,
        uncertainty=uncertainty,
    )


def resolution_change(raw: Forecasts, mapped: Forecasts, *, bins: int | None = None) -> Estimate | None:
    """Return by how much a map raises the resolution, as a share of the uncertainty, with its 95 % interval.

    None where all labels are the same. The bins are taken as given.
    """
    uncertainty = float(brier_scores(raw.base_rates, raw.labels).mean())
    if uncertainty <= _ROUNDING:
        return None
    values, influence = np.zeros(2), np.zeros((2, raw.n))
    for side, one in enumerate((raw, mapped)):
        scores = brier_scores(one.probabilities, one.labels)
        value, moved = _reliability(one, bins)
        values[side] = value - scores.mean()
        influence[side] = moved - (scores - scores.mean())
    change = (influence[1] - influence[0]) / uncertainty
    return estimate(float(values[1] - values[0]) / uncertainty, change.tolist(), raw.clusters)


def _reliability(found: Forecasts, bins: int | None) -> tuple[float, Floats]:
    """Return the reliability, and how far each answer moves it (n,)."""
    columns = range(1 if len(found.options) == 2 else len(found.options))  # noqa: PLR2004 - the second repeats the first
    value, influence = 0.0, np.zeros(found.n)
    for column in columns:
        p, y = found.probabilities[:, column], found.labels[:, column]
        place = equal_mass(p, most=bins)
        gap = (np.bincount(place, p - y) / np.bincount(place))[place]
        value += float((gap**2).mean())
        influence += 2 * gap * (p - y) - gap**2
    scale = 1.0 if len(columns) == 1 else 0.5
    return scale * value, scale * (influence - value)


def auc(found: Forecasts) -> Estimate | None:
    """Return the area under the ROC curve of the first of two options with its 95 % interval.

    The chance that a case with the option has a higher probability than one without it, ties counting half. None of
    more options, or where all labels are the same. Standard error: DeLong, DeLong and Clarke-Pearson 1988 (Biometrics
    44:837), clustered as in Obuchowski 1997 (Biometrics 53:567); the interval is Wilson's over the trials it is worth,
    those of the rarer label where nothing was ranked wrong. A soft label counts on both sides by its share.
    """
    measured = _auc(found)
    if measured is None:
        return None
    value, influence = measured
    rarer = float(min(found.labels.sum(axis=0)))
    most = rarer if min(value, 1 - value) <= _ROUNDING else np.inf
    return share_estimate(min(value, 1.0), influence.tolist(), found.clusters, most=most)


def auc_change(raw: Forecasts, mapped: Forecasts) -> Estimate | None:
    """Return by how much a map raises the area under the ROC curve, with its 95 % interval; see `auc`."""
    before, after = _auc(raw), _auc(mapped)
    if before is None or after is None:
        return None
    return estimate(after[0] - before[0], (after[1] - before[1]).tolist(), raw.clusters)


def _auc(found: Forecasts) -> tuple[float, Floats] | None:
    """Return the area, and how far each answer moves it (n,)."""
    has, not_ = found.labels[:, 0], 1 - found.labels[:, 0]
    if len(found.options) != 2 or min(has.sum(), not_.sum()) <= _ROUNDING:  # noqa: PLR2004 - ranks of one number
        return None
    _, place = np.unique(found.probabilities[:, 0], return_inverse=True)

    def below(weights: Floats) -> Floats:
        """Return the share of the weights with a lower probability than each answer, ties counting half."""
        at = np.bincount(place, weights)
        ranks: Floats = ((np.cumsum(at) - at / 2) / at.sum())[place]
        return ranks

    beaten, beating = below(not_), 1 - below(has)
    value = float((has * beaten).sum() / has.sum())
    influence = has * (beaten - value) / has.mean() + not_ * (beating - value) / not_.mean()
    return value, influence
