"""Cases of values: what of them is text, and what a perturbation changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from pydantic import BaseModel

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.judging.perturbations import perturbation
from judgeharness_integrations.judging.structured import own_copy, structured_case, value_text

SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "where?"},
    {"role": "assistant", "content": "here", "tool_calls": [{"name": "f"}]},
    {"role": "assistant", "content": None},
]
MESSAGES = [
    HumanMessage("where?", id="1"),
    AIMessage("here", id="2", tool_calls=[{"name": "f", "args": {}, "id": "c"}]),
]
BLOCKS = [{"type": "text", "text": "here"}, {"type": "image_url", "image_url": {"url": "there"}}, "also"]


class Answer(BaseModel):
    text: str


@pytest.mark.parametrize(
    ("outputs", "texts"),
    [
        ("here", ("here",)),
        ({"answer": "it is", "score": 3, "parts": ["a b", ("c d", {"e": "f g"})]}, ("it is", "a b", "c d", "f g")),
        ({"answer": "it is", "id": "a-1", "url": "https://x.org/a_b", "tags": ["b", {"c": "d"}]}, ("it is",)),
        ({"answer": {"text": "here"}}, ("here",)),
        ({"role": "Engineer", "about": "she builds bridges"}, ("she builds bridges",)),
        ([{"role": "assistant", "tool_calls": [{"id": "1", "arguments": "a city"}]}], ()),
        ([{"role": "critic", "content": "also a message"}], ()),
        ([("user", "where?"), ("assistant", "here"), ("ai", " "), ("x", "y z"), ("a", 1)], ("here", "x", "y z", "a")),
        ([AIMessageChunk("here")], ("here",)),
        (SAID, ("here",)),
        ({"messages": SAID}, ("here",)),
        (MESSAGES, ("here",)),
        ([AIMessage(BLOCKS)], ("here", "also")),
        ({"role": "assistant", "content": BLOCKS}, ("here", "also")),
        ({"answer": "  ", "other": ""}, ()),
        ([{"role": "assistant", "content": " "}], ()),
        (Answer(text="here"), ()),
        (3, ()),
        (None, ()),
    ],
)
def test_the_texts_of_an_answer(outputs: Any, texts: tuple[str, ...]) -> None:
    assert structured_case(case_id="a", outputs=outputs).texts() == texts


def test_a_change_is_made_in_place_and_the_values_stay_as_they_were() -> None:
    outputs = {"answer": "it is", "id": "x", "parts": ("a b", 1), "n": 3, "said": SAID, "message": MESSAGES[1]}
    case = structured_case(case_id="a", inputs={"q": "why"}, outputs=outputs)
    changed = case.with_texts(str.upper)
    assert (changed.outputs["answer"], changed.outputs["id"]) == ("IT IS", "x")
    assert changed.outputs["parts"] == ("A B", 1)
    assert [part["content"] for part in changed.outputs["said"]] == ["where?", "HERE", None]
    assert changed.outputs["said"][1]["tool_calls"] == [{"name": "f"}]
    assert (changed.outputs["message"].content, changed.outputs["message"].tool_calls) == (
        "HERE",
        MESSAGES[1].tool_calls,
    )
    assert changed.inputs == {"q": "why"}
    assert changed.output == value_text(changed.outputs)
    assert (outputs["answer"], SAID[1]["content"], MESSAGES[1].content) == ("it is", "here", "here")


def test_every_text_is_of_input_reference_and_extras_too_but_not_of_attachments() -> None:
    extra = {"context": ["c"], "attachments": {"photo": "data:image/png;base64,"}}
    case = structured_case(case_id="a", inputs={"q": "i"}, outputs=SAID, reference_outputs="r", extra=extra)
    assert case.all_texts() == ("i", "where?", "here", "r", "c")
    changed = case.with_all_texts(str.upper)
    assert (changed.input, changed.reference) == ("I", "R")
    assert changed.outputs[0]["content"] == "WHERE?"
    assert changed.extra == {"context": ["C"], "attachments": extra["attachments"]}


def test_of_a_message_only_the_content_is_ever_changed() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": "a city"}}]
    said: list[Any] = [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "name": "some tool", "tool_call_id": "call one", "content": "it rains"},
        ("user", "is it so?"),
        ("assistant", "it is so"),
        AIMessageChunk("it is"),
    ]
    for changed in (case := structured_case(outputs=said)).with_texts(str.upper), case.with_all_texts(str.upper):
        first, tool, asked, told, chunk = changed.outputs
        assert first == said[0]
        assert {**tool, "content": "it rains"} == said[1]
        assert (asked[0], *told, chunk.content) == ("user", "assistant", "IT IS SO", "IT IS")
    assert case.with_texts(str.upper).outputs[2] == said[2]
    assert case.with_all_texts(str.upper).outputs[2] == ("user", "IS IT SO?")


def test_names_are_changed_wherever_they_stand() -> None:
    case = structured_case(outputs={"answer": "Claude said it.", "author": "Claude"})
    assert case.with_all_texts(str.upper).outputs == {"answer": "CLAUDE SAID IT.", "author": "CLAUDE"}


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {"answer": "it is"}
    loop["parts"] = [loop]
    with pytest.raises(CaseError, match="outputs contain themselves"):
        structured_case(outputs=loop)
    shared = ["a text"]
    assert structured_case(outputs=[shared, shared]).texts() == ("a text", "a text")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("here", "here"),
        ({"answer": "here"}, "here"),
        ({"answer": 3}, '{"answer": 3}'),
        ({"a": "é", "b": None}, '{"a": "é", "b": null}'),
        (MESSAGES[0], '{"role": "human", "content": "where?"}'),
        (Answer(text="here"), '{"text": "here"}'),
        ([Answer], "[\"<class 'test_structured.Answer'>\"]"),
        ({("a", "b"): 1}, "{('a', 'b'): 1}"),
    ],
)
def test_values_as_texts(value: Any, text: str) -> None:
    assert value_text(value) == text


def test_what_a_message_calls_is_part_of_its_text_and_a_loop_is_no_end() -> None:
    assert '"tool_calls": [{"name": "f"' in value_text(MESSAGES)
    loop: list[Any] = []
    loop.append(loop)
    assert value_text(loop) == "[[...]]"


def test_a_case_is_told_by_its_values() -> None:
    def case_id(**values: Any) -> str:
        return structured_case(**{"outputs": "here"} | values).case_id

    assert case_id() == case_id()
    others = [case_id(inputs="q"), case_id(reference_outputs="r"), case_id(extra={"c": 1}), case_id(outputs=None)]
    assert len({case_id(), *others}) == 5
    assert case_id(extra={}) == case_id()
    assert case_id(outputs=MESSAGES[1:]) == case_id(outputs=[MESSAGES[1].model_copy(update={"id": "9"})])
    assert case_id(outputs=MESSAGES[1:]) != case_id(outputs=[AIMessage("here")])
    assert case_id(case_id="mine") == "mine"
    assert structured_case(outputs=None).output == ""


def test_perturbations_fit_where_there_is_a_text() -> None:
    format_change = perturbation("format_change")
    assert format_change.fits(structured_case(outputs=SAID)) is None
    assert format_change.fits(structured_case(outputs={"n": 3})) is not None


@dataclass
class Draft:
    tags: list[str] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)
    parts: list[Draft] = field(default_factory=list)


def test_what_a_judge_changes_beside_what_cannot_be_copied_is_its_own() -> None:
    draft, proxy = Draft(), MappingProxyType({"tags": ["b"]})
    draft.parts.append(draft)
    value = {"drafts": [draft], "pair": ({"a": 1}, draft.lock), "proxy": proxy}
    for _ in range(2):
        own = own_copy(value)
        assert own["drafts"][0].tags == []
        assert own["drafts"][0].parts[0] is own["drafts"][0]
        assert own["drafts"][0].lock is draft.lock
        assert own["pair"] == ({"a": 1}, draft.lock)
        assert own["proxy"] == {"tags": ["b"]}
        own["drafts"][0].tags.append("mine")
        own["pair"][0]["a"] = 2
        own["proxy"]["tags"].append("mine")
