"""Early stopping: a case needs no further samples once no answer to them could change its decision.

The curtailed decision has the status and the verdict that all planned samples would give, whatever they were.
Everything here looks at all completions: any label, also one nobody gave yet, any score, any failure. Two limits: an
answer of the other kind (a score among labels) counts as a failure, and so does one `net_preference` cannot read (none
of A, B and TIE), which is what the harness makes of them about a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from judgeharness_integrations.aggregation import labels, numbers, orders
from judgeharness_integrations.aggregation.deciding import decide, quorum
from judgeharness_integrations.aggregation.decision import Decision
from judgeharness_integrations.aggregation.rules import Bound, ByKind, Rule
from judgeharness_integrations.aggregation.settling import Median, NetPreference, Plurality, Settling
from judgeharness_integrations.aggregation.settling_orders import SwapConsensus
from judgeharness_integrations.verdictlog.row import VerdictRow, is_number

__all__ = ["curtails", "needed", "settled"]

_Begin = Callable[[Sequence[VerdictRow], Sequence[bool], Mapping[str, Fraction]], Settling]


def curtails(rule: Rule) -> str | None:
    """Return why the samples of a case cannot be cut short under a rule; None when they can."""
    function = rule.function
    if isinstance(function, ByKind):
        return curtails(function.labels) or curtails(function.numbers)
    if not isinstance(function, Bound):
        return f"what rule {rule.name} makes of further samples is not known: it is a function of the caller's own"
    if function.function not in _RULES:
        return f"every further score can change what rule {rule.name} decides: scores have no bounds"
    return None


def settled(
    rows: Sequence[VerdictRow], rule: Rule, *, remaining: Sequence[bool], min_valid: int | None = None
) -> Decision | None:
    """Return the decision of one case and criterion if no completion can change its status or verdict, else None.

    Its reason ends with `settled after 4 of 6 samples`.

    Args:
        rows: the rows so far, failures included.
        rule: how to fold them; one that `curtails` refuses is settled by the last sample only.
        remaining: of each planned probe not asked yet, whether it shows the texts in the other order.
        min_valid: the quorum, of all planned samples; see `quorum`.

    """
    planned = len(rows) + len(remaining)
    if needed(rows, rule, remaining=remaining, min_valid=min_valid):
        return None
    # that all other samples fail is a completion, too, and the one nothing has to be guessed for
    failed = [VerdictRow(case_id="", verdict=None, outcome="error", swapped=swapped) for swapped in remaining]
    decision = decide([*rows, *failed], rule, planned=planned, min_valid=min_valid)
    if not remaining:
        return decision
    return replace(decision, reason=f"{decision.reason}; settled after {len(rows)} of {planned} samples")


def needed(rows: Sequence[VerdictRow], rule: Rule, *, remaining: Sequence[bool], min_valid: int | None = None) -> int:
    """Return how many further samples, in plan order, have to be asked before a decision can be settled.

    0 exactly when it is settled. No answers settle it earlier, so that many can be asked at once without waste. The
    arguments are those of `settled`.
    """
    left = len(remaining)
    missing = quorum(len(rows) + left, min_valid) - sum(row.ok for row in rows)
    if not left or curtails(rule):
        return left
    if missing > left:
        return 0  # no quorum any more
    states = [_begun(part, rows, remaining) for part in _parts(rows, rule)]
    if not states:
        return left
    if any(state.refused or (missing <= 0 and state.settled) for state in states):
        return 0
    hopeless = left - max(missing, 1) + 1  # failures that leave no quorum
    return max(1, min(left, hopeless, *(state.fewest(missing) for state in states)))


def _parts(rows: Sequence[VerdictRow], rule: Rule) -> list[Rule]:
    """Return the rule for what the rows hold; both of two by kind before the first answer, none that does not fit."""
    rules = [rule.function.labels, rule.function.numbers] if isinstance(rule.function, ByKind) else [rule]
    kinds = {"numbers" if is_number(verdict) else "labels" for verdict in {row.verdict for row in rows} - {None}}
    return [part for part in rules if kinds <= {part.kind}]


def _begun(rule: Rule, rows: Sequence[VerdictRow], remaining: Sequence[bool]) -> Settling:
    bound = cast("Bound", rule.function)  # `curtails` let no other pass
    return _RULES[bound.function](rows, remaining, dict(bound.values))


def _plurality(least: Callable[[int, Mapping[str, Fraction]], int]) -> _Begin:
    """Return how a rule begins that asks `least` of the planned samples of the leading verdict."""

    def begin(rows: Sequence[VerdictRow], remaining: Sequence[bool], values: Mapping[str, Fraction]) -> Settling:
        verdicts = [row.verdict for row in rows if row.verdict is not None]
        return Plurality.of(verdicts, len(remaining), least(len(rows) + len(remaining), values))

    return begin


def _median(rows: Sequence[VerdictRow], remaining: Sequence[bool], values: Mapping[str, Fraction]) -> Settling:
    scores = sorted(row.verdict for row in rows if isinstance(row.verdict, (int, float)))
    return Median(scores, len(remaining), values.get("pass_at"))


def _swap_consensus(rows: Sequence[VerdictRow], remaining: Sequence[bool], _: Mapping[str, Fraction]) -> Settling:
    return SwapConsensus(rows, remaining)


def _net_preference(rows: Sequence[VerdictRow], remaining: Sequence[bool], _: Mapping[str, Fraction]) -> Settling:
    sides = [orders.PREFERENCE.get(row.verdict) for row in rows if row.verdict is not None]
    unequal = SwapConsensus(rows, remaining).refused
    return NetPreference(sum(side or 0 for side in sides), len(remaining), unequal or None in sides)


def _share(planned: int, values: Mapping[str, Fraction]) -> int:
    """Return the least count whose share of the planned samples reaches the threshold."""
    return -(-values["threshold"].numerator * planned // values["threshold"].denominator)


_RULES: Mapping[Any, _Begin] = {
    labels.majority: _plurality(lambda _planned, _values: 1),
    labels.strict_majority: _plurality(lambda planned, _values: planned // 2 + 1),
    labels.supermajority: _plurality(_share),
    labels.abstain_on_disagreement: _plurality(lambda planned, _values: planned),
    numbers.mode: _plurality(lambda _planned, _values: 1),
    numbers.median: _median,
    orders.swap_consensus: _swap_consensus,
    orders.net_preference: _net_preference,
}
