"""Precision and recall of every label, and their macro F1."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from judgeharness_integrations.calibration.estimate import Estimate
from judgeharness_integrations.calibration.judged import Judged
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.calibration.tally import share_estimate
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

__all__ = ["ClassRates", "class_rates", "macro_f1"]


@dataclass(frozen=True, kw_only=True)
class ClassRates:
    """How one label fares: `precision` of the decisions that name it, `recall` of the `support` items that have it.

    Abstained and not graded items count as not named.
    """

    precision: Rate | None
    recall: Rate | None
    support: int


def _labels(verdict: Verdict | None) -> frozenset[str]:
    """Return the labels a verdict names: its own, or those of the set."""
    if verdict is None:
        return frozenset()
    return verdict if isinstance(verdict, frozenset) else frozenset({verdict_text(verdict)})


def _sides(items: Sequence[Judged]) -> tuple[list[frozenset[str]], list[frozenset[str]], list[str]]:
    golds = [_labels(item.gold) for item in items]
    named = [_labels(item.verdict if item.status == "decided" else None) for item in items]
    return golds, named, sorted(frozenset[str]().union(*golds, *named))


def class_rates(items: Sequence[Judged], clusters: Sequence[Hashable]) -> dict[str, ClassRates]:
    """Return label -> its rates, for every label somebody or the rule gave; of sets, each label by itself."""
    golds, named, labels = _sides(items)
    rates: dict[str, ClassRates] = {}
    for label in labels:
        said = [place for place, names in enumerate(named) if label in names]
        true = [place for place, names in enumerate(golds) if label in names]
        rates[label] = ClassRates(
            precision=Rate.over([label in golds[place] for place in said], [clusters[place] for place in said]),
            recall=Rate.over([label in named[place] for place in true], [clusters[place] for place in true]),
            support=len(true),
        )
    return rates


def macro_f1(items: Sequence[Judged], clusters: Sequence[Hashable]) -> Estimate | None:
    """Return the mean over all labels of F1 = 2 hits / (items that have it + decisions that name it); None without any.

    Its interval is Wilson's with the number of trials that the linearised, clustered standard error is worth.
    """
    golds, named, labels = _sides(items)
    if not labels:
        return None
    n = len(items)
    total = 0.0
    influence = [0.0] * n
    for label in labels:
        true, said = ([label in names for names in side] for side in (golds, named))
        hits = [both == 2 for both in map(sum, zip(true, said, strict=True))]  # noqa: PLR2004 - both
        size = sum(true) + sum(said)
        score = 2 * sum(hits) / size
        total += score
        for place in range(n):
            if true[place] or said[place]:
                influence[place] += n * (2 * hits[place] - score * (true[place] + said[place])) / size
    share = [value / len(labels) for value in influence]
    return share_estimate(total / len(labels), share, clusters)
