"""Makes the judge behind a pairwise evaluator."""

from __future__ import annotations

import inspect
from string import Formatter
from typing import Any

from langchain_core.language_models import BaseChatModel
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge

from judgeharness_integrations._errors import UsageError
from judgeharness_openevals.asking import Asker
from judgeharness_openevals.introspecting import Introspected
from judgeharness_openevals.preference_judge import PreferenceJudge, preference_schema

__all__ = ["preference_judge"]


def preference_judge(
    model: str | None,
    judge: Any,
    prompt: str,
    feedback_key: str,
    *,
    system: str | None = None,
    use_reasoning: bool = True,
    name: str | None = None,
) -> PreferenceJudge:
    """Return the judge behind a pairwise evaluator; see `create_harnessed_pairwise_judge`."""
    if model is None and not isinstance(judge, BaseChatModel):
        raise UsageError("a pairwise judge needs a model, as in model='openai:gpt-4o', or judge=a chat model.")
    named = {field for _, field, _, _ in Formatter().parse(prompt) if field}
    if not {"output_a", "output_b"} <= named:
        raise UsageError("the prompt of a pairwise judge names both answers: {output_a} and {output_b}.")
    arguments = {
        "prompt": prompt if "marks" in named else "{marks}\n\n" + prompt,
        "feedback_key": feedback_key,
        "judge": judge,
        "model": model,
        "system": system,
        "continuous": False,
        "choices": None,
        "use_reasoning": use_reasoning,
        "few_shot_examples": None,
        "output_schema": preference_schema(use_reasoning=use_reasoning),
    }
    factory = create_llm_as_judge if _is_sync_client(judge) else create_async_llm_as_judge
    details = Introspected(factory=factory, arguments=arguments)
    run_name = f"llm_as_{feedback_key}_judge"
    asker = Asker(function=factory(**arguments), details=details)
    return PreferenceJudge(name=name or run_name, key=feedback_key, run_name=run_name, details=details, asker=asker)


def _is_sync_client(judge: Any) -> bool:
    if judge is None or isinstance(judge, BaseChatModel):
        return False
    return not inspect.iscoroutinefunction(inspect.unwrap(judge.chat.completions.create))
