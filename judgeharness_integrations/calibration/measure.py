"""Decisions of a rule against gold labels -> a calibration of one criterion."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.calibration.chanceagreement import clustered_kappa, gwet_ac1
from judgeharness_integrations.calibration.classes import ClassRates, class_rates, macro_f1, too_rare
from judgeharness_integrations.calibration.estimate import Estimate
from judgeharness_integrations.calibration.judged import Judged, cluster_keys
from judgeharness_integrations.calibration.rates import Kappa, Rate, ScoreErrors
from judgeharness_integrations.calibration.riskcoverage import RiskCoverage, risk_coverage
from judgeharness_integrations.calibration.words import BINARY, check_labels, graded_label, in_graded_words
from judgeharness_integrations.verdictlog.row import is_number, verdict_text

__all__ = ["CriterionCalibration", "Judged", "graded_label", "measure_calibration"]

NOT_GRADED = "NOT_GRADED"
_NO_RATES = "scores have no precision and recall; give the rule a threshold (pass_at) or read the errors"

Confusion: TypeAlias = dict[str, dict[str, int]]


@dataclass(frozen=True, kw_only=True)
class CriterionCalibration:
    """How the rule's decision compares with the gold labels of one criterion.

    `n` items carry a gold label. With a `positive` label: precision = true positives / decided positives, recall =
    `sensitivity` = true positives / positives, `specificity` = negatives that were not judged positive / negatives;
    abstained and not graded count as not positive. Without one (pairwise): precision = correct / decided, recall =
    correct / all. `confusion` maps gold -> decision -> count, with columns `ABSTAIN` and `NOT_GRADED`. `kappa` and
    `ac1` are over decided items, `per_class` and `macro_f1` over all; scores have `errors`, rank correlations and
    `quadratic_kappa`. All intervals are at 95 %, clustered where items share one of the `clusters` (None: each stands
    alone). What is undefined is None; `reason` says why for scores, and `undefined` for single measures.
    """

    criterion: str
    n: int
    positive: str | None
    confusion: Mapping[str, Mapping[str, int]]
    precision: Rate | None
    recall: Rate | None
    accuracy_decided: Rate | None
    coverage: Rate | None
    base_rate: Rate | None
    kappa: Kappa | None
    errors: ScoreErrors | None = None
    reason: str = ""
    sensitivity: Rate | None = None
    specificity: Rate | None = None
    ac1: Estimate | None = None
    per_class: Mapping[str, ClassRates] = field(default_factory=dict)
    macro_f1: Estimate | None = None
    spearman: Estimate | None = None
    kendall: Estimate | None = None
    quadratic_kappa: Estimate | None = None
    risk_coverage: RiskCoverage | None = None
    undefined: Mapping[str, str] = field(default_factory=dict)
    clusters: int | None = None


def measure_calibration(
    items: Sequence[Judged],
    *,
    criterion: str = "verdict",
    positive: str | None = None,
    scale: tuple[float, float] | None = None,
) -> CriterionCalibration:
    """Measure the decisions of one criterion against gold labels.

    Args:
        items: one a labelled case.
        criterion: its name.
        positive: the label precision and recall are about; PASS when all gold labels are PASS or FAIL, else none.
        scale: lowest and highest score of the criterion, where they are declared.

    Raises:
        CaseError: gold scores against decided labels or the other way round, or an unknown positive label.

    """
    items = in_graded_words(items)
    decided = [item for item in items if item.status == "decided"]
    check_labels(items, decided, criterion)
    if any(is_number(item.gold) for item in items):
        measures = _scores(items, decided, scale)
    else:
        measures = _labels(items, _positive(items, positive))
    shared = len(set(cluster_keys(items)))
    return CriterionCalibration(
        criterion=criterion, n=len(items), clusters=shared if shared < len(items) else None, **measures
    )


def _confusion(items: Iterable[Judged]) -> Confusion:
    table: Confusion = {}
    for item in items:
        row = table.setdefault(verdict_text(item.gold), {})
        column = NOT_GRADED if item.status == "not_graded" else verdict_text(item.verdict)
        row[column] = row.get(column, 0) + 1
    return table


def _positive(items: Sequence[Judged], declared: str | None) -> str | None:
    labels = {item.gold for item in items}
    if declared is not None:
        graded = labels <= BINARY and declared in BINARY  # nobody failed: FAIL is a label all the same
        if not graded and declared not in labels | {item.verdict for item in items}:
            raise CaseError(f"the positive label {declared!r} occurs neither among the labels nor among the decisions.")
        return declared
    return "PASS" if labels and labels <= BINARY else None


class _Rated:
    """Items and the clusters they are in, for rates over some of them."""

    def __init__(self, items: Sequence[Judged]) -> None:
        self.items: list[tuple[Judged, Hashable]] = list(zip(items, cluster_keys(items), strict=True))

    def rate(self, among: Callable[[Judged], bool], hit: Callable[[Judged], bool]) -> Rate | None:
        """Return the share of hits among some of the items."""
        chosen = [(hit(item), key) for item, key in self.items if among(item)]
        return Rate.over([one for one, _ in chosen], [key for _, key in chosen])


def _labels(items: Sequence[Judged], positive: str | None) -> dict[str, Any]:
    rated, keys = _Rated(items), cluster_keys(items)
    places = [place for place, item in enumerate(items) if item.status == "decided"]
    pairs = [(verdict_text(items[place].gold), verdict_text(items[place].verdict)) for place in places]
    their = [keys[place] for place in places]
    rare = too_rare(items, keys)
    binary = {label for pair in pairs for label in pair} <= BINARY
    return {
        "positive": positive,
        "confusion": _confusion(items),
        **_rates(rated, positive),
        "accuracy_decided": rated.rate(_is_decided, _is_correct),
        "coverage": rated.rate(_any, _is_decided),
        "kappa": clustered_kappa(pairs, their),
        "ac1": gwet_ac1(pairs, their, labels=len(BINARY) if binary else None),
        "per_class": class_rates(items, keys),
        "macro_f1": macro_f1(items, keys),
        "risk_coverage": risk_coverage(items, keys),
        "undefined": {"macro_f1_interval": rare} if rare else {},
    }


def _rates(rated: _Rated, positive: str | None) -> dict[str, Rate | None]:
    if positive is None:
        return {
            "precision": rated.rate(_is_decided, _is_correct),
            "recall": rated.rate(_any, _is_correct),
            "base_rate": None,
        }

    def true(item: Judged) -> bool:
        return item.gold == positive

    def said(item: Judged) -> bool:
        return item.status == "decided" and item.verdict == positive

    recall = rated.rate(true, said)
    return {
        "precision": rated.rate(said, true),
        "recall": recall,
        "sensitivity": recall,
        "specificity": rated.rate(lambda item: not true(item), lambda item: not said(item)),
        "base_rate": rated.rate(_any, true),
    }


def _any(_: Judged) -> bool:
    return True


def _is_decided(item: Judged) -> bool:
    return item.status == "decided"


def _is_correct(item: Judged) -> bool:
    return item.status == "decided" and item.verdict == item.gold


def _scores(items: Sequence[Judged], decided: Sequence[Judged], scale: tuple[float, float] | None) -> dict[str, Any]:
    from judgeharness_integrations.calibration.scores import score_measures  # noqa: PLC0415 - numpy, for scores alone

    keys = [key for item, key in zip(items, cluster_keys(items), strict=True) if item.status == "decided"]
    pairs = [(float(item.gold), float(item.verdict)) for item in decided]  # type: ignore[arg-type]
    rates = ("precision", "recall", "accuracy_decided", "base_rate", "kappa")
    return {
        "positive": None,
        "confusion": {},
        **dict.fromkeys(rates),
        "coverage": _Rated(items).rate(_any, _is_decided),
        "reason": _NO_RATES,
        **score_measures(pairs, keys, scale=scale),
    }
