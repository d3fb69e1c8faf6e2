"""Ways into ADK: its registry of metrics, and functions for `custom_metrics`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeAlias

from google.adk.evaluation import metric_evaluator_registry
from google.adk.evaluation.eval_case import ConversationScenario, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.evaluator import EvaluationResult
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry

from judgeharness_adk import _seams
from judgeharness_adk.evaluators import EVALUATORS

__all__ = ["LEFT_ALONE", "Registration", "metric_function", "register"]

_LOGGER = logging.getLogger("judgeharness_adk")
MetricFunction: TypeAlias = Callable[..., Awaitable[EvaluationResult]]

# LLM metrics of ADK that stay single-call, and why
LEFT_ALONE: Mapping[str, str] = {
    "per_turn_user_simulator_quality_v1": "it judges ADK's simulated user turn by turn, not the agent",
    "response_evaluation_score": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
    "safety_v1": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
    "multi_turn_task_success_v1": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
    "multi_turn_trajectory_quality_v1": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
    "multi_turn_tool_use_quality_v1": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
}


@dataclass(frozen=True, kw_only=True)
class Registration:
    """What `register` did: metrics that are harnessed now, LLM metrics left single-call with the reason."""

    harnessed: tuple[str, ...]
    left_alone: Mapping[str, str]

    def __str__(self) -> str:
        """Return both lists, a line each."""
        lines = [f"harnessed: {', '.join(self.harnessed)}"]
        lines += [f"single call: {name} ({reason})" for name, reason in self.left_alone.items()]
        return "\n".join(lines)


def register(registry: MetricEvaluatorRegistry | None = None) -> Registration:
    """Put the harnessed evaluators in the place of ADK's own; configurations stay as they are.

    Args:
        registry: whose metrics are replaced; ADK's default registry when None, which `adk eval`, `adk web` and
            `AgentEvaluator` use. `registry.fork()` makes one for a `LocalEvalService` of your own.

    """
    registry = metric_evaluator_registry.DEFAULT_METRIC_EVALUATOR_REGISTRY if registry is None else registry
    infos = {info.metric_name: info for info in registry.get_registered_metrics()}
    if not _seams.tested(version("google-adk")):
        _LOGGER.warning("google-adk %s is not among the tested versions, %s", version("google-adk"), _seams.TESTED)
    done = [name for name in EVALUATORS if name in infos]
    for name in done:
        registry.register_evaluator(infos[name], EVALUATORS[name])
    registration = Registration(
        harnessed=tuple(done), left_alone={name: why for name, why in LEFT_ALONE.items() if name in infos}
    )
    _LOGGER.info("%s", registration)
    return registration


def metric_function(name: str) -> MetricFunction:
    """Return a metric as a function for `custom_metrics`; ADK calls it by its path, `judgeharness_adk.<metric>`."""

    async def measure(
        eval_metric: EvalMetric,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        evaluator = EVALUATORS[name](eval_metric)
        return await evaluator.evaluate_invocations(actual_invocations, expected_invocations, conversation_scenario)

    measure.__name__ = measure.__qualname__ = name
    return measure
