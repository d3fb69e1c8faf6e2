"""What one case counts for in the mean that a metric is: the values behind rates and means over cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.aggregation.decision import Status
from judgeharness_integrations.calibration.words import read_gold_alone
from judgeharness_integrations.reporting.runs.goldlabels import gold_of
from judgeharness_integrations.verdictlog.row import is_number, verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.result import CriterionResult, HarnessResult

__all__ = ["CASE_VALUES", "CaseValue", "case_value", "value_without"]

CaseValue = Callable[["HarnessResult", "CriterionResult", str | None], float | None]


def case_value(metric: str, result: HarnessResult, measured: CriterionResult, argument: str | None) -> float | None:
    """Return what a case counts for: shares from 0 to 1, scores as they are; None where it does not count."""
    return CASE_VALUES[metric](result, measured, argument)


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

_WITHOUT_CRITERION: Final[dict[str, float]] = {
    "pass_rate": 0.0,
    "rate": 0.0,
    "coverage": 0.0,
    "abstention": 0.0,
    "not_graded": 1.0,
}


def value_without(metric: str) -> float | None:
    """Return what a case counts for whose answers are not about the criterion; None where it does not count."""
    return _WITHOUT_CRITERION.get(metric)
