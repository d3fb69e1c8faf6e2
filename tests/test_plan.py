"""The cost of a run, and what cannot be run, before the first call."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations._errors import CaseError, PlanError, UsageError
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.judging.perturbations import perturbation
from judgeharness_integrations.judging.plan import Plan, plan_case, plan_cases
from judgeharness_integrations.testing import ScriptedJudge

PAIR = PairwiseCase(case_id="pair", output="first", output_b="second")
ANSWER = AnswerCase(case_id="answer", output="an *answer*")
JUDGE = ScriptedJudge(["A"])


def plan(case: object, *names: str, rule_name: str = "majority", judge: ScriptedJudge = JUDGE, **options: Any) -> Any:
    rewriter = options.pop("rewriter", str.upper)
    chosen = [perturbation(name, rewriter=rewriter, instructions=["Other words."]) for name in names]
    return plan_case(case, judge, perturbations=chosen, rule=rule(rule_name), **({"repetitions": 3} | options))


def test_calls_are_perturbations_times_repetitions() -> None:
    planned = plan(PAIR, "none", "position_swap")
    assert (planned.calls, planned.rewrites, planned.case_id, planned.skipped) == (6, 0, "pair", {})


@pytest.mark.parametrize(
    ("names", "rewrites"),
    [(["paraphrase"], 2), (["paraphrase", "paraphrase+position_swap"], 2), (["none", "position_swap"], 0)],
)
def test_rewrites_are_counted_once_a_text(names: list[str], rewrites: int) -> None:
    assert plan(PAIR, *names).rewrites == rewrites


def test_the_judges_own_instructions_are_what_is_reworded() -> None:
    judge = ScriptedJudge(["A"], supports=["prompt_variant"], instructions="Judge.")
    assert plan(PAIR, "prompt_variant", judge=judge).case.presentation.instructions == "Judge."
    assert plan(PAIR, "none", judge=judge).case is PAIR
    silent = ScriptedJudge(["A"], supports=["prompt_variant"])
    assert plan(PAIR, "prompt_variant(1)", judge=silent).case is PAIR


def test_an_id_can_be_given() -> None:
    assert plan(PAIR, "none", case_id="other").case_id == "other"


def test_what_does_not_fit() -> None:
    with pytest.raises(PlanError, match="'position_swap' does not fit case 'answer'"):
        plan(ANSWER, "none", "position_swap")
    assert list(plan(ANSWER, "none", "position_swap", on_unfit="skip").skipped) == ["position_swap"]
    with pytest.raises(PlanError, match="no perturbation fits case 'answer'"):
        plan(ANSWER, "position_swap", on_unfit="skip")
    with pytest.raises(PlanError, match="does not build its own prompt, which prompt_variant, slot_names changes"):
        plan(PAIR, "slot_names+prompt_variant(1)")


def test_unequal_orders_are_refused_also_when_skipping_made_them_so() -> None:
    assert plan(PAIR, "none", "position_swap", rule_name="swap_consensus").calls == 6
    with pytest.raises(PlanError, match=r"1 perturbation\(s\) in the original order and 0 swapped: add position_swap"):
        plan(ANSWER, "none", "position_swap", rule_name="swap_consensus", on_unfit="skip")


def planned_all(cases: object, judge: ScriptedJudge = JUDGE, rule_name: str = "majority", **more: Any) -> list[str]:
    options: dict[str, Any] = {
        "perturbations": [perturbation("none")],
        "repetitions": 1,
        "rule": rule(rule_name),
        **more,
    }
    return [planned.case_id for planned in plan_cases(cases, judge, **options)]  # type: ignore[arg-type]


def test_cases_are_planned_in_order_and_their_ids_are_unique() -> None:
    assert planned_all([PAIR, ANSWER]) == ["pair", "answer"]
    with pytest.raises(CaseError, match="two cases share the id 'pair': case ids must be unique"):
        planned_all([PAIR, ANSWER, PAIR])
    for single in ("text", {"case_id": "1"}, PAIR):
        with pytest.raises(CaseError, match="not a single"):
            planned_all(single)


def test_ids_that_are_known_to_be_unique_are_not_kept() -> None:
    assert planned_all(iter([PAIR, ANSWER, PAIR]), unique=True) == ["pair", "answer", "pair"]


@pytest.mark.parametrize(
    ("criterion", "rule_name", "refused"),
    [
        (Criterion(name="c", labels=("a", "b")), "majority", False),
        (Criterion(name="c", labels=("a", "b")), "mean", True),
        (Criterion(name="c", scale=(1, 5)), "mean", False),
        (Criterion(name="c", scale=(1, 5)), "supermajority", True),
        (Criterion(name="c"), "mean", False),
    ],
)
def test_rules_are_held_against_what_is_declared(criterion: Criterion, rule_name: str, *, refused: bool) -> None:
    judge = ScriptedJudge(["a"], criteria=[criterion])
    if refused:
        with pytest.raises(UsageError, match="but criterion 'c' holds"):
            planned_all([ANSWER], judge, rule_name)
    else:
        assert planned_all([ANSWER], judge, rule_name) == ["answer"]


def test_a_plan_adds_up_and_reads_as_a_sentence() -> None:
    total = Plan.of([plan(PAIR, "none", "paraphrase"), plan(ANSWER, "none")])
    assert total == Plan(cases=2, calls=9, rewrites=2)
    assert str(total) == "9 judge calls for 2 cases, 2 rewrites: 11 calls, retries not counted"
    assert str(Plan(cases=1, calls=1, calibration_calls=4)) == (
        "1 judge call for 1 case, 4 calls for calibration: 5 calls, retries not counted"
    )


def test_a_text_is_reworded_once_for_all_cases_and_not_again() -> None:
    plans = [plan(AnswerCase(case_id=str(n), output="the same"), "none", "paraphrase") for n in range(3)]
    plans.append(plan(AnswerCase(case_id="other", output="another"), "paraphrase"))
    assert Plan.of(iter(plans)) == Plan(cases=4, calls=21, rewrites=2)
    ((rewriter, text, _),) = plans[0].rewordings
    assert Plan.of(plans, rewritten={(rewriter, text)}).rewrites == 1


def test_a_sum_of_plans_holds_no_plan() -> None:
    made: list[weakref.ref[Any]] = []

    def plans() -> Iterator[Any]:
        for _ in range(50):
            one = plan(PAIR, "none")
            made.append(weakref.ref(one))
            yield one
            del one
            assert sum(known() is not None for known in made) <= 1

    assert Plan.of(plans()).cases == 50
