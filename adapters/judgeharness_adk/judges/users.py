"""A judge of the user's, an `LlmAsJudge` of their own, through ADK's public hooks."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from google.adk.evaluation.eval_metrics import LlmAsAJudgeCriterion
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator
from google.adk.evaluation.llm_as_judge import LlmAsJudge
from google.adk.evaluation.rubric_based_evaluator import RubricBasedEvaluator

from judgeharness_adk import _seams
from judgeharness_adk.invocations import InvocationCase, Question
from judgeharness_adk.judges.base import LABELS, MetricJudge
from judgeharness_adk.judges.match import FinalResponseMatchJudge
from judgeharness_adk.judges.rubrics import (
    FinalResponseQualityJudge,
    RubricJudge,
    ToolUseQualityJudge,
    TrajectoryQualityJudge,
)
from judgeharness_integrations.cases import Case, Criterion
from judgeharness_integrations.judging import Answer

__all__ = ["ADK_READERS", "judge_for"]

_KNOWN: tuple[type[MetricJudge[Any]], ...] = (
    *(FinalResponseQualityJudge, ToolUseQualityJudge, TrajectoryQualityJudge, FinalResponseMatchJudge),
)
# what our readers read in the place of
ADK_READERS = (
    RubricBasedEvaluator.convert_auto_rater_response_to_score,
    FinalResponseMatchV2Evaluator.convert_auto_rater_response_to_score,
)


class ScoreJudge(MetricJudge[LlmAsAJudgeCriterion]):
    """An `LlmAsJudge` that gives an invocation one score."""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The one question, which goes by the metric's name."""
        return (Criterion(name=self.metric, labels=LABELS),)

    def view(self, case: Case) -> Any:
        """Return the case with its one question."""
        seen = super().view(case)
        if not isinstance(seen, InvocationCase):
            return seen
        return replace(seen, questions=(Question(self.metric, self.metric),))

    def fits(self, case: Case) -> str | None:
        """Return why a case cannot be judged, or None."""
        if isinstance(case, InvocationCase) and case.expected is None and _seams.needs_expected(self._hooks):
            return "it compares with an expected response, which the case does not have"
        return super().fits(case)

    @cached_property
    def _hooks(self) -> LlmAsJudge[Any]:
        make: Any = self.evaluator
        made: LlmAsJudge[Any] = make(eval_metric=self.shown_to_adk())
        return made

    def formatter(self, case: InvocationCase) -> LlmAsJudge[Any]:
        """Return the user's evaluator."""
        del case
        return self._hooks

    def prompt(self, case: InvocationCase) -> str:
        """Return the user's prompt."""
        return self._hooks.format_auto_rater_prompt(case.judged, case.expected)

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return no verdict: the user's hook reads."""
        del text, case
        return (Answer(criterion=self.metric, outcome="unparsed"),)


def judge_for(metric: str, theirs: type[LlmAsJudge[Any]]) -> type[MetricJudge[Any]]:
    """Return the judge class of a metric whose evaluator is the user's."""
    known = [judge for judge in _KNOWN if issubclass(theirs, judge.evaluator)]
    rest = [RubricJudge] if issubclass(theirs, RubricBasedEvaluator) else [ScoreJudge]
    base: type[MetricJudge[Any]] = [*known, *rest][0]
    told = {"metric": metric, "evaluator": theirs, "__module__": __name__}
    made: Any = type(f"{theirs.__name__}Judge", (base,), told)
    judge: type[MetricJudge[Any]] = made
    return judge
