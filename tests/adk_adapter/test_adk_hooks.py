"""Subclasses of our evaluators, written as those of ADK's are: the public hooks are called, and their word counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.eval_rubrics import Rubric
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator
from google.adk.evaluation.llm_as_judge import AutoRaterScore, LlmAsJudge
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry
from google.adk.evaluation.rubric_based_final_response_quality_v1 import RubricBasedFinalResponseQualityV1Evaluator
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from support.adk_answers import JudgePrompt, Raw, always, answer, in_turn
from support.adk_folder import FINAL_RESPONSE, invocation, judge_options, rubric
from support.adk_offline import isolated_adk
from support.adk_outcomes import HALLUCINATIONS, MATCH, MULTI_TURN, TOOL_USE, evaluate_with

import judgeharness_adk
from judgeharness_adk import (
    HarnessedFinalResponseMatchV2Evaluator,
    HarnessedLlmAsJudge,
    HarnessedRubricBasedFinalResponseQualityV1Evaluator,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from google.adk.evaluation.eval_case import Invocation
    from support.adk_outcomes import Outcome

NO_SIDECAR = {"sidecar": False}
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


def judged(evaluator: Any, script: Any, *, block: dict[str, Any] | None = None, **options: Any) -> Outcome:
    return evaluate_with(evaluator, script, judge_harness={**NO_SIDECAR, **(block or {})}, **options)


def said(words: str) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=words)]))


def rationale(outcome: Outcome) -> str:
    [row] = outcome.result.per_invocation_results[0].rubric_scores or ()
    return str(row.rationale)


class Loud(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
    """A prompt with a line of one's own."""

    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        return super().format_auto_rater_prompt(actual, expected) + "\nBe strict."


class Terse(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
    """Answers in a word, where our reader sees no verdict."""

    def convert_auto_rater_response_to_score(self, auto_rater_response: LlmResponse) -> AutoRaterScore:
        score = super().convert_auto_rater_response_to_score(auto_rater_response)
        [row] = score.rubric_scores or ()
        content = auto_rater_response.content
        assert content is not None
        assert content.parts is not None
        word = {"+": 1.0, "-": 0.0}.get(str(content.parts[0].text))
        return AutoRaterScore(score=word, rubric_scores=[row.model_copy(update={"score": word})])


class Graded(HarnessedFinalResponseMatchV2Evaluator):
    """Scores between 0 and 1, of which the best counts."""

    def convert_auto_rater_response_to_score(self, llm_response: LlmResponse) -> AutoRaterScore:
        content = llm_response.content
        assert content is not None
        assert content.parts is not None
        return AutoRaterScore(score=float(str(content.parts[0].text)))

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        return max(per_invocation_samples, key=lambda sample: sample.score or 0.0)


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, TOOL_USE, MULTI_TURN, MATCH])
def test_registered_classes_are_adks_with_its_hooks(metric: str) -> None:
    registry = MetricEvaluatorRegistry()
    theirs = type(registry.get_evaluator(_metric(metric)))
    judgeharness_adk.register(registry)
    ours = registry.get_evaluator(_metric(metric))
    assert isinstance(ours, HarnessedLlmAsJudge)
    assert isinstance(ours, theirs)
    assert all(callable(getattr(ours, hook)) for hook in HOOKS)


def _metric(name: str) -> EvalMetric:
    rubrics = ("polite",) if name.startswith("rubric") else None
    criterion = judge_options("gemini-2.5-flash", rubrics=rubrics)
    return EvalMetric.model_validate({"metric_name": name, "threshold": 0.8, "criterion": criterion})


def test_outside_an_evaluation_the_hooks_are_adks() -> None:
    ours, theirs = (
        kind(_metric(MATCH)) for kind in (HarnessedFinalResponseMatchV2Evaluator, FinalResponseMatchV2Evaluator)
    )
    oslo = invocation("Oslo")
    assert ours.format_auto_rater_prompt(oslo, oslo) == theirs.format_auto_rater_prompt(oslo, oslo)
    text = said('{"is_the_agent_response_valid": "valid"}')
    assert ours.convert_auto_rater_response_to_score(text) == AutoRaterScore(score=1.0)
    votes = [PerInvocationResult(actual_invocation=oslo, score=score) for score in (0.0, 1.0, 1.0)]
    assert ours.aggregate_per_invocation_samples(votes) is votes[1]
    assert ours.aggregate_invocation_results(votes) == theirs.aggregate_invocation_results(votes)


def test_a_prompt_of_ones_own_is_asked_and_read_as_ever() -> None:
    done = judged(
        Loud,
        in_turn("yes", "yes", "yes", "unknown"),
        samples=4,
        block={"perturbations": ["none", "rubric_order"]},
        rubrics=("polite", "short"),
    )
    assert {prompt.text.splitlines()[-1] for prompt in done.judge.prompts} == {"Be strict."}
    assert len({tuple(prompt.rubrics) for prompt in done.judge.prompts}) == 2
    assert done.rubrics == [{"polite": 1.0, "short": 1.0}]
    plain = judged(HarnessedRubricBasedFinalResponseQualityV1Evaluator, always("yes"), samples=1)
    theirs = evaluate_with(RubricBasedFinalResponseQualityV1Evaluator, always("yes"), samples=1)
    assert [prompt.text for prompt in plain.judge.prompts] == [prompt.text for prompt in theirs.judge.prompts]


def test_a_template_set_in_the_constructor_is_the_prompt() -> None:
    class Short(HarnessedFinalResponseMatchV2Evaluator):
        def __init__(self, eval_metric: EvalMetric) -> None:
            super().__init__(eval_metric)
            self._auto_rater_prompt_template = '"is_the_agent_response_valid" of {response}?'

    done = judged(Short, always("yes"), metric=MATCH, samples=1)
    assert done.judge.prompts[0].text.startswith('"is_the_agent_response_valid" of ')
    assert done.score == 1.0
    swapped = judged(
        Short,
        always("yes"),
        metric=MATCH,
        samples=1,
        block={"perturbations": ["none", "position_swap"], "on_unfit": "skip"},
    )
    assert swapped.judge.calls == 1  # there is no order of texts in this prompt


def test_a_reading_of_ones_own_decides_what_an_answer_says() -> None:
    done = judged(Terse, in_turn(Raw("+"), Raw("+"), Raw("?"), Raw("+")), samples=4)
    assert done.rubrics == [{"polite": 1.0}]
    assert rationale(done).startswith("3 PASS, 1 unparsed of 4")
    assert judged(HarnessedRubricBasedFinalResponseQualityV1Evaluator, always(Raw("+"))).rubrics == [{"polite": None}]


def test_super_reads_as_strictly_as_we_do() -> None:
    seen: list[AutoRaterScore] = []

    class Watching(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def convert_auto_rater_response_to_score(self, auto_rater_response: LlmResponse) -> AutoRaterScore:
            seen.append(super().convert_auto_rater_response_to_score(auto_rater_response))
            return seen[-1]

    done = judged(Watching, in_turn("unknown", "yes"), samples=2, block={"min_valid": 1})
    assert {score.score for score in seen} == {None, 1.0}  # ADK reads "unknown" as no
    assert rationale(done).startswith("ABSTAIN · 1 PASS, 1 unparsed of 2")


def test_a_hook_that_raises_is_not_asked_again() -> None:
    class Broken(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def convert_auto_rater_response_to_score(self, auto_rater_response: LlmResponse) -> AutoRaterScore:
            raise KeyError("verdict")

    done = judged(Broken, always("yes"), samples=2)
    assert done.judge.calls == 2
    assert rationale(done).splitlines()[-1] == (
        "failed (2 unparsed): convert_auto_rater_response_to_score raised KeyError: 'verdict'"
    )


def test_samples_aggregated_by_the_subclass_have_the_last_word() -> None:
    done = judged(Graded, in_turn(Raw("0.25"), Raw("0.875"), Raw("0.5")), metric=MATCH, samples=3, threshold=0.75)
    assert done.turns == [("PASSED", 0.875)]
    assert (done.score, done.status) == (0.875, "PASSED")


def test_samples_of_a_subclass_hold_what_was_read() -> None:
    seen: list[PerInvocationResult] = []

    class Watching(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def aggregate_per_invocation_samples(
            self, per_invocation_samples: list[PerInvocationResult]
        ) -> PerInvocationResult:
            seen.extend(per_invocation_samples)
            return super().aggregate_per_invocation_samples(per_invocation_samples)

    done = judged(Watching, in_turn("yes", "no", Raw("?"), "yes"), samples=4)
    rows = [row for sample in seen for row in sample.rubric_scores or ()]
    assert sorted((row.rubric_id, row.score, row.rationale) for row in rows) == [
        ("polite", 0.0, "I say no to polite."),
        ("polite", 1.0, "I say yes to polite."),
        ("polite", 1.0, "I say yes to polite."),
    ]
    assert [sample.eval_status for sample in seen].count(EvalStatus.PASSED) == 2
    assert rationale(done).startswith("ABSTAIN · 2 PASS, 1 FAIL, 1 unparsed of 4")  # super() is the harness's decision

    class First(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def aggregate_per_invocation_samples(
            self, per_invocation_samples: list[PerInvocationResult]
        ) -> PerInvocationResult:
            return super().aggregate_per_invocation_samples(per_invocation_samples[:1])

    assert judged(First, in_turn("yes", "no"), samples=4).turns[0][0] in {"PASSED", "FAILED"}  # a list of one's own
    assert judged(First, always(Raw("?")), samples=2).status == "FAILED"  # nothing to aggregate


@pytest.mark.parametrize("reads", [False, True])
def test_samples_of_several_rubrics_hold_each_rubrics_own_score(*, reads: bool) -> None:
    seen: list[PerInvocationResult] = []

    class Watching(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def aggregate_per_invocation_samples(
            self, per_invocation_samples: list[PerInvocationResult]
        ) -> PerInvocationResult:
            seen.extend(per_invocation_samples)
            return self._adks.aggregate_per_invocation_samples(per_invocation_samples)  # type: ignore[no-any-return]

    class Reading(Watching):
        def convert_auto_rater_response_to_score(self, auto_rater_response: LlmResponse) -> AutoRaterScore:
            read = super().convert_auto_rater_response_to_score(auto_rater_response)
            return read.model_copy(update={"score": 0.75})

    script = always({"polite": "yes", "short": "no"})
    done = judged(Reading if reads else Watching, script, samples=2, rubrics=("polite", "short"))
    rows = [{row.rubric_id: row.score for row in sample.rubric_scores or ()} for sample in seen]
    assert rows == [{"polite": 1.0, "short": 0.0}] * 2
    assert [sample.score for sample in seen] == [0.75 if reads else 0.5] * 2
    assert done.rubrics == [{"polite": 1.0, "short": 0.0}]


def test_the_same_samples_in_a_list_of_ones_own_are_the_harness_decision() -> None:
    class Filtering(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def aggregate_per_invocation_samples(
            self, per_invocation_samples: list[PerInvocationResult]
        ) -> PerInvocationResult:
            scored = [sample for sample in per_invocation_samples if sample.score is not None]
            return super().aggregate_per_invocation_samples(scored)

        def aggregate_invocation_results(self, per_invocation_results: list[PerInvocationResult]) -> EvaluationResult:
            scored = [turn for turn in per_invocation_results if turn.score is not None]
            return super().aggregate_invocation_results(scored)

    done = judged(Filtering, in_turn("yes", "yes", "yes", "no", "no"), samples=5)
    assert rationale(done).startswith("ABSTAIN · 3 PASS, 2 FAIL of 5")
    assert (done.score, done.status) == (0.0, "FAILED")  # of these ADK's majority passes
    [row] = done.result.overall_rubric_scores or ()
    assert str(row.rationale).startswith("ABSTAIN")


def test_a_sample_in_the_place_of_all_says_why_and_at_what_cost() -> None:
    class Best(HarnessedFinalResponseMatchV2Evaluator):
        def aggregate_per_invocation_samples(
            self, per_invocation_samples: list[PerInvocationResult]
        ) -> PerInvocationResult:
            return max(per_invocation_samples, key=lambda sample: sample.score or 0.0)

    kinds: tuple[Any, ...] = (HarnessedFinalResponseMatchV2Evaluator, Best)
    plain, best = (judged(kind, in_turn("no", "yes", "no"), metric=MATCH, samples=3) for kind in kinds)
    assert (plain.score, best.score) == (0.0, 1.0)
    tokens = [done.result.per_invocation_results[0].token_usage_details for done in (plain, best)]
    assert tokens[0] == tokens[1] == best.result.overall_token_usage_details is not None
    assert rationale(best) == rationale(plain)


def test_rubrics_added_by_the_subclass_are_asked_about() -> None:
    class More(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def create_effective_rubrics_list(self, invocation_rubrics: list[Rubric] | None) -> None:
            super().create_effective_rubrics_list(
                [*(invocation_rubrics or []), rubric("extra", kind="FINAL_RESPONSE_QUALITY")]
            )

    turns = [invocation("Oslo"), invocation("Rome")]
    done = judged(More, always("yes"), samples=2, turns=turns, block={"perturbations": ["none", "rubric_order"]})
    assert done.rubrics == [{"polite": 1.0, "extra": 1.0}] * 2
    assert len({tuple(prompt.rubrics) for prompt in done.judge.prompts}) == 2


def test_an_answer_comes_to_the_hook_with_all_that_is_known_of_it() -> None:
    thought, words = types.Part(text="hm", thought=True), types.Part(text='{"is_the_agent_response_valid": "valid"}')
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=7, candidates_token_count=3)
    seen = heard(
        LlmResponse(
            content=types.Content(role="model", parts=[thought, words]),
            avg_logprobs=-0.25,
            usage_metadata=usage,
            finish_reason=types.FinishReason.STOP,
            model_version="inner-001",
        )
    )
    assert (seen.avg_logprobs, seen.usage_metadata, seen.model_version) == (-0.25, usage, "inner-001")
    assert seen.finish_reason == types.FinishReason.STOP
    assert seen.content == types.Content(role="model", parts=[words])


def test_an_answer_by_a_function_call_comes_to_the_hook() -> None:
    call = types.Part(function_call=types.FunctionCall(name="verdict", args={"valid": True}))
    seen = heard(LlmResponse(content=types.Content(role="model", parts=[call])))
    assert seen.content == types.Content(role="model", parts=[call])


def heard(response: LlmResponse) -> LlmResponse:
    """Return what the hook of a subclass, which lets everything pass, is given where a model answers so."""

    class Model(BaseLlm):
        async def generate_content_async(
            self,
            llm_request: LlmRequest,
            stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
        ) -> AsyncGenerator[LlmResponse, None]:
            yield response

    class Hearing(HarnessedFinalResponseMatchV2Evaluator):
        def convert_auto_rater_response_to_score(self, llm_response: LlmResponse) -> AutoRaterScore:
            seen.append(llm_response)
            read = super().convert_auto_rater_response_to_score(llm_response)
            assert (read.score is None) == (not any(part.text for part in content_of(llm_response)))
            return AutoRaterScore(score=1.0)

    seen: list[LlmResponse] = []
    registry = MetricEvaluatorRegistry()
    registry.register_evaluator(
        next(one for one in registry.get_registered_metrics() if one.metric_name == MATCH), Hearing
    )
    judgeharness_adk.register(registry, models={"inner": Model(model="inner")})
    criterion = judge_options("inner", rubrics=None, samples=1, judge_harness=NO_SIDECAR)
    asked = EvalMetric.model_validate({"metric_name": MATCH, "criterion": criterion})
    result: Any = registry.get_evaluator(asked).evaluate_invocations([invocation("Oslo")], [invocation("Oslo")])
    assert asyncio.run(result).overall_score == 1.0
    [one] = seen
    return one


def content_of(response: LlmResponse) -> list[types.Part]:
    assert response.content is not None
    return response.content.parts or []


def test_results_aggregated_by_the_subclass_are_the_metrics() -> None:
    class Lowest(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def aggregate_invocation_results(self, per_invocation_results: list[PerInvocationResult]) -> EvaluationResult:
            ours = super().aggregate_invocation_results(per_invocation_results)
            lowest = min(turn.score or 0.0 for turn in per_invocation_results)
            return ours.model_copy(update={"overall_score": lowest})

    def script(prompt: JudgePrompt) -> str:
        return answer(prompt, "yes" if "Oslo" in prompt.cities else "no")

    turns = [invocation("Oslo"), invocation("Rome")]
    done = judged(Lowest, script, turns=turns, threshold=0.5)
    assert (done.score, done.status) == (0.0, "PASSED")  # the harness's mean of 0.5 passed
    assert judged(Lowest, script, turns=turns[:1]).score == 1.0


def test_a_criterion_adk_refuses_fails_with_the_sentence_in_a_subclass_too() -> None:
    subclass = Loud(EvalMetric(metric_name=FINAL_RESPONSE, threshold=0.8))
    result = asyncio.run(subclass.evaluate_invocations([invocation("Oslo")]))
    assert result.overall_eval_status == EvalStatus.FAILED
    [row] = result.overall_rubric_scores or ()
    assert "needs a criterion with a threshold" in str(row.rationale)


def test_another_reading_is_another_judge() -> None:
    metric = _metric(FINAL_RESPONSE)
    plain, terse = (kind(metric)._made() for kind in (Loud, Terse))
    assert plain.identity.parameters.get("reader") is None
    assert terse.identity.parameters["reader"].endswith("test_adk_hooks.Terse")


def test_hallucinations_have_no_hooks_in_adk_either() -> None:
    assert not issubclass(judgeharness_adk.HarnessedHallucinationsV1Evaluator, LlmAsJudge)
    assert (
        judged(judgeharness_adk.HarnessedHallucinationsV1Evaluator, always("yes"), metric=HALLUCINATIONS).score == 1.0
    )
