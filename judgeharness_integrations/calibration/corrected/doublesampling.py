"""Tenenbein's double sampling: a fallible judge on all items, true labels on a random part of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.aggregation.statistics import wilson_of
from judgeharness_integrations.calibration.corrected.sample import Sample
from judgeharness_integrations.calibration.estimate import cluster_degrees, clustered_error, t_quantile

__all__ = ["DoubleSampling", "tenenbein"]


@dataclass(frozen=True, kw_only=True)
class DoubleSampling:
    """The maximum-likelihood estimate, its standard error, Wilson's interval with the effective number of labels.

    `reliability` is K, the squared correlation of judge and labels: the share of the variance the judge explains.
    """

    estimate: float
    se: float | None
    interval: tuple[float, float] | None
    reliability: float | None


def tenenbein(sample: Sample, *, confidence: float = 0.95) -> DoubleSampling | None:
    """Return the double-sampling estimate of the true rate, for labels that are a random sample of the items.

    The share of items in each of the judge's two answers times the labels' rate among the labelled ones that got it;
    SE = sqrt(p (1 - p) (1 - K) / n + p (1 - p) K / N) with n labels of N items (Tenenbein 1970, eqs. 2.5 and 3.2). The
    interval is Wilson's with the effective number of labels 1 / ((1 - K) / n + K / N), where K is measured after half
    an item is added to each cell: a judge that made no error yet is not taken for one that never errs. Where items
    share clusters, the standard error is the linearised clustered one, with Student's t.

    Returns:
        None without labels, or where one of the judge's answers was given but never labelled.

    """
    y, f = sample.labels.astype(np.float64), sample.judged
    n, total = len(y), len(y) + len(sample.rest)
    sizes = np.array([(~f).sum(), f.sum()])
    weights = np.array([0.0, (f.sum() + sample.rest.sum()) / total]) if n else np.zeros(2)
    weights[0] = 1 - weights[1]
    if not n or bool(((sizes == 0) & (weights > 0)).any()):
        return None
    hits = np.array([y[~f].sum(), y[f].sum()])
    rates = hits / np.maximum(sizes, 1)
    value = float(weights @ rates)
    reliability = _reliability(weights, rates)
    if sample.clustered:
        error, limits = _clustered(sample, rates, weights, confidence)
        return DoubleSampling(estimate=value, se=error, interval=limits, reliability=reliability)
    share = reliability or 0.0
    se = math.sqrt(value * (1 - value) * ((1 - share) / n + share / total)) or None  # labels all alike tell none
    careful = _reliability(weights, (hits + 0.5) / (sizes + 1)) or 0.0
    effective = 1 / ((1 - careful) / n + careful / total)
    interval = wilson_of(value, effective, NormalDist().inv_cdf((1 + confidence) / 2))
    return DoubleSampling(estimate=value, se=se, interval=interval, reliability=reliability)


def _reliability(weights: NDArray[np.float64], rates: NDArray[np.float64]) -> float | None:
    """Return the share of the labels' variance between the judge's two answers; None where the labels never vary."""
    value = float(weights @ rates)
    within = float(weights @ (rates * (1 - rates)))
    return 1 - within / (value * (1 - value)) if 0 < value < 1 else None


def _clustered(
    sample: Sample, rates: NDArray[np.float64], weights: NDArray[np.float64], confidence: float
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the clustered standard error and interval, None where they cannot be told."""
    y, f = sample.labels.astype(np.float64), sample.judged.astype(np.intp)
    value, n = float(weights @ rates), len(y)
    seen = np.array([(1 - f).sum(), f.sum()]) / n
    between = rates[np.concatenate((f, sample.rest.astype(np.intp)))] - value
    within = (y - rates[f]) * (weights / np.where(seen > 0, seen, 1))[f]
    influence = between + np.concatenate((within * len(between) / n, np.zeros(len(sample.rest))))
    found = clustered_error(influence.tolist(), [*sample.label_clusters, *sample.rest_clusters])
    sizes = Counter(sample.label_clusters).values()
    if found is None or len(sizes) < 2 or not 0 < value < 1:  # noqa: PLR2004 - one tells nothing about others
        return None, None
    effective = min(float(len(between)), value * (1 - value) / found[0] ** 2)
    return found[0], wilson_of(value, effective, t_quantile(cluster_degrees(sizes), confidence=confidence))
