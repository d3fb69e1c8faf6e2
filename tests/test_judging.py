"""The seam every judge fits through."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import Any

import pytest

from judgeharness_integrations import JudgeHarness, JudgeIdentity, Judgment
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging import (
    Answer,
    FunctionJudge,
    Judge,
    as_judge,
    as_judgment,
    call_maybe_async,
    model_family,
    text_hash,
)
from judgeharness_integrations.testing import ScriptedJudge


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o", "openai"),
        ("gpt4", "openai"),
        ("openai/o3-mini", "openai"),
        ("chatgpt-4o-latest", "openai"),
        ("anthropic:claude-3-5-sonnet", "anthropic"),
        ("us.anthropic.claude-v2", "anthropic"),
        ("models/gemini-2.0-flash", "google"),
        ("meta_llama/Llama3-70b", "meta"),
        ("qwen2.5-72b", "alibaba"),
        ("deepseek-chat", "deepseek"),
        ("Philosopher-7b", None),
        ("my-own-model", None),
        ("", None),
        (None, None),
    ],
)
def test_the_maker_of_a_model(model: str | None, family: str | None) -> None:
    assert model_family(model) == family


def test_a_prompt_is_kept_as_a_short_digest() -> None:
    assert text_hash("a prompt") == text_hash("a prompt") != text_hash("another")
    assert len(text_hash("a prompt")) == 16


def test_an_identity_is_json() -> None:
    identity = JudgeIdentity(name="j", model="m", parameters={"temperature": 0.5}, prompt_hash="p", family="f")
    assert identity.to_dict() == {
        "name": "j",
        "model": "m",
        "parameters": {"temperature": 0.5},
        "prompt_hash": "p",
        "family": "f",
    }


class Verdict(Enum):
    GOOD = "PASS"


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("A", Answer(verdict="A")),
        (" A\t", Answer(verdict="A")),
        (True, Answer(verdict="PASS")),
        (False, Answer(verdict="FAIL")),
        (7, Answer(verdict=7)),
        (0.5, Answer(verdict=0.5)),
        (Verdict.GOOD, Answer(verdict="PASS")),
        (["x", "y"], Answer(verdict=frozenset({"x", "y"}))),
        (None, Answer(outcome="unparsed")),
        ("   ", Answer(outcome="unparsed")),
        ("x" * 201, Answer(outcome="unparsed", reasoning="x" * 201)),
        ("A\nB", Answer(outcome="unparsed", reasoning="A\nB")),
        ("ABSTAIN", Answer(outcome="refused")),
        (b"A", Answer(outcome="unparsed", reasoning="a verdict is a label, a number or a list of labels, not bytes")),
    ],
)
def test_whatever_a_callable_returns_is_one_answer(value: object, answer: Answer) -> None:
    assert as_judgment(value) == Judgment(answers=(answer,))


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_a_score_that_is_no_number_is_unparsed_and_says_so(score: float) -> None:
    (answer,) = as_judgment(score).answers
    assert (answer.verdict, answer.outcome) == (None, "unparsed")
    assert "finite number" in (answer.reasoning or "")


def test_a_mapping_is_one_answer_a_criterion() -> None:
    ready = Answer(criterion="style", verdict="PASS", reasoning="fine")
    assert as_judgment(OrderedDict(tone="PASS", length=3, style=ready)).answers == (
        Answer(criterion="tone", verdict="PASS"),
        Answer(criterion="length", verdict=3),
        ready,
    )


def test_a_judgment_stays_what_it_is() -> None:
    judgment = Judgment(answers=(), raw="text")
    assert as_judgment(judgment) is judgment


async def async_function(case: object) -> str:
    return "PASS"


def sync_function(case: object) -> str:
    return "PASS"


class AsyncCallable:
    async def __call__(self, case: object) -> str:
        return "PASS"


class SyncCallable:
    def __call__(self, case: object) -> str:
        return "PASS"

    def method(self, case: object) -> str:
        return "PASS"

    async def async_method(self, case: object) -> str:
        return "PASS"


CALLABLES = [
    async_function,
    sync_function,
    AsyncCallable(),
    SyncCallable(),
    SyncCallable().method,
    SyncCallable().async_method,
    functools.partial(async_function),
    functools.partial(sync_function),
    lambda case: async_function(case),  # noqa: PLW0108 - a plain function that gives back an awaitable
    lambda _: "PASS",
]


@pytest.mark.parametrize("function", CALLABLES, ids=lambda function: type(function).__name__)
def test_any_callable_is_a_judge(function: Any) -> None:
    one = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
    assert one.evaluate(function, "case").verdict == "PASS"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (sync_function, "sync_function"),
        (lambda _: "PASS", "judge"),
        (SyncCallable(), "SyncCallable"),
        (functools.partial(sync_function), "partial"),
    ],
)
def test_a_judge_is_named_after_its_function(function: Any, name: str) -> None:
    judge = as_judge(function)
    assert (judge.name, judge.identity, judge.criteria) == (name, None, None)


def test_a_judge_stays_what_it_is() -> None:
    judge = ScriptedJudge(["PASS"])
    assert isinstance(judge, Judge)
    assert as_judge(judge) is judge
    with pytest.raises(UsageError, match="a NoneType is not a judge"):
        as_judge(None)  # type: ignore[arg-type]


def test_a_judge_may_bring_its_own_threads() -> None:
    seen: list[str] = []

    def function(case: object) -> str:
        seen.append(threading.current_thread().name)
        return "PASS"

    with ThreadPoolExecutor(1, thread_name_prefix="mine") as threads:
        judge = FunctionJudge(function=function, threads=threads)
        JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority").evaluate(judge, "case")
    assert seen == ["mine_0", "mine_0"]


def test_a_judge_out_of_answers_is_a_failed_call() -> None:
    answers = iter(["PASS"])

    async def async_judge(case: object) -> str:
        return next(answers)

    one = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority", max_concurrency=1)
    assert [row.error for row in one.evaluate(lambda _: next(answers), "case").rows] == [
        None,
        "RuntimeError: the judge ran out of answers (StopIteration)",
    ]
    assert {row.outcome for row in one.evaluate(async_judge, "case").rows} == {"error"}


def test_a_judge_of_somebody_elses_may_return_plain_answers() -> None:
    class Plain(ScriptedJudge):
        async def judge(self, probe: object) -> Any:
            return "PASS"

    one = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
    assert one.evaluate(Plain([]), "case").verdict == "PASS"


def test_functions_of_either_kind_are_called() -> None:
    assert asyncio.run(call_maybe_async(async_function, "case")) == "PASS"
    assert asyncio.run(call_maybe_async(sync_function, "case")) == "PASS"
