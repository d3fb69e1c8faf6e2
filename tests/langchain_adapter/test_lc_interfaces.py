"""The interfaces of our own, for the day LangChain's evaluators are gone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_classic.evaluation import schema

from judgeharness_langchain import faces as interfaces
from judgeharness_langchain.faces import _interface, _PairwiseStringEvaluator, _StringEvaluator


class Single(_StringEvaluator):
    def _evaluate_strings(self, **options: Any) -> dict[str, Any]:
        return {"got": options}

    async def _aevaluate_strings(self, **options: Any) -> dict[str, Any]:
        return {"awaited": options}


class Demanding(Single):
    requires_input = True
    requires_reference = True


class Pair(_PairwiseStringEvaluator):
    def _evaluate_string_pairs(self, **options: Any) -> dict[str, Any]:
        return {"got": options}

    async def _aevaluate_string_pairs(self, **options: Any) -> dict[str, Any]:
        return {"awaited": options}


def test_langchains_interface_is_taken_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _interface("StringEvaluator", Single) is schema.StringEvaluator
    assert _interface("NoSuchEvaluator", Single) is Single
    monkeypatch.setattr(interfaces, "_HOMES", ("no_such_package.evaluation", "json"))
    assert _interface("StringEvaluator", Single) is Single


def test_one_answer_is_handed_on() -> None:
    evaluator = Single()
    handed = {"prediction": "p", "reference": None, "input": None, "tags": ["t"]}
    assert evaluator.evaluate_strings(prediction="p", tags=["t"]) == {"got": handed}
    assert asyncio.run(evaluator.aevaluate_strings(prediction="p", tags=["t"])) == {"awaited": handed}
    assert (evaluator.evaluation_name, evaluator.requires_input, evaluator.requires_reference) == (
        "Single",
        False,
        False,
    )


def test_two_answers_are_handed_on() -> None:
    handed = {"prediction": "p", "prediction_b": "b", "reference": None, "input": None, "metadata": {}}
    assert Pair().evaluate_string_pairs(prediction="p", prediction_b="b", metadata={}) == {"got": handed}
    awaited = Pair().aevaluate_string_pairs(prediction="p", prediction_b="b", metadata={})
    assert asyncio.run(awaited) == {"awaited": handed}


def test_missing_arguments_are_refused_and_unexpected_ones_said() -> None:
    with pytest.raises(ValueError, match="Demanding requires an input string"):
        Demanding().evaluate_strings(prediction="p", reference="r")
    with pytest.raises(ValueError, match="Demanding requires a reference string"):
        asyncio.run(Demanding().aevaluate_strings(prediction="p", input="i"))
    assert Demanding().evaluate_strings(prediction="p", input="i", reference="r")["got"]["reference"] == "r"
    with pytest.warns(UserWarning, match="Ignoring reference in Single"):
        Single().evaluate_strings(prediction="p", reference="r")
    with pytest.warns(UserWarning, match="Ignoring input in Pair"):
        Pair().evaluate_string_pairs(prediction="p", prediction_b="b", input="i")


@pytest.mark.parametrize("kind", [_StringEvaluator, _PairwiseStringEvaluator])
def test_an_interface_alone_evaluates_nothing(kind: type[Any]) -> None:
    with pytest.raises(TypeError, match="abstract"):
        kind()
