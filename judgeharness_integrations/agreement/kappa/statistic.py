"""What a coefficient is computed from: sums over items, so that a resample is a product of matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from judgeharness_integrations.statistics.agreement import chance_corrected

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from judgeharness_integrations.agreement.kappa.units import Units

__all__ = ["Codes", "Estimates", "Flags", "Floats", "LinearStatistic", "Statistic", "beyond_chance"]

Floats: TypeAlias = "NDArray[np.float64]"
Codes: TypeAlias = "NDArray[np.intp]"
Flags: TypeAlias = "NDArray[np.bool_]"
_NOTHING = 1e-12


class Estimates(NamedTuple):
    """Coefficients (...,), with the agreement observed and the one expected by chance; NaN where undefined."""

    value: Floats
    observed: Floats
    expected: Floats


def beyond_chance(observed: Floats, expected: Floats) -> Estimates:
    """Return (observed - expected) / (1 - expected), undefined where chance alone agrees always."""
    room = 1.0 - expected
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(room > _NOTHING, chance_corrected(observed, expected), np.nan)
    return Estimates(value, observed, expected)


class Statistic(Protocol):
    """Coefficients as a function of how often each unit is drawn."""

    @property
    def coefficients(self) -> int:
        """How many coefficients it gives at once."""
        ...

    def estimate(self, weights: Floats) -> Estimates:
        """Return (..., coefficients) from weights (..., units)."""
        ...

    def leave_one_out(self, base: Floats) -> Floats | None:
        """Return (units, coefficients) without one of each unit; None where that takes too long."""
        ...


@dataclass(frozen=True, eq=False)
class LinearStatistic:
    """Coefficients that depend on the items by sums of fixed rows.

    Attributes:
        rows: (units, coefficients, columns) what one draw of a unit adds.
        of: sums (..., coefficients, columns) -> estimates (..., coefficients).

    """

    rows: Floats
    of: Callable[[Floats], Estimates]

    @property
    def coefficients(self) -> int:
        """How many coefficients it gives at once."""
        return int(self.rows.shape[1])

    @classmethod
    def over(cls, units: Units, rows: Floats, of: Callable[[Floats], Estimates]) -> LinearStatistic:
        """Return the statistic of rows (items, coefficients, columns)."""
        return cls(units.gather(rows), of)

    def estimate(self, weights: Floats) -> Estimates:
        """Return (..., coefficients) from weights (..., units)."""
        flat = self.rows.reshape(len(self.rows), -1)
        return self.of((weights @ flat).reshape(*weights.shape[:-1], *self.rows.shape[1:]))

    def leave_one_out(self, base: Floats) -> Floats | None:
        """Return (units, coefficients) without one of each unit."""
        total = np.tensordot(base, self.rows, axes=1)
        return self.of(total - self.rows).value
