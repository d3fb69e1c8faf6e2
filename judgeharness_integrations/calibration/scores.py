"""Decided scores against gold scores: errors, rank correlations and quadratic kappa, and why one is missing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from judgeharness_integrations.calibration.quadratickappa import other_scale, quadratic_kappa
from judgeharness_integrations.calibration.rankcorrelation import kendall_tau_b, spearman
from judgeharness_integrations.calibration.rates import score_errors

__all__ = ["score_measures"]

_ONE_NUMBER = "every score is the same number"


def score_measures(
    pairs: Sequence[tuple[float, float]],
    clusters: Sequence[Hashable],
    *,
    scale: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Return what a calibration says of (gold, decided) scores, as fields of `CriterionCalibration`.

    Args:
        pairs: scores of the decided items.
        clusters: which cluster each of them is in.
        scale: lowest and highest score, where the judge declares them.
        confidence: of the intervals.

    """
    measures: dict[str, Any] = {"errors": score_errors(pairs, clusters, confidence=confidence)}
    if not pairs:
        return measures
    golds, decided = np.array(pairs, dtype=float).T
    constant = [name for name, side in (("gold", golds), ("decided", decided)) if side.min() == side.max()]
    undefined: dict[str, str] = {}
    for name, correlation in (("spearman", spearman), ("kendall", kendall_tau_b)):
        measures[name] = correlation(golds, decided, clusters, confidence=confidence)
        if constant:
            undefined[name] = f"the {constant[0]} scores never vary"
    why = other_scale(golds, decided, scale)
    kappa = None if why else quadratic_kappa(golds, decided, clusters, confidence=confidence)
    measures["quadratic_kappa"] = kappa
    if kappa is None:
        undefined["quadratic_kappa"] = why or _ONE_NUMBER
    return measures | {"undefined": undefined}
