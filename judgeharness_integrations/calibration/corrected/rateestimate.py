"""One estimator's answer: the rate, its standard error and interval, and whether it applies at all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Method", "RateEstimate"]

Method: TypeAlias = Literal["labels_alone", "ppi_plus_plus", "tenenbein", "rogan_gladen", "rogan_gladen_delta"]


@dataclass(frozen=True, kw_only=True)
class RateEstimate:
    """What one estimator says of the true rate.

    `estimate` and the 95 % interval `low`, `high` are cut to [0, 1]; `raw`, `raw_low` and `raw_high` are not. `low` and
    `high` are None where no interval can be told, or where all of it lies outside [0, 1]: then `outside` is set, and
    the assumption does not hold. `outside` is also set where only `raw` lies there. `weight` is how much PPI++ listens
    to the judge. Where it does not apply, `applicable` is false, numbers are None, and `reason` says why.
    """

    method: Method
    assumes: str
    basis: str
    applicable: bool = True
    reason: str = ""
    estimate: float | None = None
    raw: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    raw_low: float | None = None
    raw_high: float | None = None
    outside: bool = False
    weight: float | None = None

    @classmethod
    def of(
        cls,
        method: Method,
        raw: float,
        interval: tuple[float, float] | None,
        *,
        se: float | None,
        assumes: str,
        basis: str,
        reason: str = "",
        weight: float | None = None,
    ) -> RateEstimate:
        """Return an estimate cut to [0, 1]; an interval wholly outside is none."""
        low, high = (None, None) if interval is None else interval
        apart = low is not None and high is not None and (high < 0 or low > 1)
        return cls(
            method=method,
            assumes=assumes,
            basis=basis,
            reason=reason,
            estimate=_cut(raw),
            raw=raw,
            se=se,
            low=None if low is None or apart else _cut(low),
            high=None if high is None or apart else _cut(high),
            raw_low=low,
            raw_high=high,
            outside=apart or not 0 <= raw <= 1,
            weight=weight,
        )

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval, where there is one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON keeps it."""
        return asdict(self)


def _cut(value: float) -> float:
    return min(1.0, max(0.0, value))
