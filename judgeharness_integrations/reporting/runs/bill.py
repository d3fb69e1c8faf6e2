"""What a judge used and cost: its cases, and beside them the labelled cases it was calibrated on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations.usage import Usage, known_sum, tokens_of
from judgeharness_integrations.verdictlog.row import TOKENS

__all__ = ["Bill", "bill_of_summary", "total_usage"]

_DIGITS = 12  # of a difference of money
_ADDED = ("attempts", *TOKENS, "latency_s")


@dataclass(frozen=True, kw_only=True)
class Bill:
    """`cost` belongs to `usage`, `calibration_cost` to `calibration_usage`; None without prices, or where unknown.

    `cost_remarks` say why it is not known, where it is the most it can be, and whose prices it is by.
    """

    usage: Usage
    cost: float | None = None
    calibration_usage: Usage | None = None
    calibration_cost: float | None = None
    cost_remarks: tuple[str, ...] = ()


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Return what several cases used together; None where no case knows it."""
    return Usage(
        calls=sum(one.calls for one in usages),
        attempts=sum(one.attempts for one in usages),
        rewrites=sum(one.rewrites for one in usages),
        **tokens_of(usages),
        latency_s=known_sum(one.latency_s for one in usages),
        reused=sum(one.reused for one in usages),
    )


def bill_of_summary(judge: Mapping[str, Any], usages: Sequence[Usage]) -> Bill:
    """Return the bill of a judge in the summary of a run, labelled cases apart from the others.

    Args:
        judge: its entry. In one of an older version the labelled cases are not told apart: the cost is then that of the
            cases only where they made every call.
        usages: those of its results.

    """
    total, own = judge["usage"], total_usage(usages)
    remarks = tuple(total.get("cost_remarks", ()))
    if "calibration_usage" not in judge:
        return Bill(usage=own, cost=total["cost"] if total["calls"] == own.calls else None)
    labelled = judge["calibration_usage"]
    if labelled is None:
        return Bill(usage=_usage(total), cost=total["cost"], cost_remarks=remarks)
    rest = {name: _less(total.get(name), labelled.get(name)) for name in _ADDED}
    counts = {name: total[name] - labelled[name] for name in ("calls", "reused", "rewrites")}
    cost = _less(total["cost"], labelled["cost"])
    return Bill(
        usage=_usage(rest | counts),
        cost=None if cost is None else round(cost, _DIGITS),
        calibration_usage=_usage(labelled),
        calibration_cost=labelled["cost"],
        cost_remarks=remarks,
    )


def _usage(found: Mapping[str, Any]) -> Usage:
    calls = found["calls"]
    attempts = calls if found["attempts"] is None else found["attempts"]
    return Usage(
        calls=calls,
        attempts=attempts,
        rewrites=found["rewrites"],
        **{name: found.get(name) for name in TOKENS},  # an older summary has no tokens of caches
        latency_s=found["latency_s"],
        reused=found["reused"],
    )


def _less(total: float | None, part: float | None) -> Any:
    return None if total is None else total - (part or 0)
