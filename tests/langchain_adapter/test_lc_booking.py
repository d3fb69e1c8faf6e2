"""Every answered request is booked, also where nothing came of it, and no answered request is asked again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langchain_classic.evaluation import PairwiseStringEvalChain
from openevals.llm import create_llm_as_judge
from support.openai_server import OpenAIServer, Reply, chat_model
from support.provider_wire import Answer, Tokens

from judgeharness_integrations import JudgeHarness, PairwiseCase
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_integrations.verdictlog.sql import SqlLog
from judgeharness_langchain import PairwiseJudge
from judgeharness_langchain.evaluators import EvaluatorJudge
from judgeharness_openevals.judges import OpenevalsJudge

Serve = Callable[..., OpenAIServer]
CASE = PairwiseCase(case_id="c", input="q", output="yes", output_b="no")
USED = Tokens(input=2000, output=10, cached=1500, written=100)
PRICES = {"*": Price(input=2.5, output=10.0, cached_input=0.25, cache_write=3.125)}
JUDGES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "a chain": lambda model: (EvaluatorJudge.of(PairwiseStringEvalChain.from_llm(llm=model)), CASE),
    "our own": lambda model: (PairwiseJudge(model), CASE),
    "openevals": lambda model: (
        OpenevalsJudge.of(create_llm_as_judge(prompt="{outputs}?", judge=model)),
        structured_case(outputs="a"),
    ),
}
SAID = {
    "a chain": Answer(text="So. [[A]]", tokens=USED),
    "our own": Answer(arguments={"reasoning": "r", "verdict": "Assistant A"}, tokens=USED),
    "openevals": Answer(arguments={"reasoning": "r", "score": True}, tokens=USED),
}


def harness(**options: Any) -> JudgeHarness:
    given: dict[str, Any] = {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority"}
    return JudgeHarness(**given, max_concurrency=1, **options)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", JUDGES)
def test_a_reply_without_choices_is_asked_again_and_both_are_booked(openai_server: Serve, kind: str) -> None:
    empty = Reply.of(Answer(ended="empty", tokens=USED))
    server = openai_server([empty, Reply.of(SAID[kind])])
    judge, case = JUDGES[kind](chat_model(server))
    budget = Budget(max_calls=100, prices=PRICES)
    result = harness(budget=budget).evaluate(judge, case)
    assert server.calls == 6
    assert {row.outcome for row in result.rows} == {"ok"}
    assert [row.input_tokens for row in result.rows] == [4000, 4000, 4000]
    bill = server.bill()
    assert (result.usage.input_tokens, result.usage.output_tokens) == (bill.input, bill.output)
    assert (result.usage.cached_input_tokens, result.usage.cache_write_tokens) == (bill.cached, bill.written)
    assert budget.cost == pytest.approx((bill.fresh * 2.5 + bill.cached * 0.25 + bill.written * 3.125) / 1e6 + 6e-4)


@pytest.mark.slow
def test_a_call_that_never_got_an_answer_is_billed_for_its_replies(openai_server: Serve, tmp_path: Any) -> None:
    server = openai_server([Reply.of(Answer(ended="empty", tokens=USED))])
    with SqlLog(tmp_path / "log.sqlite") as log:
        result = harness(max_attempts=2, log=log, run="r").evaluate(PairwiseJudge(chat_model(server)), CASE)
        (used,) = log.usage("r")
    assert {row.outcome for row in result.rows} == {"error"}
    assert result.usage.input_tokens == used.input_tokens == server.bill().input == 6 * 2000
    assert used.cached_input_tokens == server.bill().cached


@pytest.mark.parametrize("kind", JUDGES)
def test_an_answer_that_was_cut_off_is_booked_and_not_asked_again(openai_server: Serve, kind: str) -> None:
    server = openai_server([Reply.of(Answer(text='{"reasoning": "ha', ended="cut_off", tokens=USED))])
    judge, case = JUDGES[kind](chat_model(server))
    result = harness().evaluate(judge, case)
    assert server.calls == 3
    assert Counter(row.outcome for row in result.rows) == {"unparsed": 3}
    assert result.usage.input_tokens == server.bill().input
    assert "output tokens" in result.report()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", JUDGES)
def test_a_long_answer_that_is_no_json_costs_linear_time_and_is_asked_once(openai_server: Serve, kind: str) -> None:
    def said(request: Any) -> Reply:
        return Reply.text('{"reasoning": "' + "a [[ {" * 500_000) if request.number < 2 else Reply.of(SAID[kind])

    server = openai_server(said)
    judge, case = JUDGES[kind](chat_model(server))
    result = harness(timeout_s=20).evaluate(judge, case)  # a quadratic reader takes hours
    assert server.calls == (4 if kind == "our own" else 3)  # an answer without the tool settles the mode
    assert Counter(row.outcome for row in result.rows)["error"] == 0
    assert {row.attempts for row in result.rows} == {1}


def test_what_a_tool_was_called_with_is_what_came(openai_server: Serve) -> None:
    server = openai_server([Reply.of(SAID["our own"])])
    result = harness().evaluate(PairwiseJudge(chat_model(server)), CASE)
    assert json.loads(result.rows[0].raw or "") == {"reasoning": "r", "verdict": "Assistant A"}
