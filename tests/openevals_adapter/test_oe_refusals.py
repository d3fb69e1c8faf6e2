"""Judges that could never answer are refused when they are harnessed, in one sentence."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from openai import AsyncOpenAI, OpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from pydantic import BaseModel
from support.openevals_judging import PROMPT

from judgeharness_integrations._errors import CaseError, UnsupportedEvaluatorError, UsageError
from judgeharness_openevals import harness_judge

MODEL = FakeListChatModel(responses=["x"])
CLIENT, ASYNC_CLIENT = OpenAI(api_key="test"), AsyncOpenAI(api_key="test")


class Review(BaseModel):
    good: bool


@pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "the judge has no model"),
        ({"judge": MODEL.bind(temperature=0)}, r"as judge, not a \w*Binding: give the model itself"),
        ({"judge": MODEL.with_retry()}, "as judge, not a RunnableRetry: give the model itself"),
        ({"judge": "gpt-4o", "model": "openai:gpt-4o"}, "as judge, not a str"),
        ({"judge": MODEL, "prompt": None}, "has no prompt"),
        ({"judge": MODEL, "prompt": "{outputs} {"}, "the prompt is no template"),
        ({"judge": MODEL, "prompt": "{outputs} {}"}, "braces without a name"),
        ({"judge": MODEL, "choices": ["good", "bad"]}, r"choices are numbers, .* not \['good', 'bad'\]"),
        ({"judge": MODEL, "choices": "abc"}, "choices are numbers"),
        ({"judge": MODEL, "choices": 3}, "choices are numbers"),
        ({"judge": MODEL, "feedback_key": None}, "feedback_key is a text, not None"),
    ],
)
def test_what_makes_no_judge(factory: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnsupportedEvaluatorError, match=sentence) as raised:
        harness_judge(factory(**{"prompt": PROMPT} | options))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("factory", "options", "sentence"),
    [
        (create_llm_as_judge, {"judge": CLIENT}, "needs the name of its model"),
        (create_llm_as_judge, {"judge": CLIENT, "model": "m", "output_schema": Review}, "that is JSON schema"),
        (
            create_llm_as_judge,
            {"judge": ASYNC_CLIENT, "model": "m"},
            "the sync judge cannot ask AsyncOpenAI: make it with openevals' async function",
        ),
        (
            create_async_llm_as_judge,
            {"judge": CLIENT, "model": "m"},
            "the async judge cannot ask OpenAI: make it with openevals' sync function",
        ),
    ],
)
def test_what_a_client_cannot_do(factory: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnsupportedEvaluatorError, match=sentence):
        harness_judge(factory(prompt=PROMPT, **options))


def test_outputs_that_contain_themselves() -> None:
    outputs: dict[str, Any] = {"answer": "it is"}
    outputs["again"] = outputs
    with pytest.raises(CaseError, match="outputs contain themselves: give values that come to an end"):
        harness_judge(lambda outputs: True)(outputs=outputs)


def test_a_second_key() -> None:
    bare = create_llm_as_judge(prompt=PROMPT, judge=MODEL, feedback_key="tone")
    with pytest.raises(UsageError, match="has the feedback key 'tone': make it with feedback_key='mood'"):
        harness_judge(bare, key="mood")
    assert harness_judge(bare, key="tone").judge.key == "tone"
