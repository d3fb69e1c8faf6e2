"""Tenenbein's double sampling: a fallible judge on all items, true labels on a random part of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.calibration.corrected.sample import Sample
from judgeharness_integrations.statistics.clusters import cluster_degrees, clustered_error
from judgeharness_integrations.statistics.means import t_quantile, z_quantile

__all__ = ["DoubleSampling", "tenenbein"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class DoubleSampling:
    """The maximum-likelihood estimate, its standard error and interval.

    `reliability` is K, the squared correlation of judge and labels: the share of the variance the judge explains.
    """

    estimate: float
    se: float | None
    interval: tuple[float, float] | None
    reliability: float | None


def tenenbein(sample: Sample, *, confidence: float = 0.95) -> DoubleSampling | None:
    """Return the double-sampling estimate of the true rate, for labels that are a random sample of the items.

    The share of items in each of the judge's answers times the labels' rate among the labelled ones that got it: the
    maximum of the likelihood. No decision is an answer of its own where five labelled items or more have none.
    SE = sqrt(p (1 - p) (1 - K) / n + p (1 - p) K / N) with n labels of N items (Tenenbein 1970, eqs. 2.5 and 3.2). The
    interval is not made of it: the margins of Jeffreys' interval of the rate in each answer, weighted with its share,
    and of the shares are added up in squares (MOVER: Zou and Donner 2008, eq. 9), so that a judge that made no error
    yet is not taken for one that never errs. At 100 labels and more it covered .93 and more at each of 1,260 planted
    truths (rates of .02 to .5, sensitivity and specificity of .6 to .98, 1.5 to 50 items a label).
    Where items share clusters, the standard error is the linearised clustered one, but not below that of independent
    items, as for every rate: it came out smaller in half of the samples without any correlation. The margins grow as it
    does, and as Student's t does against the normal quantile; never less than 1.

    Returns:
        None without labels, or where one of the judge's answers was given but never labelled.

    """
    y, (f, others) = sample.labels.astype(np.float64), sample.answers
    n, total = len(y), len(y) + len(others)
    codes = int(max(f.max(initial=0), others.max(initial=0))) + 1
    sizes, hits = np.bincount(f, minlength=codes), np.bincount(f, weights=y, minlength=codes).astype(np.float64)
    given = sizes + np.bincount(others, minlength=codes)
    if not n or bool(((sizes == 0) & (given > 0)).any()):
        return None
    weights, rates = given / total, hits / np.maximum(sizes, 1)
    value = float(weights @ rates)
    share = _reliability(weights, rates)
    known = share or 0.0
    error = math.sqrt(value * (1 - value) * ((1 - known) / n + known / total)) or None  # labels all alike tell none
    wider: float | None = 1.0
    if sample.clustered:
        clustered, wider = _clustered(sample, rates, weights, confidence)
        error = None if clustered is None else max(clustered, error or 0.0)
    interval = None if wider is None else _interval(hits, sizes, weights, total, confidence, wider)
    return DoubleSampling(estimate=value, se=error, interval=interval, reliability=share)


def _interval(  # noqa: PLR0917 - one call
    hits: _Floats, sizes: NDArray[np.intp], weights: _Floats, total: int, confidence: float, wider: float
) -> tuple[float, float]:
    from judgeharness_integrations.statistics.proportions import jeffreys  # noqa: PLC0415 - brings SciPy

    rates = hits / np.maximum(sizes, 1)
    value = float(weights @ rates)
    z = z_quantile(confidence)
    of_shares = z * math.sqrt(max(0.0, float(weights @ rates**2) - value**2) / total)
    ends = [jeffreys(hit, size, confidence=confidence) for hit, size in zip(hits.tolist(), sizes.tolist(), strict=True)]
    low, high = np.array(ends).T
    below, above = (math.hypot(of_shares, *(weights * margin).tolist()) for margin in (rates - low, high - rates))
    return max(0.0, value - wider * below), min(1.0, value + wider * above)


def _reliability(weights: _Floats, rates: _Floats) -> float | None:
    """Return the share of the labels' variance between the judge's answers; None where the labels never vary."""
    value = float(weights @ rates)
    within = float(weights @ (rates * (1 - rates)))
    return 1 - within / (value * (1 - value)) if 0 < value < 1 else None


def _clustered(
    sample: Sample, rates: _Floats, weights: _Floats, confidence: float
) -> tuple[float | None, float | None]:
    """Return the clustered standard error and how much wider it makes the interval, None where they cannot be told."""
    y, (f, others) = sample.labels.astype(np.float64), sample.answers
    value, n = float(weights @ rates), len(y)
    seen = np.bincount(f, minlength=len(rates)) / n
    between = rates[np.concatenate((f, others))] - value
    within = (y - rates[f]) * (weights / np.where(seen > 0, seen, 1))[f]
    influence = (between + np.concatenate((within * len(between) / n, np.zeros(len(others))))).tolist()
    found = clustered_error(influence, [*sample.label_clusters, *sample.rest_clusters])
    alone = clustered_error(influence, range(len(influence)))
    sizes = Counter(sample.label_clusters).values()
    if found is None or alone is None or len(sizes) < 2:  # noqa: PLR2004 - one tells nothing about others
        return None, None
    quantiles = t_quantile(cluster_degrees(sizes), confidence=confidence), z_quantile(confidence)
    return found[0], max(1.0, found[0] / alone[0] * quantiles[0] / quantiles[1])
