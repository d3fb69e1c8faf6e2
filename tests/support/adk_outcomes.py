"""What evaluators make of the same scripted answers: ADK's own, or any registered in their place.

    theirs = evaluate_with(DEFAULT_METRIC_EVALUATOR_REGISTRY, in_turn("yes", "yes", "no", "no"), samples=4)
    ours = evaluate_with(OurEvaluator, in_turn("yes", "yes", "no", "no"), samples=4)

The functions named after a finding take the evaluators alone; `tests/adk_adapter/test_adk_baseline.py` says what ADK
makes of each.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.agents import Agent
from google.adk.evaluation.base_eval_service import (
    EvaluateConfig,
    EvaluateRequest,
    InferenceResult,
    InferenceStatus,
)
from google.adk.evaluation.eval_case import EvalCase, Invocation
from google.adk.evaluation.eval_config import EvalConfig, get_eval_metrics_from_config
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.eval_result import EvalCaseResult
from google.adk.evaluation.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from google.adk.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from google.adk.evaluation.local_eval_service import LocalEvalService
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry

from support.adk_answers import Answers, JudgeDown, JudgePrompt, Raw, always, answer, by_city, in_turn
from support.adk_folder import FINAL_RESPONSE, invocation, judge_options, rubric
from support.adk_judges import ScriptedJudge, scripted_judge

__all__ = [
    "Evaluators",
    "Outcome",
    "all_at_once",
    "evaluate_case_with",
    "evaluate_with",
    "mostly_unparseable",
    "one_sample_raises",
    "silent_beside_passing",
    "two_sets_of_rubrics",
    "two_two_tie",
    "unknown_word",
]

TOOL_USE = "rubric_based_tool_use_quality_v1"
MULTI_TURN = "rubric_based_multi_turn_trajectory_quality_v1"
MATCH = "final_response_match_v2"
HALLUCINATIONS = "hallucinations_v1"

Evaluators = MetricEvaluatorRegistry | type[Evaluator] | Callable[[EvalMetric], Evaluator]


class Outcome(NamedTuple):
    """What an evaluator returned, and the judge it asked."""

    result: EvaluationResult
    judge: ScriptedJudge

    @property
    def status(self) -> str:
        return self.result.overall_eval_status.name

    @property
    def score(self) -> float | None:
        return self.result.overall_score

    @property
    def turns(self) -> list[tuple[str, float | None]]:
        """Status and score of each invocation."""
        return [(turn.eval_status.name, turn.score) for turn in self.result.per_invocation_results]

    @property
    def rubrics(self) -> list[dict[str, float | None]]:
        """The score of each rubric, by id, of each invocation."""
        return [_rubrics(turn) for turn in self.result.per_invocation_results]


def evaluate_with(
    evaluators: Evaluators,
    script: Answers,
    *,
    turns: Sequence[Invocation] = (),
    metric: str = FINAL_RESPONSE,
    delay: float = 0.0,
    **options: Any,
) -> Outcome:
    """Judge invocations that went as they should.

    Args:
        evaluators: A registry, an evaluator's class, or a function of the metric.
        script: What the judge answers.
        turns: The invocations; by default one, about Oslo.
        metric: The metric's name.
        delay: Seconds each answer takes.
        options: Further arguments of `judge_options`, such as `samples=4`.
    """
    done = list(turns) or [invocation("Oslo")]
    with scripted_judge(script, delay=delay) as judge:
        [asked] = _metrics({metric: judge_options(judge.model, **{"rubrics": _rubrics_of(metric), **options})})
        evaluator = _evaluator(evaluators, asked)
        result = asyncio.run(_judged(evaluator, done))
    return Outcome(result, judge)


def evaluate_case_with(
    registry: MetricEvaluatorRegistry, criteria: Mapping[str, Mapping[str, Any]], *, turns: Sequence[Invocation] = ()
) -> EvalCaseResult:
    """Judge one case by several metrics through `LocalEvalService`, as `adk eval` does once the agent has run.

    Args:
        registry: Where the metrics' evaluators are.
        criteria: The criterion of each metric, as `test_config.json` holds them.
        turns: The case's conversation; by default one turn, about Oslo.
    """
    expected = list(turns) or [invocation("Oslo")]
    case = EvalCase(eval_id="case", conversation=expected)
    evals = InMemoryEvalSetsManager()
    evals.create_eval_set(app_name="app", eval_set_id="set")
    evals.add_eval_case(app_name="app", eval_set_id="set", eval_case=case)
    actual = [turn.model_copy(update={"rubrics": None}, deep=True) for turn in expected]
    inferred = InferenceResult(
        app_name="app",
        eval_set_id="set",
        eval_case_id="case",
        inferences=actual,
        session_id=None,
        status=InferenceStatus.SUCCESS,
    )
    request = EvaluateRequest(
        inference_results=[inferred], evaluate_config=EvaluateConfig(eval_metrics=_metrics(criteria))
    )
    agent = Agent(name="weather", model="scripted-weather")
    service = LocalEvalService(root_agent=agent, eval_sets_manager=evals, metric_evaluator_registry=registry)

    async def first() -> EvalCaseResult:
        [result] = [result async for result in service.evaluate(request)]
        return result

    return asyncio.run(first())


def two_two_tie(evaluators: Evaluators) -> Outcome:
    """Two samples say yes, two say no."""
    return evaluate_with(evaluators, in_turn("yes", "yes", "no", "no"), samples=4)


def one_sample_raises(evaluators: Evaluators) -> Outcome:
    """Four samples say yes, and the judge is down for one."""
    return evaluate_with(evaluators, in_turn("yes", "yes", JudgeDown("429"), "yes", "yes"))


def mostly_unparseable(evaluators: Evaluators) -> Outcome:
    """One sample says yes, four say nothing that can be read."""
    shrug = Raw("I would rather not grade this.")
    return evaluate_with(evaluators, in_turn("yes", shrug, shrug, shrug, shrug))


def unknown_word(evaluators: Evaluators) -> Outcome:
    """The judge says that it does not know."""
    return evaluate_with(evaluators, always("unknown"))


def all_at_once(evaluators: Evaluators, *, delay: float = 0.02) -> Outcome:
    """Five samples that take a while, with no word said of how many may run at one time."""
    return evaluate_with(evaluators, always("yes"), delay=delay)


def two_sets_of_rubrics(evaluators: Evaluators) -> Outcome:
    """Two turns, each with a rubric of its own: the first is met, the second is not."""
    kind = "FINAL_RESPONSE_QUALITY"
    turns = [
        invocation("Oslo", rubrics=[rubric("in_degrees", kind=kind)]),
        invocation("Rome", rubrics=[rubric("in_words", kind=kind)]),
    ]
    script = by_city({"Oslo": always("yes"), "Rome": always("no")})
    return evaluate_with(evaluators, script, turns=turns, rubrics=(), samples=2)


def silent_beside_passing(registry: MetricEvaluatorRegistry) -> EvalCaseResult:
    """One metric passes; the judge of the other is down every time."""

    def script(prompt: JudgePrompt) -> str:
        return answer(prompt, "yes" if prompt.kind == "tool_use" else JudgeDown("503"))

    with scripted_judge(script) as judge:
        criterion = judge_options(judge.model, samples=2)
        return evaluate_case_with(registry, {FINAL_RESPONSE: criterion, TOOL_USE: criterion})


def _metrics(criteria: Mapping[str, Any]) -> list[EvalMetric]:
    """The metrics as `adk eval` reads them from JSON, without the efficiency metrics it adds."""
    config = EvalConfig.model_validate({"criteria": dict(criteria)})
    return [metric for metric in get_eval_metrics_from_config(config) if metric.criterion is not None]


def _evaluator(evaluators: Evaluators, metric: EvalMetric) -> Evaluator:
    if isinstance(evaluators, MetricEvaluatorRegistry):
        return evaluators.get_evaluator(metric)
    return evaluators(eval_metric=metric)  # type: ignore[call-arg]


async def _judged(evaluator: Evaluator, turns: list[Invocation]) -> EvaluationResult:
    actual = [turn.model_copy(deep=True) for turn in turns]
    result = evaluator.evaluate_invocations(actual_invocations=actual, expected_invocations=turns)
    return await result if inspect.isawaitable(result) else result


def _rubrics_of(metric: str) -> tuple[str, ...] | None:
    return ("polite",) if metric.startswith("rubric_based") else None


def _rubrics(turn: PerInvocationResult) -> dict[str, float | None]:
    return {score.rubric_id: score.score for score in turn.rubric_scores or ()}
