"""Rubrics, label sets, scores, judges that build their own prompt, and results rebuilt from their rows."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, Criterion, HarnessResult, JudgeHarness, JudgeIdentity, PairwiseCase
from judgeharness_integrations._errors import AmbiguousResultError, PlanError, UsageError
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.judging.judge import Judgment, Probe, as_judgment
from judgeharness_integrations.testing import ScriptedJudge

CASE = AnswerCase(case_id="case", input="?", output="An **answer** of some length.", gold={"tone": "PASS"})
PAIR = PairwiseCase(
    case_id="pair", input="?", output="One *answer*.", output_b="Another one.", author="gpt-4o", author_b="claude-3"
)


def harness(*perturbations: str, **options: Any) -> JudgeHarness:
    defaults: dict[str, Any] = {"repetitions": 4, "aggregation_rule": "majority", "max_concurrency": 1}
    return JudgeHarness(perturbations=perturbations or ("none",), **(defaults | options))


def test_a_rubric_is_measured_criterion_by_criterion_from_the_same_calls() -> None:
    answers = [{"tone": "PASS", "facts": verdict} for verdict in ("PASS", "FAIL", "FAIL", "PASS")]
    judge = ScriptedJudge(answers, criteria=[Criterion(name="tone"), Criterion(name="facts")])
    result = harness().evaluate(judge, CASE)
    assert {name: (c.verdict, c.status) for name, c in result.criteria.items()} == {
        "tone": ("PASS", "decided"),
        "facts": ("ABSTAIN", "abstained"),
    }
    assert (result.usage.calls, result.usage.attempts, len(result.rows)) == (4, 4, 8)
    assert {row.criterion: row.gold for row in result.rows} == {"tone": "PASS", "facts": None}
    with pytest.raises(AmbiguousResultError, match=r"2 criteria \(tone, facts\): read result.criteria\[name\]"):
        _ = result.verdict


def test_a_declared_criterion_nobody_answered_appears_all_the_same() -> None:
    judge = ScriptedJudge([ValueError("no")], criteria=[Criterion(name="tone"), Criterion(name="facts")])
    result = harness().evaluate(judge, CASE)
    assert {name: c.status for name, c in result.criteria.items()} == {"tone": "not_graded", "facts": "not_graded"}
    assert {c.outcomes["error"] for c in result.criteria.values()} == {4}


def test_label_sets_are_verdicts() -> None:
    judge = ScriptedJudge([["spam", "rude"], {"rude", "spam"}, ("rude",), {"spam", "rude"}])
    result = harness().evaluate(judge, CASE)
    assert result.verdict == frozenset({"spam", "rude"})
    assert result.sample_distribution == {frozenset({"spam", "rude"}): 3, frozenset({"rude"}): 1}


def test_scores_and_their_tolerance() -> None:
    judge = ScriptedJudge([7, 8, 7, 3])
    result = harness(aggregation_rule="median").evaluate(judge, CASE)
    assert (result.verdict, result.only.tolerance, result.consistency_rate) == (7, 1.0, 0.75)
    assert result.chance_consistency is None
    scaled = ScriptedJudge([0.7, 0.8, 0.7, 0.3], criteria=[Criterion(name="verdict", scale=(0.0, 1.0))])
    assert harness(aggregation_rule="median").evaluate(scaled, CASE).only.tolerance == pytest.approx(1 / 9)
    assert harness(aggregation_rule="median", tolerance=4).evaluate(judge, CASE).consistency_rate == 1.0
    assert harness(aggregation_rule="median(pass_at=7)").evaluate(judge, CASE).verdict == "PASS"


def test_declared_labels_set_the_chance_level() -> None:
    plain = harness().evaluate(ScriptedJudge(["x"]), CASE)
    declared = harness().evaluate(
        ScriptedJudge(["x"], criteria=[Criterion(name="verdict", labels=tuple("xyzw"))]), CASE
    )
    pairwise = harness().evaluate(ScriptedJudge(["A"]), PAIR)
    assert (plain.only.label_count, declared.only.label_count, pairwise.only.label_count) == (2, 4, 3)


def test_families_of_judge_and_authors() -> None:
    judge = ScriptedJudge(["A"], identity=JudgeIdentity(name="j", model="gpt-4o-mini"))
    result = harness().evaluate(judge, PAIR)
    assert result.model_families == ("openai", "openai", "anthropic")
    assert "judge and author share a model family (openai)" in result.report()
    assert harness().evaluate(judge, replace(PAIR, author=None)).model_families == ("openai", "anthropic")
    assert harness().evaluate(judge, "text").model_families == ("openai",)


def test_temperature_is_evidence_of_collapse() -> None:
    judge = ScriptedJudge(["PASS"], identity=JudgeIdentity(name="j", parameters={"temperature": 0}))
    assert harness().evaluate(judge, CASE).only.independence.status == "collapsed"


def test_a_judge_that_builds_its_own_prompt_is_shown_other_slot_names_and_instructions() -> None:
    judge = ScriptedJudge(["A"], supports=["slot_names", "prompt_variant"], instructions="Pick the better one.")
    one = harness(
        "none",
        "slot_names(X/Y)",
        "prompt_variant(1)",
        "prompt_variant",
        repetitions=2,
        instructions=["Which is better?"],
        rewriter=str.upper,
    )
    result = one.evaluate(judge, PAIR)
    shown = {p.perturbation.name: p.case.presentation for p in judge.probes}
    assert shown["slot_names(X/Y)"].slot_names == ("X", "Y")
    assert shown["none"].slot_names is None
    assert [shown[name].instructions for name in ("none", "prompt_variant(1)", "prompt_variant")] == [
        "Pick the better one.",
        "Which is better?",
        "PICK THE BETTER ONE.",
    ]
    assert result.usage.rewrites == 1
    assert set(result.only.prompt_sensitivity) == {"prompt_variant(1)", "prompt_variant"}
    assert set(result.flip_rates) == {"slot_names(X/Y)"}


@pytest.mark.parametrize(("name", "needs"), [("slot_names", "slot_names"), ("prompt_variant(1)", "prompt_variant")])
def test_a_judge_that_does_not_build_its_prompt_cannot_be_shown_another(name: str, needs: str) -> None:
    one = harness("none", name, instructions=["Other words."])
    with pytest.raises(PlanError, match=f"judge 'scripted' does not build its own prompt, which {needs} changes"):
        one.evaluate(ScriptedJudge(["A"]), PAIR)
    skipping = harness("none", name, instructions=["Other words."], on_unfit="skip")
    assert list(skipping.evaluate(ScriptedJudge(["A"]), PAIR).skipped) == [name]


def test_a_case_of_its_own_kind_has_no_instructions_to_reword() -> None:
    judge = ScriptedJudge(["PASS"], supports=["prompt_variant"], instructions="Judge.")
    one = harness("none", "prompt_variant(1)", instructions=["Other words."])
    with pytest.raises(PlanError, match="does not fit case"):
        one.evaluate(judge, "a text")


class NoisyJudge:
    """Answers by chance that depends on the probe alone, after a wait that depends on nothing."""

    name = "noisy"
    identity = JudgeIdentity(name="noisy", model="gpt-4o", parameters={"temperature": 1.0})
    criteria = (Criterion(name="tone", labels=("PASS", "FAIL")), Criterion(name="facts", labels=("PASS", "FAIL")))

    async def judge(self, probe: Probe) -> Judgment:
        await asyncio.sleep(random.random() / 500)  # noqa: S311
        seed = f"{probe.seed}{probe.case_id}{probe.perturbation.name}{probe.repetition}{probe.case.output}"
        chance = random.Random(seed)  # noqa: S311
        if chance.random() < 0.2:
            raise ValueError("no answer")
        return as_judgment({name: chance.choice(["PASS", "FAIL", "odd"]) for name in ("tone", "facts")})


def without_clock(result: HarnessResult) -> HarnessResult:
    rows = tuple(replace(row, latency_s=None, asked_at=None) for row in result.rows)
    return replace(result, rows=rows, usage=replace(result.usage, latency_s=None))


def test_a_seed_gives_the_same_results_at_any_concurrency() -> None:
    cases = [replace(CASE, case_id=str(n), output=f"An **answer** -- number {n}.\n\n- a\n- b") for n in range(8)]

    def measured(max_concurrency: int, seed: int) -> dict[str, HarnessResult]:
        one = JudgeHarness.thorough("labels", max_concurrency=max_concurrency, seed=seed)
        return {r.case_id: without_clock(r) for r in one.evaluate_many(NoisyJudge(), cases)}

    base = measured(1, seed=5)
    assert measured(4, seed=5) == base
    assert measured(64, seed=5) == base
    assert measured(4, seed=6) != base


def test_a_result_can_be_rebuilt_from_its_rows() -> None:
    one = JudgeHarness.thorough("labels", seed=5, max_concurrency=8)
    for case in (CASE, replace(CASE, case_id="plain", output="42")):
        result = one.evaluate(NoisyJudge(), case)
        assert result == measure(
            result.rows,
            case_id=result.case_id,
            judge="noisy",
            design=one.design,
            planned=3 * len(result.perturbations),
            criteria=["tone", "facts"],
            label_counts={"tone": 2, "facts": 2},
            temperature=1.0,
            judge_model="gpt-4o",
            fingerprint=result.fingerprint,
            skipped=result.skipped,
            model_families=("openai",),
        )


def test_a_case_may_have_criteria_of_its_own() -> None:
    cases = [
        AnswerCase(case_id="one", output="text", criteria=(Criterion(name="cites", labels=("PASS", "FAIL")),)),
        AnswerCase(case_id="two", output="text"),
    ]
    judge = ScriptedJudge([{"tone": "PASS"}], criteria=[Criterion(name="tone")])
    results = {result.case_id: result for result in harness(repetitions=1).evaluate_many(judge, cases)}
    assert {name: measured.status for name, measured in results["one"].criteria.items()} == {
        "tone": "decided",
        "cites": "not_graded",
    }
    assert results["one"].criteria["cites"].label_count == 2
    assert list(results["two"].criteria) == ["tone"]


def test_a_failed_call_is_a_row_for_each_criterion_of_the_case_too() -> None:
    case = replace(CASE, criteria=(Criterion(name="cites"),))
    judge = ScriptedJudge([ValueError("no")], criteria=[Criterion(name="tone")])
    result = harness(repetitions=1).evaluate(judge, case)
    assert [(row.criterion, row.outcome) for row in result.rows] == [("tone", "error"), ("cites", "error")]


def test_a_rule_must_fit_the_criteria_of_a_case() -> None:
    case = replace(CASE, criteria=(Criterion(name="cites", labels=("PASS", "FAIL")),))
    with pytest.raises(UsageError, match="criterion 'cites' holds labels"):
        harness(aggregation_rule="median").evaluate(ScriptedJudge([7]), case)


class _Viewing(ScriptedJudge):
    """Sees the first word of an answer, and does not judge empty ones."""

    seen: list[str]

    def view(self, case: AnswerCase) -> AnswerCase | None:
        return replace(case, output=case.output.split()[0]) if case.output else None

    async def judge(self, probe: Probe) -> Judgment:
        self.seen.append(probe.case.output)
        return await super().judge(probe)


def test_a_judge_says_how_it_is_shown_a_case_and_which_are_not_its_to_judge() -> None:
    judge = _Viewing(["PASS"])
    judge.seen = []
    cases = [AnswerCase(case_id="one", output="first word"), AnswerCase(case_id="two", output="")]
    assert harness().plan(judge, cases).calls == 4
    assert [result.case_id for result in harness().evaluate_many(judge, cases)] == ["one"]
    assert set(judge.seen) == {"first"}
