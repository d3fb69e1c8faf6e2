"""What a saved calibration holds."""

from __future__ import annotations

from typing import Any, Self

from pydantic import model_validator

from judgeharness_integrations._shapes import Count, Number, Positive, Shape, Short, Text

__all__ = ["CalibrationShape"]


class _Rate(Shape):
    successes: Count
    trials: Positive
    low: Number
    high: Number

    @model_validator(mode="after")
    def _share(self) -> Self:
        if self.successes > self.trials:
            raise ValueError("more successes than trials")
        return self


class _Kappa(Shape):
    value: Number
    se: Number
    n: Count


class _Errors(Shape):
    n: Count
    mean_absolute_error: Number
    root_mean_squared_error: Number
    bias: Number


class _Criterion(Shape):
    criterion: Text
    n: Count
    positive: Text | None
    confusion: dict[Text, dict[Text, Count]]
    precision: _Rate | None
    recall: _Rate | None
    accuracy_decided: _Rate | None
    coverage: _Rate | None
    base_rate: _Rate | None
    kappa: _Kappa | None
    errors: _Errors | None
    reason: Text


class CalibrationShape(Shape):
    """A report as `CalibrationReport.to_dict` writes it."""

    name: Text
    judge: Text
    source: Text
    consensus: Text
    excluded_ties: Count
    criteria: dict[Text, _Criterion]
    measured_at: Short
    parts: dict[str, Any] | None
