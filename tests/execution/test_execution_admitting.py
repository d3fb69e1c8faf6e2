"""Attempts wait for pauses, rates and room, across harnesses, event loops and threads."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace

import pytest

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.analysis.usage import spent_by
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.limiter import Limiter, Limits, limiter_for
from judgeharness_integrations.judging.execution.rates import Rates
from judgeharness_integrations.judging.execution.retrying import Budget


class FakeTime:
    """A clock that sleeping advances."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class BusyError(Exception):
    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(status)
        self.status_code = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.fixture
def fake() -> FakeTime:
    return FakeTime()


@pytest.fixture
def limiter(fake: FakeTime) -> Limiter:
    return Limiter(clock=fake.clock, sleep=fake.sleep)


def test_a_limiter_is_what_limits_are() -> None:
    limits: Limits = Limiter()
    assert limits is not None


def test_without_limits_nobody_waits(limiter: Limiter, fake: FakeTime) -> None:
    async def scene() -> None:
        with limiter.run(3):
            admissions = [await limiter.admit() for _ in range(3)]
            for admission in admissions:
                limiter.answered(admission, 10)

    asyncio.run(scene())
    assert fake.slept == []
    assert limiter._aimd.in_flight == 0


def test_attempts_keep_to_the_rate_in_order_of_arrival(limiter: Limiter, fake: FakeTime) -> None:
    moments: list[tuple[int, float]] = []

    async def one(number: int) -> None:
        admission = await limiter.admit()
        moments.append((number, fake.now))
        await asyncio.sleep(0)
        limiter.answered(admission, None)

    async def scene() -> None:
        with limiter.run(50, rates=Rates(requests_per_minute=61)), limiter.run(50, rates=Rates(requests_per_minute=90)):
            await asyncio.gather(*(one(number) for number in range(20)))

    asyncio.run(scene())
    assert [number for number, _ in moments] == list(range(20))
    assert moments[-1][1] - moments[0][1] == pytest.approx(19.0)


def test_everybody_waits_out_what_one_call_was_asked_to_wait(limiter: Limiter, fake: FakeTime) -> None:
    async def scene() -> None:
        with limiter.run(4):
            first = await limiter.admit()
            limiter.refused(first, 7.5)
            others = [await limiter.admit() for _ in range(4)]
            for other in others:
                limiter.failed(other)

    asyncio.run(scene())
    assert fake.slept == [7.5]


def test_a_retry_does_not_wait_twice_for_one_pause() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(seconds)

    limiter, errors = Limiter(sleep=sleep), [BusyError(429, retry_after="0.2")]

    async def call() -> str:
        if errors:
            raise errors.pop()
        return "answer"

    async def scene() -> tuple[object, int]:
        with limiter.run(1):
            return await CallPolicy().attempt(call, Budget(), limiter)

    assert asyncio.run(scene()) == ("answer", 2)
    assert sum(slept) < 0.1  # the retry itself had slept most of it by then


def test_a_cancelled_attempt_gives_back_room_turn_and_budget(limiter: Limiter) -> None:
    budget = Budget(max_calls=5)

    async def call() -> str:
        raise AssertionError("it is never made")

    async def scene() -> None:
        forever = asyncio.Event()

        async def sleep(seconds: float) -> None:
            await forever.wait()

        limiter._sleep = sleep
        with limiter.run(2):
            limiter.refused(await limiter.admit(), 60.0)
            waiting = [asyncio.create_task(CallPolicy().attempt(call, budget, limiter)) for _ in range(2)]
            await asyncio.sleep(0.01)
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
            assert (limiter._room._in_flight, limiter._line._in_flight, budget.spent) == (0, 0, 0)

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("error", "paused", "counted"),
    [
        (BusyError(429, retry_after="3"), True, True),
        (BusyError(429), False, True),
        (BusyError(503, retry_after="3"), True, True),
        (BusyError(529, retry_after="3"), True, True),
        (BusyError(503), False, False),
        (BusyError(500, retry_after="3"), False, False),
        (TimeoutError(), False, False),
        (type("ThrottlingException", (Exception,), {})(), False, True),
    ],
    ids=repr,
)
def test_what_counts_as_a_refusal(error: Exception, *, paused: bool, counted: bool) -> None:
    limiter = Limiter()

    async def call() -> str:
        raise error

    async def scene() -> None:
        with limiter.run(1):
            await CallPolicy(max_attempts=1).attempt(call, Budget(), limiter)

    asyncio.run(scene())
    assert (not limiter._gate.is_open, limiter._aimd.is_adapting, limiter._aimd.in_flight) == (paused, counted, 0)


def test_an_empty_account_is_no_busy_server() -> None:
    error = BusyError(429, retry_after="3")
    error.code = "insufficient_quota"  # type: ignore[attr-defined]
    test_what_counts_as_a_refusal(error, paused=False, counted=False)


def test_a_model_that_refuses_more_is_asked_less_and_says_so() -> None:
    in_flight = most = refusals = 0

    async def call() -> str:
        nonlocal in_flight, most, refusals
        if in_flight >= 3:
            refusals += 1
            raise BusyError(429)
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.005)
        in_flight -= 1
        return "PASS"

    harness = JudgeHarness(
        perturbations=["none"], repetitions=40, aggregation_rule="majority", max_concurrency=24, max_attempts=8
    )
    limiter = limiter_for("refuses-more")

    async def judge(case: object) -> str:
        return await call()

    result = harness.evaluate(judge, "case", "refuses-more")
    assert (result.sample_distribution, most) == ({"PASS": 40}, 3)
    with limiter.run(24):
        assert limiter.capacity <= 6
    adapted = refusals
    harness.evaluate(judge, "case", "refuses-more")
    assert refusals - adapted <= 8


@pytest.mark.slow
def test_attempts_of_many_loops_keep_to_one_rate() -> None:
    limiter, moments = Limiter(), list[float]()

    async def one() -> None:
        admission = await limiter.admit()
        moments.append(time.monotonic())
        limiter.answered(admission, None)

    async def several() -> None:
        with limiter.run(4, rates=Rates(requests_per_minute=6_000)):
            await asyncio.gather(*(one() for _ in range(60)))

    threads = [threading.Thread(target=lambda: asyncio.run(several())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    moments.sort()
    assert len(moments) == 180
    assert moments[-1] - moments[0] >= (180 - 100) / 100 * 0.9  # 100 at once, then 100 a second
    assert (limiter._room._in_flight, limiter._line._in_flight) == (0, 0)


def test_tokens_of_answers_count_against_the_rate(limiter: Limiter, fake: FakeTime) -> None:
    async def call() -> SimpleNamespace:
        return SimpleNamespace(input_tokens=4_000, output_tokens=2_000, model=None, facts={})

    async def scene() -> None:
        with limiter.run(1, rates=Rates(tokens_per_minute=60_000)):
            for _ in range(21):
                await CallPolicy().attempt(call, Budget(), limiter, spent_by)

    asyncio.run(scene())
    assert 100 < fake.now - 1_000 < 145  # 126,000 tokens at 60,000 a minute
