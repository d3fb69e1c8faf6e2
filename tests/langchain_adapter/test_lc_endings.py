"""However a provider says that an answer was cut off, blocked or refused, it is no verdict; its cost is booked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_classic.evaluation import PairwiseStringEvalChain
from openevals.llm import create_llm_as_judge
from support.openai_replies import Reply
from support.openai_server import OpenAIServer, chat_model
from support.provider_clients import MODELS
from support.provider_facts import REASON, USED
from support.provider_wire import Answer, Ending, Tokens

from judgeharness_integrations import JudgeHarness, PairwiseCase, VerdictRow
from judgeharness_integrations.judging.chatmodels import SEVERAL_CHOICES
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_langchain import PairwiseJudge
from judgeharness_langchain.evaluators import EvaluatorJudge
from judgeharness_openevals.judges import OpenevalsJudge

Serve = Callable[..., OpenAIServer]
CASE = PairwiseCase(case_id="c", input="q", output="yes", output_b="no")
OUTCOMES: Mapping[Ending, str] = {
    "ok": "ok",
    "stop_sequence": "ok",
    "cut_off": "unparsed",
    "context_full": "unparsed",
    "blocked": "refused",
    "refused": "refused",
}
WORDS = {
    "openai": {"ok": "stop", "cut_off": "length", "context_full": "length", "blocked": "content_filter"},
    "responses": {"ok": "completed", "cut_off": "max_output_tokens", "blocked": "content_filter"},
    "anthropic": {"cut_off": "max_tokens", "context_full": "model_context_window_exceeded", "blocked": "refusal"},
    "gemini": {"cut_off": "MAX_TOKENS", "blocked": "SAFETY"},
}
ARGUMENTS = {"reasoning": "It is so.", "verdict": "Assistant A"}


def sampled(judge: Any, case: Any = CASE, repetitions: int = 1) -> tuple[VerdictRow, ...]:
    harness = JudgeHarness(
        perturbations=["none"], repetitions=repetitions, aggregation_rule="majority", max_attempts=1, max_concurrency=1
    )
    return asyncio.run(harness.aevaluate(judge, case)).rows


def by_chain(model: Any) -> Any:
    return EvaluatorJudge.of(PairwiseStringEvalChain.from_llm(llm=model))


def reply(ended: Ending, **facts: Any) -> Reply:
    text = REASON if ended == "refused" else "It is so. [[A]]"
    return Reply.of(Answer(**{"text": text, "ended": ended, "tokens": USED, **facts}))


def verdict_of(ended: Ending, verdict: str) -> tuple[str, str | None]:
    return OUTCOMES[ended], verdict if OUTCOMES[ended] == "ok" else None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("provider", MODELS)
def test_a_text_is_a_verdict_only_where_it_came_to_its_own_end(openai_server: Serve, provider: str) -> None:
    judge = by_chain(MODELS[provider](openai_server([reply(ended) for ended in OUTCOMES])))
    for ended, row in zip(OUTCOMES, sampled(judge, repetitions=len(OUTCOMES)), strict=True):
        assert (row.outcome, row.verdict) == verdict_of(ended, "A")
        assert (row.input_tokens, row.output_tokens, row.cached_input_tokens) == (2000, 30, 1500)
        assert row.cache_write_tokens == (None if provider == "gemini" else 100)  # its client does not tell
        assert row.finish_reason == WORDS[provider].get(ended, row.finish_reason)
        assert row.raw or ended in ("blocked", "refused")  # of which some clients hold nothing
        assert row.outcome == "ok" or row.reasoning


@pytest.mark.sampled(4)
@pytest.mark.parametrize("provider", MODELS)
def test_the_arguments_of_a_tool_are_a_verdict_only_where_they_came_to_their_own_end(
    openai_server: Serve, provider: str
) -> None:
    facts = {"text": "", "arguments": ARGUMENTS}
    server = openai_server([reply(ended, **({} if ended == "refused" else facts)) for ended in OUTCOMES])
    rows = sampled(PairwiseJudge(MODELS[provider](server), output="structured"), repetitions=len(OUTCOMES))
    for ended, row in zip(OUTCOMES, rows, strict=True):
        assert (row.outcome, row.verdict) == verdict_of(ended, "A")
        assert (row.input_tokens, row.output_tokens, row.cached_input_tokens) == (2000, 30, 1500)
    assert rows[0].raw == '{"reasoning": "It is so.", "verdict": "Assistant A"}'
    assert server.calls == len(OUTCOMES)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
@pytest.mark.parametrize("provider", MODELS)
def test_a_judge_of_openevals_has_no_score_of_half_an_answer(openai_server: Serve, provider: str, method: str) -> None:
    facts: dict[str, Any] = {"text": "", "arguments": {"reasoning": "so", "score": True}}
    judge = create_llm_as_judge(
        prompt="{inputs} {outputs}?",
        judge=MODELS[provider](
            openai_server([reply(ended, **({} if ended == "refused" else facts)) for ended in OUTCOMES])
        ),
        structured_output_kwargs={"method": method},
    )
    values = structured_case(inputs="q", outputs="a")
    rows = sampled(OpenevalsJudge.of(judge), values, repetitions=len(OUTCOMES))
    for ended, row in zip(OUTCOMES, rows, strict=True):
        assert (row.outcome, row.verdict) == verdict_of(ended, "PASS")
        assert (row.input_tokens, row.output_tokens, row.cached_input_tokens) == (2000, 30, 1500)


@pytest.mark.parametrize(("provider", "tier"), [("openai", "flex"), ("responses", "priority"), ("anthropic", "batch")])
def test_the_tier_that_served_is_kept_and_its_cached_tokens_with_it(
    openai_server: Serve, provider: str, tier: str
) -> None:
    server = openai_server([reply("ok", tier=tier, response_id="r-1")])
    (row,) = sampled(by_chain(MODELS[provider](server)))
    assert (row.service_tier, row.cached_input_tokens, row.cache_write_tokens) == (tier, 1500, 100)
    assert str(row.attributes["response_id"]).endswith("r-1")


@pytest.mark.parametrize("refuses", [True, False])
def test_a_model_that_cannot_be_made_to_call_a_tool_is_asked_in_text_from_its_first_answer_on(
    openai_server: Serve, *, refuses: bool
) -> None:
    def unforced(request: Any) -> Reply:
        if request.forced_tool and refuses:
            return Reply.tool_not_forced()
        return Reply.of(Answer(text="I would say A.", tokens=Tokens(input=10, output=1)))

    server = openai_server(unforced)
    judge = PairwiseJudge(MODELS["anthropic"](server))
    assert "output" not in (judge.identity.learned)
    harness = JudgeHarness(perturbations=["none"], repetitions=6, aggregation_rule="majority")
    result = asyncio.run(harness.aevaluate(judge, CASE))
    assert judge.identity.learned == {"output": "text"}
    assert [bool(request.forced_tool) for request in server.requests] == [True] + [False] * 6
    assert result.usage.input_tokens == server.bill().input == (60 if refuses else 70)


@pytest.mark.slow
def test_the_mode_is_settled_once_and_a_later_answer_without_a_call_is_unparsed(openai_server: Serve) -> None:
    replies = [Reply.of(Answer(arguments=ARGUMENTS)), Reply.text("No tool for me. [[Assistant A]]")]
    server = openai_server([*replies, *replies])
    judge = PairwiseJudge(MODELS["openai"](server))
    rows = sampled(judge, repetitions=4)
    assert sorted(row.outcome for row in rows) == ["ok", "ok", "unparsed", "unparsed"]
    assert all(request.forced_tool for request in server.requests)
    assert judge.identity.learned == {"output": "structured"}


@pytest.mark.slow
def test_a_mode_says_something_else_than_another_in_a_fingerprint(openai_server: Serve) -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    forced = openai_server([Reply.of(Answer(arguments=ARGUMENTS))])
    free = openai_server([Reply.text("Fine. [[Assistant A]]")])
    prints = {harness.evaluate(PairwiseJudge(chat_model(server)), CASE).fingerprint for server in (forced, free)}
    assert len(prints) == 2


@pytest.mark.slow
def test_a_model_of_several_choices_is_asked_for_one_and_the_result_says_so(openai_server: Serve) -> None:
    server = openai_server([reply("ok")])
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
    result = harness.evaluate(by_chain(chat_model(server, n=3)), CASE)
    assert [request.body.get("n") in (None, 1) for request in server.requests] == [True, True]
    assert result.warnings == (SEVERAL_CHOICES,)
    own = harness.evaluate(PairwiseJudge(chat_model(server, n=3), output="text"), CASE)
    assert own.warnings == (SEVERAL_CHOICES,)
    judge = create_llm_as_judge(prompt="{outputs}?", judge=chat_model(server, n=3))
    values = harness.evaluate(OpenevalsJudge.of(judge), structured_case(outputs="a"))
    assert values.warnings == (SEVERAL_CHOICES,)
    assert {request.body.get("n") for request in server.requests} <= {None, 1}
