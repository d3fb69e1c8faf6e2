"""What LangChain's chat models answer inside a function of LangSmith's is evidence of its rows; some ask none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from agentevals.trajectory.match import create_trajectory_match_evaluator
from langchain_core.caches import InMemoryCache
from langchain_core.exceptions import OutputParserException
from langchain_core.globals import set_llm_cache
from langsmith.schemas import Example
from openevals.exact import exact_match
from openevals.json import create_json_match_evaluator
from support.langsmith_people import a_run
from support.openai_server import OpenAIServer, Reply, chat_model

from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_langsmith import HarnessRunEvaluator

Serve = Callable[..., OpenAIServer]

TWICE: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}


def measured(evaluator: Any, **design: Any) -> HarnessResult:
    harnessed = HarnessRunEvaluator(evaluator, JudgeHarness(**TWICE | {"max_concurrency": 1, "timeout_s": 20} | design))
    harnessed.evaluate_run(a_run(answer="It is *Paris*."), None)
    (result,) = harnessed.results.values()
    return result


def of_runs(model: Any, read: Callable[[str], Any] = json.loads, times: int = 1) -> Callable[..., Any]:
    def right(run: Any, example: Any) -> dict[str, Any]:
        del example
        said = [model.invoke(f"Is it right? {run.outputs}").text for _ in range(times)]
        return {"key": "correctness", "score": read(said[-1])["score"]}

    return right


def of_values(model: Any) -> Callable[..., Any]:
    async def right(inputs: dict[str, Any], outputs: dict[str, Any], example: Any) -> dict[str, Any]:
        del inputs, example
        said = await model.ainvoke(f"Is it right? {outputs}")
        return {"key": "correctness", "score": json.loads(said.text)["score"]}

    return right


def evidence(row: VerdictRow) -> tuple[Any, ...]:
    return row.verdict, row.model, row.finish_reason, row.input_tokens, row.output_tokens


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [of_runs, of_values])
def test_rows_have_model_tokens_and_finish_reason(openai_server: Serve, function: Any) -> None:
    server = openai_server([Reply.json({"score": True})])
    result = measured(function(chat_model(server)))
    billed = [(bill.model, bill.tokens.input, bill.tokens.output) for bill in server.billed]
    assert len(billed) == 2
    told = [evidence(row) for row in result.rows]
    assert told == [("PASS", model, "stop", read, written) for model, read, written in billed]
    assert [row.raw for row in result.rows] == ['{"score": true}'] * 2
    assert len({row.attributes["response_id"] for row in result.rows}) == 2


def test_tokens_of_every_question_of_one_call_count(openai_server: Serve) -> None:
    server = openai_server([Reply.json({"score": True})])
    result = measured(of_runs(chat_model(server), times=2))
    assert server.calls == 4
    paid = sum(bill.tokens.input or 0 for bill in server.billed)
    assert sum(row.input_tokens or 0 for row in result.rows) == paid


def test_a_score_of_half_an_answer_is_doubted(openai_server: Serve) -> None:
    server = openai_server([Reply.truncated('{"score": true, "reason')])
    result = measured(of_runs(chat_model(server), lambda text: {"score": "true" in text}))
    assert [row.finish_reason for row in result.rows] == ["length", "length"]
    assert "may rest on a half answer of a model inside the judge" in str(result.rows[0].attributes["warning"])


def test_an_answer_its_parser_refuses_is_unparsed_and_paid_once(openai_server: Serve) -> None:
    server = openai_server([Reply.text("I think so.")])

    def parsed(text: str) -> Any:
        raise OutputParserException(f"no JSON: {text}")

    result = measured(of_runs(chat_model(server), parsed))
    assert server.calls == 2
    assert [(row.outcome, row.raw) for row in result.rows] == [("unparsed", "I think so.")] * 2
    assert result.rows[0].reasoning == "OutputParserException: no JSON: I think so."
    assert result.rows[0].input_tokens


def test_a_refused_half_answer_is_a_refusal(openai_server: Serve) -> None:
    server = openai_server([Reply.refusal("I will not judge that.")])

    def parsed(text: str) -> Any:
        raise OutputParserException(f"no JSON: {text}")

    assert {row.outcome for row in measured(of_runs(chat_model(server), parsed)).rows} == {"refused"}


@pytest.mark.slow
def test_errors_of_the_function_itself_stay_errors(openai_server: Serve) -> None:
    server = openai_server([Reply.text("I think so.")])
    result = measured(of_runs(chat_model(server), lambda text: {}[text]))
    assert [(row.outcome, row.error_kind) for row in result.rows] == [("error", "KeyError")] * 2
    down = openai_server([Reply.status(401)])
    assert {row.outcome for row in measured(of_runs(chat_model(down))).rows} == {"error"}


def test_a_cached_answer_is_no_second_sample(openai_server: Serve) -> None:
    server = openai_server([Reply.json({"score": True})])
    set_llm_cache(InMemoryCache())
    try:
        result = measured(of_runs(chat_model(server)))
    finally:
        set_llm_cache(None)
    assert server.calls == 1
    assert result.rows[1].attributes["cached"] == "shared"


def test_a_function_that_asks_nobody_has_no_evidence() -> None:
    result = measured(lambda run, example: True)
    assert [evidence(row) for row in result.rows] == [("PASS", None, None, None, None)] * 2


SAID = [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "It rains in Oslo."}]


@pytest.mark.parametrize(
    ("evaluator", "outputs", "key"),
    [
        (exact_match, {"answer": "It is Paris."}, "exact_match"),
        (create_json_match_evaluator(), {"answer": "It is Paris."}, "json_match:answer"),
        (create_trajectory_match_evaluator(), {"messages": SAID}, "trajectory_strict_match"),
    ],
)
def test_what_asks_no_model_is_called_once_in_langsmith_too(evaluator: Any, outputs: dict[str, Any], key: str) -> None:
    harnessed = HarnessRunEvaluator(evaluator)
    example = Example(id=uuid4(), inputs={"q": "Where?"}, outputs=outputs)
    verdict = harnessed.evaluate_run(a_run(**outputs), example)["results"][0]
    (result,) = harnessed.results.values()
    said = "asks no model: called once, unperturbed" in str(result.warnings)
    assert (verdict.key, verdict.score, len(result.rows), said) == (key, True, 1, True)
