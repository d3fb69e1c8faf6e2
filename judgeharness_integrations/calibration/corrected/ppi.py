"""Prediction-powered inference for a rate, with the judge's weight tuned (PPI++)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.calibration.corrected.sample import Sample
from judgeharness_integrations.statistics.clusters import cluster_degrees, clustered_error
from judgeharness_integrations.statistics.means import t_quantile, z_quantile

__all__ = ["PpiPlusPlus", "ppi_plus_plus"]

_FEWEST = 2
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, kw_only=True)
class PpiPlusPlus:
    """The estimate, its standard error and interval (not cut to [0, 1]), and the judge's weight lambda in [0, 1].

    `labels_se` is the standard error the labels have alone. Both are None where nothing varies and, with clusters,
    where fewer than two hold labels.
    """

    estimate: float
    se: float | None
    interval: tuple[float, float] | None
    weight: float
    labels_se: float | None


def ppi_plus_plus(sample: Sample, *, confidence: float = 0.95) -> PpiPlusPlus | None:
    """Return the PPI++ estimate of the true rate, for labels that are a random sample of the items.

    theta = lambda mean(U) + mean(Y - lambda F), Y labels, F decisions on the labelled items, U on the others; lambda =
    cov(Y, F) / ((1 + n/N) var(F and U)), cut to [0, 1] (Angelopoulos, Duchi, Zrnic 2023, arXiv 2311.01453, section 6;
    equal to ppi-python 0.2.3). Where items share clusters, the standard error is clustered over labelled and other
    items together, though not below that of independent items, as for every rate; the interval is a t interval.

    Returns:
        None below two labels, or without unlabelled items.

    """
    y, f, u = (side.astype(np.float64) for side in (sample.labels, sample.judged, sample.rest))
    n, others = len(y), len(u)
    if n < _FEWEST or not others:
        return None
    covariance = float(((y - y.mean()) * (f - f.mean())).mean())
    spread = (1 + n / others) * float(np.concatenate((f, u)).var(ddof=1))
    weight = min(1.0, max(0.0, covariance / spread)) if spread > 0 else 0.0
    estimate = weight * float(u.mean()) + float((y - weight * f).mean())
    se, alone = (_error(sample, y - tried * f, tried * u) for tried in (weight, 0.0))
    interval = None
    if se is not None:
        width = se * _quantile(sample, confidence)
        interval = (estimate - width, estimate + width)
    return PpiPlusPlus(estimate=estimate, se=se, interval=interval, weight=weight, labels_se=alone)


def _error(sample: Sample, rectifier: NDArray[np.float64], imputed: NDArray[np.float64]) -> float | None:
    n, others = len(rectifier), len(imputed)
    alone = math.sqrt(float(rectifier.var()) / n + float(imputed.var()) / others)
    if not sample.clustered:
        return alone if alone > _NEGLIGIBLE else None
    size = n + others
    parts = np.concatenate(((rectifier - rectifier.mean()) * size / n, (imputed - imputed.mean()) * size / others))
    found = clustered_error(parts.tolist(), [*sample.label_clusters, *sample.rest_clusters])
    if alone <= _NEGLIGIBLE or len(set(sample.label_clusters)) < _FEWEST:
        return None
    return alone if found is None else max(alone, found[0])


def _quantile(sample: Sample, confidence: float) -> float:
    if not sample.clustered:
        return z_quantile(confidence)
    degrees = cluster_degrees(Counter(sample.label_clusters).values())
    return t_quantile(degrees, confidence=confidence)
