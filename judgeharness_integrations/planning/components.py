"""The parts of a measurement's variance, and what more of each makes of the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from judgeharness_integrations._errors import UsageError

__all__ = ["Components"]


@dataclass(frozen=True, kw_only=True)
class Components:
    """Variances in squared units of the score, or of the 0/1 indicator of a label.

    `cases`: between cases; `perturbations`: between perturbations of a case; `repetitions`: between repetitions under
    a perturbation. `notes` say what was assumed where a part could not be measured: `split` is False where all variance
    is counted as that between cases for want of a second sample, `repeated` where none is counted as that between
    repetitions for want of a second one.
    """

    cases: float
    perturbations: float = 0.0
    repetitions: float = 0.0
    notes: tuple[str, ...] = field(default=(), compare=False)
    split: bool = True
    repeated: bool = True

    def __post_init__(self) -> None:
        """Refuse what is no variance."""
        for part in (self.cases, self.perturbations, self.repetitions):
            if not (math.isfinite(part) and part >= 0):
                raise UsageError(f"a variance is a number of at least 0, not {part:g}.")

    @property
    def total(self) -> float:
        """The variance of a single sample of a single case."""
        return self.cases + self.perturbations + self.repetitions

    def of_samples(self, *, perturbations: int, repetitions: int) -> float:
        """Return the variance that the samples of a case leave in its mean: what repetitions and perturbations buy.

        Raises:
            UsageError: perturbations or repetitions are below 1.

        """
        for name, value in (("perturbations", perturbations), ("repetitions", repetitions)):
            if value < 1:
                raise UsageError(f"{name} must be a whole number of at least 1, not {value}.")
        return self.perturbations / perturbations + self.repetitions / (perturbations * repetitions)

    def of_mean(self, *, cases: int, perturbations: int, repetitions: int) -> float:
        """Return the variance of the mean over cases (Searle, Casella, McCulloch, Variance Components, ch. 3).

        (cases + perturbations / P + repetitions / (P R)) / n; no P and R bring it below cases / n.
        """
        return (self.cases + self.of_samples(perturbations=perturbations, repetitions=repetitions)) / cases

    @classmethod
    def of_rate(cls, rate: float) -> Components:
        """Return the components of a share whose cases are all alike inside: then repetitions buy nothing."""
        assumed = f"no pilot: a rate of {rate:g} is assumed, and that all its variance lies between cases"
        unknown = "what repetitions and perturbations buy takes a pilot: a log of some cases, each asked several times"
        return cls(cases=rate * (1 - rate), notes=(assumed, unknown), split=False, repeated=False)
