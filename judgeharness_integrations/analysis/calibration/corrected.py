"""The rate a judge reports, corrected with labels by a declared assumption, and what evenly split labels make of it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import compress
from typing import Any, Final, Literal, TypeAlias, get_args

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.verdictlog.encoding import counted, ends

from ..statistics.means import Z95
from .estimators import PpiPlusPlus, double_sampling, labels_alone, ppi_plus_plus, prediction_powered, rogan_gladen_both
from .rates import Rate
from .rogangladen import Method, RateEstimate, Sample
from .strata import Selection, selection_of

__all__ = [
    "CORRECTED_RATE_SCHEMA",
    "CorrectedRate",
    "LabelsAre",
    "SplitLabels",
    "corrected_rate",
    "corrected_rate_of_counts",
    "note_of",
    "other_mix_note",
    "selected",
    "withheld",
]


@dataclass(frozen=True, kw_only=True)
class SplitLabels:
    """The chosen estimate with all evenly split items labelled as positive, and with all of them labelled as not.

    The estimate itself takes them for items without a label, and so speaks for those that people agree on. `positive`
    and `negative` are None where no estimator is chosen, or it gives no number with them.
    """

    items: int
    positive: RateEstimate | None
    negative: RateEstimate | None

    def sentence(self, label: str) -> str:
        """Return what is to be said of them, about the rate of this label."""
        told = (
            f"people are evenly split on {counted(self.items, 'item')}, which have no label in the estimates: these "
            "speak for items that people agree on"
        )
        if self.positive is None or self.negative is None:
            return f"{told}; with them all counted as {label}, or all as not {label}, nothing is chosen either"
        return (
            f"{told}; all of them counted as {label}, the rate is {_number(self.positive)}, all counted as not "
            f"{label} {_number(self.negative)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return {"items": self.items, "positive": _bound(self.positive), "negative": _bound(self.negative)}


def _number(estimate: RateEstimate) -> str:
    value = "none" if estimate.estimate is None else f"{estimate.estimate:.3f}"
    return value if estimate.interval is None else f"{value} {ends(estimate.interval, 3)}"


def _bound(estimate: RateEstimate | None) -> dict[str, Any] | None:
    return None if estimate is None else {name: getattr(estimate, name) for name in ("estimate", "low", "high")}


CORRECTED_RATE_SCHEMA = "judgeharness.corrected_rate/1"
LabelsAre: TypeAlias = Literal["random", "other_mix", "undeclared"]


@dataclass(frozen=True, kw_only=True)
class CorrectedRate:
    """The true rate of a positive label among items that a judge decided about, of which some hold labels.

    `judged` is the judge's rate, uncorrected: abstained and not graded items count as not positive (`undecided` of
    them, where known). `labels_are` is the declared assumption: `random` (the labelled items are a random sample of the
    items), `other_mix` (they come from elsewhere; the judge errs as often there), `undeclared`. `chosen` is the
    estimator that assumption calls for, None where there is none. `split` is about items that people are evenly split
    on, None without any. `notes` are sentences about what the judge adds.
    All intervals are at 95 %, clustered where items share one of the `clusters` (None: each stands alone).
    """

    labels_are: LabelsAre
    items: int
    labelled: int
    judged: Rate | None
    sensitivity: Rate | None
    specificity: Rate | None
    estimates: tuple[RateEstimate, ...]
    chosen: Method | None
    notes: tuple[str, ...]
    clusters: int | None = None
    positive: str | None = None
    undecided: int | None = None
    split: SplitLabels | None = None

    def __getitem__(self, method: Method) -> RateEstimate:
        """Return the estimate of one method."""
        return next(estimate for estimate in self.estimates if estimate.method == method)

    @property
    def best(self) -> RateEstimate | None:
        """The chosen estimate."""
        return None if self.chosen is None else self[self.chosen]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON keeps it (schema `judgeharness.corrected_rate/1`)."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        rates = {name: _rate(values[name]) for name in ("judged", "sensitivity", "specificity")}
        estimates = [estimate.to_dict() | {"chosen": estimate.method == self.chosen} for estimate in self.estimates]
        values |= {"notes": list(self.notes), "split": None if self.split is None else self.split.to_dict()}
        return {"schema": CORRECTED_RATE_SCHEMA, **values, **rates, "estimates": estimates}


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    counts = {"successes": rate.successes, "trials": rate.trials}
    return {"value": rate.value, "low": rate.low, "high": rate.high, **counts}


_WITHIN: Final[Method] = "tenenbein"
_WHY: Final = "withheld, as the labelled items were selected by what the judge decided"


def selected(sample: Sample, labels_are: LabelsAre) -> Selection | None:
    """Return the test whether the labelled items were selected by verdict, where it fires.

    Items of another mix are judged otherwise by what they are (see `other_mix_note`), and so are counts that nobody
    says the mix of.
    """
    if labels_are == "other_mix" or (sample.apart and labels_are == "undeclared"):
        return None
    return _found(sample)


def other_mix_note(sample: Sample) -> str | None:
    """Return on what a declared other mix rests, where labelled items are judged otherwise than the rest.

    Counts cannot tell another mix from labels that were selected by verdict, which make the corrected rate wrong.
    """
    if (found := _found(sample)) is None:
        return None
    return (
        f"{found.counts}: the correction holds only if the labelled items were chosen without looking at the judge's "
        "decisions; where they were chosen by verdict it is wrong, whatever its interval"
    )


def _found(sample: Sample) -> Selection | None:
    decisions = [*sample.judged.tolist(), *sample.rest.tolist()]
    found = selection_of(
        ["positive" if one else "not positive" for one in decisions],
        [True] * len(sample.judged) + [False] * len(sample.rest),
        [*sample.label_clusters, *sample.rest_clusters] if sample.clustered else None,
    )
    return found if found is not None and found.found else None


def withheld(estimate: RateEstimate) -> RateEstimate:
    """Return an estimate without its numbers, where it takes the labelled items for a random sample.

    Tenenbein's is made of the share of right decisions among those of one kind, which selection by verdict leaves as it
    is: it stays, and says what it rests on then.
    """
    if not estimate.applicable:
        return estimate
    if estimate.method == _WITHIN:
        told = "it holds where labels were drawn at random among the items judged alike"
        return replace(estimate, reason="; ".join(filter(None, (estimate.reason, told))))
    return RateEstimate(
        method=estimate.method, assumes=estimate.assumes, basis=estimate.basis, applicable=False, reason=_WHY
    )


def note_of(selection: Selection) -> str:
    """Return what was found and what is to be done, in a sentence."""
    return (
        f"these labels are hardly a random sample: {selection.counts}, so that no interval is chosen, and sensitivity "
        "and specificity are withheld; label a random sample, or, if they were labelled elsewhere whatever the judge "
        "had decided, declare that they come from another mix"
    )


_PREFERENCE: dict[LabelsAre, tuple[Method, ...]] = {
    "random": ("tenenbein", "labels_alone"),
    "other_mix": ("rogan_gladen",),
    "undeclared": (),
}
_WORTH_SAYING = 1.05  # below it, the judge is worth less than one label in twenty
_FEW = 10
_INTERVALS: Final = ("labels_alone", "tenenbein")


def corrected_rate(
    *,
    judged: Sequence[bool | None],
    labels: Sequence[bool | None],
    split: Sequence[bool] | None = None,
    clusters: Sequence[Hashable] | None = None,
    labels_are: LabelsAre = "undeclared",
    positive: str | None = None,
    undecided: int | None = None,
    apart: str = "",
) -> CorrectedRate:
    """Correct the share of items a judge finds positive with the labels some of them hold.

    Args:
        judged: one an item: whether the decision is the positive label; None where it abstained or was not graded.
            That is not the positive label: leaving such items out would give the rate among decided items, which is
            another one. In double sampling no decision is an answer of its own.
        labels: one an item: whether its label is positive, None without a label.
        split: one an item: whether people are evenly split on it, so that it has no label; nobody is on any when None.
        clusters: one an item: items with equal clusters are not independent.
        labels_are: `random`: labelled items are a random sample of the items -> Tenenbein's double sampling.
            `other_mix`: they come from another mix of items on which the judge errs as often; the rate asked for is
            that of the unlabelled items -> Rogan-Gladen with the interval of Lee et al. `undeclared`: nothing is
            chosen.
        positive: the name of the positive label, for the report.
        undecided: how many items were abstained from or not graded, for the report; those judged None when None.
        apart: that labelled items are not like the others, where that was found (`transport.unlike_others`): they are
            no random sample then, and nothing is chosen that takes them for one.

    Raises:
        UsageError: the columns are of different lengths, or `labels_are` is something else.

    """
    _check(labels_are)
    if split is not None and any(split):
        options: dict[str, Any] = {"labels_are": labels_are, "positive": positive, "undecided": undecided}
        options["apart"] = apart
        return _with_split(judged, labels, split, clusters, options)
    sample = Sample.of_items(judged, labels, clusters, apart=labels_are == "other_mix")
    if undecided is None and None in judged:
        undecided = sum(one is None for one in judged)
    return _report(sample, labels_are, positive=positive, undecided=undecided, apart=apart)


def _with_split(
    judged: Sequence[bool | None],
    labels: Sequence[bool | None],
    split: Sequence[bool],
    clusters: Sequence[Hashable] | None,
    options: dict[str, Any],
) -> CorrectedRate:
    """Return a corrected rate with what it comes to where evenly split items are all positive, or none of them is."""
    # labels of another mix are no part of the items whose rate is asked for, and neither are those without a majority
    kept = [not (one and options["labels_are"] == "other_mix") for one in split]
    own = None if clusters is None else list(compress(clusters, kept))
    report = corrected_rate(
        judged=list(compress(judged, kept)), labels=list(compress(labels, kept)), clusters=own, **options
    )
    bounds: list[RateEstimate | None] = []
    for side in (True, False):
        given = [side if tied else label for tied, label in zip(split, labels, strict=True)]
        other = corrected_rate(judged=judged, labels=given, clusters=clusters, **options)
        bounds.append(None if report.chosen is None else other[report.chosen])
    told = SplitLabels(items=sum(split), positive=bounds[0], negative=bounds[1])
    said = told.sentence(options["positive"] or "the positive label")
    return replace(report, split=told, notes=(said, *report.notes))


def corrected_rate_of_counts(
    *,
    judged_passes: int,
    judged_total: int,
    sensitivity: tuple[int, int],
    specificity: tuple[int, int],
    labels_are: LabelsAre = "undeclared",
    positive: str | None = None,
    undecided: int | None = None,
    apart: str = "",
) -> CorrectedRate:
    """Correct a judged rate with the errors counted on labelled items, which are not among the judged ones.

    Args:
        judged_passes: items judged positive.
        judged_total: items judged, abstentions and failures included.
        sensitivity: positive labelled items judged positive, and all positive labelled items.
        specificity: other labelled items not judged positive, and all other labelled items.
        labels_are: see `corrected_rate`; `random` says that judged and labelled items were drawn alike.
        positive: the name of the positive label, for the report.
        undecided: how many judged items were abstained from or not graded, for the report.
        apart: see `corrected_rate`.

    Raises:
        UsageError: a part is larger than its whole, or `labels_are` is something else.

    """
    _check(labels_are)
    sample = Sample.of_counts(
        passed=judged_passes, total=judged_total, sensitivity=sensitivity, specificity=specificity
    )
    return _report(sample, labels_are, positive=positive, undecided=undecided, apart=apart)


def _check(labels_are: str) -> None:
    if labels_are not in get_args(LabelsAre):
        raise UnknownNameError("sampling assumption", labels_are, get_args(LabelsAre))


def _report(
    sample: Sample, labels_are: LabelsAre, *, positive: str | None, undecided: int | None, apart: str = ""
) -> CorrectedRate:
    powered = ppi_plus_plus(sample)
    estimates: tuple[RateEstimate, ...] = (
        labels_alone(sample),
        prediction_powered(sample, powered),
        double_sampling(sample),
        *rogan_gladen_both(sample),
    )
    selection = selected(sample, labels_are)
    if selection is not None:
        estimates = tuple(map(withheld, estimates))
    usable = {estimate.method for estimate in estimates if estimate.raw_low is not None}
    independent = labels_are == "other_mix" and sample.clustered  # what Rogan-Gladen's intervals take items for
    unlike = bool(apart) and labels_are == "random"
    fitting = () if selection is not None or independent or unlike else _PREFERENCE[labels_are]
    chosen: Method | None = next((method for method in fitting if method in usable), None)
    return CorrectedRate(
        labels_are=labels_are,
        items=len(sample.rest) if sample.apart else len(sample.rest) + len(sample.labels),
        labelled=len(sample.labels),
        judged=sample.judged_rate,
        sensitivity=None if selection is not None else sample.sensitivity,
        specificity=None if selection is not None else sample.specificity,
        estimates=estimates,
        chosen=chosen,
        notes=tuple(
            _notes(sample, labels_are, chosen, powered, estimates, apart=apart)
            if selection is None
            else [note_of(selection), *([apart] if apart else ())]
        ),
        clusters=sample.clusters,
        positive=positive,
        undecided=undecided,
    )


def _notes(
    sample: Sample,
    labels_are: LabelsAre,
    chosen: Method | None,
    powered: PpiPlusPlus | None,
    estimates: Sequence[RateEstimate],
    *,
    apart: str,
) -> Iterator[str]:
    random = labels_are == "random"
    if apart:
        yield f"nothing is chosen: {apart}" if random else apart
    if labels_are == "undeclared":
        yield "nothing is chosen: declare whether the labels are a random sample of these items or of another mix"
    elif chosen is None and not (apart and random):
        yield f"nothing can be chosen: {_reason(estimates, _PREFERENCE[labels_are][0])}"
    if random and not apart:
        yield from _gain(sample, powered, estimates)
    yield from _weak(sample)
    if labels_are == "other_mix" and (told := other_mix_note(sample)) is not None:
        yield told
    for estimate in estimates:
        if estimate.method == chosen and estimate.outside:
            yield (
                "the correction lies outside [0, 1]: a judge with this sensitivity and specificity would hardly give "
                "this judged rate, so they do not hold for these items, or it is chance"
            )


def _reason(estimates: Sequence[RateEstimate], method: Method) -> str:
    return next(estimate.reason for estimate in estimates if estimate.method == method)


def _gain(sample: Sample, powered: PpiPlusPlus | None, estimates: Sequence[RateEstimate]) -> Iterator[str]:
    """Say what the judge adds to labels that are a random sample."""
    n = len(sample.labels)
    if powered is None:
        said = (
            "what the judge adds cannot be told" if len(sample.rest) else "the judge adds nothing over the labels alone"
        )
        yield f"{said}: {_reason(estimates, 'ppi_plus_plus')}"
    elif sample.labels.all() or not sample.labels.any():
        yield f"what the judge adds cannot be told: the {n} labels are all alike"
    elif powered.se is None or powered.labels_se is None:
        yield f"what the judge adds cannot be told: the {n} labels are of one cluster"
    elif powered.weight == 0:
        yield f"the judge adds nothing over the {n} labels alone: its decisions do not go with the labels"
    else:
        worth = min((powered.labels_se / powered.se) ** 2, _narrower(estimates))
        if worth < _WORTH_SAYING:
            yield f"the judge adds nothing over the {n} labels alone: the interval gets no narrower to speak of"
        else:
            yield f"with the judge, the {n} labels are worth as much as {n * worth:.0f} labels alone"
    yield from _too_narrow(sample, powered, next(one for one in estimates if one.method == "tenenbein"))


def _narrower(estimates: Sequence[RateEstimate]) -> float:
    """Return how many labels alone one label is worth by the printed intervals; few errors make them wide."""
    alone, sampled = (next(one.interval for one in estimates if one.method == name) for name in _INTERVALS)
    if alone is None or sampled is None:
        return math.inf
    return ((alone[1] - alone[0]) / (sampled[1] - sampled[0])) ** 2


def _too_narrow(sample: Sample, powered: PpiPlusPlus | None, other: RateEstimate) -> Iterator[str]:
    """Say where the normal interval of PPI++ rests on too few errors or labels of one kind (simulated: 87 to 92 %)."""
    errors = int((sample.labels != sample.judged).sum())
    rarer = int(min(sample.labels.sum(), (~sample.labels).sum()))
    if powered is not None and powered.interval is not None and min(errors, rarer) < _FEW:
        better = "; that of Tenenbein holds" if other.interval else ""
        yield (
            f"{errors} of {len(sample.labels)} labels contradict the judge, {rarer} are of the rarer kind: with so few "
            f"the normal interval of PPI++ may be too narrow{better}"
        )


def _weak(sample: Sample) -> Iterator[str]:
    """Say where the labels cannot tell the judge from a coin."""
    q1, q0 = sample.sensitivity, sample.specificity
    if q1 is None or q0 is None:
        return
    if q1.value + q0.value <= 1:
        yield (
            f"the judge does no better than chance on the labelled items: sensitivity {q1.value:.3f} and specificity "
            f"{q0.value:.3f} sum to 1 or less"
        )
        return
    spread = math.sqrt(sum(rate.value * (1 - rate.value) / rate.trials for rate in (q1, q0)))
    if q1.value + q0.value - 1 - Z95 * spread <= 0:
        yield "the labels cannot tell the judge from chance: sensitivity + specificity - 1 may be 0"
