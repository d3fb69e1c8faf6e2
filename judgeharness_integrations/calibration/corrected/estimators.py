"""The estimators one by one, each with what it assumes, what it was counted on, and why it may not apply."""

from __future__ import annotations

import math
from typing import Any

from judgeharness_integrations.calibration.corrected.doublesampling import tenenbein
from judgeharness_integrations.calibration.corrected.ppi import PpiPlusPlus
from judgeharness_integrations.calibration.corrected.rateestimate import Method, RateEstimate
from judgeharness_integrations.calibration.corrected.rogangladen import rogan_gladen
from judgeharness_integrations.calibration.corrected.sample import Sample
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.statistics.clusters import clustered_error

__all__ = ["double_sampling", "labels_alone", "prediction_powered", "rogan_gladen_both"]

_RANDOM = "the labelled items are a random sample of the items"
_SAME_ERRORS = "the judge's sensitivity and specificity on the labelled items hold for the others"
_NO_LABELS = "no item is labelled"
_UNDECIDED = 2  # the answer of items without a decision
_FEWEST = 10
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
    if fewest >= _FEWEST:
        return ""
    return f"no interval: it holds from {_FEWEST} items of each kind on, and there are {fewest} {what}"


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
