"""Ways into ADK: its registry of metrics, and functions for `custom_metrics`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from google.adk.evaluation import metric_evaluator_registry
from google.adk.evaluation.eval_case import ConversationScenario, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric, JudgeModelOptions
from google.adk.evaluation.evaluator import EvaluationResult
from google.adk.evaluation.llm_as_judge import LlmAsJudge
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.judging.adapters import untested

from . import _seams
from .evaluators import EVALUATORS, HarnessedEvaluator, evaluator_of, harnessed
from .options import DEFAULT_RULE, Registered, registered_by, registered_for_this_agent, share

if TYPE_CHECKING:
    from os import PathLike

    from google.adk.models.base_llm import BaseLlm

    from judgeharness_integrations.analysis.aggregation.rules import RuleLike

_LOGGER = logging.getLogger("judgeharness_adk")
MetricFunction: TypeAlias = Callable[..., Awaitable[EvaluationResult]]

# LLM metrics of ADK that stay single-call, and why
LEFT_ALONE: Mapping[str, str] = {
    "response_evaluation_score": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
    "safety_v1": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
    "multi_turn_task_success_v1": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
    "multi_turn_trajectory_quality_v1": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
    "multi_turn_tool_use_quality_v1": "Vertex AI's evaluation service judges it: there is no prompt to ask again",
}


@dataclass(frozen=True, kw_only=True)
class Registration:
    """What `register` did.

    `harnessed` are the metrics that are harnessed now, `left_alone` LLM metrics of ADK's left single-call with the
    reason, `others` the metrics whose evaluators are not ADK's own, with the class.
    """

    harnessed: tuple[str, ...]
    left_alone: Mapping[str, str]
    others: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return what was done, a line for each list and each metric that was left alone."""
        lines = [f"harnessed: {', '.join(self.harnessed)}"]
        lines += [f"single call: {name} ({reason})" for name, reason in self.left_alone.items()]
        lines += [f"left alone: {name} ({kind}, which is not ADK's own)" for name, kind in self.others.items()]
        return "\n".join(lines)

    @property
    def line(self) -> str:
        """What was done in one line: metrics, rule and calls where their blocks say nothing else."""
        samples = JudgeModelOptions.model_fields["num_samples"].default
        told = [
            f"harnessed: {', '.join(self.harnessed) or 'nothing'}",
            f"unless judge_harness says otherwise under {DEFAULT_RULE} of num_samples calls (ADK's default: {samples})",
        ]
        told += [f"single call: {', '.join(self.left_alone)}"] if self.left_alone else []
        told += [f"left alone: {', '.join(self.others)}"] if self.others else []
        return "; ".join(told)


def register(
    registry: MetricEvaluatorRegistry | None = None,
    *,
    rules: Mapping[str, RuleLike] | None = None,
    models: Mapping[str, BaseLlm] | None = None,
    decisions: Mapping[str, Mapping[str, Any]] | None = None,
    include: Sequence[str] = (),
    folder: str | PathLike[str] | None = None,
) -> Registration:
    """Put the harnessed evaluators in the place of ADK's own; configurations stay as they are.

    An evaluator that somebody registered in the place of one of ADK's, or beside them, stays.

    Call it in `agent.py`, where `root_agent` or `app` is, or in the package's `__init__.py`: by that an agent of a
    server with several is known. What one registers, blocks of another cannot name. A second call replaces the first.

    Args:
        registry: whose metrics are replaced; ADK's default registry when None, which `adk eval`, `adk web` and
            `AgentEvaluator` use. `registry.fork()` makes one for a `LocalEvalService` of your own; what is registered
            with it is for every agent evaluated with it.
        rules: name -> function of rows, or `Rule`: what `aggregation_rule` may name besides the built-in rules.
        models: name -> model: what `judge_model` and `rewriter` may name besides what ADK resolves.
        decisions: name -> decision model, as `{"model": "openai:gpt-6-luna", "base_url": ...}`: what `decisions` may
            name besides `openai:MODEL`.
        include: metrics whose evaluators are `LlmAsJudge` subclasses of your own, to be harnessed through ADK's public
            hooks.
        folder: below which `calibration`, `passport` and `sidecar` lie, whose paths start there; the folder of the
            calling file when None, and where a relative one starts.

    Raises:
        ConfigError: a rule's name is that of a built-in one, its value is no function, a model is none of ADK's, the
            folder does not exist, or a metric to include is not registered, no `LlmAsJudge`, or one that asks its model
            otherwise than ADK's.

    """
    default = metric_evaluator_registry.DEFAULT_METRIC_EVALUATOR_REGISTRY
    registry = default if registry is None else registry
    registered = registered_by(sys._getframe(1).f_globals, rules, folder, models, decisions)  # noqa: SLF001 - whose file it is
    infos = {info.metric_name: info for info in registry.get_registered_metrics()}
    for sentence in untested(_seams.TESTED):
        _LOGGER.warning("%s", sentence)
    there = {name: _seams.evaluator_class(registry, name) for name in infos}
    knows = registered_for_this_agent if registry is default else lambda: registered
    new = {
        name: ours if registry is default else evaluator_of(ours, knows)
        for name, ours in EVALUATORS.items()
        if _adks_or_ours(there.get(name)) and not hasattr(there[name], "theirs")
    }
    new |= {name: _included(name, there, knows) for name in include}
    if registry is not default:  # there, what is registered is known by the classes
        users = {name: _harnessed_users(kind) for name, kind in (there | new).items()}
        new |= {name: evaluator_of(kind, knows) for name, kind in users.items() if kind is not None}
    for name, evaluator in new.items():
        registry.register_evaluator(infos[name], evaluator)
    if registry is default:
        share(registered)
    registration = _registration(there | new)
    _LOGGER.info("%s", registration.line)
    return registration


def _adks_or_ours(kind: object) -> bool:
    return getattr(kind, "__module__", "").startswith(("google.adk.", "judgeharness_adk."))


def _harnessed_users(kind: object) -> type[HarnessedEvaluator] | None:
    """Return a class that is the user's subclass of one of ours."""
    if isinstance(kind, type) and issubclass(kind, HarnessedEvaluator) and not _adks_or_ours(kind):
        return kind
    return None


def _included(name: str, there: Mapping[str, object], knows: Callable[[], Registered]) -> type[HarnessedEvaluator]:
    kind = getattr(there.get(name), "theirs", there.get(name))  # register was called before
    if isinstance(kind, type) and issubclass(kind, HarnessedEvaluator):
        return kind
    if name not in there:
        raise ConfigError(f"register(include=...): no metric {name!r} is registered: register its evaluator before.")
    if not (isinstance(kind, type) and issubclass(kind, LlmAsJudge)):
        raise ConfigError(
            f"register(include=...): the evaluator of {name!r} is no LlmAsJudge; only its hooks are known."
        )
    if method := _seams.asks_itself(kind):
        raise ConfigError(
            f"register(include=...): the evaluator of {name!r} has a {method} of its own, which would not be called: "
            "leave it out, or keep to the hooks of LlmAsJudge."
        )
    return harnessed(name, kind, knows)


def _registration(registered: Mapping[str, object]) -> Registration:
    done = [
        name for name, kind in registered.items() if isinstance(kind, type) and issubclass(kind, HarnessedEvaluator)
    ]
    others = {name: kind for name, kind in registered.items() if name not in done and not _adks_or_ours(kind)}
    return Registration(
        harnessed=(*(name for name in EVALUATORS if name in done), *(name for name in done if name not in EVALUATORS)),
        left_alone={name: why for name, why in LEFT_ALONE.items() if name in registered.keys() - others.keys()},
        others={name: getattr(kind, "__qualname__", repr(kind)) for name, kind in others.items()},
    )


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
