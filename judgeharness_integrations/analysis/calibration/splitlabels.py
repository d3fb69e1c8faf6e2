"""A corrected rate and the items that people are evenly split on: what it comes to whichever side is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.verdictlog.plain import counted, ends

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.rogangladen import RateEstimate

__all__ = ["SplitLabels"]


@dataclass(frozen=True, kw_only=True)
class SplitLabels:
    """The chosen estimate with all evenly split items labelled as positive, and with all of them labelled as not.

    The estimate itself takes them for items without a label, and so speaks for those that people agree on. `positive`
    and `negative` are None where no estimator is chosen, or it gives no number with them.
    """

    items: int
    positive: RateEstimate | None
    negative: RateEstimate | None

    def sentence(self, label: str) -> str:
        """Return what is to be said of them, about the rate of this label."""
        told = (
            f"people are evenly split on {counted(self.items, 'item')}, which have no label in the estimates: these "
            "speak for items that people agree on"
        )
        if self.positive is None or self.negative is None:
            return f"{told}; with them all counted as {label}, or all as not {label}, nothing is chosen either"
        return (
            f"{told}; all of them counted as {label}, the rate is {_number(self.positive)}, all counted as not "
            f"{label} {_number(self.negative)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return {"items": self.items, "positive": _bound(self.positive), "negative": _bound(self.negative)}


def _number(estimate: RateEstimate) -> str:
    value = "none" if estimate.estimate is None else f"{estimate.estimate:.3f}"
    return value if estimate.interval is None else f"{value} {ends(estimate.interval, 3)}"


def _bound(estimate: RateEstimate | None) -> dict[str, Any] | None:
    return None if estimate is None else {name: getattr(estimate, name) for name in ("estimate", "low", "high")}
