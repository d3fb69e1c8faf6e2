"""Runs that end early: what was answered is kept, nothing stays behind, nothing hangs."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import aclosing

import pytest

from judgeharness_integrations import JudgeHarness, Perturbation
from judgeharness_integrations.judging.cases import case_id_of
from judgeharness_integrations.judging.execution.limiter import limiter_for
from judgeharness_integrations.verdictlog.files import JsonlLog, MemoryLog


def harness(**options: object) -> JudgeHarness:
    defaults = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority", "observers": ()}
    return JudgeHarness(**(defaults | options))  # type: ignore[arg-type]


def run(scene: Callable[[], object], seconds: float = 10) -> object:
    """Run a scene; tasks left in its loop, and whatever asyncio complains about, are failures."""
    complaints: list[dict[str, object]] = []

    async def watched() -> object:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with asyncio.timeout(seconds):
            value = await scene()  # type: ignore[misc]
        left = asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]
        assert not left
        gc.collect()
        return value

    value = asyncio.run(watched())
    gc.collect()
    assert complaints == []
    return value


async def first_is_quick(case: str) -> str:
    await asyncio.sleep(0.005 if case == "0" else 60)
    return "PASS"


CASES = [str(number) for number in range(40)]


def test_closing_the_generator_leaves_a_valid_partial_log_and_no_tasks() -> None:
    log = MemoryLog()

    async def scene() -> str:
        async with aclosing(harness(log=log).aevaluate_many(first_is_quick, CASES)) as results:
            return (await anext(results)).case_id

    expected = run(scene)
    assert [row.case_id for row in log.rows()] == [expected]
    assert limiter_for("first_is_quick")._in_flight == 0


def test_leaving_the_loop_without_closing_is_cleaned_up_by_the_event_loop() -> None:
    async def scene() -> None:
        results = harness().aevaluate_many(first_is_quick, CASES)
        async for _ in results:
            break
        del results
        gc.collect()
        await asyncio.sleep(0.05)

    run(scene)


def test_cancelling_the_task_that_reads() -> None:
    log = MemoryLog()

    async def read() -> None:
        async for _ in harness(log=log).aevaluate_many(first_is_quick, CASES):
            pass

    async def scene() -> None:
        task = asyncio.create_task(read())
        while not list(log.rows()):  # noqa: ASYNC110 - a log tells nobody
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scene)
    assert [row.case_id for row in log.rows()] == [case_id_of("0")]


def test_a_deadline_around_a_single_evaluation() -> None:
    async def forever(case: object) -> str:
        await asyncio.Event().wait()
        return "never"

    async def scene() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await harness().aevaluate(forever, "case")

    run(scene)


def test_rows_answered_but_not_yet_read_are_in_the_log(tmp_path: object) -> None:
    asked: list[str] = []

    async def judge(case: str) -> str:
        asked.append(case)
        return "PASS"

    path = tmp_path / "log.jsonl"  # type: ignore[operator]

    async def scene() -> None:
        with JsonlLog(path) as log:
            async with aclosing(harness(log=log, max_concurrency=4).aevaluate_many(judge, CASES)) as results:
                await anext(results)
                while len(asked) < 2:  # noqa: ASYNC110 - the workers go on meanwhile
                    await asyncio.sleep(0.001)
            assert len(list(log.rows())) == len(asked) > 1

    run(scene)


@pytest.mark.parametrize("answer", ["raises", "raises something transient", "answers"])
def test_a_judge_that_keeps_the_cancellation_to_itself_is_not_asked_again(answer: str) -> None:
    asked: list[str] = []

    async def stubborn(case: str) -> str:
        asked.append(case)
        try:
            await asyncio.sleep(60 if len(asked) > 1 else 0)
        except asyncio.CancelledError:
            if answer == "raises":
                raise ValueError("wrapped") from None
            if answer == "raises something transient":
                raise ConnectionError("lost") from None
        return "PASS"

    async def scene() -> int:
        async with aclosing(harness(max_concurrency=2).aevaluate_many(stubborn, CASES)) as results:
            await anext(results)
            while len(asked) < 3:  # noqa: ASYNC110 - one was answered, two are in flight
                await asyncio.sleep(0.001)
            return len(asked)

    assert run(scene, 5) == len(asked) == 3


def test_a_reader_that_is_slow_holds_up_the_workers_and_closing_does_not_hang() -> None:
    asked: list[object] = []

    async def judge(case: object) -> str:
        asked.append(case)
        return "PASS"

    async def scene() -> None:
        many = (str(number) for number in range(10_000))
        async with aclosing(harness(max_concurrency=4).aevaluate_many(judge, many)) as results:
            await anext(results)
            while len(asked) <= 60:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.1)
            assert len(asked) < 100  # bounded, whatever is left to ask

    run(scene, 5)


def test_a_judge_that_is_cancelled_from_inside_loses_no_case() -> None:
    async def judge(case: str) -> str:
        if case == "7":
            raise asyncio.CancelledError
        return "PASS"

    async def scene() -> list[str]:
        return [result.status async for result in harness(max_concurrency=2).aevaluate_many(judge, CASES)]

    statuses = run(scene)
    assert sorted(statuses) == ["decided"] * 39 + ["not_graded"]  # type: ignore[call-overload]


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(1)], ids=repr)
def test_a_judge_that_exits_fails_its_case_only(error: BaseException) -> None:
    """An interrupt it raises itself would end the loop of all evaluations, which then waited for ever."""

    async def async_judge(case: str) -> str:
        if case == "7":
            raise error
        return "PASS"

    def sync_judge(case: str) -> str:
        if case == "7":
            raise error
        return "PASS"

    for judge in (async_judge, sync_judge):
        results = list(harness().evaluate_many(judge, CASES))
        assert [r.rows[0].error for r in results if r.status == "not_graded"] == [
            f"RuntimeError: the call ended itself with {error!r}"
        ]
        assert len(results) == 40


def test_an_error_of_another_kind_reaches_the_caller_and_stops_the_run() -> None:
    class TestFailedError(BaseException):
        """What a test runner raises."""

    async def judge(case: str) -> str:
        if case == "0":
            await asyncio.sleep(0.01)
            raise TestFailedError
        await asyncio.sleep(60)
        return "PASS"

    async def scene() -> None:
        with pytest.raises(TestFailedError):
            [_ async for _ in harness().aevaluate_many(judge, CASES)]

    run(scene)


def test_a_case_that_cannot_be_read_is_reported_after_the_calls_in_flight() -> None:
    asked: list[str] = []

    async def judge(case: str) -> str:
        asked.append(case)
        await asyncio.sleep(0.01)
        return "PASS"

    def cases() -> object:
        yield "0"
        yield "1"
        raise OSError("the disk is gone")

    async def scene() -> list[str]:
        results = harness().aevaluate_many(judge, cases())  # type: ignore[arg-type]
        seen = [str((await anext(results)).verdict) for _ in range(2)]
        with pytest.raises(OSError, match="the disk is gone"):
            await anext(results)
        return seen

    assert run(scene) == ["PASS", "PASS"]


def test_a_log_that_cannot_be_written_stops_the_run() -> None:
    class FullLog(MemoryLog):
        def append(self, rows: object) -> None:
            if list(rows):  # type: ignore[call-overload]
                raise OSError("no space left")

    async def scene() -> None:
        with pytest.raises(OSError, match="no space left"):
            [_ async for _ in harness(log=FullLog()).aevaluate_many(first_is_quick, CASES)]

    run(scene)


def test_cancelling_while_a_perturbation_is_being_made() -> None:
    async def never(case: object) -> object:
        await asyncio.sleep(60)
        return case

    async def scene() -> None:
        slow = harness(perturbations=[Perturbation("slow", never)])
        task = asyncio.create_task(slow.aevaluate(first_is_quick, "0"))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scene)
