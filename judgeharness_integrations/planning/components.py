"""The parts of a measurement's variance, and what samples leave of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from judgeharness_integrations._errors import UsageError

__all__ = ["Components"]


@dataclass(frozen=True, kw_only=True)
class Components:
    """Variances in squared units of the score, or of the 0/1 indicator of a label.

    `cases`: between cases; `perturbations`: between perturbations of a case; `repetitions`: between repetitions under
    a perturbation. None was not measured; it stands in one of the others, as `notes` say. `repeated`: repetitions were
    measured; `split`: they or perturbations were.
    """

    cases: float
    perturbations: float | None = 0.0
    repetitions: float | None = 0.0
    notes: tuple[str, ...] = field(default=(), compare=False)
    split: bool = field(init=False)
    repeated: bool = field(init=False)

    def __post_init__(self) -> None:
        """Refuse what is no variance."""
        for part in (self.cases, self.perturbations, self.repetitions):
            if part is not None and not (math.isfinite(part) and part >= 0):
                raise UsageError(f"a variance is a number of at least 0, not {part:g}.")
        object.__setattr__(self, "repeated", self.repetitions is not None)
        object.__setattr__(self, "split", self.repeated or self.perturbations is not None)

    @property
    def inside(self) -> float:
        """What is known of the variance of a single sample within a case."""
        return (self.perturbations or 0.0) + (self.repetitions or 0.0)

    @property
    def total(self) -> float:
        """The variance of a single sample of a single case."""
        return self.cases + self.inside

    def of_samples(self, *, perturbations: int, repetitions: int) -> float:
        """Return the variance that the samples of a case leave in its mean: what repetitions and perturbations buy.

        Raises:
            UsageError: perturbations or repetitions are below 1.

        """
        for name, value in (("perturbations", perturbations), ("repetitions", repetitions)):
            if value < 1:
                raise UsageError(f"{name} must be a whole number of at least 1, not {value}.")
        return ((self.perturbations or 0.0) + (self.repetitions or 0.0) / repetitions) / perturbations

    @classmethod
    def of_rate(cls, rate: float) -> Components:
        """Return the components of a share whose cases are all alike inside: then repetitions buy nothing."""
        assumed = f"no pilot: a rate of {rate:g} is assumed, and that all its variance lies between cases"
        unknown = "what repetitions and perturbations buy takes a pilot: a log of some cases, each asked several times"
        return cls(cases=rate * (1 - rate), perturbations=None, repetitions=None, notes=(assumed, unknown))
