"""The caller's own retry policy: it decides which failures are tried again; everything else stays the harness's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tenacity
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_fixed

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness
from judgeharness_integrations._errors import ConfigError, PlanError
from judgeharness_integrations.judging.config import load_config
from judgeharness_integrations.judging.execution import Budget, LocalExecutor
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.ray_engine import RayExecutor
from judgeharness_integrations.judging.execution.retrying import BudgetExhausted
from judgeharness_integrations.judging.judge import FunctionJudge, JudgeIdentity
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.testing.checking.judge import check_judge


class BusyError(Exception):
    """A failure of which the harness itself would try none again."""


class LimitedError(Exception):
    def __init__(self, after: str) -> None:
        super().__init__("slow down")
        self.status_code = 429
        self.response = SimpleNamespace(headers={"Retry-After": after}, status_code=429)


class WrongKeyError(Exception):
    status_code = 401


class Sleeps:
    """A policy's `sleep` that does not."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


class TeamRetrying(AsyncRetrying):
    """A policy with a constructor of its own, which tenacity cannot copy."""

    def __init__(self, team: str, **options: Any) -> None:
        super().__init__(**options)
        self.team = team


def policy(attempts: int = 4, **options: Any) -> AsyncRetrying:
    return AsyncRetrying(**{"stop": stop_after_attempt(attempts), "sleep": Sleeps()} | options)


def harness(retrying: AsyncRetrying | None, **options: Any) -> JudgeHarness:
    defaults: dict[str, Any] = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    return JudgeHarness(**(defaults | {"observers": ()} | options), retrying=retrying)


def evaluated_sync(judge: Any, *arguments: Any, **options: Any) -> HarnessResult:
    return harness(*arguments, **options).evaluate(judge, "case")


def evaluated_async(judge: Any, *arguments: Any, **options: Any) -> HarnessResult:
    return asyncio.run(harness(*arguments, **options).aevaluate(judge, "case"))


Evaluated = Callable[..., HarnessResult]


@pytest.mark.parametrize("evaluated", [evaluated_sync, evaluated_async])
def test_the_policy_decides_what_is_tried_again_and_the_rows_count_it(evaluated: Evaluated) -> None:
    script = [BusyError(), BusyError(), "PASS", BusyError(), ValueError("no"), "FAIL"]
    own = policy(3, retry=retry_if_exception_type(BusyError))
    result = evaluated(ScriptedJudge(script), own, repetitions=3, max_concurrency=1)
    assert [(row.outcome, row.attempts) for row in result.rows] == [("ok", 3), ("error", 2), ("ok", 1)]
    assert result.rows[1].error == "ValueError: no"
    assert result.usage.attempts == 6


def test_the_last_error_stands_in_the_row_also_where_the_policy_would_wrap_it() -> None:
    result = evaluated_sync(ScriptedJudge([BusyError("first"), BusyError("last")]), policy(2))
    assert [(row.error, row.attempts) for row in result.rows] == [("BusyError: last", 2)]


def test_the_wait_is_the_policys_or_what_the_server_asked_where_that_is_longer() -> None:
    sleep = Sleeps()
    script = [LimitedError("7"), LimitedError("1"), BusyError(), LimitedError("86400"), "PASS"]
    own = CallPolicy(retrying=policy(5, wait=wait_fixed(3), sleep=sleep))
    judge = ScriptedJudge(script)

    async def call() -> Any:
        return await judge.judge(SimpleNamespace(case="case"))  # type: ignore[arg-type]

    answer, attempts = asyncio.run(own.attempt(call, Budget()))
    assert (attempts, isinstance(answer, Exception)) == (5, False)
    assert sleep.slept == [7.0, 3.0, 3.0, 300.0]


def test_what_was_answered_stands_also_where_the_policy_looks_at_results() -> None:
    for worth in (tenacity.retry_if_result(lambda _: True), tenacity.retry_if_not_result(lambda _: False)):
        judge = ScriptedJudge([None, "PASS", "PASS"])
        result = evaluated_sync(judge, policy(3, retry=worth), repetitions=2, max_concurrency=1)
        assert [(row.outcome, row.attempts) for row in result.rows] == [("unparsed", 1), ("ok", 1)]


def test_questions_waits_and_notes_of_a_policy_may_be_coroutines() -> None:
    noted: list[int] = []

    async def worth(state: RetryCallState) -> bool:
        return state.outcome is not None and isinstance(state.outcome.exception(), BusyError)

    async def note(state: RetryCallState) -> None:
        noted.append(state.attempt_number)

    own = policy(3, retry=worth, before_sleep=note)
    result = evaluated_sync(ScriptedJudge([BusyError(), "PASS"]), own)
    assert (result.rows[0].attempts, noted) == (2, [1])
    assert evaluated_sync(ScriptedJudge([ValueError("no")]), own).rows[0].attempts == 1


def test_calls_at_once_share_no_state_of_the_policy() -> None:
    own = policy(3)
    failed: dict[str, int] = {}

    async def twice_wrong(case: AnswerCase) -> str:
        failed[case.case_id] = failed.get(case.case_id, 0) + 1
        await asyncio.sleep(0)
        if failed[case.case_id] < 3:
            raise BusyError
        return "PASS"

    cases = [AnswerCase(case_id=f"c{number}", output="text") for number in range(8)]
    results = list(harness(own, max_concurrency=8).evaluate_many(twice_wrong, cases))
    assert {result.rows[0].attempts for result in results} == {3}
    assert own.statistics == {}


def test_each_attempt_has_the_deadline_and_its_place_in_the_budget() -> None:
    calls = []

    async def slow_at_first(case: object) -> str:
        calls.append(case)
        if len(calls) == 1:
            await asyncio.sleep(30)
        return "PASS"

    result = evaluated_sync(slow_at_first, policy(2), timeout_s=0.05)
    assert (result.verdict, result.usage.attempts) == ("PASS", 2)

    async def call() -> str:
        raise BusyError

    budget = Budget(max_calls=2)
    with pytest.raises(BudgetExhausted):
        asyncio.run(CallPolicy(retrying=policy(9)).attempt(call, budget))
    assert budget.spent == 2


def test_a_judge_that_is_down_is_given_up_as_ever() -> None:
    cases = [AnswerCase(case_id=f"c{number}", output="text") for number in range(20)]
    judge = ScriptedJudge([WrongKeyError()])
    results = list(harness(policy(2), repetitions=2).evaluate_many(judge, cases))
    assert {result.status for result in results} == {"not_graded"}
    assert any("is down" in (result.ended or "") for result in results)
    assert len(judge.probes) <= 3 * 2


def test_cancelling_ends_the_wait_of_the_policy() -> None:
    async def main() -> list[int]:
        waiting, made = asyncio.Event(), []

        async def sleep(_: float) -> None:
            waiting.set()
            await asyncio.sleep(60)

        async def judge(case: object) -> str:
            made.append(1)
            raise BusyError

        task = asyncio.ensure_future(harness(policy(9, sleep=sleep)).aevaluate(judge, "case"))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return made

    assert asyncio.run(main()) == [1]


def test_rewriters_are_tried_again_by_the_same_policy() -> None:
    tried = []

    def reworded(text: str) -> str:
        tried.append(text)
        if len(tried) == 1:
            raise BusyError
        return f"in other words: {text}"

    own = harness(policy(2), perturbations=["paraphrase"], rewriter=reworded)
    result = own.evaluate(ScriptedJudge(["PASS"]), AnswerCase(case_id="c", output="a text"))
    assert (result.verdict, len(tried)) == ("PASS", 2)


def test_a_calibration_knows_nothing_of_it() -> None:
    judge = FunctionJudge(function=lambda case: "PASS", name="own", identity=JudgeIdentity(name="own", model="m"))
    results = [evaluated_sync(judge, own) for own in (None, policy(2))]
    assert results[0].fingerprint == results[1].fingerprint


def test_a_check_takes_it() -> None:
    cases = [AnswerCase(case_id=f"c{number}", output="some text") for number in range(3)]
    judge = ScriptedJudge([BusyError(), "PASS"])
    report = check_judge(judge, cases, perturbations=["format_change"], probes=[], repetitions=2, retrying=policy(2))
    assert report is not None
    assert len(judge.probes) > 12


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"retrying": policy(3), "max_attempts": 3},
        (
            "give max_attempts or retrying, not both: retrying says itself when to stop, "
            "as in retrying=AsyncRetrying(stop=stop_after_attempt(3))."
        ),
    ),
    ({"retrying": tenacity.Retrying()}, "retrying is a tenacity.AsyncRetrying(...), not Retrying."),
    ({"retrying": AsyncRetrying}, "retrying is a tenacity.AsyncRetrying(...), not AsyncRetrying."),
    ({"retrying": 3}, "retrying is a tenacity.AsyncRetrying(...), not int."),
    (
        {"retrying": AsyncRetrying()},
        "retrying never stops: give it an end, as in AsyncRetrying(stop=stop_after_attempt(4)).",
    ),
    (
        {"retrying": policy(2, retry_error_callback=lambda _: "PASS")},
        (
            "retrying has a retry_error_callback, which would answer in the judge's place: leave it out, "
            "a call that fails for good is a row with its error."
        ),
    ),
    (
        {"retrying": TeamRetrying("judges", stop=stop_after_attempt(2))},
        (
            "retrying is copied for each call, and TeamRetrying.copy fails (TeamRetrying.__init__() missing 1 required "
            "positional argument: 'team'): give a plain AsyncRetrying, or a class whose constructor takes "
            "the same arguments."
        ),
    ),
    (
        {"retrying": policy(2), "executor": LocalExecutor()},
        "retrying is a matter of the executor: give it policy=CallPolicy(retrying=...) instead.",
    ),
]


@pytest.mark.parametrize(("options", "sentence"), REFUSED)
def test_a_policy_that_cannot_be_followed_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        JudgeHarness.quick("labels", **options)
    assert str(caught.value) == sentence


def test_an_executor_may_hold_it() -> None:
    own = policy(2)
    executor = LocalExecutor(policy=CallPolicy(retrying=own), max_concurrency=1)
    for retrying in (None, own):
        result = evaluated_sync(ScriptedJudge([BusyError(), "PASS"]), retrying, executor=executor)
        assert result.rows[0].attempts == 2


def test_the_ray_engine_takes_none() -> None:
    with pytest.raises(PlanError) as caught:
        RayExecutor(policy=CallPolicy(retrying=policy(2)))
    assert str(caught.value) == (
        "a retrying policy looks at the judge's own errors, which stay on Ray's workers: "
        "give RayExecutor CallPolicy(max_attempts=...) instead."
    )


def test_no_file_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "judges.yaml"
    path.write_text("judges: [{callable: 'm:f'}]\ncases: c.csv\nexecution: {retrying: {stop: 3}}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).endswith(
        ": execution.retrying is a Python object, which no file holds: "
        "give JudgeHarness(retrying=...) in code, or max_attempts here."
    )
