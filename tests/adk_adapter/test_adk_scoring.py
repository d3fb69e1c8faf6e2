"""Decisions about rubrics -> scores and statuses."""

from __future__ import annotations

from fractions import Fraction
from statistics import mean
from typing import Any

import pytest
from google.adk.evaluation.evaluator import EvalStatus
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_adk.outcomes import fold

POLICIES: tuple[Any, ...] = ("fail", "not_evaluated", "informational")
SCORES = st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=6)
PASSED, FAILED, NOT_EVALUATED, INFORMATIONAL = (
    EvalStatus.PASSED,
    EvalStatus.FAILED,
    EvalStatus.NOT_EVALUATED,
    EvalStatus.INFORMATIONAL,
)


@pytest.mark.parametrize(
    ("scores", "threshold", "fail", "not_evaluated", "informational"),
    [
        ([1.0, 1.0], 1.0, (1.0, PASSED), (1.0, PASSED), (1.0, PASSED)),
        ([1.0, 0.0], 0.6, (0.5, FAILED), (0.5, FAILED), (0.5, FAILED)),
        ([None], 0.5, (0.0, FAILED), (None, NOT_EVALUATED), (None, INFORMATIONAL)),
        ([None], 0.0, (0.0, FAILED), (None, NOT_EVALUATED), (None, INFORMATIONAL)),
        ([1.0, None], 0.5, (0.5, PASSED), (1.0, PASSED), (1.0, PASSED)),
        ([1.0, None], 0.6, (0.5, FAILED), (None, NOT_EVALUATED), (1.0, INFORMATIONAL)),
        ([0.0, None], 0.6, (0.0, FAILED), (0.0, FAILED), (0.0, FAILED)),
        ([], 0.5, (None, NOT_EVALUATED), (None, NOT_EVALUATED), (None, NOT_EVALUATED)),
    ],
)
def test_an_abstention_is_folded_as_asked(
    scores: Any, threshold: float, fail: Any, not_evaluated: Any, informational: Any
) -> None:
    assert [fold(scores, threshold, policy) for policy in POLICIES] == [fail, not_evaluated, informational]


@given(SCORES, st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.sampled_from(POLICIES))
def test_no_policy_passes_what_the_open_rubrics_could_fail(scores: Any, threshold: float, policy: Any) -> None:
    worst = mean(0.0 if score is None else score for score in scores)
    best = mean(1.0 if score is None else score for score in scores)
    value, status = fold(scores, threshold, policy)
    if status is PASSED:
        assert worst >= threshold
    if best < threshold:
        assert status is FAILED
    if value is not None and status in (PASSED, FAILED) and any(score is not None for score in scores):
        assert (value >= threshold) == (status is PASSED)  # AgentEvaluator compares the score again


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=6), st.sampled_from(POLICIES))
def test_without_abstentions_the_score_is_the_mean(scores: list[float], policy: Any) -> None:
    assert fold(scores, 0.5, policy) == (mean(scores), PASSED if mean(scores) >= 0.5 else FAILED)


def test_weights_balance_invocations_of_different_lengths() -> None:
    score = fold([1.0, 0.0, 0.0], 0.5, "fail", weights=[Fraction(1), Fraction(1, 2), Fraction(1, 2)])
    assert score == (0.5, PASSED)
