"""A judged rate corrected with labels: every estimator, and the one the sampling assumption chooses."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from judgeharness_integrations.calibration.corrected.rateestimate import Method, RateEstimate
from judgeharness_integrations.calibration.rates import Rate

__all__ = ["CORRECTED_RATE_SCHEMA", "CorrectedRate", "LabelsAre"]

CORRECTED_RATE_SCHEMA = "judgeharness.corrected_rate/1"
LabelsAre: TypeAlias = Literal["random", "other_mix", "undeclared"]


@dataclass(frozen=True, kw_only=True)
class CorrectedRate:
    """The true rate of a positive label among items that a judge decided about, of which some hold labels.

    `judged` is the judge's rate, uncorrected: abstained and not graded items count as not positive (`undecided` of
    them, where known). `labels_are` is the declared assumption: `random` (the labelled items are a random sample of the
    items), `other_mix` (they come from elsewhere; the judge errs as often there), `undeclared`. `chosen` is the
    estimator that assumption calls for, None where there is none. `notes` are sentences about what the judge adds.
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
        return {"schema": CORRECTED_RATE_SCHEMA, **values, **rates, "estimates": estimates, "notes": list(self.notes)}


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    counts = {"successes": rate.successes, "trials": rate.trials}
    return {"value": rate.value, "low": rate.low, "high": rate.high, **counts}
