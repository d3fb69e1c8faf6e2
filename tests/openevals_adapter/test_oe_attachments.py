"""Attachments in LangSmith's form, given to openevals' judges and functions of the same protocol."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from langsmith import tracing_context
from openevals.llm import create_llm_as_judge
from support.langsmith_server import LangSmithServer
from support.openai_server import OpenAIServer, Reply, Request, chat_model
from support.openevals_judging import scored

from judgeharness_integrations import JudgeHarness
from judgeharness_openevals import create_harnessed_pairwise_judge, harness_judge

Serve = Callable[..., OpenAIServer]

TWICE: dict[str, Any] = {"perturbations": ["none", "format_change"], "repetitions": 2, "aggregation_rule": "majority"}
RED = b"\x89PNG red " * 200
URI = f"data:image/png;base64,{base64.b64encode(RED).decode()}"


def attached() -> dict[str, Any]:
    reader = io.BytesIO(RED)
    reader.seek(3)  # as somebody before left it
    return {"photo": {"presigned_url": "https://example.org/1", "reader": reader, "mime_type": "image/png"}}


def images(request: Request) -> list[str]:
    content = request.messages[-1]["content"]
    return [block["image_url"]["url"] for block in content if block["type"] == "image_url"]


def test_every_sample_of_a_function_reads_the_whole_file() -> None:
    def looking(outputs: str, attachments: dict[str, Any]) -> bool:
        return type(attachments) is dict and attachments["photo"]["reader"].read() == RED

    judge = harness_judge(looking, JudgeHarness(**TWICE))
    first, again = (judge(outputs="It is *red*.", attachments=attached()) for _ in "ab")
    assert first["score"] is again["score"] is True
    ids = {one["metadata"]["harness"]["case_id"] for one in (first, again)}
    assert len(ids) == 1


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["See {attachments} and {outputs}.", "See and {outputs}."])
def test_a_prompt_shows_the_model_what_langsmith_attached(openai_server: Serve, prompt: str) -> None:
    server = openai_server([scored(score=True)])
    judge = harness_judge(create_llm_as_judge(prompt=prompt, judge=chat_model(server)), JudgeHarness(**TWICE))
    assert judge(outputs="It is *red*.", attachments=attached())["score"] is True
    assert [images(request) for request in server.requests] == [[URI]] * 4


@pytest.mark.slow
def test_openevals_own_form_is_passed_on(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])
    judge = harness_judge(
        create_llm_as_judge(prompt="See {attachments} and {outputs}.", judge=chat_model(server)), JudgeHarness(**TWICE)
    )
    for given in ({"mime_type": "image/png", "data": URI}, [{"mime_type": "image/png", "data": URI}]):
        judge(outputs="It is *red*.", attachments=given)
    assert [images(request) for request in server.requests] == [[URI]] * 8


@pytest.mark.slow
def test_a_comparison_shows_the_model_what_langsmith_attached(openai_server: Serve) -> None:
    server = openai_server([Reply.json({"reasoning": "because", "preference": "TIE"})])
    compare = create_harnessed_pairwise_judge(
        prompt="See {attachments}. Which is right, {output_a} or {output_b}?", judge=chat_model(server)
    )
    compare(outputs=["It is red.", "It is blue."], attachments=attached())
    assert {tuple(images(request)) for request in server.requests} == {(URI,)}


@pytest.mark.parametrize("given", [attached(), [{"mime_type": "image/png", "data": URI}]])
@pytest.mark.parametrize(("observers", "root"), [(None, "judge_harness"), ([], "looking")])
def test_our_trace_shows_nothing_of_a_file(
    langsmith_server: Callable[..., LangSmithServer], given: Any, observers: list[Any] | None, root: str
) -> None:
    def looking(outputs: str, attachments: Any) -> bool:
        return bool(attachments)

    server = langsmith_server()
    with tracing_context(enabled=True, client=server.client()):
        harness_judge(looking, JudgeHarness(**TWICE, observers=observers))(outputs="It is *red*.", attachments=given)
    (shown,) = server.named(root)
    assert "red" in json.dumps(shown["inputs"])
    assert not [secret for secret in (URI[30:60], "PNG") if secret in server.text]
