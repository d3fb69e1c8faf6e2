"""Decisions about rubrics -> the scores and statuses ADK counts with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from google.adk.evaluation.evaluator import EvalStatus

from judgeharness_adk.options import OnAbstain

__all__ = ["Score", "fold"]


class Score(NamedTuple):
    """A metric's score, None when it has none, and its status."""

    value: float | None
    status: EvalStatus


def fold(
    scores: Sequence[float | None],
    threshold: float,
    on_abstain: OnAbstain,
    *,
    weights: Sequence[Fraction] | None = None,
    judged: bool = True,
) -> Score:
    """Return the mean of rubric scores and whether it reaches the threshold.

    Rubrics without a decision are None. With `fail` they count as not fulfilled. Otherwise the decided rubrics settle
    the status if they can, whatever the others would have been; if they cannot it is what `on_abstain` says:
    `not_evaluated` without a score, `informational` with the mean of the decided rubrics. Nothing passes unless a
    judge decided some of it (`judged`).
    """
    if not scores:
        return Score(None, EvalStatus.NOT_EVALUATED)
    weights = [Fraction(1)] * len(scores) if weights is None else weights
    total = sum(weights)  # exact, so that a mean meets a threshold it equals
    decided = [(Fraction(score), weight) for score, weight in zip(scores, weights, strict=True) if score is not None]
    known, won = sum(weight for _, weight in decided), sum(score * weight for score, weight in decided)
    low, high = float(won / total), float((won + total - known) / total)
    mean = float(won / known) if known else None
    if judged and len(decided) == len(scores):
        return _compared(low, threshold)
    if on_abstain == "fail":
        # a metric of which nothing was decided has not passed, however low the bar
        return _compared(low, threshold) if judged and decided else Score(0.0, EvalStatus.FAILED)
    if mean is not None and (high < threshold or (judged and low >= threshold)):
        return _compared(mean, threshold)
    if on_abstain == "not_evaluated":
        return Score(None, EvalStatus.NOT_EVALUATED)
    return Score(mean if judged else None, EvalStatus.INFORMATIONAL)


def _compared(value: float, threshold: float) -> Score:
    return Score(value, EvalStatus.PASSED if value >= threshold else EvalStatus.FAILED)
