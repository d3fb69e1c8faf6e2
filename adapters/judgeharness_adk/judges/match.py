"""ADK's `final_response_match_v2`: does the response say what the expected one says?"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from google.adk.evaluation.eval_metrics import LlmAsAJudgeCriterion
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator

from judgeharness_adk import _seams
from judgeharness_adk.invocations import InvocationCase, Question
from judgeharness_adk.judges.base import LABELS, MetricJudge
from judgeharness_adk.reading import read_validity
from judgeharness_integrations.cases import Case, Criterion
from judgeharness_integrations.judging import Answer

__all__ = ["FinalResponseMatchJudge"]

_CRITERION = "final_response_match"
_QUESTION = Question(_CRITERION, "The response says what the expected response says.")


class FinalResponseMatchJudge(MetricJudge[LlmAsAJudgeCriterion]):
    """`final_response_match_v2`, whose prompt shows response and reference side by side."""

    metric = "final_response_match_v2"
    evaluator = FinalResponseMatchV2Evaluator
    needs_expected = True

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The one question."""
        return (Criterion(name=_CRITERION, description=_QUESTION.text, labels=LABELS),)

    def view(self, case: Case) -> Any:
        """Return the case; it says whether its prompt can show the reference first."""
        seen = super().view(case)
        if not isinstance(seen, InvocationCase):
            return seen
        return replace(seen, questions=(_QUESTION,), swappable=self._swapped is not None)

    @cached_property
    def _plain(self) -> FinalResponseMatchV2Evaluator:
        return FinalResponseMatchV2Evaluator(self.eval_metric.model_copy(update={"criterion": self.criterion}))

    @cached_property
    def _swapped(self) -> FinalResponseMatchV2Evaluator | None:
        """ADK's evaluator with the reference first; None when its prompt does not allow it."""
        evaluator = FinalResponseMatchV2Evaluator(self.eval_metric.model_copy(update={"criterion": self.criterion}))
        return evaluator if _seams.reference_first(evaluator) else None

    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt, response and reference in the case's order."""
        evaluator = self._swapped if case.reference_first and self._swapped else self._plain
        return evaluator.format_auto_rater_prompt(case.judged, case.expected)

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return the one answer."""
        del case
        return (read_validity(text, _CRITERION),)
