"""Evaluators of the caller's own: asked by whatever method they have, and what they answer is read or named."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from langchain_classic.evaluation import PairwiseStringEvaluator, StringEvaluator
from support.openai_server import OpenAIServer, Reply, chat_model

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_langchain import harness_evaluator

Serve = Callable[..., OpenAIServer]


class Plain(StringEvaluator):
    """As LangChain's page shows one, but for `**kwargs`."""

    def _evaluate_strings(self, *, prediction: str, reference: str | None = None, input: str | None = None) -> Any:  # noqa: A002
        return {"score": int("Hi" in prediction)}


class Duck:
    """No evaluator of LangChain's by class, and with a sync face alone."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def evaluate_strings(self, prediction: str) -> dict[str, Any]:
        self.threads.add(threading.get_ident())
        return {"score": int("Hi" in prediction)}


class Awaited:
    """Its async face is another one than LangChain would make of the sync one."""

    def evaluate_strings(self, **texts: Any) -> dict[str, Any]:
        raise NotImplementedError

    async def aevaluate_strings(self, *, prediction: str, **texts: Any) -> dict[str, Any]:
        return {"score": int("Hi" in prediction)}


class Longer(PairwiseStringEvaluator):
    def _evaluate_string_pairs(self, *, prediction: str, prediction_b: str, **_: Any) -> dict[str, Any]:
        return {"value": "A" if len(prediction) > len(prediction_b) else "B"}


@pytest.mark.parametrize("evaluator", [Plain(), Duck(), Awaited()], ids=lambda one: type(one).__name__)
def test_it_is_asked_with_the_arguments_it_takes(evaluator: Any) -> None:
    harnessed = harness_evaluator(evaluator, JudgeHarness.quick("labels"), shape="labels")
    assert [harnessed.evaluate_strings(prediction=said)["score"] for said in ("Hi.", "No.")] == [1, 0]


def test_a_sync_face_does_not_hold_up_the_event_loop() -> None:
    duck = Duck()
    harness_evaluator(duck, JudgeHarness.quick("labels"), shape="labels").evaluate_strings(prediction="Hi.")
    assert all(one.name.startswith("judgeharness") for one in threading.enumerate() if one.ident in duck.threads)


def test_an_argument_it_does_not_take_and_that_was_given_is_an_error() -> None:
    class Strict(Duck):
        requires_reference = True

    harnessed = harness_evaluator(Strict(), JudgeHarness.single("labels"), shape="labels")
    with pytest.raises(TypeError, match="unexpected keyword argument 'reference'"):
        harnessed.evaluate_strings(prediction="Hi.", reference="Hello.")


def test_two_answers() -> None:
    harnessed = harness_evaluator(Longer(), JudgeHarness.quick("pairwise"))
    assert harnessed.evaluate_string_pairs(prediction="short", prediction_b="much longer")["value"] == "B"


@pytest.mark.parametrize(
    ("answer", "shape", "score"),
    [(np.int64(1), "labels", 1), (np.bool_(0), "labels", 0), (np.float32(0.5), "scores", 0.5)],
)
def test_a_numpy_scalar_is_a_score(answer: Any, shape: Any, score: float) -> None:
    assert measured({"score": answer}, shape)["score"] == score


def measured(answer: Any, shape: Any = "labels") -> Mapping[str, Any]:
    class Own:
        def evaluate_strings(self, prediction: str) -> Any:
            return answer

    found: dict[str, Any] = harness_evaluator(Own(), shape=shape).evaluate_strings(prediction="Hi.")
    return found


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ({"foo": 1}, "a dict with foo"),
        ({}, "an empty dict"),
        ([1], "a value of type list"),
        ({"score": object()}, "a dict with score"),
    ],
)
def test_an_answer_nobody_understands_says_what_it_was_after_one_call(answer: Any, what: str) -> None:
    calls: list[str] = []

    class Strange:
        def evaluate_strings(self, prediction: str) -> Any:
            calls.append(prediction)
            return answer

    harnessed = harness_evaluator(Strange(), shape="labels")
    with pytest.raises(UsageError, match=f"^judge 'Strange' answered {what}, which is no verdict: return a dict with"):
        harnessed.evaluate_strings(prediction="Hi.")
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("answer", "shape", "what"),
    [
        ({"value": "meh"}, "labels", "value 'meh'"),
        ({"value": "fine", "score": None}, "scores", "value 'fine'"),
        ({"value": None, "score": None}, "labels", "a dict with value, score"),
        (None, "labels", "a value of type NoneType"),
    ],
)
def test_one_that_may_be_read_another_time_is_unparsed_and_says_what_it_was(answer: Any, shape: Any, what: str) -> None:
    found = measured(answer, shape)
    assert (found["score"], found["harness"]["status"]) == (None, "not_graded")
    assert f"first unparsed: answered {what}, which is no verdict" in found["reasoning"]


def test_a_model_that_it_asked_and_that_was_cut_off_is_the_reason(openai_server: Serve) -> None:
    model = chat_model(openai_server([Reply.truncated("I think")]))

    class Asking(StringEvaluator):
        def _evaluate_strings(self, **texts: Any) -> dict[str, Any]:
            return {"score": None, "reasoning": model.invoke(texts["prediction"]).content}

    harnessed = harness_evaluator(Asking(), JudgeHarness.quick("labels"), shape="labels")
    found = harnessed.evaluate_strings(prediction="Hi.")
    assert found["harness"]["status"] == "not_graded"
    assert "no verdict: return" not in found["reasoning"]
