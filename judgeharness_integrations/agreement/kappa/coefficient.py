"""One coefficient of agreement as it is reported."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Coefficient"]


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """A chance-corrected agreement with its interval.

    Attributes:
        name: `cohen`, `fleiss`, `alpha` or `gwet`.
        weights: `none`, `linear` or `quadratic`; of alpha `nominal`, `ordinal`, `interval` or `ratio`.
        value: 1 is perfect, 0 what chance gives; None where it is undefined.
        observed: the agreement seen, a share of pairs of answers (weighted: partial agreement counts in part).
        expected: the agreement chance gives.
        items: items with at least two answers; only they show agreement.
        singles: items with one answer, which `fleiss` and `gwet` use for the expected agreement alone.
        raters: how many raters answered about any of them.
        categories: how many categories there are.
        interval: bootstrap interval by item or cluster; None where there is none.
        undefined: resamples in which it is undefined.
        reason: why value or interval is None; empty when both are there, or when no interval was asked for.

    """

    name: str
    weights: str
    value: float | None
    observed: float | None
    expected: float | None
    items: int
    singles: int
    raters: int
    categories: int
    interval: tuple[float, float] | None = None
    undefined: int = 0
    reason: str = ""

    @property
    def title(self) -> str:
        """What it is called: `Cohen's kappa, quadratic weights`, `Krippendorff's alpha, ordinal`, `Gwet's AC1`."""
        plain = self.weights == "none"
        if self.name == "gwet":
            return "Gwet's AC1" if plain else f"Gwet's AC2, {self.weights} weights"
        if self.name == "alpha":
            return f"Krippendorff's alpha, {self.weights}"
        kappa = {"cohen": "Cohen's kappa", "fleiss": "Fleiss' kappa"}[self.name]
        return kappa if plain else f"{kappa}, {self.weights} weights"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return asdict(self)
