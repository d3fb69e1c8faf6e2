"""Answers as rows: criteria, declared labels and scales, evidence, failures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import Enum
from typing import Any

import pytest

from judgeharness_integrations import Criterion, HarnessResult, JudgeHarness, JudgeIdentity, Judgment, VerdictRow
from judgeharness_integrations.judging.judge import Answer
from judgeharness_integrations.testing import ScriptedJudge


def asked(answer: Any, criteria: Sequence[Criterion] | None = None, **options: Any) -> tuple[VerdictRow, ...]:
    return measured([answer], criteria, repetitions=1, **options).rows


def measured(answers: list[Any], criteria: Sequence[Criterion] | None = None, **options: Any) -> HarnessResult:
    arguments: dict[str, Any] = {"perturbations": ["none"], "aggregation_rule": "majority", "max_concurrency": 1}
    identity = JudgeIdentity(name="scripted", model="model-1")
    judge = ScriptedJudge(answers, criteria=criteria, identity=identity)
    return JudgeHarness(**(arguments | {"repetitions": len(answers)} | options)).evaluate(judge, "case")


def facts(rows: Sequence[VerdictRow]) -> list[tuple[str, object, str]]:
    return [(row.criterion, row.verdict, row.outcome) for row in rows]


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("answer", "verdict", "outcome"),
    [
        ("PASS", "PASS", "ok"),
        (" PASS ", "PASS", "ok"),
        (True, "PASS", "ok"),
        (False, "FAIL", "ok"),
        (Colour.RED, "red", "ok"),
        (7.5, 7.5, "ok"),
        ({"b", "a"}, frozenset({"a", "b"}), "ok"),
        (Answer(verdict=["a", "a"]), frozenset({"a"}), "ok"),
        (Answer(verdict=True), "PASS", "ok"),
    ],
)
def test_verdicts(answer: object, verdict: object, outcome: str) -> None:
    judgment = Judgment(answers=(answer,)) if isinstance(answer, Answer) else answer
    rule = "median" if verdict == 7.5 else "majority"
    assert facts(asked(judgment, aggregation_rule=rule)) == [("verdict", verdict, outcome)]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, "unparsed"),
        ("", "unparsed"),
        (float("nan"), "unparsed"),
        ("a very long story " * 20, "unparsed"),
        ("two\nlines", "unparsed"),
        ("ABSTAIN", "refused"),
        (Answer(), "unparsed"),
        (Answer(verdict=float("inf")), "unparsed"),
        (Answer(verdict="ABSTAIN"), "refused"),
        (Answer(outcome="refused"), "refused"),
        (Judgment(answers=()), "unparsed"),
    ],
)
def test_answers_without_a_verdict_count_for_every_criterion(answer: object, outcome: str) -> None:
    judgment = Judgment(answers=(answer,)) if isinstance(answer, Answer) else answer
    assert facts(asked(judgment)) == [("*", None, outcome)]
    two = (Criterion(name="a"), Criterion(name="b"))
    assert facts(asked(judgment, two)) == [("a", None, outcome), ("b", None, outcome)]


def test_failures_before_criteria_are_known_count_for_every_criterion() -> None:
    answers = [None, {"tone": "PASS", "facts": "FAIL"}, ValueError("no"), {"tone": "PASS", "facts": "PASS"}]
    result = measured(answers)
    assert set(result.criteria) == {"tone", "facts"}
    for measured_one in result.criteria.values():
        assert dict(measured_one.outcomes) == {"ok": 2, "unparsed": 1, "refused": 0, "error": 1}
        assert measured_one.planned == 4
    assert result.criteria["tone"].verdict == "PASS"
    assert result.criteria["facts"].status == "abstained"


def test_a_declared_criterion_without_an_answer_is_unparsed() -> None:
    criteria = (Criterion(name="tone"), Criterion(name="facts"))
    rows = asked({"tone": "PASS"}, criteria)
    assert facts(rows) == [("tone", "PASS", "ok"), ("facts", None, "unparsed")]
    assert facts(asked(ValueError("no"), criteria)) == [("tone", None, "error"), ("facts", None, "error")]


def test_a_plain_answer_is_about_the_only_declared_criterion() -> None:
    assert facts(asked("PASS", (Criterion(name="tone"),))) == [("tone", "PASS", "ok")]
    assert facts(asked("PASS", (Criterion(name="verdict"), Criterion(name="tone")))) == [
        ("verdict", "PASS", "ok"),
        ("tone", None, "unparsed"),
    ]


def test_one_criterion_answered_twice_is_a_failed_call() -> None:
    (row,) = asked(Judgment(answers=(Answer(verdict="PASS"), Answer(verdict="FAIL"))))
    assert (row.outcome, row.error) == ("error", "ValueError: the judge answered one criterion twice")


@pytest.mark.parametrize(
    ("declared", "answer", "accepted"),
    [
        ({"labels": ("PASS", "FAIL")}, "PASS", True),
        ({"labels": ("PASS", "FAIL")}, "MAYBE", False),
        ({"labels": ("a", "b", "c")}, {"a", "c"}, True),
        ({"labels": ("a", "b", "c")}, {"a", "d"}, False),
        ({"scale": (1, 10)}, 1, True),
        ({"scale": (1, 10)}, 10.0, True),
        ({"scale": (1, 10)}, 0, False),
        ({"scale": (1, 10)}, 11, False),
        ({"scale": (1, 10)}, "ten", False),
        ({}, "anything", True),
    ],
)
def test_what_is_declared_is_enforced(declared: dict[str, Any], answer: object, *, accepted: bool) -> None:
    rule = "median" if "scale" in declared else "majority"
    (row,) = asked(answer, (Criterion(name="verdict", **declared),), aggregation_rule=rule)
    assert row.outcome == ("ok" if accepted else "unparsed")
    assert row.reasoning == (None if accepted else row.reasoning)
    assert accepted or (row.reasoning or "").endswith("which is not declared")


def test_an_undeclared_answer_keeps_its_own_reasons() -> None:
    judgment = Judgment(answers=(Answer(verdict="MAYBE", reasoning="torn"),))
    (row,) = asked(judgment, (Criterion(name="verdict", labels=("PASS", "FAIL")),))
    assert (row.outcome, row.reasoning) == ("unparsed", "torn")


FULL = Judgment(
    answers=(Answer(criterion="tone", verdict="PASS", reasoning="kind"), Answer(criterion="facts", verdict="FAIL")),
    raw="the whole text",
    model="model-2",
    input_tokens=100,
    output_tokens=20,
    cached_input_tokens=64,
    cache_write_tokens=16,
    service_tier="flex",
    finish_reason="stop",
    facts={"response_id": "r1"},
)


def test_the_evidence_of_a_call_stands_on_its_first_row_only() -> None:
    first, second = asked(FULL)
    assert first.call_id == second.call_id == f"{first.case_id}/scripted/none/0"
    assert (first.raw, first.input_tokens, first.output_tokens, first.attempts) == ("the whole text", 100, 20, 1)
    assert (second.raw, second.input_tokens, second.output_tokens, second.attempts) == (None, None, None, None)
    assert (first.cached_input_tokens, first.cache_write_tokens) == (64, 16)
    assert (second.cached_input_tokens, second.cache_write_tokens) == (None, None)
    assert {(row.service_tier, row.finish_reason) for row in (first, second)} == {("flex", "stop")}
    assert first.latency_s is not None
    assert second.latency_s is None
    assert {first.model, second.model} == {"model-2"}
    assert first.attributes == second.attributes == {"response_id": "r1"}
    assert (first.reasoning, second.reasoning) == ("kind", None)


def test_usage_adds_up_over_criteria_and_repetitions() -> None:
    usage = measured([FULL, FULL, ValueError("no")]).usage
    assert (usage.calls, usage.attempts, usage.input_tokens, usage.output_tokens) == (3, 3, 200, 40)


@pytest.mark.parametrize(
    ("keep", "raw", "reasoning"),
    [
        ("text", "the whole text", "kind"),
        (
            "hash",
            "sha256:" + hashlib.sha256(b"the whole text").hexdigest(),
            "sha256:" + hashlib.sha256(b"kind").hexdigest(),
        ),
        ("none", None, None),
    ],
)
def test_what_is_kept_of_texts(keep: str, raw: str | None, reasoning: str | None) -> None:
    row = asked(FULL, keep=keep)[0]
    assert (row.raw, row.reasoning, row.verdict) == (raw, reasoning, "PASS")


def test_the_error_of_a_failed_call_is_short() -> None:
    (row,) = asked(ValueError("x" * 10_000))
    assert row.error is not None
    assert (len(row.error), row.outcome, row.model) == (500, "error", "model-1")
    (row,) = asked(ValueError())
    assert row.error == "ValueError"
