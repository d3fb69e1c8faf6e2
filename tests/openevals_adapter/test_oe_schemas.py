"""Judges with an `output_schema` of the caller's own."""

from __future__ import annotations

import json
import typing
from enum import Enum
from typing import Any, Literal

import pytest
from langchain_core.prompts.structured import StructuredPrompt
from openai import OpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from openevals.trajectory.llm import create_trajectory_llm_as_judge
from pydantic import BaseModel, Field
from support.openai_server import Reply, chat_model
from support.openevals_judging import CASE, PROMPT, Serve, once, told, without
from typing_extensions import TypedDict

from judgeharness_integrations import Criterion
from judgeharness_integrations._errors import UnsupportedEvaluatorError
from judgeharness_integrations.judging.adapterkit import shape_of
from judgeharness_openevals import OpenevalsJudge, harness_judge
from judgeharness_openevals.introspecting import field_criteria, json_schema

SCHEMA: dict[str, Any] = {
    "title": "review",
    "description": "A review.",
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "is_polite": {"type": "boolean", "description": "Whether it is polite."},
        "quality": {"type": "number", "minimum": 0, "maximum": 10},
        "tone": {"type": "string", "enum": ["warm", "cold"]},
    },
    "required": ["reasoning", "is_polite", "quality", "tone"],
    "additionalProperties": False,
}
SAID = {"reasoning": "It says please.", "is_polite": True, "quality": 7, "tone": "warm"}


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Review(BaseModel):
    """A review."""

    reasoning: str
    is_polite: bool | None
    tone: Literal["warm", "cold"]


class Verdict(BaseModel):
    """A verdict like openevals' own, with another name for the reasons."""

    explanation: str
    score: bool


class Older(typing.TypedDict):
    """As the standard library has it."""

    good: bool


class Typed(TypedDict):
    reasoning: str
    good: bool


@pytest.mark.slow
@pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])
def test_every_measured_field_is_a_criterion(openai_server: Serve, factory: Any) -> None:
    server = openai_server([Reply.json(SAID)])
    bare = factory(prompt=PROMPT, judge=chat_model(server), output_schema=SCHEMA)
    judge = harness_judge(bare)
    answer = told(judge, **CASE)
    assert without(answer, "metadata") == SAID == told(bare, **CASE)
    assert [c.name for c in judge.judge.criteria] == ["is_polite", "quality", "tone"]
    assert shape_of(judge.judge) == "any"
    measured = answer["metadata"]["criteria"]
    assert {name: part["verdict"] for name, part in measured.items()} == {
        "is_polite": "PASS", "quality": 7, "tone": "warm",
    }  # fmt: skip
    assert answer["metadata"]["harness"]["criteria"].keys() == measured.keys()
    json.dumps(answer)
    assert without(told(harness_judge(bare, once()), **CASE), "metadata") == SAID


@pytest.mark.slow
def test_an_abstained_field_is_none_and_evidence_stays(openai_server: Serve) -> None:
    server = openai_server([Reply.json(SAID), Reply.json(SAID | {"tone": "cold"})])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), output_schema=SCHEMA))
    answer = judge(**CASE)
    assert (answer["tone"], answer["is_polite"], answer["reasoning"]) == (None, True, "It says please.")
    assert answer["metadata"]["criteria"]["tone"]["status"] == "abstained"
    assert answer["comment"].startswith("tone: abstained: ")


@pytest.mark.slow
def test_an_answer_that_breaks_its_schema_is_unparsed(openai_server: Serve) -> None:
    server = openai_server([Reply.json({"is_polite": True, "quality": 11, "tone": "odd"})])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), output_schema=SCHEMA))
    answer = judge(**CASE)
    assert (answer["is_polite"], answer["quality"], answer["tone"]) == (True, None, None)
    assert answer["metadata"]["criteria"]["quality"]["outcomes"]["unparsed"] == 6


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "text", ["no JSON", '{"reasoning": "so"}', '{"reasoning": "so", "is_polite": 3, "tone": "odd"}']
)
@pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])
def test_an_answer_that_a_clients_model_refuses_is_unparsed(openai_server: Serve, factory: Any, text: str) -> None:
    server = openai_server([Reply.text(text)])
    judge = harness_judge(factory(prompt=PROMPT, judge=chat_model(server), output_schema=Review))
    answer = told(judge, **CASE)
    assert (answer["is_polite"], answer["tone"]) == (None, None)
    for measured in answer["metadata"]["criteria"].values():
        assert measured["outcomes"] == {"ok": 0, "unparsed": 6, "refused": 0, "error": 0}
    assert len(server.requests) == 6  # none is asked again: it was answered
    assert answer["metadata"]["harness"]["usage"]["output_tokens"]


@pytest.mark.slow
def test_unreadable_outputs_leave_every_field_open(openai_server: Serve) -> None:
    server = openai_server([Reply.text("no JSON")])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), output_schema=SCHEMA))
    answer = judge(**CASE)
    assert without(answer, "metadata", "comment") == {"is_polite": None, "quality": None, "tone": None}
    assert answer["comment"].count("not graded: ") == 3
    assert answer["comment"].startswith(
        "is_polite: not graded: 0 valid of 6 samples, 3 needed; 6 unparsed; first unparsed: "
    )
    assert {part["status"] for part in answer["metadata"]["criteria"].values()} == {"not_graded"}


@pytest.mark.slow
def test_a_pydantic_output_comes_back_as_a_dict(openai_server: Serve) -> None:
    server = openai_server([Reply.json({"reasoning": "fine", "is_polite": None, "tone": "cold"})])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), output_schema=Review))
    answer = judge(**CASE)
    assert without(answer, "metadata", "comment") == {"reasoning": "fine", "is_polite": None, "tone": "cold"}
    assert answer["comment"].startswith("is_polite: not graded: ")
    assert shape_of(judge.judge) == "labels"
    assert answer["metadata"]["criteria"]["is_polite"]["status"] == "not_graded"


@pytest.mark.slow
def test_an_output_with_a_score_is_read_as_a_result(openai_server: Serve) -> None:
    server = openai_server([Reply.json({"explanation": "fine", "score": True})])
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), output_schema=Verdict, feedback_key="tone")
    judge = harness_judge(bare)
    answer = judge(**CASE)
    assert without(answer, "metadata") == {"explanation": "fine", "score": True}
    assert list(answer["metadata"]["harness"]["criteria"]) == ["tone"]
    assert harness_judge(bare, key="mood").judge.criteria == (Criterion(name="mood", labels=("PASS", "FAIL")),)

    server = openai_server([Reply.refusal()])
    failing = create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), output_schema=Verdict)
    refused = harness_judge(failing)(**CASE)
    assert without(refused, "metadata", "comment") == {"score": None}
    assert refused["comment"].startswith("not graded: ")


def test_an_openai_client_takes_the_schema_too(openai_server: Serve) -> None:
    server = openai_server([Reply.json(SAID)])
    client = OpenAI(base_url=f"{server.url}/v1", api_key="test", max_retries=0)
    form = {"name": "review", "strict": True, "schema": SCHEMA}
    bare = create_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o-test", output_schema=form)
    judge = harness_judge(bare)
    assert without(judge(**CASE), "metadata") == SAID
    assert len(judge.judge.criteria) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The class `StructuredPrompt` is in beta")
def test_a_structured_prompt_is_a_schema(openai_server: Serve) -> None:
    server = openai_server([Reply.json(SAID)])
    prompt = StructuredPrompt([("user", PROMPT)], schema_=SCHEMA)
    judge = harness_judge(create_llm_as_judge(prompt=prompt, judge=chat_model(server)))
    assert without(judge(**CASE), "metadata") == SAID
    assert judge.judge.identity.prompt_hash
    trajectory = create_trajectory_llm_as_judge(prompt=prompt, judge=chat_model(server))
    assert OpenevalsJudge.of(trajectory).criteria is None


def test_a_schema_that_measures_nothing_is_refused(openai_server: Serve) -> None:
    schema = SCHEMA | {"properties": {"reasoning": {"type": "string"}}, "required": ["reasoning"]}
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([Reply.json({})])), output_schema=schema)
    with pytest.raises(UnsupportedEvaluatorError, match="nothing to measure"):
        harness_judge(bare)


def test_a_function_without_a_known_schema_is_read_by_its_answers() -> None:
    judge = harness_judge(lambda outputs: {"polite": True, "stars": 4, "why": "please"})
    answer = judge(outputs="a text")
    assert without(answer, "metadata") == {"polite": True, "stars": 4, "why": "please"}
    assert answer["metadata"]["criteria"].keys() == {"polite", "stars"}
    nothing = harness_judge(lambda outputs: {"why": "please"})(outputs="a text")
    assert without(nothing, "metadata", "comment") == {"verdict": None}


@pytest.mark.parametrize(
    ("field", "criterion"),
    [
        ({"type": "boolean"}, Criterion(name="f", labels=("PASS", "FAIL"))),
        ({"type": "integer", "minimum": 1, "maximum": 5}, Criterion(name="f", scale=(1.0, 5.0))),
        ({"type": "number", "enum": [0, 0.5, 1]}, Criterion(name="f", scale=(0.0, 1.0))),
        ({"type": "number", "minimum": 0}, Criterion(name="f")),
        ({"const": "yes"}, Criterion(name="f", labels=("yes",))),
        ({"$ref": "#/$defs/C"}, Criterion(name="f", labels=("red", "blue"))),
        ({"$ref": "#/$defs/Gone"}, None),
        ({"allOf": [{"$ref": "#/$defs/C"}]}, Criterion(name="f", labels=("red", "blue"))),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, Criterion(name="f", labels=("PASS", "FAIL"))),
        ({"anyOf": [{"type": "boolean"}, {"type": "number"}]}, None),
        ({"enum": ["a", 1]}, None),
        ({"type": "string"}, None),
    ],
)
def test_fields_that_are_measured(field: dict[str, Any], criterion: Criterion | None) -> None:
    schema = {"properties": {"f": field}, "$defs": {"C": {"enum": ["red", "blue"], "type": "string"}}}
    assert field_criteria(schema, "key") == (() if criterion is None else (criterion,))


def test_schemas_of_every_form_are_read() -> None:
    class Coloured(BaseModel):
        colour: Colour = Field(description="Which one.")

    assert field_criteria(json_schema(Coloured) or {}, "k")[0].labels == ("red", "blue")
    assert [c.name for c in field_criteria(json_schema(Typed) or {}, "k")] == ["good"]
    assert json_schema({"name": "n", "schema": SCHEMA}) is SCHEMA
    assert field_criteria({"properties": {"score": {"type": "string"}}}, "k") == ()
    assert json_schema(object()) is None
    assert [c.name for c in field_criteria(json_schema(Older) or {}, "k")] == ["good"]
    assert json_schema({"name": "n", "parameters": SCHEMA}) is SCHEMA
