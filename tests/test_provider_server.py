"""Every provider's real client reads every answer of the loopback server as it reads the provider's own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import openai
import pytest
from langchain_core.exceptions import ModelError, OutputParserException
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from support.openai_server import chat_model
from support.provider_clients import MODELS
from support.provider_facts import ENDS, TEXT, USAGE, USED, answer_that, fact, usage_details
from support.provider_server import PROVIDERS, Answer, Reply, Request, Tokens, unforceable

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.provider_server import ProviderServer
    from support.provider_wire import Ending

    Serve = Callable[..., ProviderServer]

pytestmark = [pytest.mark.untraced, pytest.mark.sampled(2)]  # of a server of the tests

SCHEMA = {
    "title": "Verdict",
    "description": "Which answer wins.",
    "type": "object",
    "properties": {"winner": {"type": "string"}},
    "required": ["winner"],
    "additionalProperties": False,
}
CUT = '{"winner": "'
each_provider = pytest.mark.parametrize("provider", PROVIDERS)


def asked(server: ProviderServer, provider: str, **options: Any) -> AIMessage:
    message = MODELS[provider](server, **options).invoke("Which wins?")
    assert isinstance(message, AIMessage)
    return message


def structured(server: ProviderServer, provider: str, method: str, **options: Any) -> dict[str, Any]:
    judge = MODELS[provider](server, **options).with_structured_output(SCHEMA, method=method, include_raw=True)
    answer: Any = judge.invoke("Which wins? Answer in json.")
    return dict(answer)


# ends of an answer


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("provider", "ended"), [(provider, ended) for provider in ENDS for ended in ENDS[provider]])
def test_the_message_says_how_the_answer_ended(openai_server: Serve, provider: str, ended: Ending) -> None:
    server = openai_server([Reply.of(answer_that(ended))])
    message = asked(server, provider)

    expected = ENDS[provider][ended]
    assert {path: fact(message, path) for path in expected} == dict(expected)
    assert message.tool_calls == []
    if message.usage_metadata is not None:
        assert (message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"]) == (2000, 30)
    assert [(one.number, one.provider, one.tokens) for one in server.billed] == [(0, provider, USED)]


@pytest.mark.sampled(4)
@each_provider
def test_an_awaited_answer_is_the_same(openai_server: Serve, provider: str) -> None:
    model = MODELS[provider](openai_server([Reply.of(answer_that("cut_off", response_id="1"))]))
    awaited, called = asyncio.run(model.ainvoke("Which wins?")), model.invoke("Which wins?")
    assert str(awaited.text) == str(called.text) == TEXT
    assert {**awaited.response_metadata, "created_at": 0} == {**called.response_metadata, "created_at": 0}
    assert awaited.usage_metadata == called.usage_metadata


@pytest.mark.parametrize("provider", ["openai", "responses"])
def test_a_prompt_that_openai_blocks_is_a_400_and_costs_nothing(openai_server: Serve, provider: str) -> None:
    server = openai_server([Reply.of(answer_that("prompt_blocked"))])
    with pytest.raises(openai.BadRequestError) as raised:
        asked(server, provider)
    assert (raised.value.code, server.calls, server.billed) == ("invalid_prompt", 1, [])


def test_no_choices_raise_a_bare_error_and_only_the_whole_result_has_the_tokens(openai_server: Serve) -> None:
    server = openai_server([Reply.of(answer_that("empty"))])
    with pytest.raises(IndexError):
        asked(server, "openai")

    result = chat_model(server).generate([[HumanMessage("Which wins?")]])
    assert result.generations == [[]]
    assert result.llm_output is not None
    assert result.llm_output["token_usage"]["prompt_tokens_details"]["cached_tokens"] == 1500
    assert len(server.billed) == 2


@pytest.mark.parametrize(
    ("provider", "path", "words"),
    [
        ("openai", "response_metadata.finish_reason", ("LENGTH", "length")),
        ("responses", "response_metadata.incomplete_details.reason", ("MAX_OUTPUT_TOKENS", "max_output_tokens")),
        ("anthropic", "response_metadata.stop_reason", ("MAX_TOKENS", "max_tokens")),
        ("gemini", "response_metadata.finish_reason", ("MAX_TOKENS", "MAX_TOKENS")),  # its client knows it in any case
    ],
)
def test_the_word_may_come_in_upper_and_in_lower_case(
    openai_server: Serve, provider: str, path: str, words: tuple[str, str]
) -> None:
    replies = [Reply.of(answer_that("cut_off", case=case)) for case in ("upper", "lower")]
    server = openai_server(replies)
    assert tuple(fact(asked(server, provider), path) for _ in replies) == words


@pytest.mark.sampled(4)
@pytest.mark.parametrize("word", ["RECITATION", "BLOCKLIST", "SPII", "MALFORMED_FUNCTION_CALL"])
def test_gemini_passes_on_every_word(openai_server: Serve, word: str) -> None:
    message = asked(openai_server([Reply.of(answer_that("blocked", word=word))]), "gemini")
    assert (fact(message, "response_metadata.finish_reason"), message.content) == (word, [])


@pytest.mark.slow
def test_gemini_passes_on_a_word_its_client_does_not_know(openai_server: Serve) -> None:
    model = MODELS["gemini"](openai_server([Reply.of(answer_that("blocked", word="A_WORD_OF_NEXT_YEAR"))]))
    with pytest.warns(UserWarning, match="not a valid"):
        message = model.invoke("Which wins?")
    assert message.response_metadata["finish_reason"] == "A_WORD_OF_NEXT_YEAR"


@pytest.mark.sampled(4)
@each_provider
def test_thinking_is_no_text(openai_server: Serve, provider: str) -> None:
    thinking = None if provider == "openai" else "[[A]]? No."  # chat completions show none
    server = openai_server([Reply.of(answer_that(ended, thinking=thinking)) for ended in ("ok", "refused")])

    assert [str(asked(server, provider).text) for _ in range(2)] == [TEXT, ""]


@each_provider
def test_an_answer_may_be_cut_off_before_its_first_word(openai_server: Serve, provider: str) -> None:
    message = asked(openai_server([Reply.of(answer_that("cut_off", text="", thinking="Let me"))]), provider)
    assert message.text == ""
    ending = ENDS[provider]["cut_off"].items()
    assert all(fact(message, path) == word for path, word in ending if path != "text")


# identity and usage


@each_provider
def test_the_message_has_the_models_name_and_the_id_but_geminis(openai_server: Serve, provider: str) -> None:
    message = asked(openai_server([Reply.of(Answer(text="A", response_id="id-7", model="dated"))]), provider)
    assert message.response_metadata["model_name"] == "dated"
    assert message.response_metadata.get("id") == (None if provider == "gemini" else "id-7")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("provider", "tier"), USAGE)
def test_the_usage_itemises_what_was_cached(openai_server: Serve, provider: str, tier: str | None) -> None:
    message = asked(openai_server([Reply.of(answer_that("ok", tier=tier))]), provider)
    items = {name: count for name, count in usage_details(message).items() if name in USAGE[provider, tier]}
    assert items == USAGE[provider, tier]
    if tier == "flex":
        assert "cache_read" not in usage_details(message) or provider == "gemini"


@pytest.mark.parametrize(
    ("provider", "path", "default"),
    [
        ("openai", "response_metadata.service_tier", "default"),
        ("responses", "response_metadata.service_tier", "default"),
        ("anthropic", "response_metadata.usage.service_tier", "standard"),
    ],
)
def test_the_message_names_the_tier_that_served(openai_server: Serve, provider: str, path: str, default: str) -> None:
    server = openai_server([Reply.text("A"), Reply.of(Answer(text="A", tier="priority"))])
    assert [fact(asked(server, provider), path) for _ in range(2)] == [default, "priority"]
    assert [one.tier for one in server.billed] == [default, "priority"]


def test_the_tier_asked_for_serves_where_the_script_names_none(openai_server: Serve) -> None:
    server = openai_server([Reply.text("A")])
    for provider in ("openai", "responses"):
        assert asked(server, provider, service_tier="flex").response_metadata["service_tier"] == "flex"
    assert [one.tier for one in server.billed] == ["flex", "flex"]


def test_several_choices_are_billed_and_their_message_loses_its_identity(openai_server: Serve) -> None:
    server = openai_server([Reply.of(answer_that("ok"))])
    message = asked(server, "openai", n=3)
    assert message.usage_metadata is not None
    assert message.usage_metadata["output_tokens"] == 90
    assert set(message.response_metadata) == {"finish_reason", "logprobs"}
    assert server.bill() == replace(USED, output=90, reasoning=30)


def test_the_bill_is_exact(openai_server: Serve) -> None:
    """1,000,000 tokens at the price of 1 are 1."""
    script = [
        Reply.of(answer_that("ok")),
        Reply.of(answer_that("cut_off", tier="flex")),
        Reply.status(500),
        Reply.of(answer_that("refused")),
    ]
    server = openai_server(script)
    usages = []
    for _ in script:
        try:
            usages.append(asked(server, "openai").usage_metadata)
        except openai.InternalServerError:
            continue

    full = {"fresh": Fraction(10), "cached": Fraction(1), "written": Fraction(25, 2), "output": Fraction(40)}
    prices = {("gpt-4o-test", "default"): full, ("gpt-4o-test", "flex"): {kind: full[kind] / 2 for kind in full}}
    assert server.calls == 4
    assert server.bill() == Tokens(input=6000, output=90, cached=4500, written=300, reasoning=30)
    assert server.bill().fresh == 1200
    assert [usage["total_tokens"] for usage in usages if usage] == [2030] * 3
    one = Fraction(400 * 10 + 1500 * 1 + 1250 + 30 * 40, 10**6)
    assert server.cost(prices) == one * Fraction(5, 2)


# tools and schemas


@pytest.mark.sampled(2)
@each_provider
@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
def test_arguments_go_to_the_forced_tool_or_else_to_the_text(openai_server: Serve, provider: str, method: str) -> None:
    server = openai_server([Reply.json({"winner": "A"})])
    answer = structured(server, provider, method)
    called = [(call["name"], call["args"]) for call in answer["raw"].tool_calls]

    assert (answer["parsed"], answer["parsing_error"]) == ({"winner": "A"}, None)
    assert called == ([("Verdict", {"winner": "A"})] if method == "function_calling" else [])
    assert server.requests[0].forced_tool == ("Verdict" if method == "function_calling" else None)


@pytest.mark.parametrize(
    ("provider", "parsed", "invalid"),
    [("openai", None, [CUT]), ("responses", None, [CUT]), ("anthropic", {}, []), ("gemini", {}, [])],
)
def test_a_tool_call_cut_off_looks_whole_where_arguments_are_no_text(
    openai_server: Serve, provider: str, parsed: Any, invalid: list[str]
) -> None:
    server = openai_server([Reply.of(answer_that("cut_off", arguments=CUT))])
    answer = structured(server, provider, "function_calling")
    assert (answer["parsed"], answer["parsing_error"]) == (parsed, None)
    assert [call["args"] for call in answer["raw"].invalid_tool_calls] == invalid
    ending = ENDS[provider]["cut_off"].items()
    assert all(fact(answer["raw"], path) == word for path, word in ending if path != "text")


@pytest.mark.parametrize("provider", ["responses", "anthropic", "gemini"])
def test_langchain_completes_json_that_was_cut_off(openai_server: Serve, provider: str) -> None:
    answer = structured(openai_server([Reply.truncated(CUT)]), provider, "json_schema")
    assert (answer["parsed"], answer["parsing_error"]) == ({"winner": ""}, None)


@pytest.mark.parametrize(
    ("ended", "error"),
    [("cut_off", openai.LengthFinishReasonError), ("blocked", openai.ContentFilterFinishReasonError)],
)
def test_openai_raises_json_that_was_cut_off_and_the_answer_is_on_the_error(
    openai_server: Serve, ended: Ending, error: type[Exception]
) -> None:
    server = openai_server([Reply.of(answer_that(ended, arguments=CUT))])
    with pytest.raises(error) as raised:
        structured(server, "openai", "json_schema")
    completion = raised.value.response.json()  # type: ignore[attr-defined]
    assert completion["choices"][0]["message"]["content"] == CUT
    assert completion["usage"]["prompt_tokens"] == 2000
    assert len(server.billed) == 1


@each_provider
def test_a_tool_may_be_called_freely(openai_server: Serve, provider: str) -> None:
    model = MODELS[provider](openai_server([Reply.tool_call("Verdict", {"winner": "B"})]))
    message = model.bind_tools([SCHEMA]).invoke("Which wins?")
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [("Verdict", {"winner": "B"})]


def test_a_model_that_cannot_be_forced_refuses_the_request(openai_server: Serve) -> None:
    server = openai_server(unforceable([Reply.text(TEXT)], refuses=True))
    with pytest.raises(ModelError, match="tool_choice") as raised:
        structured(server, "anthropic", "function_calling")
    assert (raised.value.status_code, raised.value.is_retryable) == (400, False)  # type: ignore[attr-defined]
    assert (server.calls, server.billed) == (1, [])
    assert asked(server, "anthropic").text == TEXT


@each_provider
def test_a_model_that_cannot_be_forced_may_answer_in_text(openai_server: Serve, provider: str) -> None:
    server = openai_server(unforceable([Reply.text(TEXT)], refuses=False))
    answer = structured(server, provider, "function_calling")
    assert (answer["parsed"], answer["parsing_error"], answer["raw"].text) == (None, None, TEXT)


@pytest.mark.parametrize("options", [{"model": "claude-opus-5-5"}, {"thinking": {"type": "adaptive"}}])
def test_langchain_anthropic_forces_no_tool_of_claude_5_and_loses_an_answer_in_text(
    openai_server: Serve, options: dict[str, Any]
) -> None:
    server = openai_server(unforceable([Reply.text(TEXT), Reply.tool_call("Verdict", {"winner": "A"})], refuses=True))
    with pytest.warns(UserWarning, match="forced tool calling"), pytest.raises(OutputParserException):
        structured(server, "anthropic", "function_calling", **options)
    assert (server.requests[0].forced_tool, len(server.billed)) == (None, 1)

    with pytest.warns(UserWarning, match="forced tool calling"):
        assert structured(server, "anthropic", "function_calling", **options)["parsed"] == {"winner": "A"}


# requests and errors


@each_provider
def test_a_request_is_kept_with_its_texts(openai_server: Serve, provider: str) -> None:
    server = openai_server([Reply.text("A")])
    asyncio.run(
        MODELS[provider](server, model="the-model").ainvoke([SystemMessage("Be fair."), HumanMessage("A or B?")])
    )
    request = server.requests[0]
    assert isinstance(request, Request)
    assert (request.wire.provider, request.model) == (provider, "the-model")
    assert (request.system, request.user, request.text) == ("Be fair.", "A or B?", "Be fair.\nA or B?")
    assert server.bill() == Tokens(input=5, output=1)


@pytest.mark.sampled(5)
@each_provider
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_an_error_says_whether_it_heals_and_costs_nothing(openai_server: Serve, provider: str, status: int) -> None:
    server = openai_server([Reply.status(status, retry_after=2)])
    with pytest.raises(ModelError) as raised:
        asked(server, provider)
    error: Any = raised.value
    assert (error.is_retryable, server.calls, server.billed) == (status >= 429, 1, [])
    if provider == "gemini":  # 4xx: LangChain's own class, the client's is its cause
        assert not hasattr(error, "status_code")
        assert error.__cause__.code == status
        assert error.__cause__.response.headers["retry-after"] == "2"
    else:
        assert (error.status_code, error.response.headers["retry-after"]) == (status, "2")


def test_anthropic_is_overloaded_in_its_own_words(openai_server: Serve) -> None:
    with pytest.raises(ModelError, match="overloaded_error") as raised:
        asked(openai_server([Reply.overloaded()]), "anthropic")
    error: Any = raised.value
    assert (error.status_code, error.is_retryable) == (529, True)


def test_a_provider_that_does_not_stream_here_says_so(openai_server: Serve) -> None:
    """Its test gets the error when the server stops."""
    server = openai_server([Reply.text("A")])
    with pytest.raises(ModelError):
        list(MODELS["anthropic"](server).stream("Which wins?"))
