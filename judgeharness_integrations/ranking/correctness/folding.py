"""The rows of one judge, case and criterion folded into one label: by order, and by the policy's rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.deciding import check_rule_fits
from judgeharness_integrations.aggregation.decision import Decision
from judgeharness_integrations.aggregation.grouping import is_numeric
from judgeharness_integrations.aggregation.labels import majority
from judgeharness_integrations.aggregation.planned import samples_planned
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.ranking.correctness.codes import ABSTAINED, FAILED, NOT_ASKED
from judgeharness_integrations.ranking.correctness.policy import Policy
from judgeharness_integrations.replay.deciding import decided_case
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

__all__ = ["Folded", "fold", "fold_orders"]

Folded = str | int  # a label, or a code


def fold_orders(rows: Sequence[VerdictRow]) -> tuple[Folded, Folded]:
    """Return the majority of the samples shown in the order as given, and of those shown in the other one."""
    return _majority([row for row in rows if not row.swapped]), _majority([row for row in rows if row.swapped])


def fold(rows: Sequence[VerdictRow], policy: Policy, orders: tuple[Folded, Folded]) -> Folded:
    """Return what the policy's rule makes of the rows; under `both_orders`, the label both orders give.

    Raises:
        UsageError: the rule does not fit, or the samples of an order were cut short.

    """
    if policy.fold is not None:
        if policy.fold.both_orders and NOT_ASKED in orders:
            return NOT_ASKED
        return _label(decided_case(_fitting(rows, policy.fold), policy.fold).decision)
    if samples_planned(rows) > len(rows):
        raise UsageError(
            f"case {rows[0].case_id!r} was sampled with early stopping, and {policy.rule} needs all samples of an "
            "order: name the rule it was stopped under with --rule."
        )
    if policy.rule == "one_order":
        return orders[0]
    for code in (NOT_ASKED, FAILED, ABSTAINED):
        if code in orders:
            return code
    return orders[0] if orders[0] == orders[1] else ABSTAINED


def _fitting(rows: Sequence[VerdictRow], rule: Rule) -> Sequence[VerdictRow]:
    """Return the rows as the rule takes them: scores as texts, for a rule that folds labels."""
    numeric = None if rule.kind == "any" else is_numeric(rows)
    if numeric and rule.kind == "labels":
        return [replace(row, verdict=_text(row)) for row in rows]
    if numeric is not None:
        check_rule_fits(rule, numeric=numeric, criterion=rows[0].criterion)
    return rows


def _text(row: VerdictRow) -> str | None:
    return None if row.verdict is None else verdict_text(row.verdict)


def _majority(rows: Sequence[VerdictRow]) -> Folded:
    if not rows:
        return NOT_ASKED
    valid = [row for row in rows if row.verdict is not None]
    if 2 * len(valid) < len(rows):
        return FAILED
    if len(valid) == 1:
        return verdict_text(valid[0].verdict)
    return _label(majority([replace(row, verdict=_text(row)) for row in valid])) if valid else FAILED


def _label(decision: Decision) -> Folded:
    if decision.status == "decided":
        return verdict_text(decision.verdict)
    return ABSTAINED if decision.status == "abstained" else FAILED
