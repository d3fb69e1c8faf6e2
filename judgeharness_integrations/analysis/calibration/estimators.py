"""Estimators of a corrected rate beside Rogan and Gladen's: prediction-powered inference and double sampling."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..statistics.means import cluster_degrees, clustered_error, t_quantile, z_quantile
from .rates import Rate
from .rogangladen import Method, RateEstimate, Sample, rogan_gladen

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
    from ..statistics.proportions import jeffreys  # noqa: PLC0415 - brings SciPy

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


_RANDOM = "the labelled items are a random sample of the items"
_SAME_ERRORS = "the judge's sensitivity and specificity on the labelled items hold for the others"
_NO_LABELS = "no item is labelled"
_UNDECIDED = 2  # the answer of items without a decision
_ESTIMATORS_FEWEST = 10
_NO_ERROR = "no error was seen and all items are judged alike: no interval can be told"


def labels_alone(sample: Sample) -> RateEstimate:
    """Return the rate of the labels, without the judge, with its Wilson interval."""
    rate = sample.label_rate
    if rate is None:
        return _absent("labels_alone", _RANDOM, "0 labels", _NO_LABELS)
    se: float | None = math.sqrt(rate.value * (1 - rate.value) / rate.trials) or None  # no error seen tells none
    if sample.clustered and se is not None:
        found = clustered_error((sample.labels - rate.value).tolist(), sample.label_clusters)
        alone = len(set(sample.label_clusters)) == 1
        se = None if alone else max(se, found[0] if found else 0.0)  # as its interval: clusters make it no narrower
    basis = f"{rate.successes}/{rate.trials} labels"
    return RateEstimate.of("labels_alone", rate.value, (rate.low, rate.high), se=se, assumes=_RANDOM, basis=basis)


def prediction_powered(sample: Sample, found: PpiPlusPlus | None) -> RateEstimate:
    """Return what PPI++ found as an estimate."""
    basis = f"{len(sample.labels)} labels, {_passed(sample)} other items judged positive"
    if found is None:
        reason = "it needs two labels or more" if len(sample.rest) else _none_left(sample)
        return _absent("ppi_plus_plus", _RANDOM, basis, reason)
    reason = "" if found.interval else "the labels show no spread: no interval can be told"
    return RateEstimate.of(
        "ppi_plus_plus",
        found.estimate,
        found.interval,
        se=found.se,
        assumes=_RANDOM,
        basis=basis,
        reason=reason,
        weight=found.weight,
    )


def double_sampling(sample: Sample) -> RateEstimate:
    """Return Tenenbein's double-sampling estimate."""
    basis = f"{len(sample.labels)} labels, {_passed(sample)} other items judged positive"
    undecided = sum(int((answers == _UNDECIDED).sum()) for answers in sample.answers)
    basis += f", {undecided} of all without a decision, an answer of its own" if undecided else ""
    found = tenenbein(sample) if len(sample.rest) else None
    if found is None:
        reason = "one of the judge's answers was never labelled" if len(sample.labels) else _NO_LABELS
        return _absent("tenenbein", _RANDOM, basis, reason if len(sample.rest) else _none_left(sample))
    reason = "" if found.interval else "too few clusters, or labels without spread: no interval can be told"
    return RateEstimate.of(
        "tenenbein", found.estimate, found.interval, se=found.se, assumes=_RANDOM, basis=basis, reason=reason
    )


def rogan_gladen_both(sample: Sample) -> tuple[RateEstimate, RateEstimate]:
    """Return Rogan and Gladen's estimate with the interval of Lee et al. (and Fieller), and with the delta one."""
    q1, q0 = sample.sensitivity, sample.specificity
    passed, total = int(sample.rest.sum()), len(sample.rest)
    basis = f"{_passed(sample)} judged positive, sensitivity {_counts(q1)}, specificity {_counts(q0)}"
    found = None
    if total and q1 is not None and q0 is not None:
        found = rogan_gladen(
            judged=passed / total,
            n=total,
            sensitivity=q1.value,
            positives=q1.trials,
            specificity=q0.value,
            negatives=q0.trials,
        )
    if found is None:
        reason = _why_not(sample, q1, q0)
        return (
            _absent("rogan_gladen", _SAME_ERRORS, basis, reason),
            _absent("rogan_gladen_delta", _SAME_ERRORS, basis, reason),
        )
    reason = "its intervals take items for independent, which they are not" if sample.clustered else ""
    without = "" if found.lee else "no interval: with two more items a class, the judge tells nothing apart"
    shared: dict[str, Any] = {"se": found.se, "assumes": _SAME_ERRORS, "basis": basis}
    told = found.delta
    if told is not None and (few := _too_few(sample)):
        told, reason_delta = None, few
    else:
        reason_delta = reason if told else _NO_ERROR
    return (
        RateEstimate.of("rogan_gladen", found.raw, found.interval, reason=without or reason, **shared),
        RateEstimate.of("rogan_gladen_delta", found.raw, told, reason=reason_delta, **shared),
    )


def _too_few(sample: Sample) -> str:
    """Say which count is too small for a normal approximation; nothing where none is.

    The delta interval covers as little as 32 % of samples with 20 items of a class and one error expected in them.
    With ten or more in each of the six counts it covered 92 % and more in 2,688 planted truths.
    """
    yes, no = sample.judged[sample.labels], sample.judged[~sample.labels]
    sides = [(kind, int(side.sum()), len(side)) for kind, side in (("positive", yes), ("negative", no))]
    counts = [(hits, f"{kind} items judged positive") for kind, hits, _ in sides]
    counts += [(size - hits, f"{kind} items not judged positive") for kind, hits, size in sides]
    passed = int(sample.rest.sum())
    counts += [(passed, "unlabelled items judged positive"), (len(sample.rest) - passed, "unlabelled items not so")]
    fewest, what = min(counts)
    if fewest >= _ESTIMATORS_FEWEST:
        return ""
    return f"no interval: it holds from {_ESTIMATORS_FEWEST} items of each kind on, and there are {fewest} {what}"


def _why_not(sample: Sample, sensitivity: Rate | None, specificity: Rate | None) -> str:
    if not len(sample.rest):
        return _none_left(sample)
    if sensitivity is None or specificity is None:
        return f"no labelled item is {'positive' if sensitivity is None else 'negative'}"
    return "sensitivity and specificity sum to 1 or less: the judge does no better than chance on the labelled items"


def _none_left(sample: Sample) -> str:
    what = "every item is labelled" if len(sample.labels) and not sample.apart else "no unlabelled item was judged"
    return f"{what}: there is nothing to correct"


def _passed(sample: Sample) -> str:
    return f"{int(sample.rest.sum())}/{len(sample.rest)}"


def _counts(rate: Rate | None) -> str:
    return "0/0" if rate is None else f"{rate.successes}/{rate.trials}"


def _absent(method: Method, assumes: str, basis: str, reason: str) -> RateEstimate:
    return RateEstimate(method=method, assumes=assumes, basis=basis, applicable=False, reason=reason)
