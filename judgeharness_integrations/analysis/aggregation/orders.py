"""Rules over pairs shown in both orders. Both refuse orders with unequal probes: that would make position bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgeharness_integrations.analysis.aggregation.decision import Decision, abstained, decided, not_graded
from judgeharness_integrations.analysis.aggregation.labels import leading
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

TIE = "TIE"
PREFERENCE: Mapping[Verdict, int] = {"A": 1, "B": -1, TIE: 0}


def _orders(rows: Sequence[VerdictRow]) -> tuple[list[VerdictRow], list[VerdictRow]]:
    return [row for row in rows if not row.swapped], [row for row in rows if row.swapped]


def _unequal(shown: Sequence[VerdictRow], swapped: Sequence[VerdictRow]) -> Decision | None:
    if len(shown) == len(swapped):
        return None
    return not_graded(f"the two orders have unequal probes ({len(shown)} shown, {len(swapped)} swapped)")


def swap_consensus(rows: Sequence[VerdictRow]) -> Decision:
    """Take the majority inside each order; decide for the label both orders give, else abstain."""
    shown, swapped = _orders(rows)
    if refusal := _unequal(shown, swapped):
        return refusal
    first, second = leading(shown)[0], leading(swapped)[0]
    if len(first) != 1 or len(second) != 1:
        which = "the original order" if len(first) != 1 else "the swapped order"
        return abstained(f"no majority in {which}")
    if first[0] != second[0]:
        return abstained(f"the orders disagree: {verdict_text(first[0])}, swapped {verdict_text(second[0])}")
    return decided(first[0], "both orders agree")


def net_preference(rows: Sequence[VerdictRow]) -> Decision:
    """Sum +1 for A, -1 for B and 0 for TIE over both orders; the sign decides, zero is a TIE.

    This is the published JudgeBench rule. A decision that rests on one order says so.
    """
    shown, swapped = _orders(rows)
    if refusal := _unequal(shown, swapped):
        return refusal
    foreign = {verdict_text(row.verdict) for row in rows if row.ok and row.verdict not in PREFERENCE}
    if foreign:
        return not_graded(f"net_preference reads A, B and TIE, not {', '.join(sorted(foreign))}")
    net = sum(PREFERENCE[row.verdict] for row in rows if isinstance(row.verdict, str))
    one_order = not any(row.ok for row in shown) or not any(row.ok for row in swapped)
    reason = f"net preference {net:+d}" + (", resting on one order" if one_order else "")
    return decided(TIE if net == 0 else "A" if net > 0 else "B", reason)
