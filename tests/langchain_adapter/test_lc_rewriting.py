"""A rewriter from a chat model: what goes wrong is an error row, and two rewriters have two names."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from support.openai_server import OpenAIServer, Reply, chat_model

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_langchain import ScoreJudge, chat_rewriter

Serve = Callable[..., OpenAIServer]
CASE = AnswerCase(case_id="c", output="an answer")
OTHER_PROMPT = ChatPromptTemplate.from_messages([("human", "Say otherwise: {text}")])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply.refusal("I'd rather not"), "the rewriter refused to reword a text: I'd rather not"),
        (Reply.content_filter("half"), "refused to reword a text: the answer was blocked"),
        (Reply.truncated("an ans"), "cut off by the token limit"),
    ],
)
def test_no_half_or_refused_rewrite_is_judged(openai_server: Serve, reply: Reply, words: str) -> None:
    rewriting, judging = openai_server([reply]), openai_server([Reply.json({"reasoning": "r", "score": 5})])
    rewriter = chat_rewriter(chat_model(rewriting))
    with pytest.raises(RuntimeError, match=words):
        asyncio.run(rewriter("an answer"))
    harness = JudgeHarness(
        perturbations=["none", "paraphrase"], repetitions=2, aggregation_rule="median", rewriter=rewriter
    )
    result = harness.evaluate(ScoreJudge(chat_model(judging)), CASE)
    by_perturbation = {p.name: (p.asked, p.valid) for p in result.only.perturbations}
    assert by_perturbation == {"none": (2, 2), "paraphrase": (2, 0)}
    failed = [row for row in result.rows if row.perturbation == "paraphrase"]
    assert {row.outcome for row in failed} == {"error"}
    assert all(words in str(row.error) for row in failed)
    assert judging.calls == 2


def test_a_rewriter_is_named_by_model_parameters_and_prompt(openai_server: Serve) -> None:
    server = openai_server([Reply.text("x")])

    def name(prompt: ChatPromptTemplate | None = None, **options: Any) -> str:
        return chat_rewriter(chat_model(server, **{"model": "gpt-4o"} | options), prompt).__name__

    assert re.fullmatch(r"chat_rewriter\(gpt-4o, [0-9a-f]{8}\)", name())
    assert name() == name()
    names = {name(), name(temperature=0.5), name(model="gpt-4o-mini"), name(OTHER_PROMPT)}
    assert len(names) == 4
    assert chat_rewriter(FakeListChatModel(responses=["x"])).__name__.startswith("chat_rewriter(FakeListChatModel, ")


@pytest.mark.slow
def test_another_rewriter_is_another_fingerprint(openai_server: Serve) -> None:
    rewriting, judging = openai_server([Reply.text("x")]), openai_server([Reply.json({"reasoning": "", "score": 5})])

    def fingerprint(**options: Any) -> str | None:
        harness = JudgeHarness(
            perturbations=["none", "paraphrase"],
            repetitions=1,
            aggregation_rule="median",
            rewriter=chat_rewriter(chat_model(rewriting, **options)),
        )
        return harness.evaluate(ScoreJudge(chat_model(judging)), CASE).fingerprint

    assert fingerprint() == fingerprint() != fingerprint(temperature=0.9)
