"""The forms a result comes in and goes out in: labels, lists, keys, partly called functions, bare samples."""

from __future__ import annotations

import functools
from typing import Any, Literal

import pytest
from langchain_core.caches import InMemoryCache
from langsmith.evaluation import EvaluationResult
from openevals.exact import exact_match
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from pydantic import BaseModel
from support.openai_server import Reply, chat_model
from support.openevals_judging import CASE, PROMPT, Serve, once, scored, told, without

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.adapterkit import shape_of
from judgeharness_openevals import harness_judge

TEXT = {"outputs": "it is a text"}


def in_turn(*answers: Any) -> Any:
    """A function that gives the answers one after the other, over and over."""
    number = iter(range(1000))
    return lambda outputs: answers[next(number) % len(answers)]


def one_by_one(harness: JudgeHarness | None = None) -> JudgeHarness:
    return harness or JudgeHarness(
        perturbations=["none"], repetitions=4, aggregation_rule="majority | median", max_concurrency=1
    )


@pytest.mark.parametrize(
    "native",
    [
        {"key": "tone", "value": "warm"},
        {"key": "tone", "score": None, "value": "warm", "comment": "kind"},
        EvaluationResult(key="tone", value="warm", comment="kind"),
    ],
)
def test_a_label_of_langsmith_is_in_value(native: Any) -> None:
    answer = harness_judge(lambda outputs: native)(**TEXT)
    assert (answer["key"], answer["value"], answer.get("score")) == ("tone", "warm", None)
    assert (answer["metadata"]["verdict"], list(answer["metadata"]["harness"]["criteria"])) == ("warm", ["tone"])
    bare = harness_judge(lambda outputs: native, once())(**TEXT)
    assert bare["value"] == "warm"


def test_a_value_without_a_key_is_a_result_where_it_looks_like_one() -> None:
    answer = harness_judge(lambda outputs: {"value": "warm", "comment": "kind"}, key="tone")(**TEXT)
    assert without(answer, "metadata") == {"value": "warm", "comment": "kind", "key": "tone"}
    fields = harness_judge(lambda outputs: {"value": 3, "polite": True})(**TEXT)
    assert fields["metadata"]["criteria"].keys() == {"value", "polite"}


def test_no_single_samples_label_is_returned_without_a_decision() -> None:
    split = harness_judge(in_turn({"key": "k", "value": "warm"}, {"key": "k", "value": "cold"}), one_by_one())(**TEXT)
    assert (split["value"], split["metadata"]["status"]) == (None, "abstained")
    both = harness_judge(in_turn({"score": True, "value": "a"}, {"score": False, "value": "b"}), one_by_one())(**TEXT)
    assert (both["score"], both["value"]) == (None, None)
    assert both["comment"].startswith("abstained: ")


def test_results_are_a_list() -> None:
    native = {"results": [{"key": "a", "score": 1}, EvaluationResult(key="b", score=0.5)]}
    answer = harness_judge(lambda outputs: native)(**TEXT)
    assert [(part["key"], part["score"]) for part in answer] == [("a", 1), ("b", 0.5)]


def test_results_of_one_key_are_numbered() -> None:
    native = [{"key": "a", "score": 1}, {"key": "a", "score": 0}, {"key": "a_2", "score": 3}, {"score": 4}]
    answer = harness_judge(lambda outputs: native, key="a")(**TEXT)
    assert [(part["key"], part["score"]) for part in answer] == [("a", 1), ("a_2", 0), ("a_2_2", 3), ("a_3", 4)]
    assert [part["key"] for part in native[:3]] == ["a", "a", "a_2"]


@pytest.mark.parametrize("harness", [None, once()])
def test_a_key_is_given_to_results_that_have_none(harness: JudgeHarness | None) -> None:
    for native, key in (({"score": 1}, "mine"), ({"key": None, "score": 1}, "mine"), ({"key": "k", "score": 1}, "k")):
        assert harness_judge(lambda outputs, native=native: native, harness, key="mine")(**TEXT)["key"] == key


@pytest.mark.parametrize("native", [{"key": "k", "score": float("nan")}, {"key": "k", "score": "x" * 300}])
def test_a_bare_sample_that_is_no_verdict_has_no_score(native: Any) -> None:
    answer = harness_judge(lambda outputs: native, once())(**TEXT)
    assert (answer["score"], answer["metadata"]["status"]) == (None, "not_graded")


def test_a_bare_output_keeps_what_was_decided(openai_server: Serve) -> None:
    class Review(BaseModel):
        good: bool | None
        tone: Literal["warm", "cold"]

    server = openai_server([Reply.json({"good": None, "tone": "warm"})])
    judge = create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), output_schema=Review)
    answer = harness_judge(judge, once())(**CASE)
    assert without(answer, "metadata", "comment") == {"good": None, "tone": "warm"}
    assert answer["comment"].startswith("good: not graded: ")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("score", "verdict"), [(1, "PASS"), (0, "FAIL"), (1.0, "PASS"), (0.5, None)])
def test_a_judge_that_is_asked_for_a_truth_value_may_answer_a_bit(
    openai_server: Serve, score: float, verdict: str | None
) -> None:
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([scored(score)])))
    answer = harness_judge(bare)(**CASE)
    assert (answer["score"], answer["metadata"]["verdict"]) == (None if verdict is None else score == 1, verdict)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("choices", "said", "score"), [([0, 1], (0, 1), None), ([0, 1], (0, 1, 1), 1), ([1, 2, 4], (1, 2, 4, 4, 4, 4), 4)]
)
def test_the_score_of_a_judge_with_choices_is_one_of_them(
    openai_server: Serve, choices: list[float], said: tuple[float, ...], score: float | None
) -> None:
    server = openai_server([scored(part) for part in said])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), choices=choices))
    answer = judge(**CASE)
    assert answer["score"] == score
    assert answer["metadata"]["status"] == ("abstained" if score is None else "decided")


@pytest.mark.slow
def test_the_numbers_of_a_schema_may_be_given_too(openai_server: Serve) -> None:
    class Graded(BaseModel):
        """A review."""

        grade: Literal[1, 2]
        good: bool

    class Rated(BaseModel):
        grade: Literal[1, 2]
        share: float

    model = chat_model(openai_server([Reply.json({"grade": 1, "good": True}), Reply.json({"grade": 2, "good": True})]))
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model, output_schema=Graded))
    answer = judge(**CASE)
    assert (answer["grade"], answer["good"]) == (None, True)
    assert answer["metadata"]["criteria"]["grade"]["status"] == "abstained"
    rated = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model, output_schema=Rated))
    assert rated.harness.design.rule.name.endswith("| median")


@pytest.mark.slow
@pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])
def test_a_partly_called_judge_is_known_by_what_is_inside(openai_server: Serve, factory: Any) -> None:
    server = openai_server([scored(score=True)])
    bare = factory(prompt="{context} {outputs}", judge=chat_model(server, cache=InMemoryCache()), feedback_key="fk")
    twice = functools.partial(functools.partial(bare, context="no"), context="yes")
    judge = harness_judge(twice)
    answer = told(judge, outputs="it is a text")
    assert (answer["key"], answer["score"], server.calls) == ("fk", True, 6)  # the cache is seen, too
    assert all(request.user.startswith("yes ") for request in server.requests)
    assert shape_of(judge.judge) == "labels"
    other = harness_judge(functools.partial(bare, context="other"))
    assert len({judge.judge.identity.prompt_hash, other.judge.identity.prompt_hash}) == 2
    with pytest.raises(UsageError, match="harnessed already"):
        harness_judge(functools.partial(judge, context="x"))


def test_other_functions_may_be_partly_called_too() -> None:
    def near(outputs: str, limit: int) -> bool:
        return len(outputs) < limit

    judge = harness_judge(functools.partial(near, limit=100))
    assert (judge.judge.name, judge(**TEXT)["key"], judge(**TEXT)["score"]) == ("near", "near", True)
    same = harness_judge(functools.partial(exact_match, reference_outputs="Paris"))
    assert (same(outputs="Paris")["score"], same.judge.asked_once) == (True, "asks no model")

    class Asynchronous:
        async def __call__(self, *, outputs: str, limit: int) -> bool:
            return near(outputs, limit)

    assert told(harness_judge(functools.partial(Asynchronous(), limit=3)), **TEXT)["score"] is False
