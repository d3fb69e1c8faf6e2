"""Decisions of a rule against gold labels: a calibration of one criterion."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.verdictlog.encoding import listed
from judgeharness_integrations.verdictlog.row import is_number, verdict_text

from ..statistics.agreement import Kappa, clustered_kappa, gwet_ac1, too_rare_for_a_bar
from ..statistics.means import Z95, Estimate
from .controls import Controls, controls_of
from .items import (
    BINARY,
    Judged,
    check_labels,
    cluster_keys,
    graded_label,
    plain_intervals,
    read_labels,
    simultaneous_level,
)
from .rates import (
    ClassRates,
    Rate,
    RiskCoverage,
    ScoreErrors,
    balanced_accuracy,
    class_rates,
    macro_f1,
    risk_coverage,
    too_rare,
)
from .strata import WITHHELD, Selection, Strata, strata_of

__all__ = [
    "CriterionCalibration",
    "Judged",
    "graded_label",
    "measure_calibration",
    "stratified",
    "withhold",
]


_OLD = "it was measured by an earlier version, without balanced accuracy: calibrate again"
NOT_GRADED = "NOT_GRADED"
_MOST_NAMED = 4
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
    alone). Of one of several candidates they are at `simultaneous_level`, and `plain` has some of them at 95 %.
    `balanced_accuracy` is the mean over gold labels of the share of their items that is judged right: 1 / labels for a
    judge that always answers the same. `controls` are judges that read nothing, on the decided items. What is undefined
    is None; `reason` says why for scores, and `undefined` for single measures.
    `selection` is the test whether the labelled cases were selected by what was decided, where there are cases without
    a label; where it fires, what it spoils is withheld. `strata` are the rates by the values of a column, where one was
    named, and `columns` those by every other column of which the cases have few values, their p-values adjusted by
    Sidak for the number of such columns.
    """

    criterion: str
    n: int
    positive: str | None
    confusion: Mapping[str, Mapping[str, int]]
    precision: Rate | None
    recall: Rate | None
    accuracy: Rate | None
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
    balanced_accuracy: Estimate | None = None
    controls: Controls | None = None
    selection: Selection | None = None
    plain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    strata: Strata | None = None
    columns: tuple[Strata, ...] = ()

    @property
    def told_strata(self) -> tuple[Strata, ...]:
        """The strata that are told: of the column that was named, and of others where a pooled rate does not hold."""
        named = () if self.strata is None else (self.strata,)
        return (*named, *(one for one in self.columns if one.sentence))

    @property
    def uneven(self) -> str:
        """Which pooled rates do not hold for every stratum; empty where none was found."""
        return "; ".join(filter(None, (one.sentence for one in self.told_strata)))

    @property
    def lift(self) -> Estimate | None:
        """How much more often decided items are right than by always answering the commonest label; None of scores."""
        return None if self.controls is None or self.controls.scored else self.controls.control("constant").advantage

    @property
    def withheld(self) -> tuple[str, ...]:
        """The measures that are not given, as the labelled cases were selected by what was decided."""
        return tuple(name for name, why in self.undefined.items() if why == WITHHELD)

    @property
    def untold(self) -> str:
        """Why the judge is not known to be better than one that reads nothing; empty where it is.

        That is one that always answers the same: of labels, the lower end of balanced accuracy must lie above 1 /
        labels; of scores, that of Spearman's correlation above 0, and its permutation z = rho sqrt(n - 1) above 1.96,
        which holds for few scores and a correlation of 1, too. It is also, of pairs whose lengths are known, one that
        prefers the longer answer, with which labels may agree: see `as_longest`. Where labels were selected by verdict
        they tell nothing of it.
        """
        if self.selection is not None and self.selection.found:
            return self.selection.sentence
        why = self._constant
        if self.inverted:
            what = "gives high scores for low ones" if self.reason else "is worse than a constant one"
            return f"this judge is reliably wrong, it {what}: {why}"
        if self.as_longest and self.controls is not None:
            longer = "right more often than one that prefers the longer answer"
            return f"the labels do not show that this judge is {longer}: {self.controls.unproven_lead}"
        return why and f"the labels cannot tell this judge from a constant one: {why}"

    @property
    def _constant(self) -> str:
        return _untold_scores(self) if self.reason else _untold_labels(self)

    @property
    def as_longest(self) -> bool:
        """Whether labels tell it from a constant one, and do not show it to be better than the longer answer."""
        return self.controls is not None and bool(self.controls.unproven_lead) and not self._constant

    @property
    def inverted(self) -> bool:
        """Whether labels tell the judge from a constant one, and it is the worse of the two: reliably wrong."""
        if self.selection is not None and self.selection.found:
            return False
        if self.reason:
            return _apart(self, -1)
        found = self.balanced_accuracy
        return found is not None and found.high is not None and found.high < 1 / _kinds(self)


def _kinds(measured: CriterionCalibration) -> int:
    """Return the labels there are: without a positive one as many as people gave."""
    return len(measured.confusion) if measured.positive is None else 2


def _untold_labels(measured: CriterionCalibration) -> str:
    found, golds = measured.balanced_accuracy, {gold: sum(row.values()) for gold, row in measured.confusion.items()}
    if found is None:
        return measured.undefined.get("balanced_accuracy", _OLD if measured.n else "no item is labelled")
    kinds = _kinds(measured)
    if found.low is not None and found.low > 1 / kinds:
        return ""
    counts = sorted(golds.items(), key=lambda pair: -pair[1])
    rarer = listed([f"{count} {label:.60}" for label, count in counts], _MOST_NAMED)
    over = f"over all labelled cases ({rarer})"
    return f"balanced accuracy {found} {over}, where a constant judge has {1 / kinds:.3f}"


def _untold_scores(measured: CriterionCalibration) -> str:
    found = measured.spearman
    if found is None:
        return measured.undefined.get("spearman", "no score was decided")
    if _apart(measured, 1):
        return ""
    said = "is below 0" if measured.inverted else "may be 0"
    return f"Spearman's correlation {found} {said}, that of a constant judge's scores"


def _apart(measured: CriterionCalibration, sign: int) -> bool:
    """Whether Spearman's correlation of scores is on this side of 0."""
    found = measured.spearman
    if found is None:
        return False
    value, end = sign * found.value, found.low if sign > 0 else found.high
    apart = value * math.sqrt(max(0, (measured.clusters or found.n) - 1)) > Z95
    return apart and (value == 1 or (end is not None and sign * end > 0))


def measure_calibration(
    items: Sequence[Judged],
    *,
    criterion: str = "verdict",
    positive: str | None = None,
    scale: tuple[float, float] | None = None,
    candidates: int = 1,
) -> CriterionCalibration:
    """Measure the decisions of one criterion against gold labels.

    Args:
        items: one a labelled case.
        criterion: its name.
        positive: the label precision and recall are about; PASS when all gold labels are PASS or FAIL, else none.
        scale: lowest and highest score of the criterion, where they are declared.
        candidates: how many judges, prompts and rules were measured on these labels, this one included, of which one
            is chosen: all of their intervals hold together at 95 % (Sidak).

    Raises:
        CaseError: gold scores against decided labels or the other way round, or an unknown positive label.

    """
    items = read_labels(items)
    decided = [item for item in items if item.status == "decided"]
    check_labels(items, decided, criterion)
    chosen = None if any(is_number(item.gold) for item in items) else _positive(items, positive)

    def measures(confidence: float) -> dict[str, Any]:
        if any(is_number(item.gold) for item in items):
            return _scores(items, decided, scale, confidence)
        return _labels_of_measure(items, chosen, confidence)

    found = measures(simultaneous_level(candidates))
    shared = len(set(cluster_keys(items)))
    return CriterionCalibration(
        criterion=criterion,
        n=len(items),
        clusters=shared if shared < len(items) else None,
        plain={} if candidates == 1 else plain_intervals(measures(simultaneous_level(1))),
        **found,
    )


def stratified(
    measured: CriterionCalibration,
    items: Sequence[Judged],
    strata: Sequence[str | None],
    column: str | None,
    *,
    others: Mapping[str, Sequence[str | None]] | None = None,
    candidates: int = 1,
) -> CriterionCalibration:
    """Return a calibration with its rates by the strata of a column, and of others; see `strata_of`.

    Args:
        measured: the calibration.
        items: its labelled cases.
        strata: of each, what it says in the column; None where it says nothing.
        column: the column that was named; None without one.
        others: of each other column of few values, the same; one value alone makes no strata.
        candidates: how many judges, prompts and rules were measured on these labels.

    """
    if measured.reason:
        named = None if column is None else Strata(column=column, listed=(), p={}, reason=measured.reason)
        return replace(measured, strata=named)

    def rates(some: Sequence[Judged]) -> tuple[Rate | None, Rate | None]:
        found = _rates(_Rated(some, simultaneous_level(candidates)), measured.positive)
        return found["precision"], found["recall"]

    read = read_labels(items)
    told = {name: values for name, values in (others or {}).items() if len({*values} - {None}) > 1}
    return replace(
        measured,
        strata=None if column is None else strata_of(read, strata, column, rates),
        columns=tuple(strata_of(read, values, name, rates).one_of(len(told)) for name, values in told.items()),
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

    def __init__(self, items: Sequence[Judged], confidence: float) -> None:
        self.confidence = confidence
        self.items: list[tuple[Judged, Hashable]] = list(zip(items, cluster_keys(items), strict=True))

    def rate(self, among: Callable[[Judged], bool], hit: Callable[[Judged], bool]) -> Rate | None:
        """Return the share of hits among some of the items."""
        chosen = [(hit(item), key) for item, key in self.items if among(item)]
        return Rate.over([one for one, _ in chosen], [key for _, key in chosen], confidence=self.confidence)


def _labels_of_measure(items: Sequence[Judged], positive: str | None, confidence: float) -> dict[str, Any]:
    rated, keys = _Rated(items, confidence), cluster_keys(items)
    places = [place for place, item in enumerate(items) if item.status == "decided"]
    pairs = [(verdict_text(items[place].gold), verdict_text(items[place].verdict)) for place in places]
    their = [keys[place] for place in places]
    kappa = clustered_kappa(pairs, their, confidence=confidence)
    binary = {label for pair in pairs for label in pair} <= BINARY
    return {
        "positive": positive,
        "confusion": _confusion(items),
        **_rates(rated, positive),
        "accuracy": rated.rate(_is_decided, _is_correct),
        "coverage": rated.rate(_any, _is_decided),
        "kappa": kappa,
        "ac1": gwet_ac1(pairs, their, labels=len(BINARY) if binary else None, confidence=confidence),
        "per_class": class_rates(items, keys, confidence=confidence),
        "macro_f1": macro_f1(items, keys, confidence=confidence),
        "risk_coverage": risk_coverage(items, keys, confidence=confidence),
        "balanced_accuracy": balanced_accuracy(items, keys, positive=positive, confidence=confidence),
        "controls": _controls([items[place] for place in places], their, confidence),
        "undefined": _undefined(items, keys, positive, kappa),
    }


def _undefined(
    items: Sequence[Judged], keys: Sequence[Hashable], positive: str | None, kappa: Kappa | None
) -> dict[str, str]:
    """Return why a measure of labels, or its interval, is missing."""
    golds = {verdict_text(item.gold) if positive is None else item.gold == positive for item in items}
    found: dict[str, str] = {}
    if len(golds) == 1:
        label = verdict_text(items[0].gold) if positive is None or items[0].gold == positive else f"not {positive}"
        found["balanced_accuracy"] = f"every label is {label!r:.60}, and of other items they say nothing"
    if kappa is not None and kappa.low is None:
        found["kappa_interval"] = "all items are of one cluster, which tells nothing of others"
    if kappa and (rare := too_rare_for_a_bar(_confusion(item for item in items if item.status == "decided"))):
        found["kappa_bar"] = rare
    if few := too_rare(items, keys):
        found["macro_f1_interval"] = few
    return found


def _controls(decided: Sequence[Judged], keys: Sequence[Hashable], confidence: float) -> Controls | None:
    golds, verdicts = [item.gold for item in decided], [item.verdict for item in decided if item.verdict is not None]
    return controls_of(golds, verdicts, keys, longer=[item.longer for item in decided], confidence=confidence)


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


def _scores(
    items: Sequence[Judged], decided: Sequence[Judged], scale: tuple[float, float] | None, confidence: float
) -> dict[str, Any]:
    from .scores import score_measures  # noqa: PLC0415 - numpy, for scores alone

    keys = [key for item, key in zip(items, cluster_keys(items), strict=True) if item.status == "decided"]
    pairs = [(float(item.gold), float(item.verdict)) for item in decided]  # type: ignore[arg-type]
    rates = ("precision", "recall", "accuracy", "base_rate", "kappa")
    return {
        "positive": None,
        "confusion": {},
        **dict.fromkeys(rates),
        "coverage": _Rated(items, confidence).rate(_any, _is_decided),
        "reason": _NO_RATES,
        "controls": _controls(decided, keys, confidence),
        **score_measures(pairs, keys, scale=scale, confidence=confidence),
    }


_SPOILT: Final = (
    "recall",
    "sensitivity",
    "specificity",
    "accuracy",
    "coverage",
    "base_rate",
    "kappa",
    "ac1",
    "balanced_accuracy",
    "macro_f1",
    "errors",
    "spearman",
    "kendall",
    "quadratic_kappa",
    "risk_coverage",
    "controls",
)


def withhold(measured: CriterionCalibration, selection: Selection | None) -> CriterionCalibration:
    """Return a calibration with the test of its labels, and without what it spoils where they were selected.

    The share of each decision that is right stays: the precision of a positive label, and of each of `per_class`.
    Without a positive label, precision averages over decisions, too.
    """
    if selection is None or not selection.found:
        return replace(measured, selection=selection)
    names = (*_SPOILT, *(("precision",) if measured.positive is None else ()))
    gone = [name for name in names if getattr(measured, name) is not None]
    lift = ["lift"] if measured.lift is not None else []
    spoilt: dict[str, Any] = dict.fromkeys(gone)
    return replace(
        measured,
        selection=selection,
        undefined={**measured.undefined, **dict.fromkeys([*gone, *lift], WITHHELD)},
        per_class={label: replace(rates, recall=None) for label, rates in measured.per_class.items()},
        plain={name: ends for name, ends in measured.plain.items() if name not in spoilt},
        strata=None if measured.strata is None else measured.strata.without(names),
        columns=tuple(one.without(names) for one in measured.columns),
        **spoilt,
    )
