"""The metrics of gates: each a number over cases with its 95 % interval, or the reason why it was not measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.aggregation.decision import Status
from judgeharness_integrations.calibration.estimate import Estimate
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.calibration.tally import share_estimate
from judgeharness_integrations.gates.criterioncases import CriterionCases
from judgeharness_integrations.reporting.runs.summarising import accuracy_of, careful_interval
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.runs.report import JudgeSection
    from judgeharness_integrations.result import CriterionResult

__all__ = ["METRIC_MEASURES", "Measured", "uncalibrated"]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A metric over `n` of `of`; `missing` says why there is no value, or else no interval; `note` is for readers."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    of: str = "cases"
    missing: str = ""
    note: str = ""


def _share(
    cases: CriterionCases, hit: Callable[[CriterionResult], bool], *, missing: bool = False, note: str = ""
) -> Measured:
    """Return a share of all planned cases; `missing` says whether one without a result is a hit."""
    hits = [*(hit(measured) for _, measured in cases.pairs), *[missing] * cases.missing]
    return _of_rate(Rate.over(hits, cases.clusters), note=note)


def _of_rate(rate: Rate | None, *, of: str = "cases", missing: str = "there is no case", note: str = "") -> Measured:
    if rate is None:
        return Measured(of=of, missing=missing)
    return Measured(value=rate.value, low=rate.low, high=rate.high, n=rate.trials, of=of, note=note)


def _pass_rate(cases: CriterionCases, _: str | None) -> Measured | None:
    if not cases.scored and not cases.sampled:
        return Measured(missing="no sample holds a verdict")
    return _label_rate(cases, "PASS") if cases.labels.keys() & {"PASS", "FAIL"} else None


def _rate(cases: CriterionCases, label: str | None) -> Measured | None:
    if cases.scored:
        return None
    if not cases.sampled:
        return Measured(missing="no sample holds a verdict")
    if label not in cases.labels:
        return Measured(missing=f"no sample says {label}; there are {', '.join(cases.labels)}")
    return _label_rate(cases, str(label))


def _label_rate(cases: CriterionCases, label: str) -> Measured:
    def decided_so(one: CriterionResult) -> bool:
        return one.status == "decided" and verdict_text(one.verdict) == label

    undecided = cases.missing + sum(one.status != "decided" for _, one in cases.pairs)
    note = f"{undecided} of {cases.summary.cases} are not decided and count as not {label}" if undecided else ""
    return _share(cases, decided_so, note=note)


def _accuracy(cases: CriterionCases, _: str | None) -> Measured | None:
    if cases.scored:
        return None
    rate = accuracy_of(cases.pairs, cases.clusters)
    return _of_rate(rate, of="decided cases with gold", missing="no decided case holds a gold label")


def _status(name: Status) -> Callable[[CriterionCases, str | None], Measured]:
    def measure(cases: CriterionCases, _: str | None) -> Measured:
        return _share(cases, lambda one: one.status == name, missing=name == "not_graded")

    return measure


def _consistency(cases: CriterionCases, _: str | None) -> Measured:
    if cases.summary.replay.curtailed:
        return Measured(missing="early stopping shows more consistency than all samples would")
    if all(one.planned <= 1 for _, one in cases.pairs):
        return Measured(missing="one sample a case shows no consistency")
    shares = [one.consistency_rate if one.valid > 1 else None for _, one in cases.pairs]  # one agrees with itself
    return _mean_share(cases, shares, "no case holds two valid samples")


def _agreement(cases: CriterionCases, _: str | None) -> Measured | None:
    if cases.summary.numeric:
        return None
    why = "early stopping leaves it open" if cases.summary.replay.curtailed else "no case holds two valid samples"
    return _mean_share(cases, [one.agreement for _, one in cases.pairs], why)


def _mean_share(cases: CriterionCases, values: Sequence[float | None], missing: str) -> Measured:
    """Return the mean over the cases that have a value, from 0 to 1, each weighing the same."""
    known = [(value, key) for value, key in zip(values, cases.clusters, strict=False) if value is not None]
    if not known:
        return Measured(missing=missing)
    mean = math.fsum(value for value, _ in known) / len(known)
    found = share_estimate(mean, [value - mean for value, _ in known], [key for _, key in known])
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
    return Measured(value=value, low=low, high=high, n=len(rates))


def uncalibrated(section: JudgeSection, criterion: str) -> str:
    """Return why no calibration holds for a judge's criterion; empty where one does."""
    report, state = section.calibration, section.calibration_state
    if report is None or state is None:
        return "uncalibrated: no labels say how often this rule is right"
    if not state.valid:
        return f"the calibration on {report.name} is {state}"
    if not report.calibrated:
        return f"{report.word}: the labels are a model's, not people's"
    return "" if criterion in report.criteria else f"{report.name} holds no label of it"


def _calibrated(name: str) -> Callable[[CriterionCases, str | None], Measured | None]:
    def measure(cases: CriterionCases, _: str | None) -> Measured | None:
        if cases.scored:
            return None
        section, criterion = cases.section, cases.summary.criterion
        why = uncalibrated(section, criterion)
        if why or section.calibration is None:
            return Measured(missing=why)
        source = section.calibration.name
        rate = getattr(section.calibration.criteria[criterion], name)
        return _of_rate(rate, of=f"labelled cases of {source}", missing=f"it is undefined on {source}")

    return measure


METRIC_MEASURES: Final[dict[str, Callable[[CriterionCases, str | None], Measured | None]]] = {
    "pass_rate": _pass_rate,
    "rate": _rate,
    "accuracy": _accuracy,
    "coverage": _status("decided"),
    "abstention": _status("abstained"),
    "not_graded": _status("not_graded"),
    "consistency": _consistency,
    "agreement": _agreement,
    "mean_score": _mean_score,
    "position_flip": lambda cases, _: _flip_rate(cases, "position_swap"),
    "flip_rate": _flip_rate,
    "precision": _calibrated("precision"),
    "recall": _calibrated("recall"),
}
