"""What the tests of openevals judges share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.execution.loop import run_sync
from support.openai_server import OpenAIServer, Reply, Request

Serve = Callable[..., OpenAIServer]

PROMPT = "Is the answer right?\nQuestion: {inputs}\nAnswer: {outputs}"
CASE: dict[str, Any] = {"inputs": "What is the capital of France?", "outputs": "It is Paris, of course."}
MEASURED = frozenset({"status", "verdict", "consistency_rate", "harness"})


def scored(score: Any, reasoning: str = "because") -> Reply:
    """The answer openevals asks for."""
    return Reply.json({"reasoning": reasoning, "score": score})


def by_format(request: Request) -> Reply:
    """A judge that likes what is formatted."""
    plain = "Answer: It is Paris, of course." in request.user
    return scored(not plain, "plain" if plain else "formatted")


def once() -> JudgeHarness:
    """The bare judge as a harness: one sample, nothing perturbed."""
    return JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority | median")


def told(evaluator: Any, **arguments: Any) -> Any:
    """Call a sync or an async evaluator, all of them in one loop: a client's connections belong to theirs."""
    answer = evaluator(**arguments)
    return run_sync(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer: Any) -> Any:
    return await answer


def without(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    """The answer without some of its keys."""
    return {name: value for name, value in answer.items() if name not in names}
