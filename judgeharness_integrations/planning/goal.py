"""What is wanted of a study, in terms of what other commands print of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.comparison.power import POWER

__all__ = ["Goal"]


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is wanted of the decisions of a study, in units of the score or as a share.

    Args:
        kind: `width`: of the 95 % interval that `report` prints, of the rate of the positive label or of the mean
            score, from end to end; `difference`: between two systems judged on the same cases, found by the test that
            `compare` makes.
        value: how much.
        correlation: of the two systems over the same cases, in what the judge says of each case in the long run: what
            pairing takes away. It is assumed, not measured.
        assurance: share of studies that reach the goal, the pilot's uncertainty included: whose interval is no wider,
            or that find the difference. None: what the pilot says is taken for certain and a width at its expected
            value, which .22 (a rate of one half) to .66 of studies meet; a difference is then found in 80 %.

    """

    kind: Literal["width", "difference"] = "width"
    value: float = 0.1
    correlation: float = 0.5
    assurance: float | None = 0.8

    def __post_init__(self) -> None:
        """Refuse what cannot be reached or means nothing."""
        if not (math.isfinite(self.value) and self.value > 0):
            raise UsageError(f"a wanted {self.kind} must be above 0, not {self.value:g}.")
        if not 0 <= self.correlation <= 1:
            raise UsageError(f"correlation must lie between 0 and 1, not {self.correlation:g}.")
        if self.assurance is not None and not 0 < self.assurance < 1:
            raise UsageError(f"assurance must lie between 0 and 1, not {self.assurance:g}.")

    @property
    def systems(self) -> int:
        """How many systems are judged: two where a difference is wanted."""
        return 2 if self.kind == "difference" else 1

    @property
    def share(self) -> float:
        """The share of studies that are to reach the goal."""
        return POWER if self.assurance is None else self.assurance
