"""Deadlines: the attempts under way in an event loop share one timer, and each ends as with a timer of its own."""

import asyncio
import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from judgeharness_integrations.judging.execution.attempting import CallPolicy, Deadline, unhurried
from judgeharness_integrations.judging.execution.retrying import Budget


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts the timers that are set in it."""

    timers = 0

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any, **options: Any) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_at(when, callback, *args, **options)


async def late(seconds: float | None, work: float) -> str:
    try:
        with Deadline(seconds):
            await asyncio.sleep(work)
    except TimeoutError as error:
        return str(error)
    return "in time"


def test_many_attempts_share_one_timer() -> None:
    async def call() -> str:
        await asyncio.sleep(0)
        return "PASS"

    async def many() -> int:
        policy, budget = CallPolicy(timeout_s=60), Budget()
        answers = await asyncio.gather(*(policy.attempt(call, budget) for _ in range(200)))
        assert answers == [("PASS", 1)] * 200
        return loop.timers

    loop = CountingLoop()
    try:
        assert loop.run_until_complete(many()) == 1
    finally:
        loop.close()


def test_each_ends_at_its_own_time() -> None:
    async def several() -> list[str]:
        return await asyncio.gather(late(5, 0.05), late(0.02, 5), late(0.1, 5), late(None, 0.15), late(0.06, 0.01))

    assert asyncio.run(several()) == [
        "in time",
        "no answer within 0.02 s",
        "no answer within 0.1 s",
        "in time",
        "in time",
    ]


def test_one_that_is_due_before_the_others_need_not_wait_for_them() -> None:
    async def scene() -> float:
        long = asyncio.ensure_future(late(60, 60))
        await asyncio.sleep(0.01)
        began = time.monotonic()
        assert await late(0.02, 60) == "no answer within 0.02 s"
        long.cancel()
        return time.monotonic() - began

    assert asyncio.run(scene()) < 20


def test_the_inner_one_of_two_ends_alone() -> None:
    async def nested() -> str:
        with Deadline(60):
            told = await late(0.01, 60)
            await asyncio.sleep(0.01)
            return told

    assert asyncio.run(nested()) == "no answer within 0.01 s"


def test_the_outer_one_is_not_taken_for_the_inner_one() -> None:
    async def nested() -> str:
        with Deadline(0.01):
            return await late(60, 60)

    with pytest.raises(TimeoutError, match=r"no answer within 0\.01 s"):
        asyncio.run(nested())


def test_a_cancellation_from_outside_stays_one_also_when_the_time_is_up() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)
            raise
        return "never"

    async def both() -> asyncio.Task[Any]:
        task = asyncio.ensure_future(CallPolicy(timeout_s=0.02).attempt(stubborn, Budget()))
        await asyncio.sleep(0.04)
        task.cancel()
        await asyncio.wait([task])
        return task

    assert asyncio.run(both()).cancelled()


def test_an_answer_given_in_spite_of_the_deadline_stands() -> None:
    async def keeps_it_to_itself() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "PASS"
        return "never"

    async def scene() -> tuple[Any, int]:
        answer = await CallPolicy(timeout_s=0.01).attempt(keeps_it_to_itself, Budget())
        await asyncio.sleep(0)  # nothing of the cancellation is left
        return answer

    assert asyncio.run(scene()) == ("PASS", 1)


def test_the_clock_stands_still_while_nobody_waits_for_the_judge() -> None:
    async def reads_long() -> str:
        with unhurried(), unhurried():
            await asyncio.sleep(0.1)
        await asyncio.sleep(60)
        return "never"

    answer, _ = asyncio.run(CallPolicy(timeout_s=0.05, max_attempts=1).attempt(reads_long, Budget()))
    assert str(answer) == "no answer within 0.05 s"

    async def reads_and_answers() -> str:
        with unhurried():
            await asyncio.sleep(0.1)
        return "PASS"

    assert asyncio.run(CallPolicy(timeout_s=0.05).attempt(reads_and_answers, Budget())) == ("PASS", 1)


def test_what_a_judge_left_behind_neither_fails_nor_cancels_anybody_by_the_clock_of_an_attempt_that_is_over() -> None:
    async def scene() -> str:
        going_on = asyncio.Event()
        left: list[asyncio.Task[None]] = []

        async def reading() -> None:
            with unhurried():
                await going_on.wait()

        async def judge() -> str:
            left.append(asyncio.ensure_future(reading()))
            await asyncio.sleep(0)
            return "PASS"

        answer, _ = await CallPolicy(timeout_s=0.02).attempt(judge, Budget())
        going_on.set()
        await left[0]
        with unhurried():
            await asyncio.sleep(0.05)
        return str(answer)

    assert asyncio.run(scene()) == "PASS"


def test_a_loop_that_was_closed_over_attempts_can_go() -> None:
    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(late(60, 60))]
    loop.run_until_complete(asyncio.sleep(0))
    kept, task = weakref.ref(loop), weakref.ref(tasks[0])
    tasks[0]._log_destroy_pending = False  # type: ignore[attr-defined] # it is left behind on purpose
    loop.close()
    del loop, tasks
    gc.collect()
    assert (kept(), task()) == (None, None)


def test_a_clock_that_two_have_stopped_waits_for_both() -> None:
    async def waiting(seconds: float) -> None:
        with unhurried():
            await asyncio.sleep(seconds)

    async def attempt() -> str:
        try:
            with Deadline(0.1):
                await asyncio.gather(waiting(0.02), waiting(0.4))
        except TimeoutError as error:
            return str(error)
        return "in time"

    assert asyncio.run(attempt()) == "in time"
