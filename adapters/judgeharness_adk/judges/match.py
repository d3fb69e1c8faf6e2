"""ADK's `final_response_match_v2`: does the response say what the expected one says?"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from google.adk.evaluation.eval_metrics import LlmAsAJudgeCriterion
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator

from judgeharness_adk import _seams
from judgeharness_adk.invocations import InvocationCase, Question
from judgeharness_adk.judges.base import LABELS, NOTHING_SAID, MetricJudge
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

    def _built(self) -> FinalResponseMatchV2Evaluator:
        make: Any = self.evaluator
        made: FinalResponseMatchV2Evaluator = make(eval_metric=self.shown_to_adk())
        return made

    @cached_property
    def _plain(self) -> FinalResponseMatchV2Evaluator:
        return self._built()

    @cached_property
    def _swapped(self) -> FinalResponseMatchV2Evaluator | None:
        """ADK's evaluator with the reference first; None when its prompt does not allow it."""
        evaluator = self._built()
        if not _seams.reference_first(evaluator):
            return None
        prompts = {one.format_auto_rater_prompt(NOTHING_SAID, NOTHING_SAID) for one in (self._plain, evaluator)}
        return evaluator if len(prompts) > 1 else None  # a subclass may have a prompt of its own

    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt, response and reference in the case's order."""
        return self.formatter(case).format_auto_rater_prompt(case.judged, case.expected)

    def formatter(self, case: InvocationCase) -> FinalResponseMatchV2Evaluator:
        """Return ADK's evaluator that shows response and reference in the case's order."""
        return self._swapped if case.reference_first and self._swapped else self._plain

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return the one answer."""
        return (read_validity(text, _CRITERION, shown=case.all_texts()),)
