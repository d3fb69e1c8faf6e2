"""The classes that stand in the place of ADK's: they are ADK's own, with all that these are set up with."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.evaluator import EvalStatus
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry
from support.adk_answers import always, in_turn
from support.adk_folder import FINAL_RESPONSE, invocation, judge_options
from support.adk_offline import isolated_adk
from support.adk_outcomes import HALLUCINATIONS, MATCH, MULTI_TURN, TOOL_USE, evaluate_with

import judgeharness_adk
from judgeharness_adk import HarnessedHallucinationsV1Evaluator
from judgeharness_adk.evaluators import EVALUATORS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER_TURNS = "per_turn_user_simulator_quality_v1"
HOOKS = (
    "format_auto_rater_prompt",
    "convert_auto_rater_response_to_score",
    "aggregate_per_invocation_samples",
    "aggregate_invocation_results",
)


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield


def _metric(name: str, model: str = "gemini-2.5-flash") -> EvalMetric:
    rubrics = ("polite",) if name.startswith("rubric") else None
    return EvalMetric.model_validate(
        {"metric_name": name, "threshold": 0.8, "criterion": judge_options(model, rubrics=rubrics)}
    )


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, TOOL_USE, MULTI_TURN, MATCH, HALLUCINATIONS, USER_TURNS])
def test_every_class_is_a_subclass_of_adks_and_set_up_as_it_is(metric: str) -> None:
    registry = MetricEvaluatorRegistry()
    theirs = registry.get_evaluator(_metric(metric))
    judgeharness_adk.register(registry)
    ours = registry.get_evaluator(_metric(metric))
    assert type(ours) is not type(theirs)
    assert isinstance(ours, type(theirs))
    assert vars(theirs).keys() <= vars(ours).keys()
    assert type(ours).criterion_type is type(theirs).criterion_type


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, HALLUCINATIONS, USER_TURNS])
def test_an_unknown_model_fails_the_evaluation_and_not_the_constructor(metric: str) -> None:
    registry = MetricEvaluatorRegistry()
    judgeharness_adk.register(registry)
    ours = registry.get_evaluator(_metric(metric, "nobody-knows-it"))
    result: Any = ours.evaluate_invocations([invocation("Oslo")])
    told = asyncio.run(result)
    assert told.overall_eval_status is EvalStatus.FAILED
    [row] = told.overall_rubric_scores
    assert "nobody-knows-it" in row.rationale


def test_a_subclass_of_a_metric_without_hooks_is_measured() -> None:
    class Noted(HarnessedHallucinationsV1Evaluator):
        """Notes what ADK's constructor read."""

        def __init__(self, eval_metric: EvalMetric) -> None:
            super().__init__(eval_metric)
            self.noted = self._criterion.threshold

    assert Noted(_metric(HALLUCINATIONS)).noted == 1.0
    outcome = evaluate_with(Noted, always("yes"), metric=HALLUCINATIONS, judge_harness={"sidecar": False})
    assert outcome.status == "PASSED"


def test_prompts_that_a_subclass_sets_are_what_its_model_is_asked() -> None:
    class Careful(HarnessedHallucinationsV1Evaluator):
        """Segments and validates in words of its own."""

        def __init__(self, eval_metric: EvalMetric) -> None:
            super().__init__(eval_metric)
            self.segmenter_prompt = f"Keep lists together. {self.segmenter_prompt}"
            self.sentence_validator_prompt = f"Be strict. {self.sentence_validator_prompt}"

    outcome = evaluate_with(Careful, always("yes"), metric=HALLUCINATIONS, judge_harness={"sidecar": False})
    assert outcome.status == "PASSED"
    segmenting, *validating = [prompt.text for prompt in outcome.judge.prompts]
    assert segmenting.startswith("Keep lists together. ")
    assert validating
    assert all(text.startswith("Be strict. ") for text in validating)
    own, adks = (
        kind(_metric(HALLUCINATIONS))._made().identity for kind in (Careful, HarnessedHallucinationsV1Evaluator)
    )
    assert own.parameters["segmenter"] != adks.parameters["segmenter"]
    assert own.prompt_hash != adks.prompt_hash


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, TOOL_USE, MULTI_TURN, MATCH])
def test_each_class_calls_every_hook_of_a_subclass_and_super_changes_nothing(metric: str) -> None:
    ours = EVALUATORS[metric]
    called: set[str] = set()

    def watched(hook: str) -> Any:
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            called.add(hook)
            return getattr(ours, hook)(self, *arguments, **named)

        return call

    subclass = type("Watching", (ours,), {hook: watched(hook) for hook in HOOKS})
    turns = [invocation("Oslo"), invocation("Rome")]
    plain, watching = (
        evaluate_with(
            kind,
            in_turn("yes", "no", "yes"),
            metric=metric,
            turns=turns,
            samples=3,
            judge_harness={"sidecar": False},
        )
        for kind in (ours, subclass)
    )
    assert called == set(HOOKS)
    assert (watching.turns, watching.score, watching.status) == (plain.turns, plain.score, plain.status)
