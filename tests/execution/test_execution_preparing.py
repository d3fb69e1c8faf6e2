"""Perturbed cases and rewrites: made once, counted, and failing alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase, Perturbation
from judgeharness_integrations._errors import BudgetError
from judgeharness_integrations.judging.cases import Case, Criterion, Presentation
from judgeharness_integrations.judging.execution import preparing
from judgeharness_integrations.judging.execution.preparing import CaseFacts, asked_digest
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.perturbations.base import Context
from judgeharness_integrations.testing import ScriptedJudge

PAIR = PairwiseCase(case_id="pair", input="Which?", output="first answer", output_b="second answer")


class Rewriter:
    """Says texts louder, and notes every call."""

    def __init__(self, *failures: Exception) -> None:
        self.asked: Counter[str] = Counter()
        self._failures = list(failures)

    async def __call__(self, text: str) -> str:
        self.asked[text] += 1
        await asyncio.sleep(0.005)
        if self._failures:
            raise self._failures.pop(0)
        return text.upper()


def harness(*perturbations: str | Perturbation, **options: object) -> JudgeHarness:
    defaults = {"repetitions": 3, "aggregation_rule": "majority", "observers": ()}
    return JudgeHarness(perturbations=perturbations, **(defaults | options))  # type: ignore[arg-type]


def test_a_perturbation_is_applied_once_for_all_repetitions() -> None:
    applied: list[str] = []

    def apply(case: str) -> str:
        applied.append(case)
        return case + "!"

    async def apply_slowly(case: str) -> str:
        await asyncio.sleep(0.01)
        return apply(case)

    judge = ScriptedJudge(["PASS"])
    harness(Perturbation("fast", apply), Perturbation("slow", apply_slowly), repetitions=8).evaluate(judge, "case")
    assert applied == ["case", "case"]
    assert [probe.case for probe in judge.probes] == ["case!"] * 16


@pytest.mark.parametrize("kind", ["sync", "async", "cancelled", "StopIteration"])
def test_a_perturbation_that_raises_fails_its_own_probes_only(kind: str) -> None:
    def broken(case: Case) -> Case:
        raise StopIteration if kind == "StopIteration" else ValueError("cannot be changed")

    async def broken_later(case: Case) -> Case:
        await asyncio.sleep(0)
        raise asyncio.CancelledError if kind == "cancelled" else ValueError("cannot be changed")

    apply = broken if kind in ("sync", "StopIteration") else broken_later
    judge = ScriptedJudge(["PASS"])
    result = harness("none", Perturbation("broken", apply)).evaluate(judge, "case")
    assert [(row.perturbation, row.outcome, row.attempts) for row in result.rows] == [
        *[("none", "ok", 1)] * 3,
        *[("broken", "error", 0)] * 3,
    ]
    assert {row.error for row in result.rows[3:]} <= {
        "ValueError: cannot be changed",
        "RuntimeError: the call ended itself with CancelledError()",
        "RuntimeError: coroutine raised StopIteration",
    }
    assert len(judge.probes) == 3


def test_a_perturbation_that_cannot_restore_fails_its_own_probes_only() -> None:
    def lost(verdict: object, criterion: str) -> None:
        return None

    def broken(verdict: object, criterion: str) -> str:
        raise KeyError(verdict)

    lossy, raising = (Perturbation(n, lambda c: c, restore=r) for n, r in (("lossy", lost), ("raising", broken)))
    result = harness("none", lossy, raising, repetitions=1).evaluate(ScriptedJudge(["PASS"]), "case")
    assert [row.error for row in result.rows] == [
        None,
        "ValueError: perturbation 'lossy' restored PASS to no verdict",
        "KeyError: 'PASS'",
    ]


def test_rewrites_are_made_once_per_text_over_repetitions_and_perturbations() -> None:
    rewriter, judge = Rewriter(), ScriptedJudge(["A"])
    one = harness("none", "paraphrase", "position_swap", "paraphrase+position_swap", rewriter=rewriter)
    assert (one.plan(judge, [PAIR]).rewrites, one.plan(judge, [PAIR]).calls) == (2, 12)
    result = one.evaluate(judge, PAIR)
    assert rewriter.asked == {"first answer": 1, "second answer": 1}
    assert (result.usage.rewrites, result.usage.calls) == (2, 12)
    shown = {probe.perturbation.name: (probe.case.output, probe.case.output_b) for probe in judge.probes}
    assert shown == {
        "none": ("first answer", "second answer"),
        "paraphrase": ("FIRST ANSWER", "SECOND ANSWER"),
        "position_swap": ("second answer", "first answer"),
        "paraphrase+position_swap": ("SECOND ANSWER", "FIRST ANSWER"),
    }


def test_equal_texts_are_rewritten_once() -> None:
    rewriter = Rewriter()
    same = PairwiseCase(case_id="same", output="equal", output_b="equal")
    result = harness("none", "paraphrase", rewriter=rewriter).evaluate(ScriptedJudge(["TIE"]), same)
    assert (dict(rewriter.asked), result.usage.rewrites) == ({"equal": 1}, 1)


def test_rewrites_count_against_the_plan_and_against_attempts() -> None:
    rewriter, judge = Rewriter(), ScriptedJudge(["A"])
    with pytest.raises(BudgetError, match="2 rewrites: 8 calls, retries not counted, more than max_calls=7"):
        harness("none", "paraphrase", rewriter=rewriter, max_calls=7).evaluate(judge, PAIR)
    assert not rewriter.asked
    assert not judge.probes
    budget = Budget(max_calls=8)
    result = harness("none", "paraphrase", rewriter=rewriter, budget=budget).evaluate(judge, PAIR)
    assert (result.state, budget.spent) == ("complete", 8)


def test_a_budget_that_ends_during_a_rewrite_leaves_the_case_not_graded() -> None:
    rewriter = Rewriter()
    budget = Budget(max_calls=4)
    one = harness("none", "paraphrase", rewriter=rewriter, budget=budget, max_concurrency=1)
    result = one.evaluate(ScriptedJudge(["A"]), PAIR)
    assert (result.state, result.status, len(result.rows)) == ("budget_exhausted", "not_graded", 3)
    assert (budget.spent, sum(rewriter.asked.values())) == (4, 1)


def test_a_rewriter_that_fails_gives_error_rows_for_its_probes_only() -> None:
    result = harness("none", "paraphrase", rewriter=Rewriter(ValueError("no"), ValueError("no"))).evaluate(
        ScriptedJudge(["A"]), PAIR
    )
    assert [row.outcome for row in result.rows] == ["ok"] * 3 + ["error"] * 3
    assert {row.error for row in result.rows[3:]} == {"ValueError: no"}


def test_a_rewriter_is_retried_and_may_be_synchronous() -> None:
    left = [ConnectionError("busy")]

    def rewriter(text: str) -> str:
        if left:
            failure = left.pop()
            failure.headers = {"Retry-After": "0"}  # type: ignore[attr-defined]
            raise failure
        return text.upper()

    budget = Budget()
    result = harness("none", "paraphrase", rewriter=rewriter, budget=budget).evaluate(ScriptedJudge(["A"]), PAIR)
    assert result.sample_distribution == {"A": 6}
    assert budget.spent == 6 + 2 + 1


def test_an_empty_rewrite_is_a_failure() -> None:
    result = harness("none", "paraphrase", rewriter=lambda _: " ").evaluate(ScriptedJudge(["A"]), PAIR)
    assert [row.outcome for row in result.rows] == ["ok"] * 3 + ["error"] * 3


def test_randomness_depends_on_seed_case_and_perturbation_never_on_the_repetition() -> None:
    def shuffled(seed: int, name: str, case: str) -> list[object]:
        def apply(case: object, context: Context) -> object:
            return context.random.random()

        judge = ScriptedJudge(["PASS"])
        harness(Perturbation(name, apply, contextual=True), seed=seed).evaluate(judge, case)
        return [probe.case for probe in judge.probes]

    base = shuffled(0, "p", "case")
    assert len(set(base)) == 1
    assert base == shuffled(0, "p", "case")
    assert len({*base, *shuffled(1, "p", "case"), *shuffled(0, "q", "case"), *shuffled(0, "p", "other")}) == 4


def test_probes_say_what_was_asked() -> None:
    judge = ScriptedJudge(["A"])
    harness("none", "position_swap", seed=5, max_concurrency=1, repetitions=2).evaluate(judge, PAIR)
    assert [(p.case_id, p.perturbation.name, p.repetition, p.seed) for p in judge.probes] == [
        ("pair", name, repetition, 5) for name in ("none", "position_swap") for repetition in (0, 1)
    ]


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("PASS", {"verdict": "PASS", "other": "PASS"}),
        ({"verdict": "PASS", "other": None}, {"verdict": "PASS", "other": None}),
        (["PASS", "FAIL"], {"verdict": None, "other": None}),
        (None, {"verdict": None, "other": None}),
        (7, {"verdict": 7, "other": 7}),
    ],
)
def test_gold_of_a_criterion(gold: object, expected: dict[str, object]) -> None:
    facts = CaseFacts.of(AnswerCase(case_id="c", output="o", gold=gold))  # type: ignore[arg-type]
    assert {name: facts.gold_of(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: "text", {}),
        (lambda: AnswerCase(case_id="c", output="o", attributes={"subset": "x"}), {"subset": "x", "characters": 1}),
        (lambda: AnswerCase(case_id="c", output="four", author="gpt-4o"), {"author": "gpt-4o", "characters": 4}),
        (lambda: AnswerCase(case_id="c", output="o", attributes={"characters": 9}), {"characters": 9}),
        (
            lambda: AnswerCase(case_id="c", output="o", attributes={"length": "short"}),
            {"length": "short", "characters": 1},
        ),
        (
            lambda: PairwiseCase(case_id="c", output="o", output_b="p", author="a", author_b="b"),
            {"author": "a", "author_b": "b", "length_a": 1, "length_b": 1, "pair_digest": "11c7a2a8da74e0d7"},
        ),
        (
            lambda: PairwiseCase(case_id="c", output="o", output_b="four", author="a"),
            {"author": "a", "length_a": 1, "length_b": 4, "pair_digest": "e0256ab6ae3b8ee7"},
        ),
        (
            lambda: PairwiseCase(case_id="c", output="o", output_b="four", attributes={"length": 9, "length_b": 3}),
            {"length": 9, "length_b": 3, "pair_digest": "e0256ab6ae3b8ee7"},
        ),
        (
            lambda: PairwiseCase(case_id="c", output="o", output_b="four", attributes={"length": "short"}),
            {"length": "short", "length_a": 1, "length_b": 4, "pair_digest": "e0256ab6ae3b8ee7"},
        ),
    ],
)
def test_rows_carry_the_attributes_of_their_case(make: Callable[[], object], expected: dict[str, object]) -> None:
    result = harness("none", repetitions=1).evaluate(ScriptedJudge(["A"]), make())
    attributes = dict(result.rows[0].attributes)
    attributes.pop("text_digest", None)
    assert attributes == expected


@pytest.mark.parametrize(
    "change",
    [
        {"output": "Paris  is\n the capital"},
        {"output": " paris is the capital.\n"},
        {"output": "Paris is\u200b the capital!"},
        {"output": "PARIS IS THE CAPITAL\u2026"},
        {"attributes": {"row": 7, "cluster": "another", "source": "mail"}},
        {"case_id": "d", "gold": "PASS", "author": "somebody"},
        {"presentation": Presentation(instructions="Grade it.")},
    ],
)
def test_what_must_not_matter_makes_no_other_question(change: dict[str, Any]) -> None:
    case = AnswerCase(case_id="c", input="Where?", output="Paris is the capital", attributes={"row": 1})
    assert asked_digest(replace(case, **change)) == asked_digest(case)


@pytest.mark.parametrize(
    "change",
    [
        {"output": "Paris is no capital"},
        {"output": "x < 1"},
        {"input": "Who?"},
        {"reference": "Paris"},
        {"criteria": (Criterion(name="polite"),)},
    ],
)
def test_other_words_signs_and_questions_are_another_question(change: dict[str, Any]) -> None:
    case = AnswerCase(case_id="c", input="Where?", output="x > 1")
    assert asked_digest(replace(case, **change)) != asked_digest(case)


def test_signs_alone_are_not_taken_for_the_end_of_a_text() -> None:
    assert asked_digest(AnswerCase(case_id="c", output="?")) != asked_digest(AnswerCase(case_id="c", output="!"))


def test_a_case_whose_text_is_none_has_no_digest() -> None:
    assert asked_digest(AnswerCase(case_id="c", output=object())) is None  # type: ignore[arg-type]


def test_only_the_newest_rewrites_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_MOST_REWRITES", 2)
    kept = preparing.Rewritten()
    for number in range(3):
        kept.add((0, str(number)), "reworded")
    assert list(kept) == [(0, "1"), (0, "2")]
