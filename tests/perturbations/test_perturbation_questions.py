from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.judging.cases import Presentation, QuestionForm
from judgeharness_integrations.judging.perturbations import compose, negated, perturbation, position_swap
from judgeharness_integrations.judging.perturbations.registry import QUESTION_FORMS
from judgeharness_integrations.testing import RecordedJudge, ScriptedJudge, check_perturbation
from judgeharness_integrations.verdictlog.row import VerdictRow

Apply: TypeAlias = Callable[..., Any]

CASE = AnswerCase(case_id="a", input="q", output="x", presentation=Presentation(instructions="Judge."))
PAIR = PairwiseCase(case_id="p", output="left", output_b="right")
NAMES = sorted(QUESTION_FORMS)


@pytest.mark.parametrize("name", NAMES)
def test_each_keeps_what_a_perturbation_promises(name: str) -> None:
    check_perturbation(perturbation(name), [CASE, PAIR, {"case_id": "messages"}])


@pytest.mark.parametrize("name", NAMES)
def test_each_leaves_the_texts_and_the_rest_of_the_presentation(apply: Apply, name: str) -> None:
    shown = apply(perturbation(name), CASE)
    assert (shown.output, shown.input, shown.presentation.instructions) == ("x", "q", "Judge.")
    assert shown.presentation.form != QuestionForm()
    assert perturbation(name).needs == {name}


@pytest.mark.parametrize("name", NAMES)
def test_each_needs_a_case_whose_texts_are_known(name: str) -> None:
    reason = f"{name} needs an AnswerCase or a PairwiseCase, not a case of type dict."
    assert perturbation(name).fits({"case_id": "messages"}) == reason


def test_forms_are_composed(apply: Apply) -> None:
    both = perturbation("two_way_choice+option_order+option_names+alone")
    form = apply(both, CASE).presentation.form
    assert form.turned is not None
    assert (form.two_way, form.renamed, form.alone, form.negated) == (True, True, True, False)


@given(st.sampled_from(["PASS", "FAIL", "TIE", "A", "pass"]) | st.integers() | st.frozensets(st.sampled_from("AB")))
def test_negating_twice_is_identity(apply: Apply, verdict: Any) -> None:
    twice = compose(negated(), negated())
    assert twice.restore(verdict, "verdict") == verdict
    assert not twice.negates
    assert apply(twice, CASE).presentation.form == QuestionForm()


@pytest.mark.parametrize(("shown", "meant"), [("PASS", "FAIL"), ("FAIL", "PASS"), ("TIE", "TIE"), (3, 3), ("A", "A")])
def test_the_opposite_of_an_answer_to_the_opposite(shown: Any, meant: Any) -> None:
    assert negated().restore(shown, "verdict") == meant
    assert negated().negates


def test_a_swap_of_the_negated_question_is_both(apply: Apply) -> None:
    both = compose(negated(), position_swap())
    assert (both.swaps, both.negates) == (True, True)
    assert both.restore("PASS", "v") == "FAIL"
    assert both.restore("A", "v") == "B"
    assert apply(both, PAIR).output == "right"


def test_a_sentence_beside_the_case_is_none_of_its_own(apply: Apply) -> None:
    drawn = {apply(perturbation("irrelevant_sentence"), CASE, seed).presentation.form.sentence for seed in range(40)}
    assert len(drawn) == 5
    told = AnswerCase(case_id="a", output="\n".join(sorted(drawn)[1:]))
    assert {apply(perturbation("irrelevant_sentence"), told, seed).presentation.form.sentence for seed in range(9)} == {
        min(drawn)
    }
    everything = AnswerCase(case_id="a", output="\n".join(sorted(drawn)))
    assert apply(perturbation("irrelevant_sentence"), everything).presentation.form.sentence in drawn


@pytest.mark.parametrize("name", NAMES)
def test_a_judge_without_typed_questions_skips_them_and_says_so(name: str) -> None:
    options: dict[str, Any] = {"perturbations": ["none", name], "repetitions": 1, "aggregation_rule": "majority"}
    judge = ScriptedJudge(["PASS"])
    with pytest.raises(PlanError, match=f"judge 'scripted' asks no typed questions, which {name} changes"):
        JudgeHarness(**options).evaluate(judge, CASE)
    result = JudgeHarness(**options, on_unfit="skip").evaluate(judge, CASE)
    assert [row.perturbation for row in result.rows] == ["none"]


def test_a_recorded_answer_comes_back_in_the_frame_that_was_shown() -> None:
    shares = {"PASS": 0.9, "FAIL": 0.1}
    rows = [
        VerdictRow(case_id="a", verdict="PASS", judge="j", perturbation=name, probabilities=shares)
        for name in ("none", "negated")
    ]
    judge = RecordedJudge(rows, name="j")
    judge.supports = frozenset({"negated"})  # type: ignore[attr-defined]
    harness = JudgeHarness(perturbations=["none", "negated"], repetitions=1, aggregation_rule="majority")
    result = harness.evaluate(judge, CASE)
    assert [row.verdict for row in result.rows] == ["PASS", "PASS"]
    assert [row.probabilities for row in result.rows] == [shares, shares]


def test_a_restore_that_forgets_the_opposite_is_found() -> None:
    from dataclasses import replace

    forgets = replace(negated(), restore=lambda verdict, _: verdict)
    with pytest.raises(AssertionError, match=r"asks the opposite, and restore\(\) maps PASS, FAIL to 'PASS', 'FAIL'"):
        check_perturbation(forgets, [CASE])


def test_an_order_is_drawn_by_the_case_and_not_by_the_call(apply: Apply) -> None:
    one = perturbation("option_order")
    assert apply(one, CASE, 3) == apply(one, CASE, 3)
    assert len({apply(one, CASE, seed).presentation.form.turned for seed in range(9)}) > 1
    assert random.Random(3).randrange(2**16) == apply(one, CASE, 3).presentation.form.turned  # noqa: S311
