from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.judging.cases import (
    AnswerCase,
    PairwiseCase,
    Presentation,
    case_from_mapping,
    case_id_of,
    describe_kind,
    map_texts,
    output_texts,
    presented,
)

ANSWER = AnswerCase(case_id="c1", output="an answer", input="a question")
PAIR = PairwiseCase(case_id="c2", output="first", output_b="second")


@pytest.mark.parametrize(
    "case",
    [{"case_id": "c1"}, {"case_id": "c1", "x": 2}, SimpleNamespace(case_id="c1"), ANSWER],
    ids=["mapping", "more", "object", "AnswerCase"],
)
def test_a_declared_id_is_taken(case: object) -> None:
    assert case_id_of(case) == "c1"
    assert case_id_of({"case_id": 7}) == "7"


def test_other_cases_are_known_by_their_content() -> None:
    cases: list[Any] = ["a text", "another", {"a": 1}, {"a": 2}, ("x",), None, 7, {"case_id": None}, {"case_id": " "}]
    ids = [case_id_of(case) for case in cases]
    assert len(set(ids)) == len(cases)
    assert all(name.startswith("case-") and len(name) == 17 for name in ids)
    assert ids == [case_id_of(case) for case in cases]
    assert case_id_of({"a": 1, "b": 2}) == case_id_of({"b": 2, "a": 1})


def test_any_case_gets_an_id() -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    for case in ("half an emoji \ud83d", {1: "a", "b": 2}, {("a", 1): 2}, endless, {"x": object}):
        assert case_id_of(case).startswith("case-")


def test_the_judged_texts_of_a_case() -> None:
    assert output_texts("a text") == ("a text",)
    assert output_texts(ANSWER) == ("an answer",)
    assert output_texts(PAIR) == ("first", "second")
    assert output_texts({"output": "x"}) is None


def test_a_change_reaches_the_judged_texts_only() -> None:
    assert map_texts("a text", str.upper) == "A TEXT"
    changed = map_texts(ANSWER, str.upper)
    assert (changed.output, changed.input, changed.case_id) == ("AN ANSWER", "a question", "c1")
    pair = map_texts(PAIR, str.upper)
    assert (pair.output, pair.output_b) == ("FIRST", "SECOND")
    assert isinstance(pair, PairwiseCase)
    with pytest.raises(CaseError, match="the texts of a dict are not known: give an AnswerCase, a PairwiseCase"):
        map_texts({"output": "x"}, str.upper)


@given(st.text(), st.text())
def test_no_change_is_no_change(output: str, output_b: str) -> None:
    case = PairwiseCase(case_id="c", output=output, output_b=output_b)
    assert map_texts(case, lambda text: text) == case


def test_presentation_changes_nothing_else() -> None:
    shown = presented(PAIR, slot_names=("X", "Y"))
    assert shown.presentation == Presentation(slot_names=("X", "Y"))
    both = presented(shown, instructions="Be strict.")
    assert both.presentation == Presentation(slot_names=("X", "Y"), instructions="Be strict.")
    assert (both.output, both.case_id) == (PAIR.output, PAIR.case_id)


def test_columns_make_a_case() -> None:
    case = case_from_mapping(
        {
            "case_id": 1,
            "output": "first",
            "input": "q",
            "reference": "r",
            "context": 5,
            "names": "Ada; Bob, Cy,",
            "author": "gpt-4o",
            "gold": "PASS",
            "subset": "x",
            "price": 0.5,
            "tags": ["a", {"b": 1}],
            "when": None,
            "odd": {1},
        }
    )
    assert case == AnswerCase(
        case_id="1",
        output="first",
        input="q",
        reference="r",
        context="5",
        names=("Ada", "Bob", "Cy"),
        author="gpt-4o",
        gold="PASS",
        attributes={"subset": "x", "price": 0.5, "tags": '["a", {"b": 1}]', "odd": '"{1}"'},
    )


def test_a_second_output_makes_a_pair() -> None:
    case = case_from_mapping({"case_id": "c", "output": "", "output_b": "b", "author_b": 7, "names": ("Ada", 1)})
    assert case == PairwiseCase(case_id="c", output="", output_b="b", author_b="7", names=("Ada", "1"))
    assert case_from_mapping({"case_id": "c", "output": "a", "output_b": "b", "names": []}) == PairwiseCase(
        case_id="c", output="a", output_b="b"
    )


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({}, "case_id"),
        ({"case_id": None, "output": "x"}, "case_id"),
        ({"case_id": " ", "output": "x"}, "case_id"),
        ({"case_id": 1}, "output"),
    ],
)
def test_a_missing_column_is_named(row: dict[str, Any], column: str) -> None:
    with pytest.raises(CaseError, match=f"cases.csv, line 3: column '{column}' is missing or empty"):
        case_from_mapping(row, where="cases.csv, line 3")


def test_names_of_another_kind_are_named_with_their_place() -> None:
    with pytest.raises(CaseError, match="line 3: names must be a list or a comma-separated text, not dict"):
        case_from_mapping({"case_id": 1, "output": "x", "names": {"a": 1}}, where="line 3")


@dataclass
class _Conversation:
    turns: int = 2


def test_the_kind_of_a_case_for_messages() -> None:
    assert describe_kind(PAIR) == "PairwiseCase"
    assert describe_kind(_Conversation()) == "_Conversation"
    assert describe_kind({"a": 1}) == "case of type dict"
