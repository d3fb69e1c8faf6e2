"""A decision model that answers ADK's rubrics: each is a question of yes or no, what ADK shows a judge is the state."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from judgeharness_adk.invocations import InvocationCase, Question
from judgeharness_adk.judges.base import LABELS
from judgeharness_integrations.judging.adapters import JudgeSpec, find_adapter
from judgeharness_integrations.judging.cases import AnswerCase, Criterion
from judgeharness_integrations.judging.judge import Judge

_ORDERS_KEPT = 64
_JUDGED = ("final_response", "tool_usage", "user_agent_dialogue")  # one of them is what a metric judges
_TASK, _RUBRICS = "user_input", frozenset({"rubrics", "properties"})


class RubricDecider:
    """A decision model by its name, as `openai:gpt-6-luna`; LangChain's adapter makes the judge over it.

    `options` are those of its client, such as `base_url` and `api_key`.
    """

    def __init__(self, name: str, options: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Keep name and options; nothing is made yet."""
        self.name, self.options = name, options
        self.over = lru_cache(maxsize=_ORDERS_KEPT)(self._over)  # each has a client

    def _over(self, questions: tuple[Question, ...]) -> Judge:
        """Return the judge that is asked these rubrics, in this order.

        Raises:
            UsageError: LangChain has no decision models, or the model cannot be made.

        """
        spec = JudgeSpec(
            name=self.name,
            evaluator="DecisionJudge",
            model=self.name,
            model_options=self.options,
            evaluator_options={"criteria": [criterion_of(question) for question in questions]},
        )
        return find_adapter("langchain").build_judge(spec)


def criterion_of(question: Question) -> Criterion:
    """Return a rubric as a criterion."""
    return Criterion(name=question.id, description=question.text, labels=LABELS)


def shown_case(case: InvocationCase, parts: Mapping[str, str]) -> AnswerCase:
    """Return what is judged of an invocation, by the names ADK's template has for the texts it shows a judge."""
    judged = next(name for name in _JUDGED if name in parts)
    others = [(name, text) for name, text in parts.items() if text and name not in {judged, _TASK, *_RUBRICS}]
    told = [f"{name.replace('_', ' ').capitalize()}:\n{text}" for name, text in others]
    return AnswerCase(
        case_id=case.case_id,
        input=parts.get(_TASK),
        output=parts[judged],
        context="\n\n".join(told) or None,
        presentation=case.presentation,
    )
