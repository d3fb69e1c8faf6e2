"""What configuration files and `judgeharness adapters` know about LangChain; imports no framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.judging.adapters import Adapter, JudgeSpec
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.perturbations import Rewriter

from .versions import TESTED

if TYPE_CHECKING:
    from judgeharness_integrations.judging.adapterkit import Bench
    from judgeharness_integrations.judging.chatmodels import ChatModel


def _build_judge(spec: JudgeSpec) -> Judge:
    from .loading import judge_from_spec  # noqa: PLC0415 - imports LangChain

    return judge_from_spec(spec)


def _build_rewriter(model: str, options: Mapping[str, Any]) -> Rewriter:
    from .loading import chat_model  # noqa: PLC0415
    from .models import chat_rewriter  # noqa: PLC0415

    return chat_rewriter(chat_model(model, options))


def _build_model(model: str, options: Mapping[str, Any]) -> ChatModel:
    from .loading import json_model  # noqa: PLC0415

    return json_model(model, options)


def _recognise(evaluator: object) -> Judge | None:
    wrapped = getattr(evaluator, "judge", None)  # a harnessed one: whom it asks
    if hasattr(evaluator, "ainvoke"):
        from .decisionmodels import is_decision_model  # noqa: PLC0415 - imports LangChain

        if is_decision_model(evaluator):
            from .decisions import DecisionJudge  # noqa: PLC0415

            return DecisionJudge(evaluator)
    if not (hasattr(evaluator, "evaluate_strings") or hasattr(evaluator, "evaluate_string_pairs")):
        return None
    if isinstance(wrapped, Judge):
        return wrapped
    from .evaluators import EvaluatorJudge  # noqa: PLC0415 - imports LangChain

    return EvaluatorJudge.of(evaluator)


def _benches() -> Sequence[Bench]:
    from .bench import benches  # noqa: PLC0415

    return benches()


ADAPTER = Adapter(
    name="langchain",
    extras={
        "langchain": ("langchain_core",),
        "langchain-classic": ("langchain_classic",),
        "langchain-models": ("langchain",),
        "decisions": ("langchain_core.decisions", "langchain_openai"),
    },
    build_judge=_build_judge,
    tiers=frozenset({"flex"}),
    build_rewriter=_build_rewriter,
    build_model=_build_model,
    recognise=_recognise,
    benches=_benches,
    tested=TESTED,
)
