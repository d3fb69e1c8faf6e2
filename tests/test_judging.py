"""The seam every judge fits through."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from judgeharness_integrations import JudgeHarness, JudgeIdentity, Judgment
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.adapters import as_judge
from judgeharness_integrations.judging.judge import (
    Answer,
    FunctionJudge,
    Judge,
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
        "learned": {},
    }


class Verdict(Enum):
    GOOD = "PASS"


class Scalar:
    """What `numpy.int64(4)` shows of itself."""

    ndim = 0

    def __init__(self, held: object) -> None:
        self.held = held

    def item(self) -> object:
        return self.held


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
        (Scalar(4), Answer(verdict=4)),
        (Scalar(True), Answer(verdict="PASS")),  # noqa: FBT003
        ({"score": Scalar(0.5)}, Answer(verdict=0.5)),
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


class Graded(BaseModel):
    reasoning: str
    score: int


class Rubric(BaseModel):
    explanation: str = "It is fine as it stands."
    tone: bool
    facts: Graded


@dataclass
class Labelled:
    label: str
    comment: str | None = None


class Named(NamedTuple):
    grade: float
    confidence: float = 0.9


class EvaluationResult(BaseModel):
    """LangSmith's, by its fields."""

    key: str
    score: float | None = None
    value: str | None = None
    metadata: dict[str, str] | None = None
    comment: str | None = None
    correction: dict[str, str] | None = None
    evaluator_info: dict[str, str] = {}
    feedback_config: dict[str, str] | None = None
    source_run_id: str | None = None
    target_run_id: str | None = None
    extra: dict[str, str] | None = None


class Extended(BaseModel, extra="allow"):
    reasoning: str


class Scored(BaseModel):
    score: int | None = None
    reasoning: str = ""


class Rubrics(BaseModel):
    first: Scored
    second: Scored


REASONINGS = ["reasoning", "explanation", "comment", "reason", "rationale", "justification", "feedback"]


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (Graded(reasoning="Long.", score=4), Answer(verdict=4, reasoning="Long.")),
        (Labelled("PASS", comment="Fine."), Answer(verdict="PASS", reasoning="Fine.")),
        (Labelled("ABSTAIN"), Answer(outcome="refused")),
        (Named(0.5), Answer(verdict=0.5)),
        ({"verdict": True, "explanation": "So."}, Answer(verdict="PASS", reasoning="So.")),
        ({"value": Verdict.GOOD, "reasoning": ""}, Answer(verdict="PASS")),
        ({"label": "PASS", "score": 1, "grade": None}, Answer(verdict="PASS")),
        ({"label": "FAIL", "verdict": False}, Answer(verdict="FAIL")),
        (
            {"score": None, "reasoning": "Not sure about it."},
            Answer(outcome="unparsed", reasoning="Not sure about it."),
        ),
        *(({"score": 4, name: "Fine."}, Answer(verdict=4, reasoning="Fine.")) for name in REASONINGS),
        ({"score": None, "reasoning": "not applicable"}, Answer(outcome="unparsed", reasoning="not applicable")),
        (EvaluationResult(key="tone", score=1, comment="Fine."), Answer(verdict=1, reasoning="Fine.")),
        (
            {"key": "tone", "score": 1, "value": None, "comment": "Fine.", "source_run_id": None},
            Answer(verdict=1, reasoning="Fine."),
        ),
        ({"name": "Factuality", "score": 0.6, "metadata": {}, "error": None}, Answer(verdict=0.6)),
        (
            {"score": Decimal(4), "reasoning": "It is fine."},
            Answer(outcome="unparsed", reasoning="a verdict is a label, a number or a list of labels, not Decimal"),
        ),
        (
            {"verdict": "ABSTAIN", "score": 0},
            Answer(outcome="unparsed", reasoning="answered verdict refused and score 0, which differ"),
        ),
        (Extended.model_validate({"reasoning": "Fine.", "score": 4}), Answer(verdict=4, reasoning="Fine.")),
    ],
)
def test_fields_are_one_verdict_and_its_reasoning(value: object, answer: Answer) -> None:
    assert as_judgment(value) == Judgment(answers=(answer,))


def test_other_fields_are_a_criterion_each_with_the_reasoning_of_all() -> None:
    graded = Graded(reasoning="One is wrong.", score=2)
    assert as_judgment(Rubric(tone=True, facts=graded)).answers == (
        Answer(criterion="tone", verdict="PASS", reasoning="It is fine as it stands."),
        Answer(criterion="facts", verdict=2, reasoning="One is wrong."),
    )
    criteria = [answer.criterion for answer in as_judgment({"reasoning": "PASS", "tone": "FAIL"}).answers]
    assert criteria == ["reasoning", "tone"]  # a word is a label of a criterion that is called so
    assert [answer.criterion for answer in as_judgment({"score": 3, "tone": 4}).answers] == ["score", "tone"]
    assert as_judgment({}) == Judgment(answers=())


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"label": "A", "score": 2}, "label A and score 2"),
        ({"label": "A", "verdict": "B", "comment": "Both?"}, "verdict B and label A"),
        ({"verdict": "PASS", "score": 0}, "verdict PASS and score 0"),
        ({"tone": {"label": "good", "score": 0.9}, "facts": 4}, "label good and score 0.9"),
    ],
)
def test_verdicts_that_differ_are_none_and_end_a_run_that_begins_with_them(value: object, said: str) -> None:
    judgment = as_judgment(value)
    assert judgment.answers[0].outcome == "unparsed"
    assert judgment.answers[0].reasoning == f"answered {said}, which differ"
    assert judgment.unreadable == f"answered {said}, which differ: return one of them"


def test_an_answer_that_may_be_read_another_time_ends_no_run() -> None:
    for value in ({"first": {"score": None, "reasoning": "not applicable"}}, {"comment": "not good"}):
        assert as_judgment(value).unreadable is None
    first, second = as_judgment(Rubrics(first=Scored(), second=Scored(score=4))).answers
    assert (first.outcome, second.verdict) == ("unparsed", 4)


def test_an_object_with_a_reasoning_or_graded_fields_is_a_judges_though_one_of_its_fields_is_no_verdict() -> None:
    @dataclass
    class Report:
        tone: object
        issues: list[dict[str, int]]
        comment: str | None = None

    for report in (Report(4, [{"line": 1}], "Look at the first line."), Report(Graded(reasoning="", score=4), [{}])):
        judgment = as_judgment(report)
        assert judgment.unreadable is None
        assert [(one.criterion, one.verdict) for one in judgment.answers] == [("tone", 4), ("issues", None)]
    assert as_judgment(Report(4, [{"line": 1}])).unreadable is not None


@pytest.mark.parametrize(
    ("text", "criterion"),
    [("good", True), ("not good", True), ("not applicable here", True), ("Looks fine.", False), ("", False)],
)
def test_a_criterion_may_be_called_as_a_reasoning_is(text: str, *, criterion: bool) -> None:
    criteria = [answer.criterion for answer in as_judgment({"tone": "good", "comment": text}).answers]
    assert criteria == (["tone", "comment"] if criterion else ["tone"])


class Message(BaseModel):
    content: str = "sk-secret: PASS"
    metadata: dict[str, str] = {"id": "1"}


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (Message(), "answered a Message with content, metadata, which is no verdict: return a label, a number, or"),
        ({"choices": [{"text": "PASS"}]}, "answered a dict with choices, which is no verdict"),
        ({"reasoning": "It is all fine."}, "answered a dict with reasoning, which is no verdict"),
        ({str(n): object() for n in range(9)}, "answered a dict with 0, 1, 2, 3, 4, 5, 6, 7, ..., which is no verdict"),
        (b"PASS", "answered a value of type bytes: a verdict is a label, a number or a list of labels, not bytes"),
        ([{"a": 1}], "answered a value of type list: a set of labels must hold non-empty texts only"),
        (Labelled, "answered a value of type type: a verdict is"),
    ],
)
def test_an_answer_that_is_not_understood_says_what_it_was(value: object, what: str) -> None:
    judgment = as_judgment(value)
    (answer,) = judgment.answers
    assert (answer.verdict, answer.outcome) == (None, "unparsed")
    assert (judgment.unreadable or "").startswith(what)
    assert "secret" not in f"{judgment}"


def test_one_field_that_cannot_be_read_leaves_the_others() -> None:
    tone, facts = as_judgment({"tone": "PASS", "facts": Message()}).answers
    assert tone.verdict == "PASS"
    assert facts.reasoning == "answered a Message with content, metadata, which is no verdict"


def test_an_answer_that_is_not_understood_is_refused_after_one_call() -> None:
    asked: list[object] = []

    def judge(case: object) -> Message:
        asked.append(case)
        return Message()

    one = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority", observers=())
    with pytest.raises(
        UsageError, match="judge 'judge' answered a Message with content, metadata, which is no verdict"
    ):
        list(one.evaluate_many(judge, [f"case {number}" for number in range(100)]))
    assert len(asked) == 1


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
    ("function", "name", "known"),
    [
        (sync_function, "sync_function", True),
        (lambda _: "PASS", "judge", False),
        (SyncCallable(), "SyncCallable", False),
        (functools.partial(sync_function), "sync_function", True),
        (functools.partial(functools.partial(async_function)), "async_function", True),
    ],
)
def test_a_judge_is_named_after_its_function(function: Any, name: str, *, known: bool) -> None:
    judge = as_judge(function)
    assert (judge.name, judge.identity is not None, judge.criteria) == (name, known, None)


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
