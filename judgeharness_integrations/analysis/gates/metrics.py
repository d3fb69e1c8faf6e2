"""The metrics of gates: each a number over cases with its interval, or the reason why it was not measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

from ..aggregation.folds import Status
from ..aggregation.grouping import Clusters
from ..aggregation.statistics import agreement, modal_share
from ..calibration.candidates import Candidate, Label, labels_of_case, one_of, rivals_of, rivals_on_labels, widened
from ..calibration.items import confidence_text, read_gold_alone, simultaneous_level
from ..calibration.measure import CriterionCalibration, withhold
from ..calibration.rates import Rate
from ..runs.summarising import accuracy_of, careful_interval, clusters_of, design_key, designs_apart, gold_of
from ..statistics import CONFIDENCE
from ..statistics.means import Estimate
from ..statistics.proportions import bounded_estimate, exact_interval, worth_of
from .gate import NOT_DRAWN, OF_CALIBRATION, Expression

if TYPE_CHECKING:
    from ..calibration.saved import CalibrationReport
    from ..result import CriterionResult, HarnessResult
    from ..runs.report import CriterionSummary, JudgeSection, RunReport


CaseValue = Callable[["HarnessResult", "CriterionResult", str | None], float | None]


_UNDECIDED: Final = frozenset[Status]({"abstained", "not_graded"})
# metric over all cases -> what a case is of which it cannot be told: it counts against the gate
_UNTOLD: Final[dict[str, frozenset[Status]]] = {
    "pass_rate": _UNDECIDED,
    "rate": _UNDECIDED,
    "abstention": frozenset({"not_graded"}),
}
_OF_REPEATED: Final = frozenset({"consistency", "agreement"})
# metrics over the cases that have one: fewer than half of all speak for the others as little as so few samples do for a
# case (`min_valid`)
_OF_SOME: Final = _OF_REPEATED | {"accuracy", "mean_score", "position_flip", "flip_rate"}


def case_value(expression: Expression, result: HarnessResult, measured: CriterionResult | None) -> float | None:
    """Return what a case counts for: shares from 0 to 1, scores as they are; None where it does not count.

    A rate of a label is of all cases, and what is not decided counts against its gate: as another label where the rate
    has to be high, as this one where it has to be low. A judge that abstains passes neither. So does a case that was
    not graded count against a gate on abstention: a judge that fails passes none.

    Args:
        expression: the gate.
        result: of the case.
        measured: the criterion in it; None where its answers are not about the criterion.

    """
    if measured is None or measured.status in _UNTOLD.get(expression.metric, ()):
        return value_without(expression)
    return CASE_VALUES[expression.metric](result, measured, expression.argument)


def value_without(expression: Expression) -> float | None:
    """Return what a case counts for whose answers are not about the criterion; None where it does not count."""
    if expression.metric in _UNTOLD:
        return float(not expression.wants_high)
    return _WITHOUT_CRITERION.get(expression.metric)


def measure(expression: Expression, cases: CriterionCases) -> Measured | None:
    """Return the metric of a gate over cases; None where they cannot have it. See `case_value`.

    One that is over the cases that have it is not measured where fewer than half of all have.
    """
    upper = expression.metric in _UNTOLD and not expression.wants_high
    found = METRIC_MEASURES[expression.metric](replace(cases, upper=True) if upper else cases, expression.argument)
    if found is not None and expression.metric not in OF_CALIBRATION and cases.clusters:
        found = replace(found, each=len(cases.clusters) / len(set(cases.clusters)))
    if found is None or found.value is None or expression.metric not in _OF_SOME:
        return found
    repeated, all_cases = expression.metric in _OF_REPEATED, cases.summary.cases
    have = found.n if repeated else cases.summary.graded
    if unasked := cases.unasked:
        return Measured(missing=f"{unasked} of {all_cases} cases {NOT_DRAWN}: continue the run to its end", of=found.of)
    if 2 * have >= all_cases:
        return found
    what = (
        f"{'holds' if have == 1 else 'hold'} two valid samples"
        if repeated
        else f"{'is' if have == 1 else 'are'} graded"
    )
    return Measured(missing=f"only {have} of {all_cases} cases {what}, fewer than half", of=found.of)


def _decided_so(_: HarnessResult, measured: CriterionResult, label: str | None) -> float:
    return float(measured.status == "decided" and verdict_text(measured.verdict) == label)


def _status(name: Status) -> CaseValue:
    return lambda _, measured, __: float(measured.status == name)


def _right(result: HarnessResult, measured: CriterionResult, _: str | None) -> float | None:
    gold = gold_of(result, measured.criterion)
    if measured.status != "decided" or is_number(measured.verdict) or gold is None:
        return None
    label = read_gold_alone(gold, measured.verdict)  # of a report all labels are read already
    return None if label is None else float(measured.verdict == label)


def _score(_: HarnessResult, measured: CriterionResult, __: str | None) -> float | None:
    return float(measured.verdict) if is_number(measured.verdict) else None  # type: ignore[arg-type]


def _flips(_: HarnessResult, measured: CriterionResult, perturbation: str | None) -> float | None:
    return next((part.flip_rate for part in measured.perturbations if part.name == perturbation), None)


CASE_VALUES: Final[dict[str, CaseValue]] = {
    "pass_rate": lambda result, measured, _: _decided_so(result, measured, "PASS"),
    "rate": _decided_so,
    "accuracy": _right,
    "coverage": _status("decided"),
    "abstention": _status("abstained"),
    "not_graded": _status("not_graded"),
    "consistency": lambda _, measured, __: measured.consistency_rate if measured.valid > 1 else None,
    "agreement": lambda _, measured, __: measured.agreement,
    "mean_score": _score,
    "position_flip": lambda result, measured, _: _flips(result, measured, "position_swap"),
    "flip_rate": _flips,
}

_WITHOUT_CRITERION: Final[dict[str, float]] = {"coverage": 0.0, "not_graded": 1.0}


_VOCABULARIES = (frozenset({"PASS", "FAIL"}), frozenset({"A", "B", "TIE"}))


@dataclass(frozen=True, kw_only=True)
class CriterionCases:
    """One judge and criterion under one design: what it comes to, and the cases behind that, in order.

    `missing` planned cases have no result about it; they count as not graded. `design` tells its design from others of
    the judge; empty where there is one alone. `others` are results of the judge that are not about the criterion.
    `judges`: how many judges, runs and criteria, this one among them, were decided by the same labels, so that one may
    be picked; `among` says so, empty of one alone.
    `calibrated`: the same of the labels of its calibration.
    `upper`: the share of all cases has to be low, so that a case of which it cannot be told counts as one of them.
    """

    section: JudgeSection
    summary: CriterionSummary
    pairs: tuple[tuple[HarnessResult, CriterionResult], ...]
    design: str = ""
    others: tuple[HarnessResult, ...] = ()
    judges: int = 1
    among: str = ""
    calibrated: tuple[int, str] = (1, "")
    upper: bool = False

    @property
    def missing(self) -> int:
        """Number of planned cases without a result."""
        return self.summary.cases - len(self.pairs)

    @property
    def unasked(self) -> int:
        """Number of planned cases without any answer, of a run that was cut off."""
        return self.summary.cases - sum(bool(result.rows) for result in self.results)

    @property
    def results(self) -> list[HarnessResult]:
        """Every result of the judge under the design."""
        return [*(result for result, _ in self.pairs), *self.others]

    @cached_property
    def clusters(self) -> list[Hashable]:
        """The cluster of every case with a result, then of every missing one."""
        return clusters_of(self.pairs, Clusters.of_cases(self.results), missing=self.missing)

    @property
    def scored(self) -> bool:
        """Whether decisions are scores; with `pass_at` scores become PASS or FAIL."""
        return self.summary.numeric and "pass_at" not in self.summary.design.rule.name

    @property
    def sampled(self) -> bool:
        """Whether any sample holds a verdict."""
        return any(measured.valid for _, measured in self.pairs)

    @property
    def labels(self) -> dict[str, None]:
        """Every label that a decision can be, as far as that is known, in order of appearance; none of scores."""
        if self.scored:
            return {}
        seen: dict[str, None] = {}
        for _, measured in self.pairs:
            given = () if measured.numeric else measured.sample_distribution
            seen.update(dict.fromkeys(map(verdict_text, given)))
            if measured.status == "decided":
                seen[verdict_text(measured.verdict)] = None
        for vocabulary in _VOCABULARIES:
            if seen and vocabulary.issuperset(seen):
                return seen | dict.fromkeys(sorted(vocabulary))
        return seen


def criteria_of(report: RunReport) -> Iterator[CriterionCases]:
    """Yield every judge's criteria with their cases."""
    groups: dict[Hashable, list[HarnessResult]] = {}
    for result in report.results:
        groups.setdefault((result.judge, design_key(result.design)), []).append(result)
    candidates = _candidates(report)
    every = [*candidates.values(), *report.beside]
    shown = {one.judge: one.calibration for one in report.judges if one.calibration is not None}
    calibrated = rivals_on_labels({**report.calibrated_beside, **shown})
    for section in report.judges:
        names = designs_apart(summary.design for summary in section.criteria)
        for summary in section.criteria:
            key = design_key(summary.design)
            found, name = groups.get((summary.judge, key), []), summary.criterion
            pairs = tuple((one, one.criteria[name]) for one in found if name in one.criteria)
            others = tuple(one for one in found if name not in one.criteria)
            mine = candidates.get((section.judge, name))
            rivals = [] if mine is None else rivals_of(mine, (one for one in every if one is not mine))
            yield CriterionCases(
                section=section,
                summary=summary,
                pairs=pairs,
                design=names[key],
                others=others,
                judges=len(rivals) + 1,
                among="" if mine is None else one_of(mine, rivals),
                calibrated=calibrated.get((section.judge, name), (1, "")),
            )


def _candidates(report: RunReport) -> dict[tuple[str, str], Candidate]:
    """Return judge and criterion -> the labels it is decided by; nothing where one stands alone."""
    shown = {(summary.judge, summary.criterion) for section in report.judges for summary in section.criteria}
    if len(shown) + len(report.beside) <= 1:
        return {}
    found: dict[tuple[str, str], dict[Hashable, Label]] = {name: {} for name in shown}
    for result in report.results:
        for name in result.criteria:
            if (result.judge, name) in found and (gold := gold_of(result, name)) is not None:
                found[result.judge, name].update(labels_of_case(result.rows[0], gold))
    return {
        (judge, name): Candidate(run="", judge=judge, criterion=name, labels=labels)
        for (judge, name), labels in found.items()
    }


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A metric over `n` of `of`; `missing` says why there is no value, or else no interval; `note` is for readers.

    `controls`: how it stands beside judges that read nothing. `worth`: how many independent cases its interval, then
    Clopper and Pearson's, is worth; None of other intervals. `confidence`: the interval's. `each`: cases a cluster has
    on average, 1 where each stands alone.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    of: str = "cases"
    missing: str = ""
    note: str = ""
    controls: str = ""
    worth: float | None = None
    confidence: float = CONFIDENCE
    each: float = 1.0


def _share(cases: CriterionCases, metric: str, *, missing: bool = False) -> Measured:
    """Return a share of all planned cases; `missing` says whether one without a result is a hit."""
    value = CASE_VALUES[metric]
    hits = [bool(value(*pair, None)) for pair in cases.pairs] + [missing] * cases.missing
    return measured_rate(Rate.over(hits, cases.clusters))


def measured_rate(
    rate: Rate | None,
    *,
    of: str = "cases",
    missing: str = "there is no case",
    note: str = "",
    confidence: float = CONFIDENCE,
) -> Measured:
    """Return a rate as gates look at it; `confidence` is that of its interval."""
    if rate is None:
        return Measured(of=of, missing=missing)
    plain = Measured(n=rate.trials, of=of, note=note, confidence=confidence)
    return _exactly(plain, rate.value, rate.low, rate.high)


def _exactly(measured: Measured, value: float, low: float, high: float) -> Measured:
    """Return a share with Clopper and Pearson's interval instead of Wilson's over as many independent cases.

    Only it is a test whose level is never more than stated: Wilson's lower end lies above a true share of .17 of 55
    cases in 3.8 % of studies, where 2.5 % are meant.
    """
    worth = worth_of(value, low, high, confidence=measured.confidence)
    low, high = exact_interval(value, worth, confidence=measured.confidence)
    return replace(measured, value=value, low=low, high=high, worth=worth)


def _pass_rate(cases: CriterionCases, _: str | None) -> Measured | None:
    if not cases.scored and not cases.sampled:
        return Measured(missing="no sample holds a verdict")
    return _told_rate(cases, "pass_rate", "PASS") if cases.labels.keys() & {"PASS", "FAIL"} else None


def _rate(cases: CriterionCases, label: str | None) -> Measured | None:
    if cases.scored:
        return None
    if not cases.sampled:
        return Measured(missing="no sample holds a verdict")
    if label not in cases.labels:
        return Measured(missing=f"no sample says {label}; there are {', '.join(cases.labels)}")
    return _told_rate(cases, "rate", str(label))


def _told_rate(cases: CriterionCases, metric: str, what: str) -> Measured:
    """Return a share of all cases, in which those of which it cannot be told count against the gate; `what` it is."""
    untold, value = _UNTOLD[metric], CASE_VALUES[metric]
    hits = [cases.upper if one.status in untold else bool(value(result, one, what)) for result, one in cases.pairs]
    count = cases.missing + sum(one.status in untold for _, one in cases.pairs)
    word = "decided" if untold is _UNDECIDED else "graded"
    counting = what if cases.upper else f"not {what}"
    note = f"{count} of {cases.summary.cases} are not {word} and count as {counting}" if count else ""
    return measured_rate(Rate.over([*hits, *[cases.upper] * cases.missing], cases.clusters), note=note)


def _accuracy(cases: CriterionCases, _: str | None) -> Measured | None:
    if cases.scored:
        return None
    confidence, controls = simultaneous_level(cases.judges), cases.summary.controls
    rate = accuracy_of(cases.pairs, cases.clusters, confidence=confidence)
    count = cases.summary.replay.unread
    unread = f"{count} {'gold label' if count == 1 else 'gold labels'} could not be read" if count else ""
    missing = "; ".join(filter(None, ("no decided case holds a gold label", unread)))
    undecided = cases.summary.cases - sum(one.status == "decided" for _, one in cases.pairs)
    left_out = f"{undecided} of {cases.summary.cases} are not decided and do not count" if undecided else ""
    note = "; ".join(filter(None, (left_out, unread, cases.summary.batch, cases.among)))
    if rate is not None and cases.summary.apart:
        return Measured(of="decided cases with gold", missing=cases.summary.apart)
    measured = measured_rate(rate, of="decided cases with gold", missing=missing, note=note, confidence=confidence)
    alone = f" at {confidence_text(CONFIDENCE)}, as if it were the only candidate" if cases.judges > 1 else ""
    return replace(measured, controls="" if controls is None else controls.sentence + alone)


def _abstention(cases: CriterionCases, _: str | None) -> Measured:
    """Return how often the judge abstains; one that never answered is not known to do so seldom."""
    if not cases.sampled:
        return Measured(missing="no sample holds a verdict")
    return _told_rate(cases, "abstention", "abstained")


def _consistency(cases: CriterionCases, _: str | None) -> Measured:
    if cases.summary.replay.curtailed:
        return Measured(missing="early stopping shows more consistency than all samples would")
    if all(one.planned <= 1 for _, one in cases.pairs):
        return Measured(missing="one sample a case shows no consistency")
    shares = [one.consistency_rate if one.valid > 1 else None for _, one in cases.pairs]  # one agrees with itself
    return _mean_share(cases, shares, "no case holds two valid samples", least=modal_share)


def _agreement(cases: CriterionCases, _: str | None) -> Measured | None:
    if cases.summary.numeric:
        return None
    why = "early stopping leaves it open" if cases.summary.replay.curtailed else "no case holds two valid samples"
    return _mean_share(cases, [one.agreement for _, one in cases.pairs], why, least=agreement)


def _mean_share(
    cases: CriterionCases,
    values: Sequence[float | None],
    missing: str,
    *,
    least: Callable[[Mapping[Verdict, int]], float | None],
) -> Measured:
    """Return the mean over the cases that have a value, each weighing the same; least of samples split evenly."""
    known = [
        (value, key, one.valid)
        for value, key, (_, one) in zip(values, cases.clusters, cases.pairs, strict=False)
        if value is not None
    ]
    if not known:
        return Measured(missing=missing)
    shares, keys, samples = zip(*known, strict=True)
    labels = max(2, len(cases.labels) or max(samples))
    evenly: list[Mapping[Verdict, int]] = [
        {str(place): (valid + place) // labels for place in range(labels)} for valid in set(samples)
    ]
    found = bounded_estimate(shares, keys, least=min(*shares, *(least(split) or 0.0 for split in evenly)))
    without = cases.summary.cases - len(known)
    return _of_estimate(found, f"{without} of {cases.summary.cases} cases have none" if without else "")


def _of_estimate(found: Estimate, note: str = "") -> Measured:
    why = "" if found.low is not None else "one case or cluster, or equal values, tell nothing about others"
    return Measured(value=found.value, low=found.low, high=found.high, n=found.n, missing=why, note=note)


def _mean_score(cases: CriterionCases, _: str | None) -> Measured | None:
    if not cases.scored:
        return None if cases.sampled or cases.summary.numeric else Measured(missing="no sample holds a verdict")
    found = cases.summary.mean_score
    if found is None:
        return Measured(missing="no case is decided")
    undecided = cases.summary.cases - found.n
    note = f"{undecided} of {cases.summary.cases} are not decided and do not count" if undecided else ""
    return _of_estimate(found, note)


def _flip_rate(cases: CriterionCases, perturbation: str | None) -> Measured | None:
    asked = {part.name for _, one in cases.pairs for part in one.perturbations}
    if perturbation not in (asked or cases.summary.design.perturbations):
        return None
    rates = [
        (part.flip_rate, key)
        for (_, one), key in zip(cases.pairs, cases.clusters, strict=False)
        for part in one.perturbations
        if part.name == perturbation and part.flip_rate is not None
    ]
    if not rates:
        return Measured(missing=f"no case holds samples with and without {perturbation} to compare")
    value = math.fsum(rate for rate, _ in rates) / len(rates)
    low, high = careful_interval(value, [key for _, key in rates])
    if len({key for _, key in rates}) == len(rates):
        return _exactly(Measured(n=len(rates)), value, low, high)
    # of clusters it is careful already: their cases count as copies
    return Measured(value=value, low=low, high=high, n=len(rates))


def _uncalibrated(section: JudgeSection, criterion: str) -> str:
    """Return why no calibration holds for a judge's criterion; empty where one does."""
    report, state = section.calibration, section.calibration_state
    if report is None or state is None:
        return "uncalibrated: no labels say how often this rule is right"
    if not state.valid:
        return f"the calibration on {report.name} is {state}"
    if not report.calibrated:
        return f"{report.word}: the labels are a model's, not people's"
    return "" if criterion in report.criteria else f"{report.name} holds no label of it"


def unanchored(section: JudgeSection, criterion: str) -> str:
    """Return why a judge's criterion is not anchored: no calibration holds, or its labels tell it from no constant."""
    why = _uncalibrated(section, criterion)
    return why if why or section.calibration is None else section.calibration.untold(criterion)


def untested(section: JudgeSection) -> str:
    """Return that nobody could compare the run's cases with the labelled ones, and why; empty where they were."""
    return "" if section.shift is None or section.shift.shifted is not None else section.shift.sentence


def _calibrated(name: str) -> Callable[[CriterionCases, str | None], Measured | None]:
    def measure(cases: CriterionCases, _: str | None) -> Measured | None:
        if cases.scored:
            return None
        section, criterion = cases.section, cases.summary.criterion
        why = _uncalibrated(section, criterion)
        if why or section.calibration is None:
            return Measured(missing=why)
        source, held = section.calibration.name, section.calibration.criteria[criterion]
        found, confidence, among = _for_all(cases, section.calibration, held)
        value = getattr(found, name)
        of, missing = f"labelled cases of {source}", f"it is undefined on {source}{_why(found, name)}"
        controls = "" if held.controls is None else held.controls.sentence
        note = "; ".join(filter(None, (controls, held.untold, held.uneven, untested(section), among)))
        each = found.n / found.clusters if found.clusters else 1.0
        if value is None or isinstance(value, Rate):
            rated = measured_rate(value, of=of, missing=missing, note=note, confidence=confidence)
            return replace(rated, each=each)
        no_interval = found.undefined.get(f"{name}_interval", "one cluster or equal cases tell nothing about others")
        bar = found.undefined.get(f"{name}_bar", "")
        told = value.low is not None and not bar
        return Measured(
            value=value.value,
            low=value.low if told else None,
            high=value.high if told else None,
            n=value.n,
            of=of,
            missing="" if told else bar or no_interval,
            note=note,
            confidence=confidence,
            each=each,
        )

    return measure


def _for_all(
    cases: CriterionCases, report: CalibrationReport, held: CriterionCalibration
) -> tuple[CriterionCalibration, float, str]:
    """Return a calibration whose intervals hold for all judges of the run on its labels, their confidence, and words.

    Where they cannot be made anew, they are what they were, and the words say so.
    """
    count, among = cases.calibrated
    if count <= (report.candidates or 1):
        return held, report.confidence, among
    if (found := widened(report, cases.summary.criterion, count)) is None:
        return held, report.confidence, f"{among}, of which the best may be best by luck: its interval is for fewer"
    return withhold(found, held.selection), simultaneous_level(count), among


def _why(found: CriterionCalibration, name: str) -> str:
    """Return why a measure is undefined, as far as that is known."""
    why = found.undefined.get(name, "")
    if name == "specificity" and not why and found.positive is None:
        why = "no label is the positive one: gate on balanced_accuracy, the mean over all labels"
    if name == "kappa" and not why:
        why = "labels or decisions are all the same, so that chance alone could agree as much"
    return f": {why}" if why else ""


METRIC_MEASURES: Final[dict[str, Callable[[CriterionCases, str | None], Measured | None]]] = {
    "pass_rate": _pass_rate,
    "rate": _rate,
    "accuracy": _accuracy,
    "coverage": lambda cases, _: _share(cases, "coverage"),
    "abstention": _abstention,
    "not_graded": lambda cases, _: _share(cases, "not_graded", missing=True),
    "consistency": _consistency,
    "agreement": _agreement,
    "mean_score": _mean_score,
    "position_flip": lambda cases, _: _flip_rate(cases, "position_swap"),
    "flip_rate": _flip_rate,
    **{name: _calibrated(name) for name in OF_CALIBRATION},
}
