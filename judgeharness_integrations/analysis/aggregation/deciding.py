"""Quorum and rule over the rows of one case and criterion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.decision import Decision, not_graded
from judgeharness_integrations.analysis.aggregation.grouping import is_numeric
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.aggregation.tally import Tally
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_text


def quorum(planned: int, min_valid: int | None = None) -> int:
    """Return how many valid samples a verdict needs: at least half of the planned ones, and at least one."""
    return max(1, (planned + 1) // 2 if min_valid is None else min_valid)


def check_rule_fits(rule: Rule, *, numeric: bool, criterion: str, answer: Verdict | None = None) -> None:
    """Raise a UsageError, which quotes the `answer`, when a rule for labels meets scores, or the other way round."""
    holds = "numbers" if numeric else "labels"
    if rule.kind in ("any", holds):
        return
    advice = "use median, mean, trimmed_mean or mode, or --labels" if numeric else "use majority or another label rule"
    such = "" if answer is None else f" such as {verdict_text(answer)}"
    raise UsageError(f"rule {rule.name} folds {rule.kind}, but criterion {criterion!r} holds {holds}{such}: {advice}.")


def decide(
    rows: Sequence[VerdictRow],
    rule: Rule,
    *,
    planned: int | None = None,
    min_valid: int | None = None,
    checked: bool = False,
    tally: Tally | None = None,
) -> Decision:
    """Decide one case and criterion.

    Args:
        rows: its rows, failures included, in any order.
        rule: how to fold them.
        planned: how many samples were to be asked; the rows present, for a log from elsewhere.
        min_valid: the quorum; see `quorum`.
        checked: the rule is known to fit the verdicts; whoever decides many cases checks once.
        tally: the counts of the rows, for who has them already.

    """
    planned = len(rows) if planned is None else planned
    if len(rows) < planned:
        return not_graded(f"{planned - len(rows)} of {planned} planned samples were not asked")
    valid = sum(row.answered for row in rows) if tally is None else tally.outcomes["ok"]
    if valid < (needed := quorum(planned, min_valid)):
        return not_graded(f"{valid} valid of {planned} samples, {needed} needed")
    if not checked:
        numeric = is_numeric(rows) if tally is None else tally.numeric
        check_rule_fits(rule, numeric=bool(numeric), criterion=rows[0].criterion)
    return rule.decide(rows)


PLANNED_SAMPLES = "planned_samples"  # attribute of the rows of a case that early stopping may have cut short


def samples_planned(rows: Iterable[VerdictRow]) -> int:
    """Return how many samples the rows of one case say were planned for it with early stopping; 0 where none does.

    Such a sample has no fixed size, whether or not it was cut short: rates that compare what was asked early with
    what was asked late are those of the cases that went on, the divided ones.
    """
    most = 0
    for row in rows:
        if PLANNED_SAMPLES in row.attributes:
            most = max(most, _whole(row.attributes[PLANNED_SAMPLES]))
    return most


def _whole(value: str | float) -> int:
    """Return a whole number, which a CSV file holds as text; 0 for what is none."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else 0
    return int(value) if is_number(value) else 0
