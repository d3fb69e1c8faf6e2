"""What `register` takes and leaves: evaluators of somebody's own, judges by their hooks, models as instances."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.evaluation.eval_metrics import (
    EvalMetric,
    Interval,
    LlmAsAJudgeCriterion,
    MetricInfo,
    MetricValueInfo,
    RubricsBasedCriterion,
)
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, Evaluator, PerInvocationResult
from google.adk.evaluation.llm_as_judge import AutoRaterScore, LlmAsJudge
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry
from google.adk.evaluation.rubric_based_evaluator import (
    AutoRaterResponseParser,
    InvocationResultsSummarizer,
    PerInvocationResultsAggregator,
    RubricBasedEvaluator,
    RubricResponse,
)
from google.adk.evaluation.rubric_based_final_response_quality_v1 import RubricBasedFinalResponseQualityV1Evaluator
from google.adk.models.base_llm import BaseLlm
from google.adk.models.lite_llm import LiteLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from support.adk_answers import JudgeDown, JudgePrompt, answer
from support.adk_folder import FINAL_RESPONSE, invocation, judge_options
from support.adk_judges import scripted_judge
from support.adk_offline import isolated_adk
from support.adk_outcomes import HALLUCINATIONS, MATCH

import judgeharness_adk
from judgeharness_adk import HarnessedRubricBasedFinalResponseQualityV1Evaluator
from judgeharness_integrations._errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from google.adk.evaluation.eval_case import Invocation

TONE = "tone"


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield


def text_of(response: LlmResponse) -> str:
    assert response.content is not None
    assert response.content.parts is not None
    return str(response.content.parts[0].text)


class Tone(LlmAsJudge[LlmAsAJudgeCriterion]):
    """A judge written to ADK's documentation: it gives a number, the mean counts."""

    criterion_type = LlmAsAJudgeCriterion

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric, criterion_type=LlmAsAJudgeCriterion)

    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        assert actual.final_response is not None  # so not every invocation will do
        parts = actual.final_response.parts or []
        return f"How friendly, from 0 to 1? {parts[0].text}"

    def convert_auto_rater_response_to_score(self, auto_rater_response: LlmResponse) -> AutoRaterScore:
        try:
            return AutoRaterScore(score=float(text_of(auto_rater_response)))
        except ValueError:
            return AutoRaterScore()

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        mean = sum(sample.score or 0.0 for sample in per_invocation_samples) / len(per_invocation_samples)
        status = EvalStatus.PASSED if mean >= self._threshold else EvalStatus.FAILED
        return per_invocation_samples[0].model_copy(update={"score": mean, "eval_status": status})

    def aggregate_invocation_results(self, per_invocation_results: list[PerInvocationResult]) -> EvaluationResult:
        lowest = min(per_invocation_results, key=lambda turn: turn.score or 0.0)
        return EvaluationResult(
            overall_score=lowest.score,
            overall_eval_status=lowest.eval_status,
            per_invocation_results=per_invocation_results,
        )


class Slashed(AutoRaterResponseParser):
    """Reads "polite/1.0"."""

    def parse(self, auto_rater_response: str) -> list[RubricResponse]:
        name, _, score = auto_rater_response.partition("/")
        return [RubricResponse(rubric_id=name, property_text="", rationale="so", score=float(score))]


class Rubrics(RubricBasedEvaluator):
    """A rubric judge with a prompt and a parser of its own, and a criterion that only its constructor names."""

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric, criterion_type=RubricsBasedCriterion, auto_rater_response_parser=Slashed())

    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        self.create_effective_rubrics_list(actual.rubrics)
        return ", ".join(rubric.rubric_id for rubric in self.get_effective_rubrics_list())


class Plain(RubricBasedFinalResponseQualityV1Evaluator):
    """One of ADK's with another prompt."""

    def format_auto_rater_prompt(self, actual_invocation: Invocation, expected_invocation: Invocation | None) -> str:
        return super().format_auto_rater_prompt(actual_invocation, expected_invocation) + "\nThink."


class Counting(Evaluator):
    """Asks no model."""

    def evaluate_invocations(self, *_: Any, **__: Any) -> EvaluationResult:
        return EvaluationResult()


def info(name: str) -> MetricInfo:
    values = MetricValueInfo(interval=Interval(min_value=0.0, max_value=1.0))
    return MetricInfo(metric_name=name, description="", metric_value_info=values)


def registry_with(**evaluators: type[Evaluator]) -> MetricEvaluatorRegistry:
    registry = MetricEvaluatorRegistry()
    for name, evaluator in evaluators.items():
        registry.register_evaluator(info(name), evaluator)
    return registry


def evaluated(
    registry: MetricEvaluatorRegistry,
    metric: str,
    script: Callable[[JudgePrompt], str],
    *,
    turns: Sequence[Invocation] = (),
    **options: Any,
) -> EvaluationResult:
    with scripted_judge(script) as judge:
        options.setdefault("rubrics", None)
        options["judge_harness"] = {"sidecar": False} | options.pop("judge_harness", {})
        criterion = judge_options(judge.model, **options)
        asked = EvalMetric.model_validate({"metric_name": metric, "criterion": criterion})
        done = list(turns) or [invocation("Oslo")]
        result: Any = registry.get_evaluator(asked).evaluate_invocations(done, done)
        found: EvaluationResult = asyncio.run(result)
    return found


def saying(*texts: str) -> Callable[[JudgePrompt], str]:
    left = list(texts)
    return lambda _: left.pop(0)


def test_evaluators_of_somebodys_own_stay_and_are_listed() -> None:
    registry = registry_with(**{MATCH: Plain, TONE: Tone, "count": Counting})
    done = judgeharness_adk.register(registry)
    assert MATCH not in done.harnessed
    assert done.others == {MATCH: "Plain", TONE: "Tone", "count": "Counting"}
    assert "left alone: tone (Tone, which is not ADK's own)" in str(done)
    asked = EvalMetric.model_validate({"metric_name": MATCH, "criterion": judge_options("gemini-2.5-flash")})
    assert type(registry.get_evaluator(asked)) is Plain


def test_a_subclass_of_ours_stays_and_counts_as_harnessed() -> None:
    class Mine(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        """One's own."""

    registry = registry_with(**{FINAL_RESPONSE: Mine})
    done = judgeharness_adk.register(registry, include=[FINAL_RESPONSE])
    assert FINAL_RESPONSE in done.harnessed
    assert done.others == {}
    asked = EvalMetric.model_validate({"metric_name": FINAL_RESPONSE, "criterion": judge_options("gemini-2.5-flash")})
    assert isinstance(registry.get_evaluator(asked), Mine)


def test_a_subclass_of_ours_names_what_is_registered_with_its_registry() -> None:
    class Mine(HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def convert_auto_rater_response_to_score(self, auto_rater_response: LlmResponse) -> AutoRaterScore:
            read.append(super().convert_auto_rater_response_to_score(auto_rater_response))
            return read[-1]

    read: list[AutoRaterScore] = []
    registry = registry_with(**{FINAL_RESPONSE: Mine, "mine": Mine})
    alone = Mine(_asked(FINAL_RESPONSE))._made().identity
    for verdict, include in (("PASS", ()), ("FAIL", (FINAL_RESPONSE,))):  # again, as in a server that starts anew
        judgeharness_adk.register(registry, rules={"last": lambda _, verdict=verdict: verdict}, include=include)
        for metric in (FINAL_RESPONSE, "mine"):
            result = evaluated(
                registry,
                metric,
                lambda prompt: answer(prompt, "yes"),
                rubrics=("polite",),
                samples=2,
                judge_harness={"aggregation_rule": "last"},
            )
            assert result.overall_score == {"PASS": 1.0, "FAIL": 0.0}[verdict]
    evaluator: Any = registry.get_evaluator(_asked(FINAL_RESPONSE))
    assert type(evaluator).__mro__[1] is Mine
    assert evaluator._made().identity == alone
    assert len(read) == 8


def _asked(metric: str) -> EvalMetric:
    return EvalMetric.model_validate({"metric_name": metric, "criterion": judge_options("gemini-2.5-flash")})


class Strictest(PerInvocationResultsAggregator):
    """Fails an invocation whatever its samples say."""

    def aggregate(self, per_invocation_samples: list[PerInvocationResult], threshold: float) -> PerInvocationResult:
        assert 0 < threshold <= 1
        return per_invocation_samples[0].model_copy(update={"score": 0.25, "eval_status": EvalStatus.FAILED})


class Halved(InvocationResultsSummarizer):
    """Half of the first invocation's score."""

    def summarize(self, per_invocation_results: list[PerInvocationResult], threshold: float) -> EvaluationResult:
        score = (per_invocation_results[0].score or 0.0) / 2
        status = EvalStatus.PASSED if score >= threshold else EvalStatus.FAILED
        return EvaluationResult(
            overall_score=score, overall_eval_status=status, per_invocation_results=per_invocation_results
        )


@pytest.mark.parametrize(
    ("told", "turn", "overall"),
    [  # ADK's own summarizer forms the mean of the rubrics, whatever an aggregator scores
        ({"per_invocation_results_aggregator": Strictest()}, 0.25, 1.0),
        ({"invocation_results_summarizer": Halved()}, 1.0, 0.5),
        ({"per_invocation_results_aggregator": Strictest(), "invocation_results_summarizer": Halved()}, 0.25, 0.125),
    ],
)
def test_a_rubric_judge_of_ones_own_keeps_aggregator_and_summarizer(
    told: dict[str, Any], turn: float, overall: float
) -> None:
    class Mine(Rubrics):
        def __init__(self, eval_metric: EvalMetric) -> None:
            RubricBasedEvaluator.__init__(
                self, eval_metric, RubricsBasedCriterion, auto_rater_response_parser=Slashed(), **told
            )

    registry = registry_with(mine=Mine)
    judgeharness_adk.register(registry, include=["mine"])
    result = evaluated(registry, "mine", saying("polite/1.0", "polite/1.0"), rubrics=("polite",), samples=2)
    assert [one.score for one in result.per_invocation_results] == [turn]
    assert result.overall_score == overall
    assert result.per_invocation_results[0].token_usage_details == result.overall_token_usage_details


@pytest.mark.parametrize("method", ["evaluate_invocations", "_evaluate_single_sample"])
def test_a_judge_that_asks_by_itself_is_not_included(method: str) -> None:
    async def own(self: object, *arguments: Any) -> EvaluationResult:
        return EvaluationResult()

    registry = registry_with(tone=type("Own", (Tone,), {method: own}))
    with pytest.raises(ConfigError, match=f"the evaluator of 'tone' has a {method} of its own, which would not be"):
        judgeharness_adk.register(registry, include=[TONE])


def test_a_judge_of_ones_own_is_harnessed_on_request_through_its_hooks() -> None:
    registry = registry_with(tone=Tone)
    done = judgeharness_adk.register(registry, include=[TONE])
    assert done.harnessed[-1] == TONE
    assert judgeharness_adk.register(registry, include=[TONE]).harnessed == done.harnessed  # again
    assert judgeharness_adk.register(registry).harnessed == done.harnessed
    result = evaluated(registry, TONE, saying("0.5", "1.0", "0.75"), samples=3, threshold=0.5)
    assert (result.overall_score, result.overall_eval_status) == (0.75, EvalStatus.PASSED)
    [turn] = result.per_invocation_results
    [row] = turn.rubric_scores or ()
    assert row.rubric_id == TONE
    assert str(row.rationale).startswith("3 PASS of 3 · supermajority(2/3)")
    assert result.overall_rubric_scores


def test_where_samples_disagree_the_harness_has_the_word() -> None:
    registry = registry_with(tone=Tone)
    judgeharness_adk.register(registry, include=[TONE])
    split = evaluated(registry, TONE, saying("1.0", "0.0", "1.0", "0.0"), samples=4, threshold=0.5)
    assert (split.overall_score, split.overall_eval_status) == (0.0, EvalStatus.FAILED)  # their mean would pass
    [row] = split.per_invocation_results[0].rubric_scores or ()
    assert str(row.rationale).startswith("ABSTAIN · 2 PASS, 2 FAIL of 4")
    unread = evaluated(registry, TONE, saying("hm", "hm", "hm", "1.0"), samples=4, threshold=0.5)
    [row] = unread.per_invocation_results[0].rubric_scores or ()
    assert str(row.rationale).startswith("NOT GRADED · 1 PASS, 3 unparsed of 4")

    def down(_: JudgePrompt) -> str:
        raise JudgeDown("503")

    gone = evaluated(registry, TONE, down, samples=2, threshold=0.5, judge_harness={"max_attempts": 1})
    assert gone.overall_eval_status == EvalStatus.FAILED


def test_a_rubric_judge_of_ones_own_keeps_prompt_and_parser() -> None:
    registry = registry_with(mine=Rubrics)
    judgeharness_adk.register(registry, include=["mine"])
    result = evaluated(
        registry, "mine", saying("polite/1.0", "polite/1.0", "polite/0.0"), rubrics=("polite",), samples=3
    )
    [row] = result.per_invocation_results[0].rubric_scores or ()
    assert (row.rubric_id, row.score) == ("polite", 1.0)
    assert str(row.rationale).startswith("2 PASS, 1 FAIL of 3")


def test_one_of_adks_with_another_prompt_is_read_as_strictly_as_ours() -> None:
    registry = registry_with(**{FINAL_RESPONSE: Plain})
    judgeharness_adk.register(registry, include=[FINAL_RESPONSE])
    prompts: list[str] = []

    def script(prompt: JudgePrompt) -> str:
        prompts.append(prompt.text)
        return answer(prompt, "unknown")

    result = evaluated(registry, FINAL_RESPONSE, script, rubrics=("polite",), samples=2)
    assert {prompt.splitlines()[-1] for prompt in prompts} == {"Think."}
    [row] = result.per_invocation_results[0].rubric_scores or ()
    assert str(row.rationale).startswith("NOT GRADED · 2 unparsed of 2")


def test_a_judge_that_needs_expected_invocations_says_so() -> None:
    class Compared(Tone):
        def __init__(self, eval_metric: EvalMetric) -> None:
            super().__init__(eval_metric)
            self._expected_invocations_required = True

    registry = registry_with(tone=Compared)
    judgeharness_adk.register(registry, include=[TONE])
    asked = EvalMetric.model_validate(
        {"metric_name": TONE, "criterion": judge_options("gemini-2.5-flash", rubrics=None)}
    )
    result: Any = registry.get_evaluator(asked).evaluate_invocations([invocation("Oslo")])
    [row] = asyncio.run(result).overall_rubric_scores
    assert "it compares with an expected response" in row.rationale


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tune", "no metric 'tune' is registered"),
        ("count", "the evaluator of 'count' is no LlmAsJudge"),
        ("safety_v1", "the evaluator of 'safety_v1' is no LlmAsJudge"),
    ],
)
def test_what_cannot_be_included_is_said_at_once(name: str, sentence: str) -> None:
    registry = registry_with(count=Counting)
    with pytest.raises(ConfigError, match=sentence):
        judgeharness_adk.register(registry, include=[name])


class Instance(BaseLlm):
    """A model that no registry resolves."""

    says: str = "yes"
    base_url: str | None = None

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        prompt = JudgePrompt("".join(part.text or "" for part in llm_request.contents[0].parts or ()))
        text = answer(prompt, self.says) if prompt.kind != "unknown" else self.says
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, MATCH, HALLUCINATIONS])
def test_a_model_may_be_an_instance(metric: str) -> None:
    registry = MetricEvaluatorRegistry()
    judgeharness_adk.register(registry, models={"my-judge": Instance(model="inner")})
    assert _scored(registry, metric, "my-judge") == 1.0
    other = MetricEvaluatorRegistry()
    judgeharness_adk.register(other)
    assert _scored(other, metric, "my-judge") is None  # what one registers, others do not see


def _scored(registry: MetricEvaluatorRegistry, metric: str, model: str) -> float | None:
    rubrics = ("polite",) if metric == FINAL_RESPONSE else None
    criterion = judge_options(model, rubrics=rubrics, samples=2, judge_harness={"sidecar": False})
    asked = EvalMetric.model_validate({"metric_name": metric, "criterion": criterion})
    done = [invocation("Oslo")]
    result: Any = registry.get_evaluator(asked).evaluate_invocations(done, done)
    return asyncio.run(result).overall_score  # type: ignore[no-any-return]


def test_a_judge_of_ones_own_may_ask_an_instance() -> None:
    registry = registry_with(tone=Tone)
    judgeharness_adk.register(registry, include=[TONE], models={"my-judge": Instance(model="inner", says="0.75")})
    assert _scored(registry, TONE, "my-judge") == 0.75


def identity_with(model: BaseLlm) -> Any:
    registry = MetricEvaluatorRegistry()
    judgeharness_adk.register(registry, models={"my-judge": model})
    asked = {"metric_name": MATCH, "criterion": judge_options("my-judge", rubrics=None)}
    evaluator: Any = registry.get_evaluator(EvalMetric.model_validate(asked))
    return evaluator._made().identity


@pytest.mark.parametrize(
    "made",
    [
        lambda place: Instance(model="inner", base_url=place),
        lambda place: LiteLlm(model="openai/inner", api_base=place, api_key="sk-secret"),
    ],
)
def test_an_instance_elsewhere_is_another_judge(made: Callable[[str], BaseLlm]) -> None:
    first, second = (identity_with(made(f"https://user:secret@{host}/v1?key=secret")) for host in ("one", "two"))
    assert first == identity_with(made("https://one/v1/"))
    assert first.parameters != second.parameters
    assert first.parameters["instance"].endswith("inner) at one/v1")
    assert "secret" not in str(first)


@pytest.mark.parametrize(
    ("models", "sentence"),
    [({"mine": "gemini"}, "'mine' must be a model of ADK's"), ({" ": Instance(model="i")}, "is no name of a model")],
)
def test_what_is_no_model_is_refused(models: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        judgeharness_adk.register(MetricEvaluatorRegistry(), models=models)
