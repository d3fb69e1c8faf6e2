"""What models say besides a verdict: rows, never verdicts."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import FakeListChatModel
from openai import OpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from support.openai_server import Reply, chat_model
from support.openevals_judging import CASE, PROMPT, Serve, scored, told

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_openevals import harness_judge
from judgeharness_openevals.asking import unread_by_judge
from judgeharness_openevals.introspecting import introspect

FACTORIES = pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])
UNUSABLE = [
    (Reply.text("I think it is right."), "unparsed"),
    (Reply.text('{"reasoning": "cut'), "unparsed"),
    (Reply.json({"reasoning": "no score"}), "unparsed"),
    (scored(None), "unparsed"),
    (scored([]), "unparsed"),
    (scored(["PASS"]), "unparsed"),
    (Reply.truncated('{"reasoning": "because", "sc'), "unparsed"),
    (Reply.refusal("I will not judge that."), "refused"),
    (Reply.content_filter(), "refused"),
    (Reply.status(400), "error"),
]


def outcomes(judge: Any) -> dict[str, int]:
    answer = told(judge, **CASE)
    assert answer["score"] is None
    assert answer["metadata"]["status"] == "not_graded"
    return {name: count for name, count in answer["metadata"]["outcomes"].items() if count}


@pytest.mark.sampled(10)
@FACTORIES
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
@pytest.mark.parametrize(("reply", "outcome"), UNUSABLE)
def test_unusable_answers_of_a_chat_model(
    openai_server: Serve, factory: Any, method: str, reply: Reply, outcome: str
) -> None:
    server = openai_server([reply])
    bare = factory(prompt=PROMPT, judge=chat_model(server), structured_output_kwargs={"method": method})
    assert outcomes(harness_judge(bare, on_not_graded="report")) == {outcome: 6}
    assert server.calls == 6  # an answer that was received is not asked for again


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("reply", "outcome"), UNUSABLE)
def test_unusable_answers_of_an_openai_client(openai_server: Serve, reply: Reply, outcome: str) -> None:
    server = openai_server([reply])
    client = OpenAI(base_url=f"{server.url}/v1", api_key="test", max_retries=0)
    bare = create_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o-test")
    assert outcomes(harness_judge(bare, on_not_graded="report")) == {outcome: 6}
    assert server.calls == 6


@pytest.mark.sampled(2)
@FACTORIES
@pytest.mark.parametrize("failure", [Reply.status(503, retry_after_ms=1), Reply.malformed()])
def test_a_call_that_failed_is_tried_again(openai_server: Serve, factory: Any, failure: Reply) -> None:
    server = openai_server([failure, scored(score=True)])
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority", max_concurrency=1)
    answer = told(harness_judge(factory(prompt=PROMPT, judge=chat_model(server)), harness), **CASE)
    assert answer["metadata"]["outcomes"]["ok"] == 2
    assert answer["metadata"]["harness"]["usage"]["attempts"] == server.calls == 4


@pytest.mark.slow
def test_failed_answers_count_in_the_shares(openai_server: Serve) -> None:
    server = openai_server([scored(score=True), Reply.text("no JSON"), Reply.refusal()])
    harness = JudgeHarness(perturbations=["none"], repetitions=6, aggregation_rule="supermajority(2/3)", min_valid=1)
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server)), harness)
    answer = judge(**CASE)
    assert answer["metadata"]["outcomes"] == {"ok": 2, "unparsed": 2, "refused": 2, "error": 0}
    assert answer["metadata"]["status"] == "abstained"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("options", "score", "ok"),
    [
        ({"choices": [0.0, 0.5, 1.0]}, 0.7, False),
        ({"choices": [0.0, 0.5, 1.0]}, 0.5, True),
        ({"continuous": True}, 1.5, False),
        ({"continuous": True}, 1, True),
        ({}, 0.7, False),
        ({}, "true", False),
    ],
)
def test_an_answer_outside_what_was_asked_for_is_unparsed(
    openai_server: Serve, *, options: dict[str, Any], score: Any, ok: bool
) -> None:
    server = openai_server([scored(score)])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), **options))
    measured = judge(**CASE)["metadata"]
    assert measured["outcomes"]["ok" if ok else "unparsed"] == 6


def test_a_prompt_that_lacks_a_value_is_no_unread_by_judge(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])

    def needy(*, outputs: str, **values: Any) -> list[Any]:
        return [{"role": "user", "content": values["context"]}]

    judge = harness_judge(create_llm_as_judge(prompt=needy, judge=chat_model(server)), on_not_graded="report")
    assert outcomes(judge) == {"error": 6}
    assert server.calls == 0


class LengthFinishReasonError(Exception):
    """As OpenAI's client names it."""


class ModelRefusalError(Exception):
    """As langchain-core names it, of any provider."""


class OpenAIRefusalError(ModelRefusalError):
    """As langchain-openai names it."""


def test_errors_that_are_answers_are_told_from_those_that_are_not() -> None:
    seen, misread = ModelAnswer(text="hm"), OutputParserException("no JSON")
    details = introspect(create_llm_as_judge(prompt=PROMPT, judge=FakeListChatModel(responses=["x"])))
    client: Any = OpenAI(api_key="test")
    of_client = introspect(create_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o"))
    assert unread_by_judge(KeyError("context"), None, details) is None
    assert unread_by_judge(KeyError("context"), seen, details) is seen
    assert unread_by_judge(RuntimeError("broken"), seen, details) is None
    assert unread_by_judge(TimeoutError(), seen, details) is None
    assert unread_by_judge(misread, None, details) == ModelAnswer(text="no JSON")
    assert unread_by_judge(misread, None, of_client) is None
    assert unread_by_judge(misread, None, None) is None
    assert unread_by_judge(misread, seen, None) is seen
    for error in (KeyError("nope"), TypeError("not subscriptable"), ValueError("no number"), AttributeError("foo")):
        assert unread_by_judge(error, seen, None) is None
    for refusal in (OpenAIRefusalError("no"), ModelRefusalError("no")):
        assert unread_by_judge(refusal, None, None) == ModelAnswer(refusal="no")
        assert unread_by_judge(refusal, seen, details) is seen
    assert unread_by_judge(LengthFinishReasonError("long"), None, None) == ModelAnswer(finish_reason="length")


@pytest.mark.slow
def test_a_functions_own_mistake_is_an_error_with_its_sentence(openai_server: Serve) -> None:
    model = chat_model(openai_server([Reply.text("fine")]))

    def mistaken(inputs: str, outputs: str) -> Any:
        model.invoke(outputs)
        return dict[str, Any]()["nope"]

    answer = harness_judge(mistaken, on_not_graded="report")(**CASE)
    assert answer["metadata"]["outcomes"]["error"] == 6
    assert "6 failed with KeyError: 'nope'" in answer["comment"]


@pytest.mark.parametrize("reply", [Reply.truncated("Y"), Reply.refusal("no"), Reply.content_filter()])
def test_a_function_that_has_a_score_keeps_it_however_its_models_answer_ended(
    openai_server: Serve, reply: Reply
) -> None:
    model = chat_model(openai_server([reply]), max_tokens=1)

    def handled(inputs: str, outputs: str) -> bool:
        return model.invoke(f"{inputs} {outputs}: Y or N?").text == "Y"

    answer = harness_judge(handled)(**CASE)
    assert (answer["score"], answer["metadata"]["outcomes"]["ok"]) == (handled(**CASE), 6)
    (warning,) = answer["metadata"]["harness"]["warnings"]
    assert warning.startswith("the score may rest on a half answer of a model inside the judge: ")


def test_an_answer_that_was_cut_short_is_no_score_even_where_one_can_be_read(openai_server: Serve) -> None:
    server = openai_server([Reply.truncated('{"reasoning": "because", "score": true}')])
    client: Any = OpenAI(base_url=f"{server.url}/v1", api_key="test")
    assert harness_judge(create_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o-test"))(**CASE)["score"] is None


@pytest.mark.slow
def test_what_was_said_instead_of_a_verdict_is_in_the_comment(openai_server: Serve) -> None:
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([Reply.text("I pass.")]))))
    comment = judge(**CASE)["comment"]
    assert comment.endswith("; first unparsed: OutputParserException: Invalid json output: I pass.")
    refusing = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([Reply.refusal("I will not.")])))
    assert harness_judge(refusing)(**CASE)["comment"].endswith("; first refused: I will not.")
    hashed = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority", keep="hash")
    assert "first" not in harness_judge(refusing, hashed)(**CASE)["comment"]
