"""The rate of PASS (or A) behind a sample that stopped as soon as one of two labels had the majority."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from judgeharness_integrations.aggregation import labels
from judgeharness_integrations.aggregation.rules import Bound, ByKind, Rule
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

__all__ = ["positive_label", "unbiased_rate"]

_PAIRS = (("PASS", "FAIL"), ("A", "B"))  # the positive label first
_FEWEST = 3  # a majority of one says nothing about a rate
_MAJORITIES = (labels.majority, labels.strict_majority)


def unbiased_rate(rows: Sequence[VerdictRow], rule: Rule, *, planned: int) -> float | None:
    """Return the unbiased estimate of the positive label's rate under early stopping; None where there is none.

    With K = (planned + 1) / 2: stopped at K positives after b negatives it is (K-1) / (K+b-1), stopped at K negatives
    after a positives a / (a+K-1) (Girshick, Mosteller and Savage 1946; their estimate for inverse binomial sampling).
    It is computed from the samples up to that moment, so samples asked for another criterion's sake change nothing.

    It exists for `majority` and `strict_majority` of an odd number of samples, at least three, none of which failed,
    that are all PASS or FAIL, or all A or B.

    Args:
        rows: the rows of one criterion under one perturbation, in plan order.
        rule: the rule that stopped the samples.
        planned: how many samples there were to be.

    """
    if planned < _FEWEST or planned % 2 == 0 or not _is_majority(rule):
        return None
    verdicts = [row.verdict for row in rows]
    positive = positive_label(verdicts)
    if positive is None or [row.repetition for row in rows] != list(range(len(rows))):
        return None
    positives, enough = 0, (planned + 1) // 2
    for asked, verdict in enumerate(verdicts, start=1):
        positives += verdict == positive
        if enough in (positives, asked - positives):
            return (positives - (verdict == positive)) / (asked - 1)
    return None


def positive_label(verdicts: Iterable[Verdict | None]) -> str | None:
    """Return which of two labels a rate is of: PASS against FAIL, A against B; None for other or no verdicts."""
    given = set(verdicts)
    return next((positive for positive, other in _PAIRS if given and given <= {positive, other}), None)


def _is_majority(rule: Rule) -> bool:
    function = rule.function.labels.function if isinstance(rule.function, ByKind) else rule.function
    return isinstance(function, Bound) and function.function in _MAJORITIES
