"""The judge's model: what is asked, what its answers and failures become."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai.types import (
    Content,
    FinishReason,
    GenerateContentConfig,
    GenerateContentResponseUsageMetadata,
    HttpOptions,
    HttpRetryOptions,
    Part,
)
from pydantic import BaseModel
from support.adk_offline import isolated_adk

from judgeharness_adk.models import JudgeModel, answer_of, config_of, model_rewriter
from judgeharness_adk.options import judge_from_spec
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_integrations.judging.execution.retrying import is_transient


class Replying(BaseLlm):
    """Gives its responses one after the other."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["replying"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        REQUESTS.append(llm_request)
        for response in RESPONSES:
            yield response


REQUESTS: list[LlmRequest] = []
RESPONSES: list[LlmResponse] = []


@pytest.fixture(autouse=True)
def _adk(tmp_path: Any) -> Iterator[None]:
    with isolated_adk(tmp_path):
        LLMRegistry.register(Replying)
        REQUESTS.clear()
        yield


def says(*texts: str, **facts: Any) -> LlmResponse:
    content = Content(role="model", parts=[Part(text=text) for text in texts]) if texts else None
    return LlmResponse(content=content, **facts)


def asked(responses: Sequence[LlmResponse], config: GenerateContentConfig | None = None) -> Any:
    RESPONSES[:] = responses
    return asyncio.run(JudgeModel("replying", config).ask("Is it polite?"))


def test_text_model_and_tokens_are_read() -> None:
    usage = GenerateContentResponseUsageMetadata(prompt_token_count=7, candidates_token_count=3)
    reply = asked([says("one", "two", usage_metadata=usage, model_version="replying-001")])
    assert (reply.text, reply.ending, reply.model, reply.tokens) == (
        "one\ntwo",
        "complete",
        "replying-001",
        (7, 3, None, None),
    )
    [request] = REQUESTS
    assert (request.model, request.contents[0].parts[0].text) == ("replying", "Is it polite?")  # type: ignore[index]


def test_the_last_whole_response_counts_and_thoughts_do_not() -> None:
    thought = Content(role="model", parts=[Part(text="hm", thought=True), Part(text="yes")])
    assert asked([says("y", partial=True), LlmResponse(content=thought), says("y", partial=True)]).text == "yes"


@pytest.mark.parametrize("reason", [FinishReason.SAFETY, FinishReason.RECITATION, FinishReason.PROHIBITED_CONTENT])
def test_a_refusal_is_told_from_silence(reason: FinishReason) -> None:
    reply = asked([says(error_code=reason.value, finish_reason=reason)])
    assert (reply.text, reply.finish_reason, reply.ending) == ("", reason.value, "refused")


@pytest.mark.parametrize(
    ("facts", "ending"),
    [
        ({"finish_reason": FinishReason.MAX_TOKENS}, "cut_off"),
        ({"finish_reason": FinishReason.FINISH_REASON_UNSPECIFIED}, "cut_off"),
        ({"finish_reason": FinishReason.STOP}, "complete"),
        ({}, "complete"),
    ],
)
def test_an_answer_without_text_says_nothing(facts: dict[str, Any], ending: str) -> None:
    reply = asked([says(**facts)])
    assert (reply.text, reply.ending) == ("", ending)


@pytest.mark.parametrize(
    ("code", "transient"),
    [("UNAVAILABLE", True), ("RESOURCE_EXHAUSTED", True), ("429", True), ("400", False), ("MALFORMED", False)],
)
def test_an_error_a_model_answers_with_is_raised_and_tried_again_where_that_may_help(
    code: str, *, transient: bool
) -> None:
    with pytest.raises(RuntimeError, match=f"error {code}: try later") as raised:
        asked([says(error_code=code, error_message="try later")])
    assert is_transient(raised.value) == transient


def test_a_text_counts_though_an_empty_response_follows_it() -> None:
    usage = GenerateContentResponseUsageMetadata(prompt_token_count=7)
    reply = asked([says("yes", usage_metadata=usage), says(turn_complete=True)])
    assert (reply.text, *reply.tokens[:2]) == ("yes", 7, None)


def test_a_cut_off_answer_says_so() -> None:
    assert asked([says("Verdict: y", finish_reason=FinishReason.MAX_TOKENS)]).ending == "cut_off"


def test_a_text_that_was_blocked_says_so() -> None:
    assert asked([says("Verdict: yes", finish_reason=FinishReason.SAFETY)]).ending == "refused"


def test_thinking_costs_output_tokens() -> None:
    usage = GenerateContentResponseUsageMetadata(candidates_token_count=5, thoughts_token_count=1_000)
    assert asked([says("yes", usage_metadata=usage)]).tokens.output == 1_005


def test_cached_tokens_are_read_and_thoughts_counted_once() -> None:
    counts = {"prompt_token_count": 2_000, "cached_content_token_count": 1_500, "total_token_count": 2_030}
    usage = GenerateContentResponseUsageMetadata(**counts, candidates_token_count=30, thoughts_token_count=10)
    assert asked([says("yes", usage_metadata=usage)]).tokens == (2_000, 30, 1_500, None)


def test_no_responses_are_no_reply() -> None:
    with pytest.raises(ValueError, match="without a response"):
        answer_of([])


def test_parameters_hold_the_names_of_what_json_cannot_keep() -> None:
    told = JudgeModel("replying", GenerateContentConfig(response_schema=Replying)).parameters
    assert told == {"response_schema": "test_adk_models.Replying"}


def test_no_response_at_all_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="gave no response"):
        asked([says("half", partial=True)])


def test_the_harness_retries_and_the_client_does_not() -> None:
    asked([says("yes")])
    config = REQUESTS[0].config
    assert config.http_options.retry_options.attempts == 0  # type: ignore[union-attr]
    assert config.automatic_function_calling.disable  # type: ignore[union-attr]


def test_retries_somebody_asked_for_stay_and_the_configuration_is_not_changed() -> None:
    own = GenerateContentConfig(http_options=HttpOptions(retry_options=HttpRetryOptions(attempts=3)))
    kept = own.model_copy(deep=True)
    asked([says("yes")], own)
    assert own == kept
    assert REQUESTS[0].config.http_options.retry_options.attempts == 3  # type: ignore[union-attr]


def test_parameters_hold_what_changes_an_answer_and_no_secret() -> None:
    http = HttpOptions(base_url="https://user:pw@host.example:8443/v1/?key=k", headers={"Authorization": "secret"})
    model = JudgeModel("replying", GenerateContentConfig(temperature=0.5, http_options=http))
    assert model.parameters == {"temperature": 0.5, "endpoint": "host.example:8443/v1"}
    assert JudgeModel("replying").parameters == {}


def test_a_tier_is_asked_of_gemini_alone_and_is_no_part_of_the_identity() -> None:
    asked: dict[str, Any] = {"name": "mine", "evaluator": "final_response_match_v2", "evaluator_options": {}}
    standard = JudgeSpec(**asked, model="gemini-2.5-flash", model_options={"temperature": 0.5})
    half = judge_from_spec(replace(standard, tier="flex"))
    assert half.identity == judge_from_spec(standard).identity
    config = half.options.judge_model_config
    assert config is not None
    assert config.service_tier == "flex"
    with pytest.raises(ConfigError, match="only Gemini is asked at tier flex: give it tier: standard"):
        judge_from_spec(replace(standard, model="openai/gpt-4o", tier="flex"))


def test_options_are_checked() -> None:
    assert config_of({"temperature": 0.5}).temperature == 0.5
    with pytest.raises(ConfigError, match=r"model_options\.temperature: Input should be a valid number"):
        config_of({"temperature": "warm"})
    with pytest.raises(ConfigError, match=r"judge_model 'nobody' cannot be made"):
        JudgeModel("nobody")


def test_a_rewriter_rewords_and_is_known_by_model_and_parameters() -> None:
    RESPONSES[:] = [says(" other words ")]
    rewriter: Any = model_rewriter("replying")
    assert asyncio.run(rewriter("these {text} words")) == "other words"
    prompt = REQUESTS[0].contents[0].parts[0].text  # type: ignore[index]
    assert "these {text} words" in str(prompt)
    assert rewriter.__name__ != model_rewriter("replying", {"temperature": 0.1}).__name__  # type: ignore[attr-defined]
    RESPONSES[:] = [says()]
    with pytest.raises(RuntimeError, match="the rewriter gave no text"):
        asyncio.run(rewriter("words"))


class Meddling(Replying):
    """Changes what it is sent, as ADK's classes do."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["meddling"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        before = (llm_request.config.labels, llm_request.config.stop_sequences, len(llm_request.contents))
        assert before == ({"team": "a"}, ["END"], 1)
        [content] = llm_request.contents
        assert content.parts is not None
        assert [part.text for part in content.parts] == ["Well?"]
        http = llm_request.config.http_options
        assert http is not None
        assert http.headers == {"x-own": "1"}
        assert http.headers is not None
        http.headers["x-tracked"] = "1"
        http.api_version = "v9"
        llm_request.config.labels = None
        llm_request.config.stop_sequences.append("more")  # type: ignore[union-attr]
        content.parts[0].text = "changed"
        content.parts.append(Part(text="more"))
        llm_request.contents.append(content)
        llm_request.tools_dict["one"] = None  # type: ignore[assignment]
        async for response in super().generate_content_async(llm_request, stream):
            yield response


def test_what_a_model_changes_of_a_request_stays_in_this_request() -> None:
    LLMRegistry.register(Meddling)
    config = GenerateContentConfig(
        labels={"team": "a"}, stop_sequences=["END"], http_options=HttpOptions(headers={"x-own": "1"})
    )
    RESPONSES[:] = [LlmResponse(content=Content(role="model", parts=[Part(text="yes")]))]
    model = JudgeModel("meddling", config)
    for _ in range(3):
        assert asyncio.run(model.ask("Well?")).text == "yes"
    assert all(list(request.tools_dict) == ["one"] for request in REQUESTS)
    assert config.http_options is not None
    assert config.http_options.headers == {"x-own": "1"}


def test_no_request_holds_a_part_of_another_one() -> None:
    config = GenerateContentConfig(stop_sequences=["END"], response_schema={"type": "OBJECT", "required": ["a"]})
    RESPONSES[:] = [LlmResponse(content=Content(role="model", parts=[Part(text="yes")]))]
    model = JudgeModel("replying", config)
    for prompt in ("Well?", "Well?", "And?"):
        asyncio.run(model.ask(prompt))
    first, second, third = REQUESTS
    assert first == second != third
    assert not {id(part) for part in _changeable(first)} & {id(part) for part in _changeable(second)}
    first.live_connect_config.system_instruction = "for this request alone"
    first._dynamic_instructions.append("for this request alone")
    first.config.response_schema["required"].append("b")  # type: ignore[index, union-attr, call-overload]
    assert second.live_connect_config.system_instruction is third.live_connect_config.system_instruction is None
    assert second._dynamic_instructions == third._dynamic_instructions == []
    assert config.response_schema == {"type": "OBJECT", "required": ["a"]}
    asyncio.run(model.ask("Well?"))
    assert REQUESTS[3] == second
    assert REQUESTS[3].model_fields_set == second.model_fields_set == {"model", "contents", "config", "tools_dict"}


def _changeable(value: Any) -> Iterator[Any]:
    """Yield the models and containers of a value, but for what all models of a kind share."""
    if isinstance(value, BaseModel):
        yield value
        for part in (*vars(value).values(), value.__pydantic_private__, value.model_fields_set):
            yield from _changeable(part)
    elif isinstance(value, (list, set, dict)):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _changeable(part)


def test_a_request_goes_to_the_model_the_class_names_now() -> None:
    RESPONSES[:] = [LlmResponse(content=Content(role="model", parts=[Part(text="yes")]))]
    llm = Replying(model="replying")
    model = JudgeModel("replying", instance=llm)
    asyncio.run(model.ask("Well?"))
    llm.model = "replying-2"
    asyncio.run(model.ask("Well?"))
    assert [request.model for request in REQUESTS] == ["replying", "replying-2"]


class Copying(GenerateContentConfig):
    """Says itself how it is copied."""

    def __copy__(self) -> Copying:
        COPIES.append("copied")
        return super().__copy__()


COPIES: list[str] = []


def test_a_model_of_ones_own_is_copied_as_it_says() -> None:
    RESPONSES[:] = [LlmResponse(content=Content(role="model", parts=[Part(text="yes")]))]
    model = JudgeModel("replying", Copying(temperature=0.5))
    COPIES.clear()
    for _ in range(2):
        asyncio.run(model.ask("Well?"))
    assert [type(request.config) for request in REQUESTS] == [Copying, Copying]
    assert [request.config.temperature for request in REQUESTS] == [0.5, 0.5]
    assert COPIES == ["copied", "copied"]
