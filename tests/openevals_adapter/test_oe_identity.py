"""An identity holds what changes the answers, and changes with nothing else."""

from __future__ import annotations

import copy
import typing
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.prompts.structured import StructuredPrompt
from openai import OpenAI
from openevals.llm import create_llm_as_judge
from pydantic import BaseModel
from support.openai_server import Reply, chat_model
from support.openevals_judging import CASE, PROMPT, Serve, scored

from judgeharness_integrations import AnswerCase, CalibrationSet
from judgeharness_openevals import harness_judge

FIELDS: dict[str, Any] = {"type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]}
SCHEMAS = pytest.mark.parametrize("schema", [FIELDS, {"name": "score", "schema": FIELDS}], ids=["plain", "openai"])
LABELS = CalibrationSet("people", ((AnswerCase(case_id="a", input="q", output="It is Paris."), "PASS"),))


def over_client(server: Any, schema: Any, **options: Any) -> Any:
    client: Any = OpenAI(base_url=f"{server.url}/v1", api_key="test")
    given = {"prompt": PROMPT, "output_schema": schema} | options
    return create_llm_as_judge(judge=client, model="gpt-4o-test", **given)


@pytest.mark.slow
@SCHEMAS
def test_asking_a_judge_does_not_expire_its_calibration(openai_server: Serve, schema: dict[str, Any]) -> None:
    server = openai_server([Reply.json({"good": True})])
    given, before = copy.deepcopy(schema), copy.deepcopy(schema)
    bare = over_client(server, given)
    judge = harness_judge(bare)
    report = judge.harness.calibrate(judge.judge, LABELS)
    judge(**CASE)
    assert given == before  # openevals would have written into it
    bare(**CASE)
    assert given != before
    for used in (bare, over_client(server, copy.deepcopy(schema))):
        assert harness_judge(used, calibration=report)(**CASE)["metadata"]["calibration_validity"] == "valid"


@pytest.mark.filterwarnings("ignore:The class `StructuredPrompt` is in beta")
def test_the_schema_of_a_prompt_stays_as_it_is(openai_server: Serve) -> None:
    prompt = StructuredPrompt([("user", PROMPT)], schema_={"title": "r", **copy.deepcopy(FIELDS)})
    bare = over_client(openai_server([Reply.json({"good": True})]), None, prompt=prompt)
    assert harness_judge(bare)(**CASE)["good"] is True
    assert prompt.schema_ == {"title": "r", **FIELDS}


def test_every_change_of_a_schema_is_one_of_the_identity(openai_server: Serve) -> None:
    class One(typing.TypedDict):
        """A review."""

        good: bool

    class Two(typing.TypedDict):
        """A review."""

        good: bool
        kind: bool

    class Three(BaseModel):
        """Another review."""

        good: bool

    model = chat_model(openai_server([scored(score=True)]))
    schemas = [One, Two, Three, {"title": "r", **FIELDS}, {"title": "r", **FIELDS, "additionalProperties": True}]
    judges = [
        harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model, output_schema=s)).judge  # type: ignore[arg-type]
        for s in schemas
    ]
    assert len({judge.identity.prompt_hash for judge in judges}) == len(schemas)
    assert [c.name for c in judges[1].criteria] == ["good", "kind"]


class LocalModel(FakeListChatModel):
    """A model with the settings of local servers."""

    min_p: float | None = None
    typical_p: float | None = None
    repeat_penalty: float | None = None
    max_new_tokens: int | None = None
    response_format: dict[str, str] | None = None
    truncation: str | None = None
    api_base: str | None = None
    inference_server_url: str | None = None
    server_url: str | None = None


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        *((name, 0.5, {name: 0.5}) for name in ("min_p", "typical_p", "repeat_penalty")),
        ("max_new_tokens", 9, {"max_new_tokens": 9}),
        ("response_format", {"type": "json_object"}, {"response_format": {"type": "json_object"}}),
        ("truncation", "auto", {"truncation": "auto"}),
        *((n, "http://me:pw@host:1/v1", {"endpoint": "host:1/v1"}) for n in ("api_base", "inference_server_url")),
        ("server_url", "http://host:1", {"endpoint": "host:1"}),
    ],
)
def test_every_parameter_of_the_model_counts(name: str, value: Any, told: dict[str, Any]) -> None:
    model: Any = LocalModel(responses=["x"], **{name: value})
    assert harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model)).judge.identity.parameters == told


def test_what_a_function_makes_has_no_identity(openai_server: Serve) -> None:
    model = chat_model(openai_server([scored(score=True)]))

    def identity(**options: Any) -> Any:
        return harness_judge(create_llm_as_judge(**{"prompt": PROMPT, "judge": model} | options)).judge.identity

    template = ChatPromptTemplate([("user", "{inputs} {outputs} {now}")])
    assert identity(prompt=template.partial(now=lambda: "x")) is None
    assert identity(prompt=template.partial(now="x")) is not None
    assert identity(structured_output_kwargs={"tools": [lambda: "x"]}) is None
    assert identity(few_shot_examples=[{"inputs": object(), "outputs": "b", "score": True}]) is None
    assert identity(system='Say "type": "not_implemented" and <f at 0x1>.') is None  # better unknown than mistaken
