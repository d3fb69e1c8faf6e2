"""Many cases: results as they complete, planned before they are paid for, within bounded memory and budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import pytest

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import BudgetError, CaseError, PlanError
from judgeharness_integrations.judging.execution.answering import CallFacts
from judgeharness_integrations.judging.execution.local import Asking
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.judge import FunctionJudge, note_understood
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog.files import MemoryLog


def harness(**options: object) -> JudgeHarness:
    defaults = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority", "observers": ()}
    return JudgeHarness(**(defaults | options))  # type: ignore[arg-type]


def answers(count: int) -> list[AnswerCase]:
    return [AnswerCase(case_id=str(number), output=f"answer {number}") for number in range(count)]


def test_the_first_result_arrives_before_the_last_case_is_asked() -> None:
    asked: list[str] = []

    async def judge(case: AnswerCase) -> str:
        asked.append(case.case_id)
        await asyncio.sleep(0.001)
        return "PASS"

    async def scene() -> tuple[str, bool]:
        async with aclosing(harness(max_concurrency=2).aevaluate_many(judge, answers(50))) as results:
            first = await anext(results)
            return first.case_id, "49" in asked

    assert asyncio.run(scene()) == ("0", False)


def test_results_come_in_order_of_completion() -> None:
    received: list[str] = []

    async def judge(case: AnswerCase) -> str:
        while len(received) < 3 - int(case.case_id):  # noqa: ASYNC110 - it is filled in another thread
            await asyncio.sleep(0.001)
        return "PASS"

    note_understood(known := FunctionJudge(function=judge))  # or its first call would go alone
    for result in harness(max_concurrency=16).evaluate_many(known, answers(4)):
        received.append(result.case_id)  # noqa: PERF401 - the judge looks at it meanwhile
    assert received == ["3", "2", "1", "0"]


def test_a_list_is_planned_as_a_whole_before_the_first_call() -> None:
    judge = ScriptedJudge(["A"])
    pair = PairwiseCase(case_id="pair", output="a", output_b="b")
    swapped = harness(perturbations=["none", "position_swap"])
    with pytest.raises(PlanError, match="perturbation 'position_swap' does not fit case '0'"):
        list(swapped.evaluate_many(judge, [pair, *answers(1)]))
    with pytest.raises(CaseError, match="two cases share the id '0'"):
        list(harness().evaluate_many(judge, (*answers(2), *answers(1))))
    assert judge.probes == []


def test_a_generator_is_planned_lazily() -> None:
    judge = ScriptedJudge(["A"])
    cases = iter([PairwiseCase(case_id="pair", output="a", output_b="b"), *answers(1)])
    results = harness(perturbations=["none", "position_swap"]).evaluate_many(judge, cases)
    assert next(results).case_id == "pair"
    with pytest.raises(PlanError, match="does not fit case '0'"):
        next(results)
    assert len(judge.probes) == 4


def test_only_a_bounded_number_of_cases_is_pulled_ahead() -> None:
    pulled: list[int] = []

    def cases() -> Iterator[str]:
        number = 0
        while True:  # without end
            pulled.append(number)
            yield str(number)
            number += 1

    async def judge(case: str) -> str:
        return "PASS"

    async def scene() -> list[int]:
        ahead = []
        async with aclosing(harness(max_concurrency=4).aevaluate_many(judge, cases())) as results:
            for read in range(300):
                await anext(results)
                await asyncio.sleep(0)
                ahead.append(len(pulled) - read)
        return ahead

    assert max(asyncio.run(scene())) < 50


def test_the_plan_is_checked_against_max_calls_before_any_call() -> None:
    judge = ScriptedJudge(["PASS"])
    for ask in (
        lambda: list(harness(max_calls=9).evaluate_many(judge, answers(5))),
        lambda: harness(max_calls=1).evaluate(judge, answers(1)[0]),
    ):
        with pytest.raises(BudgetError, match=r"the plan is .* more than max_calls=.*: nothing was asked\."):
            ask()
    assert judge.probes == []
    assert len(list(harness(max_calls=10).evaluate_many(judge, answers(5)))) == 5


def test_the_cost_is_known_as_a_sentence() -> None:
    plan = harness(perturbations=["none", "format_change"], on_unfit="skip").plan(ScriptedJudge(["PASS"]), ["a *b*"])
    assert (plan.cases, plan.calls, plan.total) == (1, 4, 4)
    assert str(plan) == "4 judge calls for 1 case: 4 calls, retries not counted"


class Busy(Exception):  # noqa: N818 - as a server says it
    status_code = 503
    headers = {"Retry-After": "0"}  # noqa: RUF012


def test_attempts_count_against_max_calls_while_running_and_nothing_is_lost() -> None:
    log = MemoryLog()
    one = harness(max_calls=10, max_concurrency=1, log=log, min_valid=1)
    script = ["PASS", Busy(), "PASS", Busy(), Busy(), Busy(), "FAIL"]
    judge = ScriptedJudge(script)
    results = list(one.evaluate_many(judge, answers(5)))
    assert len(judge.probes) == 10
    assert [result.case_id for result in results] == ["0", "1", "2", "3", "4"]
    assert [result.state for result in results] == ["complete"] * 2 + ["budget_exhausted"] * 3
    assert [result.status for result in results[2:]] == ["not_graded"] * 3
    assert [len(result.rows) for result in results] == [2, 2, 1, 0, 0]
    assert all("planned samples were not asked" in result.reason for result in results[2:])
    assert "the run did not finish: budget exhausted" in results[-1].report()
    assert sum(row.attempts or 0 for row in log.rows()) == 10
    assert [row for result in results for row in result.rows] == list(log.rows())


def test_an_endless_generator_ends_its_calls_with_the_budget_and_can_be_closed() -> None:
    judge = ScriptedJudge(["PASS"])
    results = harness(budget=Budget(max_calls=7)).evaluate_many(judge, (str(n) for n in iter(int, 1)))  # type: ignore[call-overload]
    with pytest.raises(CaseError, match="two cases share the id"):  # iter(int, 1) is 0 for ever
        list(results)
    endless = harness(budget=Budget(max_calls=7)).evaluate_many(judge, (str(n) for n in range(10**9)))
    states = [next(endless).state for _ in range(20)]
    endless.close()  # type: ignore[attr-defined]
    assert states == ["complete"] * states.count("complete") + ["budget_exhausted"] * (20 - states.count("complete"))
    assert 0 < states.count("complete") <= 3


def test_a_budget_can_be_shared_by_runs() -> None:
    budget = Budget(max_calls=6)
    one = harness(budget=budget, prime_cache=False)  # case after case
    states = [[r.state for r in one.evaluate_many(ScriptedJudge(["PASS"]), answers(2))] for _ in range(2)]
    assert states == [["complete"] * 2, ["complete", "budget_exhausted"]]
    assert budget.spent == 6


def test_rows_go_to_the_log_with_a_run_of_their_own() -> None:
    log = MemoryLog()
    one = harness(log=log)
    for _ in range(2):
        one.evaluate(ScriptedJudge(["PASS"]), "case")
    assert len({row.run for row in log.rows()}) == 2
    assert len(log) == 4
    named = MemoryLog()
    harness(log=named, run="nightly").evaluate(ScriptedJudge(["PASS"]), "case")
    assert {row.run for row in named.rows()} == {"nightly"}
    assert {row.run for row in harness().evaluate(ScriptedJudge(["PASS"]), "case").rows} == {""}


def test_no_cases_no_results() -> None:
    assert list(harness().evaluate_many(ScriptedJudge(["PASS"]), [])) == []


@pytest.mark.parametrize("cases", ["a case", {"case_id": "1"}, answers(1)[0]], ids=["text", "mapping", "case"])
def test_a_single_case_is_not_a_list_of_cases(cases: object) -> None:
    with pytest.raises(CaseError, match="cases is a list or another iterable of cases, not a single"):
        list(harness().evaluate_many(ScriptedJudge(["PASS"]), cases))  # type: ignore[arg-type]


class ForgetfulExecutor:
    """An executor of somebody else's that gives up after the first probe."""

    async def ask(self, judge: object, probes: AsyncIterator[object], asking: Asking) -> object:
        async for pending in probes:
            yield asking.rows.of(pending, "PASS", CallFacts("", 0.0, 1))  # type: ignore[arg-type]
            break
        async for _ in probes:
            pass


def test_cases_an_executor_gives_up_are_not_lost() -> None:
    executor = ForgetfulExecutor()
    results = list(harness(executor=executor).evaluate_many(ScriptedJudge(["PASS"]), answers(2)))
    assert {(result.state, result.status) for result in results} == {("interrupted", "not_graded")}
    assert sorted(len(result.rows) for result in results) == [0, 1]
