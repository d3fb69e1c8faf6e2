"""A chat model of LangChain that answers prompts with JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from support.openai_server import OpenAIServer, Reply, Request, chat_model
from support.provider_wire import Answer, Tokens

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.usage import Price, billed
from judgeharness_integrations.benchmark.asker import Asker, AskError, UnreadableError
from judgeharness_integrations.benchmark.folder import Journal
from judgeharness_integrations.judging import adapters
from judgeharness_integrations.judging.chatmodels import ChatModel, Completion, Prompt, parsed_object
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_langchain.models import LangChainModel

Serve = Callable[..., OpenAIServer]
SCHEMA = {
    "title": "plan",
    "type": "object",
    "properties": {"sketch": {"type": "string"}, "turn": {"type": ["integer", "null"]}},
    "required": ["sketch", "turn"],
    "additionalProperties": False,
}
PROMPT = Prompt(step="plan", system="You plan.", user="Plan it.", schema=SCHEMA)
PLAN = {"sketch": "so", "turn": 2}


def complete(model: ChatModel, prompt: Prompt = PROMPT) -> Completion:
    return run_sync(model.complete(prompt))


def own(server: OpenAIServer, **options: Any) -> LangChainModel:
    output = options.pop("output", "auto")
    return LangChainModel(chat_model(server, temperature=0.5, **options), output=output)


def test_structured_output_is_asked_for_by_the_schema(openai_server: Serve) -> None:
    server = openai_server([Reply.json(PLAN)])
    model = own(server)
    answer = complete(model)
    assert (parsed_object(answer), answer.ended, answer.cached) == (PLAN, "ok", False)
    assert answer.input_tokens
    assert answer.output_tokens
    assert answer.model == model.name == "gpt-4o-test"
    request = server.requests[0]
    assert request.schema is not None
    assert request.schema["properties"] == SCHEMA["properties"]
    assert (request.system, request.user) == ("You plan.", "Plan it.")
    assert isinstance(model, ChatModel)
    assert model.parameters["output"] == "auto"
    assert model.parameters["temperature"] == 0.5
    assert "test" not in str(model.parameters.get("api_key"))


def test_the_arguments_of_a_tool_are_the_answer(openai_server: Serve) -> None:
    server = openai_server([Reply.tool_call("plan", PLAN)])
    answer = complete(own(server, output="function_calling"))
    assert answer.parsed == PLAN
    assert parsed_object(Completion(text=answer.text)) == PLAN  # what is kept can be read by people
    assert server.requests[0].forced_tool == "plan"


@pytest.mark.slow
@pytest.mark.parametrize(("output", "form"), [("text", None), ("json_mode", {"type": "json_object"})])
def test_the_schema_is_shown_where_it_is_not_sent(openai_server: Serve, output: str, form: Any) -> None:
    server = openai_server([Reply.json(PLAN)])
    answer = complete(own(server, output=output))
    assert parsed_object(answer) == PLAN
    assert server.requests[0].response_format == form
    assert '"additionalProperties": false' in server.requests[0].system


@pytest.mark.slow
def test_a_model_that_turns_out_to_have_no_structured_output_is_asked_for_text_from_then_on(
    openai_server: Serve,
) -> None:
    def plain(request: Request) -> Reply:
        if request.schema is not None:
            return Reply.status(400, message="response_format is not supported by this model")
        return Reply.text(f"```json\n{request.number}\n```" if request.number == 2 else '{"sketch": "t", "turn": null}')

    server = openai_server(plain)
    model = own(server)
    assert parsed_object(complete(model)) == {"sketch": "t", "turn": None}
    assert parsed_object(complete(model)) is None  # no object
    assert server.calls == 3
    refusing = own(openai_server(plain), output="json_schema")
    with pytest.raises(Exception, match="response_format is not supported"):
        complete(refusing)


def test_a_model_without_tools_is_asked_for_text() -> None:
    model = LangChainModel(FakeListChatModel(responses=['{"sketch": "f", "turn": 1}']))
    assert parsed_object(complete(model)) == {"sketch": "f", "turn": 1}
    assert model.name == "FakeListChatModel"
    named = LangChainModel(FakeListChatModel(responses=["x"]), output="function_calling")
    with pytest.raises(UsageError, match="has no output 'function_calling': use output: text"):
        complete(named)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        (Reply.refusal("I will not."), "refused"),
        (Reply.content_filter(), "refused"),
        (Reply.truncated('{"sketch": "half'), "truncated"),
    ],
)
@pytest.mark.parametrize("output", ["auto", "text"])
def test_answers_that_ended_early_say_so(openai_server: Serve, reply: Reply, ended: str, output: str) -> None:
    answer = complete(own(openai_server([reply]), output=output))
    assert answer.ended == ended
    assert answer.parsed is None
    if ended == "truncated":
        assert answer.output_tokens  # it was paid for


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", ["Here you are: {", '{"sketch": "half', '{"sketch": "so", "turn": 2'])
@pytest.mark.parametrize("output", ["auto", "json_mode"])
def test_an_answer_that_is_no_json_is_text_and_nobody_completes_it(
    openai_server: Serve, text: str, output: str
) -> None:
    answer = complete(own(openai_server([Reply.text(text)]), output=output))
    assert (answer.text, answer.parsed) == (text, None)
    assert parsed_object(answer) is None


def test_other_errors_pass_through(openai_server: Serve) -> None:
    with pytest.raises(Exception, match="no such model"):
        complete(own(openai_server([Reply.status(404, message="no such model")])))


def read(found: Any) -> Any:
    if not found.get("sketch"):
        raise UnreadableError("no sketch")
    return found


def asker(folder: Path, **budget: Any) -> Asker:
    return Asker(journal=Journal(folder / "answers.sqlite"), budget=Budget(**budget))


def test_a_server_that_is_busy_is_asked_again_and_the_answer_kept(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server([Reply.status(429, retry_after=0.01), Reply.json(PLAN)])
    asking = asker(tmp_path, max_cost=1, prices={"gpt-4o-test": Price(input=1, output=1)})
    for _ in range(2):
        answer = run_sync(asking.ask(own(server), PROMPT, item="pair-00001", read=read))
        assert (answer.value, answer.answers) == (PLAN, 1)
    assert server.calls == 2
    assert asking.budget.cost
    asking.journal.close()


def test_the_journal_counts_what_replies_without_an_answer_took(openai_server: Serve, tmp_path: Path) -> None:
    used, prices = Tokens(input=2000, output=10, cached=1500), {"*": Price(input=2.5, output=10.0, cached_input=0.25)}
    empty, said = Reply.of(Answer(ended="empty", tokens=used)), Reply.of(Answer(arguments=PLAN, tokens=used))
    server, asking = openai_server([empty, said, empty, empty]), asker(tmp_path, prices=prices)
    asking.policy = CallPolicy(max_attempts=2)
    assert run_sync(asking.ask(own(server), PROMPT, item="pair-00001", read=read)).value == PLAN
    with pytest.raises(AskError, match="EmptyAnswerError"):
        run_sync(asking.ask(own(server), PROMPT, item="pair-00002", read=read))
    [known] = asking.journal.usage()
    bill = server.bill()
    assert (known.answers, known.tries, server.calls) == (1, 2, 4)
    assert (known.input_tokens, known.output_tokens) == (bill.input, bill.output) == (8000, 40)
    assert known.spent[0].cached_input_tokens == bill.cached == 6000
    assert asking.budget.cost == pytest.approx(billed(known.spent[0], prices).cost)
    asking.journal.close()


@pytest.fixture
def global_cache() -> Iterator[InMemoryCache]:
    cache = InMemoryCache()
    set_llm_cache(cache)
    yield cache
    set_llm_cache(None)


def test_a_cache_never_answers_two_samples_with_one_reply(
    openai_server: Serve, global_cache: InMemoryCache, tmp_path: Path
) -> None:
    server = openai_server([Reply.json({"sketch": ""}), Reply.json(PLAN)])
    model, asking = own(server), asker(tmp_path)
    answer = run_sync(asking.ask(model, PROMPT, item="pair-00001", read=read))
    assert (answer.value, answer.answers, server.calls) == (PLAN, 2, 2)
    again = complete(model, replace(PROMPT, sample=1))
    assert (parsed_object(again), again.cached, server.calls) == (PLAN, True, 2)
    assert replace(PROMPT, sample=1).digest == PROMPT.digest
    asking.journal.close()


def test_what_is_no_chat_model_is_refused() -> None:
    with pytest.raises(UsageError, match="a chat model is needed, not str"):
        LangChainModel("openai:gpt-4o")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="did you mean 'json_schema'"):
        LangChainModel(FakeListChatModel(responses=["x"]), output="json_scheme")  # type: ignore[arg-type]


def test_a_model_by_its_spec(openai_server: Serve) -> None:
    server = openai_server([Reply.tool_call("plan", PLAN)])
    options = {"base_url": f"{server.url}/v1", "api_key": "test", "max_retries": 0, "output": "function_calling"}
    model = adapters.chat_model("openai:gpt-4o", options)
    assert model.name == "gpt-4o"
    assert complete(model).parsed == PLAN
    assert "output" not in server.requests[0].body
