"""What is planted in a simulated judge: its quality and its faults, as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.testing.simulating.scale import KINDS, Kind, Scale, scale_of

__all__ = ["JudgeParameters"]

_SHARES = ("case_correlation", "refusal", "garbage")
_SIZES = ("noise", "ties", "formatting", "wording")
_OF_PAIRS = ("position", "ties")


@dataclass(frozen=True, kw_only=True)
class JudgeParameters:
    """The numbers of a simulated judge, explained by `SimulatedJudge`: answers and truth follow from them."""

    name: str = "simulated"
    kind: Kind = "pairwise"
    quality_difference: float = 1.0
    noise: float = 1.0
    case_correlation: float = 0.0
    position: float = 0.0
    ties: float = 0.0
    names: Mapping[str, float] = field(default_factory=dict)
    length: float = 0.0
    formatting: float = 0.0
    wording: float = 0.0
    drift: float = 0.0
    obeys: Mapping[str, float] = field(default_factory=dict)
    refusal: float = 0.0
    garbage: float = 0.0
    copies: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no judge can be."""
        if self.kind not in KINDS:
            raise UsageError(f"a simulated judge is {', '.join(KINDS)}, not {self.kind!r}.")
        _check_shares({name: getattr(self, name) for name in _SHARES})
        _check_shares({f"obeys[{name!r}]": share for name, share in self.obeys.items()})
        _check_names(self.names)
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(f"{one.name} of a simulated judge must be a finite number, not {value}.")
            if one.name in _SIZES and value < 0:
                raise UsageError(f"{one.name} of a simulated judge cannot be below 0, as {value} is.")
            if one.name in _OF_PAIRS and value and self.kind != "pairwise":
                raise UsageError(f"{one.name} belongs to pairs: leave it out of a {self.kind} judge.")
        if self.refusal + self.garbage > 1:
            raise UsageError("refusal and garbage are chances that exclude each other: together at most 1.")

    @cached_property
    def scale(self) -> Scale:
        """Its verdicts and where they begin."""
        return scale_of(self.kind, self.ties)


def _check_shares(shares: Mapping[str, float]) -> None:
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{name} of a simulated judge is a share from 0 to 1, not {value}.")


def _check_names(names: Mapping[str, float]) -> None:
    for name, bonus in names.items():
        if not name.strip() or not math.isfinite(bonus):
            raise UsageError(f"names of a simulated judge map a name to a finite number, not {name!r} to {bonus}.")
