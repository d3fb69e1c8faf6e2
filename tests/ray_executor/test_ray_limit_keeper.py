"""The cluster's limiter without a cluster: what the actor does, and what a run asks of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from judgeharness_integrations.judging.execution.rates import Admission, Rates
from judgeharness_integrations.judging.execution.ray_engine import limits
from judgeharness_integrations.judging.execution.ray_engine.cluster import ClusterLost
from judgeharness_integrations.judging.execution.ray_engine.limits import (
    Admit,
    Begin,
    ClusterLimits,
    Ended,
    LimitKeeper,
    Operation,
    Withdraw,
)

RayActorError = pytest.importorskip("ray").exceptions.RayActorError
pytestmark = pytest.mark.slow  # with Ray, which the default tests do without

ONE, TWO = Begin(1, Rates()), Begin(2, Rates())


class Joining(LimitKeeper):
    """Takes whoever speaks for a run that joins."""

    async def tell(self, client: str, operations: Sequence[Operation]) -> bool | None:
        if client not in self._clients:
            await self.join(client)
        return await super().tell(client, operations)


class Handle:
    """A keeper in this process, called as an actor is; `kill` makes it fail as a dead actor does."""

    def __init__(self, keeper: LimitKeeper) -> None:
        self.keeper = keeper
        self.death = asyncio.Event()

    def kill(self) -> None:
        self.death.set()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.keeper, name)

        async def called(*arguments: Any) -> Any:
            call, death = asyncio.ensure_future(method(*arguments)), asyncio.ensure_future(self.death.wait())
            await asyncio.wait([call, death], return_when=asyncio.FIRST_COMPLETED)
            if self.death.is_set():
                call.cancel()
                raise RayActorError
            death.cancel()
            return call.result()

        def remote(*arguments: Any) -> Any:
            answer = asyncio.run_coroutine_threadsafe(called(*arguments), asyncio.get_running_loop())
            return SimpleNamespace(future=lambda: answer)

        return SimpleNamespace(remote=remote)


@contextlib.asynccontextmanager
async def run_of(handle: Handle, max_concurrency: int, **rates: float) -> AsyncIterator[ClusterLimits]:
    async def connect() -> Handle:
        return handle

    limits = ClusterLimits(connect)
    async with limits.connected():
        with limits.run(max_concurrency, rates=Rates(**rates)):
            yield limits
    await asyncio.sleep(0.01)  # the last words are on their way


async def in_time(work: Awaitable[Any]) -> Any:
    async with asyncio.timeout(30):
        return await work


def test_an_attempt_is_admitted_when_another_ended() -> None:
    async def go() -> None:
        keeper = Joining()
        await keeper.tell("a", [ONE, Admit(0), Admit(1)])
        ((number, admission),) = await in_time(keeper.listen("a"))
        assert number == 0
        assert (await keeper.state())["in_flight"] == 1
        await keeper.tell("a", [Ended("answered", admission, (5,))])
        ((number, _),) = await in_time(keeper.listen("a"))
        assert number == 1

    asyncio.run(go())


def test_what_a_run_withdraws_is_free_for_others() -> None:
    async def go() -> None:
        keeper = Joining()
        await keeper.tell("a", [ONE, Admit(0), Admit(1)])
        await asyncio.sleep(0)
        await keeper.tell("a", [Withdraw(1), Withdraw(0), Withdraw(7)])  # waiting, granted but not told, never asked
        assert await keeper.state() == {"runs": 1, "in_flight": 0, "capacity": 1}
        await keeper.tell("b", [ONE, Admit(0)])
        assert [number for number, _ in await in_time(keeper.listen("b"))] == [0]

    asyncio.run(go())


def test_a_run_that_leaves_gives_back_what_it_had_in_flight() -> None:
    async def go() -> None:
        keeper = Joining()
        await keeper.tell("a", [TWO, Admit(0), Admit(1), Admit(2)])
        assert len(await in_time(keeper.listen("a"))) == 2
        await keeper.leave("a")
        await keeper.leave("a")
        assert await keeper.state() == {"runs": 0, "in_flight": 0, "capacity": 1}

    asyncio.run(go())


def test_a_run_that_falls_silent_is_taken_for_dead_and_the_keeper_ends_after_a_while() -> None:
    async def go() -> None:
        ended = asyncio.Event()
        keeper = Joining(watch_s=0.1, silent_s=0.0, linger_s=0.0, end=ended.set)
        await keeper.tell("dead", [ONE, Admit(0)])
        await in_time(ended.wait())
        assert (await keeper.state())["runs"] == 0

    asyncio.run(go())


def test_the_end_of_an_attempt_of_an_earlier_keeper_changes_nothing() -> None:
    async def go() -> None:
        keeper = Joining()
        await keeper.tell("a", [ONE, Ended("answered", Admission(1), (None,)), Admit(0), Admit(1)])
        assert len(await in_time(keeper.listen("a"))) == 1

    asyncio.run(go())


def test_two_runs_keep_together_to_the_larger_concurrency() -> None:
    most = now = 0

    async def attempts(limits: ClusterLimits) -> None:
        nonlocal most, now
        for _ in range(5):
            admission = await limits.admit()
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1
            limits.answered(admission, None)

    async def go() -> None:
        handle = Handle(LimitKeeper())
        async with run_of(handle, 3) as one, run_of(handle, 2) as other:
            one.hold()
            await one.acquire()
            await in_time(asyncio.gather(*(attempts(limits) for limits in (one, other) for _ in range(4))))
            one.release()
        assert await handle.keeper.state() == {"runs": 0, "in_flight": 0, "capacity": 1}

    asyncio.run(go())
    assert most == 3


def test_a_refusal_of_one_run_makes_the_other_wait() -> None:
    async def go() -> float:
        handle = Handle(LimitKeeper())
        async with run_of(handle, 4) as one, run_of(handle, 4) as other:
            admission = await one.admit()
            started = asyncio.get_running_loop().time()
            one.refused(admission, 0.3)
            await asyncio.sleep(0.1)  # the other asks after the refusal was told
            other.failed(await in_time(other.admit()))
            return asyncio.get_running_loop().time() - started

    assert asyncio.run(go()) > 0.29  # however long either of them was held up


def test_a_wish_that_is_cancelled_leaves_nothing_in_flight() -> None:
    async def go() -> None:
        handle = Handle(LimitKeeper())
        async with run_of(handle, 1) as limits:
            first = await limits.admit()
            waiting = asyncio.ensure_future(limits.admit())
            await asyncio.sleep(0.01)
            waiting.cancel()
            at_once = asyncio.ensure_future(limits.admit())
            limits.failed(first)
            await asyncio.sleep(0)
            limits.answered(await in_time(at_once), 3)
            await asyncio.sleep(0.05)
            assert (await handle.keeper.state())["in_flight"] == 0

    asyncio.run(go())


def test_an_admission_that_comes_with_the_cancellation_is_given_back() -> None:
    async def go() -> None:
        limits = ClusterLimits(_nobody)
        waiting = asyncio.ensure_future(limits.admit())
        await asyncio.sleep(0)
        ((number, admitted),) = limits._waiting.items()
        del limits._waiting[number]
        admitted.set_result(Admission(1))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
        assert limits._unsent == [Admit(number), Ended("failed", Admission(1))]

    asyncio.run(go())


async def _nobody() -> None:
    raise AssertionError("nobody connects here")


def test_when_the_keeper_dies_the_next_one_learns_what_is_wanted() -> None:
    async def go() -> None:
        handles = [Handle(LimitKeeper()), Handle(LimitKeeper())]
        connected = iter(handles)

        async def connect() -> Handle:
            return next(connected)

        limits = ClusterLimits(connect)
        async with limits.connected():
            with limits.run(1):
                first = await limits.admit()
                waiting = asyncio.ensure_future(limits.admit())
                await asyncio.sleep(0.01)
                handles[0].kill()
                limits.failed(first)
                limits.answered(await in_time(waiting), None)
                assert (await handles[1].keeper.state())["runs"] == 1

    asyncio.run(go())


def test_without_any_keeper_the_run_ends() -> None:
    async def go() -> None:
        handles = [Handle(LimitKeeper())]

        async def connect() -> Handle:
            if not handles:
                raise RayActorError
            return handles.pop()

        limits = ClusterLimits(connect)
        async with limits.connected():
            with limits.run(1):
                limits._keeper.kill()
                with pytest.raises(ClusterLost, match="the limiter cannot be reached"):
                    await in_time(limits.admit())
                with pytest.raises(ClusterLost):
                    await limits.admit()

    asyncio.run(go())


def test_a_run_that_was_silent_for_too_long_is_taken_up_again_with_its_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_LISTEN_S", 0.2)  # the call that was open when the run was forgotten

    async def go() -> None:
        handle = Handle(LimitKeeper())
        async with run_of(handle, 4, requests_per_minute=6_000.0) as limits:
            first = await limits.admit()
            waiting = [asyncio.ensure_future(limits.admit()) for _ in range(6)]
            await asyncio.sleep(0.01)
            (client,) = handle.keeper._clients
            await handle.keeper.leave(client)  # as for a driver nobody heard of for half a minute
            assert await handle.keeper.tell(client, [Admit(99)]) is None
            assert await handle.keeper.listen(client) is None
            limits.answered(first, None)
            for _ in range(6):
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=10)
                assert done
                for one in done:
                    waiting.remove(one)
                    limits.answered(one.result(), None)
                if not waiting:
                    break
            assert handle.keeper._limiter._gate._rates == Rates(requests_per_minute=6_000.0)
            assert (await handle.keeper.state())["runs"] == 1

    asyncio.run(go())


def test_a_keeper_that_never_answers_is_given_up() -> None:
    class Broken(LimitKeeper):
        async def tell(self, client: str, operations: object) -> bool | None:
            raise RayActorError

    async def go() -> None:
        async with run_of(Handle(Broken()), 1) as limits:
            with pytest.raises(ClusterLost, match="the limiter cannot be reached"):
                await in_time(limits.admit())

    asyncio.run(go())
