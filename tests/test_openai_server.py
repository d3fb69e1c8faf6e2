"""What the real ChatOpenAI makes of every reply of the loopback server: the table its docstring promises."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Literal

import openai
import pytest
from langchain_classic.evaluation.comparison import LabeledPairwiseStringEvalChain, PairwiseStringEvalChain
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.exceptions import ModelError
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.outputs import ChatGeneration, LLMResult
from support.openai_server import (
    OpenAIServer,
    Reply,
    Request,
    always_first,
    chat_model,
    longer_wins,
    shown_answers,
)
from support.wire_openai import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from langchain_openai import ChatOpenAI

    Method = Literal["json_schema", "json_mode", "function_calling"]
    Ask = Callable[[ChatOpenAI, str], AIMessage]
    Serve = Callable[..., OpenAIServer]

pytestmark = [pytest.mark.untraced, pytest.mark.sampled(2)]  # of a server of the tests

SCHEMA = {
    "title": "Verdict",
    "type": "object",
    "properties": {"winner": {"type": "string"}},
    "required": ["winner"],
}
BY_RESPONSE_FORMAT: tuple[Method, ...] = ("json_schema", "json_mode")
METHODS: tuple[Method, ...] = (*BY_RESPONSE_FORMAT, "function_calling")


def invoke(model: ChatOpenAI, prompt: str) -> AIMessage:
    return model.invoke(prompt)


def ainvoke(model: ChatOpenAI, prompt: str) -> AIMessage:
    return asyncio.run(model.ainvoke(prompt))


@pytest.fixture(params=[invoke, ainvoke])
def ask(request: pytest.FixtureRequest) -> Ask:
    ask: Ask = request.param
    return ask


class Ends(BaseCallbackHandler):
    """Keeps what `on_llm_end` was given, and the thread it ran in."""

    def __init__(self, *, run_inline: bool = False) -> None:
        self.run_inline = run_inline
        self.results: list[LLMResult] = []
        self.messages: list[AIMessage] = []
        self.threads: list[threading.Thread] = []

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        self.results.append(response)
        self.threads.append(threading.current_thread())
        self.messages += messages_of(response)


def messages_of(result: LLMResult) -> list[AIMessage]:
    generations = [generation for generation in result.generations[0] if isinstance(generation, ChatGeneration)]
    return [generation.message for generation in generations if isinstance(generation.message, AIMessage)]


def structured(server: OpenAIServer, method: Method, *callbacks: BaseCallbackHandler) -> dict[str, Any]:
    judge = chat_model(server).with_structured_output(SCHEMA, method=method, include_raw=True)
    answer: dict[str, Any] = judge.invoke("Which wins? Answer in json.", config={"callbacks": list(callbacks)})
    return answer


def added_up(stream: Iterator[AIMessage]) -> AIMessageChunk:
    chunks = [chunk for chunk in stream if isinstance(chunk, AIMessageChunk)]
    assert len(chunks) > 2
    return add_ai_message_chunks(chunks[0], *chunks[1:])


# answers


def test_a_text_comes_back_with_id_model_usage_and_finish_reason(openai_server: Serve, ask: Ask) -> None:
    message = ask(chat_model(openai_server([Reply.text("three word answer")]), model="gpt-4o-mini-test"), "two words")

    assert message.content == "three word answer"
    assert message.response_metadata["id"].startswith("chatcmpl-")
    assert message.response_metadata["model_name"] == "gpt-4o-mini-test"
    assert message.response_metadata["finish_reason"] == "stop"
    assert message.usage_metadata is not None
    assert {key: message.usage_metadata[key] for key in ("input_tokens", "output_tokens", "total_tokens")} == {
        "input_tokens": 2,
        "output_tokens": 3,
        "total_tokens": 5,
    }


def test_every_call_has_its_own_id(openai_server: Serve) -> None:
    model = chat_model(openai_server([Reply.text("same")]))
    assert len({model.invoke("same").response_metadata["id"] for _ in range(3)}) == 3


def test_a_list_of_replies_is_given_in_order_of_arrival_and_over_again(openai_server: Serve) -> None:
    model = chat_model(openai_server([Reply.text("a"), Reply.text("b")]))
    assert [model.invoke("x").content for _ in range(5)] == ["a", "b", "a", "b", "a"]


def test_a_script_without_replies_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        OpenAIServer([])


def test_a_stream_adds_up_to_the_same_message(openai_server: Serve) -> None:
    server = openai_server([Reply.text("one  two\nthree")])
    whole = added_up(chat_model(server, stream_usage=True).stream("say"))

    assert server.requests[0].stream
    assert whole.content == "one  two\nthree"
    assert whole.response_metadata["finish_reason"] == "stop"
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["total_tokens"] == 4


def test_a_streamed_tool_call_adds_up_to_its_arguments(openai_server: Serve) -> None:
    judge = chat_model(openai_server([Reply.json({"winner": "A"})])).bind_tools([SCHEMA], tool_choice="Verdict")
    whole = added_up(judge.stream("say"))

    assert [(call["name"], call["args"]) for call in whole.tool_calls] == [("Verdict", {"winner": "A"})]


def test_the_models_are_listed(openai_server: Serve) -> None:
    client = openai.OpenAI(base_url=f"{openai_server([Reply.text('x')]).url}/v1", api_key="test", max_retries=0)
    with client:
        assert "gpt-4o-test" in [model.id for model in client.models.list()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("reply", "content", "refusal", "finish_reason"),
    [
        (Reply.refusal("No."), "", "No.", "stop"),
        (Reply.content_filter("half"), "half", None, "content_filter"),
        (Reply.truncated("half"), "half", None, "length"),
        (Reply.json({"a": 1}), '{"a": 1}', None, "stop"),
    ],
)
def test_unusual_ends_are_told_on_the_message(
    openai_server: Serve, ask: Ask, *, reply: Reply, content: str, refusal: str | None, finish_reason: str
) -> None:
    message = ask(chat_model(openai_server([reply])), "x")

    assert message.content == content
    assert message.additional_kwargs["refusal"] == refusal
    assert message.response_metadata["finish_reason"] == finish_reason


# failures


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("code", "expected", "retryable"),
    [
        (400, openai.BadRequestError, False),
        (401, openai.AuthenticationError, False),
        (403, openai.PermissionDeniedError, False),
        (404, openai.NotFoundError, False),
        (408, openai.APIStatusError, None),
        (409, openai.ConflictError, None),
        (422, openai.UnprocessableEntityError, None),
        (429, openai.RateLimitError, True),
        (500, openai.InternalServerError, True),
        (503, openai.InternalServerError, True),
    ],
)
def test_a_status_raises_its_class_with_the_headers(
    openai_server: Serve, ask: Ask, *, code: int, expected: type[openai.APIStatusError], retryable: bool | None
) -> None:
    server = openai_server([Reply.status(code, retry_after=0.05, retry_after_ms=50, headers={"x-extra": "1"})])
    with pytest.raises(expected) as caught:
        ask(chat_model(server), "x")

    error = caught.value
    assert error.status_code == code
    assert error.response.headers["retry-after"] == "0.05"
    assert error.response.headers["retry-after-ms"] == "50"
    assert error.response.headers["x-extra"] == "1"
    assert error.request_id == "req_0"
    assert isinstance(error.body, dict)
    assert error.body["message"] == "scripted failure"
    assert getattr(error, "is_retryable", None) is retryable
    assert isinstance(error, ModelError) is (retryable is not None)
    assert type(error.__cause__) is (expected if retryable is not None else type(None))


def test_the_error_code_is_told(openai_server: Serve) -> None:
    server = openai_server([Reply.status(429, error_code="insufficient_quota"), Reply.status(429)])
    for code in ("insufficient_quota", "rate_limit_exceeded"):
        with pytest.raises(openai.RateLimitError) as caught:
            chat_model(server).invoke("x")
        assert caught.value.code == code
        assert "retry-after" not in caught.value.response.headers


@pytest.mark.parametrize("reply", [Reply.reset(), Reply.half_closed()])
def test_a_severed_connection_raises_a_connection_error(openai_server: Serve, ask: Ask, reply: Reply) -> None:
    with pytest.raises(openai.APIConnectionError) as caught:
        ask(chat_model(openai_server([reply])), "x")

    assert not isinstance(caught.value, openai.APITimeoutError)
    assert not hasattr(caught.value, "status_code")
    assert not hasattr(caught.value, "response")
    assert caught.value.is_retryable  # type: ignore[attr-defined]


def test_a_server_that_is_gone_raises_a_connection_error(ask: Ask) -> None:
    with OpenAIServer([Reply.text("x")]) as server:
        model = chat_model(server)
    with pytest.raises(openai.APIConnectionError):
        ask(model, "x")


def test_a_late_answer_raises_a_timeout_and_does_not_hold_up_the_end(ask: Ask) -> None:
    started = time.monotonic()
    with OpenAIServer([Reply.timeout(60)]) as server, pytest.raises(openai.APITimeoutError) as caught:
        ask(chat_model(server, timeout=0.1), "x")

    assert time.monotonic() - started < 30
    assert not hasattr(caught.value, "status_code")
    assert caught.value.is_retryable  # type: ignore[attr-defined]


def test_a_delayed_answer_arrives(openai_server: Serve, ask: Ask) -> None:
    started = time.monotonic()
    assert ask(chat_model(openai_server([Reply.text("late", delay=0.1)])), "x").content == "late"
    assert time.monotonic() - started >= 0.1


def test_a_page_of_html_raises_a_value_error(openai_server: Serve, ask: Ask) -> None:
    with pytest.raises(ValueError, match="Unexpected response type") as caught:
        ask(chat_model(openai_server([Reply.garbage()])), "x")
    assert not hasattr(caught.value, "response")


@pytest.mark.parametrize("reply", [Reply.empty(), Reply.malformed()])
def test_a_body_that_is_no_json_raises_a_decode_error(openai_server: Serve, ask: Ask, reply: Reply) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        ask(chat_model(openai_server([reply])), "x")
    assert caught.value.response.status_code == 200  # type: ignore[attr-defined]


def test_the_clients_own_retries_find_the_next_reply(openai_server: Serve, ask: Ask) -> None:
    server = openai_server(
        [Reply.status(429, retry_after_ms=1), Reply.status(503, retry_after_ms=1), Reply.text("at last")]
    )
    assert ask(chat_model(server, max_retries=2), "x").content == "at last"
    assert server.calls == 3


def test_an_exception_of_the_script_is_raised_when_the_server_stops() -> None:
    def broken(request: Request) -> Reply:
        raise LookupError(request.user)

    server = OpenAIServer(broken)
    with pytest.raises(LookupError, match="which one"), server:  # noqa: PT012 - the exit is what raises
        with pytest.raises(openai.InternalServerError, match="LookupError"):
            chat_model(server).invoke("which one")
        assert server.calls == 1


def test_an_exception_of_the_test_is_not_hidden_by_one_of_the_script() -> None:
    def broken(request: Request) -> Reply:
        raise LookupError(request.user)

    with pytest.raises(openai.InternalServerError), OpenAIServer(broken) as server:
        chat_model(server).invoke("x")


# what was asked


def test_a_request_shows_what_the_model_sent(openai_server: Serve) -> None:
    server = openai_server([Reply.text("x")])
    parts: list[str | dict[str, Any]] = [{"type": "text", "text": "first "}, {"type": "text", "text": "second"}]
    chat_model(server, temperature=0.3).invoke([("system", "be fair"), ("human", parts), ("ai", "so far")])

    (request,) = server.requests
    assert request.number == 0
    assert [message["role"] for message in request.messages] == ["system", "user", "assistant"]
    assert (request.system, request.user) == ("be fair", "first second")
    assert request.text == "be fair\nfirst second\nso far"
    assert (request.model, request.temperature) == ("gpt-4o-test", 0.3)
    assert (request.response_format, request.tools, request.tool_choice, request.stream) == (None, [], None, False)
    assert request.body["messages"] == request.messages
    assert request.headers["authorization"] == "Bearer test"


def test_reset_forgets_and_starts_the_replies_again(openai_server: Serve) -> None:
    server = openai_server([Reply.text("a"), Reply.text("b")])
    model = chat_model(server)
    model.invoke("x")
    server.reset()

    assert (server.calls, server.requests, server.in_flight_max) == (0, [], 0)
    assert model.invoke("x").content == "a"
    assert server.in_flight_max == 1


def test_a_body_that_is_no_json_is_a_bad_request(openai_server: Serve) -> None:
    server = openai_server([Reply.text("x")])
    call = urllib.request.Request(f"{server.url}/v1/chat/completions", data=b"{", method="POST")  # noqa: S310
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.HTTPError) as caught:
        opener.open(call)
    with caught.value:
        assert caught.value.code == 400
    assert server.calls == 0


# structured output


@pytest.mark.parametrize("method", METHODS)
def test_json_is_a_structured_answer_by_every_method(openai_server: Serve, method: Method) -> None:
    server = openai_server([Reply.json({"winner": "A"})])
    answer = structured(server, method)

    assert answer["parsed"] == {"winner": "A"}
    assert answer["parsing_error"] is None
    by_tool = method == "function_calling"
    assert bool(answer["raw"].tool_calls) is by_tool
    assert (server.requests[0].response_format is None) is by_tool
    assert server.requests[0].forced_tool == ("Verdict" if by_tool else None)


def test_a_required_tool_is_called(openai_server: Serve) -> None:
    judge = chat_model(openai_server([Reply.json({"winner": "B"})])).bind_tools([SCHEMA], tool_choice="required")
    message = judge.invoke("x")

    assert [(call["name"], call["args"]) for call in message.tool_calls] == [("Verdict", {"winner": "B"})]
    assert message.response_metadata["finish_reason"] == "tool_calls"


def test_a_free_choice_of_tools_is_answered_in_text(openai_server: Serve) -> None:
    message = chat_model(openai_server([Reply.json({"winner": "B"})])).bind_tools([SCHEMA]).invoke("x")
    assert (message.content, message.tool_calls) == ('{"winner": "B"}', [])


@pytest.mark.parametrize("method", METHODS)
def test_a_refusal_leaves_nothing_parsed(openai_server: Serve, method: Method) -> None:
    ends = Ends()
    answer = structured(openai_server([Reply.refusal("No.")]), method, ends)

    assert answer["parsed"] is None
    assert answer["raw"].additional_kwargs["refusal"] == "No."
    if method in BY_RESPONSE_FORMAT:  # of LangChain 1.8 on a refusal of its own kind
        assert type(answer["parsing_error"]).__name__ in {"OutputParserException", "OpenAIRefusalError"}
    (message,) = ends.messages
    assert message.content == ""
    assert message.additional_kwargs["refusal"] == "No."


@pytest.mark.parametrize("method", BY_RESPONSE_FORMAT)
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply.truncated('{"winn'), openai.LengthFinishReasonError),
        (Reply.content_filter('{"winn'), openai.ContentFilterFinishReasonError),
        (Reply.garbage(), AttributeError),
    ],
)
def test_a_response_format_raises_though_raw_was_asked_for(
    openai_server: Serve, method: Method, reply: Reply, expected: type[Exception]
) -> None:
    with pytest.raises(expected) as caught:
        structured(openai_server([reply]), method)
    assert caught.value.response.status_code == 200  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("reply", "finish_reason"),
    [
        (Reply.truncated('{"winn'), "length"),
        (Reply.content_filter(), "content_filter"),
        (Reply.text("A wins"), "stop"),
    ],
)
def test_a_missing_tool_call_is_no_error_at_all(openai_server: Serve, reply: Reply, finish_reason: str) -> None:
    answer = structured(openai_server([reply]), "function_calling")

    assert answer["parsed"] is None
    refused = {"OpenAIRefusalError"} if finish_reason == "content_filter" else set()  # so called by LangChain 1.8 on
    assert type(answer["parsing_error"]).__name__ in {"NoneType", *refused}
    assert answer["raw"].response_metadata["finish_reason"] == finish_reason
    assert bool(answer["raw"].invalid_tool_calls) is (finish_reason == "length")


# concurrency and event loops


@pytest.mark.slow
def test_in_flight_max_is_the_clients_concurrency(openai_server: Serve) -> None:
    server = openai_server([Reply.text("x", delay=0.2)])
    model = chat_model(server)

    async def several() -> None:
        allowed = asyncio.Semaphore(4)

        async def one() -> None:
            async with allowed:
                await model.ainvoke("x")

        await asyncio.gather(*(one() for _ in range(12)))

    asyncio.run(several())
    assert server.in_flight_max == 4
    assert [request.number for request in server.requests] == list(range(12))


async def gather(model: ChatOpenAI, calls: int) -> list[object]:
    return await asyncio.gather(*(model.ainvoke("x") for _ in range(calls)), return_exceptions=True)


@pytest.mark.skipif(int(openai.__version__.split(".")[0]) < 3, reason="openai 2 ends otherwise")
@pytest.mark.parametrize("calls", [1, 8])
@pytest.mark.parametrize("max_retries", [0, 2])
def test_a_second_loop_loses_the_answers_but_not_the_requests(
    openai_server: Serve, calls: int, max_retries: int
) -> None:
    server = openai_server([Reply.text("x", delay=0.02)])
    asyncio.run(gather(chat_model(server), calls))
    lost = asyncio.run(gather(chat_model(server, max_retries=max_retries), calls))  # the pool is shared by models

    assert {(type(error), str(error)) for error in lost} == {(RuntimeError, "Event loop is closed")}
    deadline = time.monotonic() + 10
    while server.calls < 2 * calls and time.monotonic() < deadline:  # they left the client, and are still to be read
        time.sleep(0.01)
    assert server.calls == 2 * calls
    assert {type(answer).__name__ for answer in asyncio.run(gather(chat_model(server), calls))} == {"AIMessage"}


@pytest.mark.slow
def test_one_loop_kept_alive_reuses_connections(openai_server: Serve) -> None:
    model = chat_model(openai_server([Reply.text("x")]))
    with asyncio.Runner() as runner:
        answers = [answer for _ in range(3) for answer in runner.run(gather(model, 4))]
    assert {type(answer).__name__ for answer in answers} == {"AIMessage"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("reply", [Reply.text("x"), Reply.status(500), Reply.garbage()])
def test_without_keep_alive_any_loop_will_do(openai_server: Serve, reply: Reply) -> None:
    model = chat_model(openai_server([reply], keep_alive=False))
    answers = [answer for _ in range(3) for answer in asyncio.run(gather(model, 4))]
    assert "Event loop is closed" not in {str(answer) for answer in answers}


def test_without_keep_alive_a_stream_ends_its_connection(openai_server: Serve) -> None:
    model = chat_model(openai_server([Reply.text("a b")], keep_alive=False))

    async def streamed() -> str:
        return "".join([str(chunk.content) async for chunk in model.astream("x")])

    assert [asyncio.run(streamed()) for _ in range(3)] == ["a b"] * 3


@pytest.mark.slow
def test_threads_share_a_server_and_a_model(openai_server: Serve) -> None:
    server = openai_server(lambda request: Reply.text(request.user))
    model = chat_model(server)
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda name=name: answers.append(str(model.invoke(f"{name}").content)))
        for name in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(int, answers)) == list(range(16))
    assert server.calls == 16


def test_the_port_is_free_once_the_server_stopped() -> None:
    with OpenAIServer([Reply.text("x")]) as server:
        chat_model(server).invoke("x")
    port = int(server.url.rpartition(":")[2])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert "openai-server" not in {thread.name for thread in threading.enumerate()}


# what LangChain's callbacks see


def test_the_providers_id_is_in_response_metadata_and_llm_output(openai_server: Serve) -> None:
    ends = Ends()
    message = chat_model(openai_server([Reply.text("x")])).invoke("x", config={"callbacks": [ends]})

    assert ends.results[0].llm_output is not None
    assert ends.results[0].llm_output["id"] == message.response_metadata["id"]
    assert message.id is not None
    assert message.id.startswith("lc_run--")


def test_a_cache_hit_has_no_llm_output_and_costs_nothing(openai_server: Serve, ask: Ask) -> None:
    server = openai_server([Reply.text("x")])
    fresh, hit = Ends(run_inline=True), Ends(run_inline=True)
    cache = InMemoryCache()
    for ends in (fresh, hit):
        ask(chat_model(server, cache=cache, callbacks=[ends]), "x")

    assert server.calls == 1
    assert fresh.results[0].llm_output
    assert not hit.results[0].llm_output
    paid, free = (ends.messages[0].model_dump() for ends in (fresh, hit))
    assert paid["id"] == free["id"]
    assert paid["response_metadata"] == free["response_metadata"]
    assert free["usage_metadata"] == {**paid["usage_metadata"], "total_cost": 0}
    assert "total_cost" not in paid["usage_metadata"]
    # the cache keeps the generations of the fresh result, and a hit writes to them: only `on_llm_end` saw the truth
    assert messages_of(fresh.results[0]) == messages_of(hit.results[0])


@pytest.mark.parametrize("run_inline", [True, False])
def test_run_inline_keeps_a_sync_handler_in_the_loops_thread(openai_server: Serve, *, run_inline: bool) -> None:
    ends = Ends(run_inline=run_inline)
    asyncio.run(chat_model(openai_server([Reply.text("x")])).ainvoke("x", config={"callbacks": [ends]}))
    assert (ends.threads == [threading.current_thread()]) is run_inline


# scripted judges


def pairwise(server: OpenAIServer, first: str, second: str, **options: Any) -> dict[str, Any]:
    chain = LabeledPairwiseStringEvalChain if options else PairwiseStringEvalChain
    evaluator = chain.from_llm(chat_model(server))
    verdict: dict[str, Any] = evaluator.evaluate_string_pairs(
        input="Why?", prediction=first, prediction_b=second, **options
    )
    return verdict


@pytest.mark.parametrize("options", [{}, {"reference": "Because."}])
def test_shown_answers_are_the_two_of_the_classic_prompt(openai_server: Serve, options: dict[str, str]) -> None:
    server = openai_server(longer_wins)
    pairwise(server, "short\n\nof two lines", "[B]", **options)
    assert shown_answers(server.requests[0]) == ("short\n\nof two lines", "[B]")


def test_shown_answers_refuses_another_prompt() -> None:
    body = {"messages": [{"role": "user", "content": "hello"}]}
    request = Request(number=3, body=body, headers={}, path=OpenAIChat.path, wire=OpenAIChat())
    with pytest.raises(ValueError, match=re.escape("no pair of answers in request 3: 'hello'")):
        shown_answers(request)


@pytest.mark.parametrize(("first", "second", "verdict"), [("aa", "b", "A"), ("a", "bb", "B"), ("a", "b", None)])
def test_longer_wins_wherever_it_is_shown(openai_server: Serve, first: str, second: str, verdict: str | None) -> None:
    assert pairwise(openai_server(longer_wins), first, second)["value"] == verdict


def test_always_first_is_not_moved_by_a_swap(openai_server: Serve) -> None:
    server = openai_server(always_first)
    assert [pairwise(server, *pair)["value"] for pair in (("a", "bb"), ("bb", "a"))] == ["A", "A"]


def test_a_tool_the_model_chooses_is_called(openai_server: Serve) -> None:
    judge = chat_model(openai_server([Reply.tool_call("Verdict", {"winner": "A"})])).bind_tools([SCHEMA])
    for message in (invoke(judge, "x"), ainvoke(judge, "x")):
        assert [(call["name"], call["args"]) for call in message.tool_calls] == [("Verdict", {"winner": "A"})]
        assert message.response_metadata["finish_reason"] == "tool_calls"
