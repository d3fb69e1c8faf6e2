"""Runs on the workers of a cluster: what is asked, what fails, what dies, and what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url
from support.databases import fresh_schema
from support.line_server import LineJudge, LineServer
from support.ray_cluster import cases, harness, local_ray, measured
from support.severing_proxy import SeveringProxy

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import ClusterError, UsageError
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.rates import Rates
from judgeharness_integrations.judging.execution.ray_engine import RayExecutor, limits
from judgeharness_integrations.judging.execution.ray_engine import executor as engine
from judgeharness_integrations.judging.execution.ray_engine.limits import NAMESPACE, Begin, KeeperActor
from judgeharness_integrations.judging.judge import FunctionJudge
from judgeharness_integrations.verdictlog import MemoryLog, SqlLog

ray: Any = pytest.importorskip("ray")
pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent.parent
CALLS_A_CASE = 4
ANOTHER_DRIVER = """
import sys
sys.path.insert(0, sys.argv[1])
from support.line_server import LineJudge
from support.ray_cluster import cases, harness, measured
from judgeharness_integrations.judging.execution.rates import Rates
from judgeharness_integrations.judging.execution.ray_engine import RayExecutor

executor = RayExecutor(address=sys.argv[2], workers=1, rates=Rates(requests_per_minute=float(sys.argv[4])))
print(len(measured(harness(executor), LineJudge(int(sys.argv[3])), cases(2))))
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_ray() as address:
        yield address


@pytest.fixture(autouse=True)
def cluster(address: str) -> None:
    """Every test here has the module's Ray."""


@contextlib.contextmanager
def severable_schema() -> Iterator[tuple[SeveringProxy, str]]:
    """A proxy before the tests' PostgreSQL, and the URL of a schema behind it."""
    with fresh_schema() as url:
        server = make_url(url)
        with SeveringProxy(host=server.host or "127.0.0.1", port=server.port or 5432) as proxy:
            yield proxy, server.set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)


def killing(server: LineServer, *, after: int) -> threading.Thread:
    """Kill the worker with the most calls in flight once the server got so many calls."""

    def kill() -> None:
        while server.calls < after:
            time.sleep(0.002)
        pid = max(server.in_flight, key=server.in_flight.__getitem__)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_runs_of_several_processes_keep_together_to_one_rate(address: str) -> None:
    rate = 300.0  # 5 at once, then 5 a second
    with LineServer() as server:
        arguments = [str(TESTS), address, str(server.port), str(rate)]
        command = [sys.executable, "-W", "ignore", "-c", ANOTHER_DRIVER, *arguments]
        with subprocess.Popen(  # noqa: S603 - this test's own
            command, stdout=subprocess.PIPE, text=True
        ) as other:
            while not server.calls and other.poll() is None:
                time.sleep(0.01)
            executor = RayExecutor(workers=1, rates=Rates(requests_per_minute=rate))
            assert len(measured(harness(executor), LineJudge(server.port), cases(2))) == 2
            printed, _ = other.communicate()
        assert printed == "2\n"
        times = sorted(server.asked_at)
    assert len(times) == 16
    assert len(server.pids) == 2
    assert times[-1] - times[0] >= (16 - 5) / 5 - 0.3  # alone, each would have taken 0.6 s
    assert ray.is_initialized()  # it ran before, and is left running


def test_a_worker_that_is_killed_costs_at_most_what_it_had_in_flight() -> None:
    asked = cases(40)
    with LineServer(latency_s=0.05) as server:
        thread = killing(server, after=70)
        results = measured(harness(RayExecutor(concurrency_per_worker=8)), LineJudge(server.port), asked)
        thread.join()
        calls = server.calls
        server.latency_s = 0.0
        local = measured(harness(), LineJudge(server.port), asked)
    rows = [row for result in results.values() for row in result.rows]
    assert len(rows) == len({row.key for row in rows}) == len(asked) * CALLS_A_CASE
    assert {row.outcome for row in rows} == {"ok"}
    assert len(rows) < calls <= len(rows) + 8
    assert sum(row.attempts or 0 for row in rows) >= calls
    assert {case: result.verdict for case, result in results.items()} == {
        case: result.verdict for case, result in local.items()
    }


def test_a_case_that_kills_its_workers_fails_alone() -> None:
    with LineServer(latency_s=0.01) as server:
        executor = RayExecutor(concurrency_per_worker=4)
        design = harness(executor, perturbations=["none"], repetitions=1)
        results = measured(design, LineJudge(server.port), cases(8, bad="poison"))
    (poisoned,) = results.pop("bad").rows
    assert (poisoned.outcome, poisoned.attempts) == ("error", 3)
    assert poisoned.error == "WorkerDied: the worker died 3 times while it judged this probe"
    assert {row.outcome for result in results.values() for row in result.rows} == {"ok"}


def test_a_run_outlives_links_to_its_log_that_are_cut() -> None:
    asked = cases(40)
    cut: list[int] = []
    with severable_schema() as (proxy, url), LineServer(latency_s=0.05) as server, SqlLog(url) as log:

        def sever() -> None:
            for calls in (40, 100):
                while server.calls < calls:
                    time.sleep(0.002)
                cut.append(proxy.sever(refuse_s=0.3))

        thread = threading.Thread(target=sever)
        thread.start()
        design = harness(RayExecutor(concurrency_per_worker=8), log=log, run="severed")
        results = measured(design, LineJudge(server.port), asked)
        thread.join()
        rows = list(log.rows(run="severed"))
        calls = server.calls
        server.latency_s = 0.0
        local = measured(harness(), LineJudge(server.port), asked)
    assert sum(cut) >= 2
    assert len(rows) == len({row.key for row in rows}) == len(asked) * CALLS_A_CASE == calls
    assert {row.outcome for row in rows} == {"ok"}
    assert {case: result.verdict for case, result in results.items()} == {
        case: result.verdict for case, result in local.items()
    }


def test_a_budget_counts_what_workers_are_asked() -> None:
    with LineServer() as server:
        budget = Budget(max_calls=7)
        design = harness(RayExecutor(workers=1, concurrency_per_worker=2), budget=budget)
        results = measured(design, LineJudge(server.port), cases(5))
        assert (server.calls, budget.spent) == (7, 7)
    assert {result.state for result in results.values()} == {"complete", "budget_exhausted"}


def test_a_synchronous_function_runs_elsewhere_and_its_score_comes_back() -> None:
    judge = FunctionJudge(function=functools.partial(score, os.getpid()), name="length")
    executor = RayExecutor(workers=1)
    results = measured(harness(executor, perturbations=["none"], aggregation_rule="median"), judge, cases(2))
    assert [result.verdict for result in results.values()] == [18.0, 18.0]


def score(driver: object, case: Any) -> float:
    return 0.0 if os.getpid() == driver else float(len(case.output))


def test_another_cluster_than_the_one_of_this_process_is_refused() -> None:
    with pytest.raises(UsageError, match=r"connected to another Ray than 127\.0\.0\.1:1: call ray\.shutdown"):
        harness(RayExecutor(address="127.0.0.1:1")).evaluate(LineJudge(1), cases(1)[0])


def test_a_judge_that_cannot_be_pickled_is_refused_in_one_sentence() -> None:
    judge = FunctionJudge(function=functools.partial(score, threading.Lock()), name="mine")
    expected = r"judge 'mine' cannot be sent to Ray workers \(TypeError: .*\): give a module-level function, or a judge"
    with pytest.raises(UsageError, match=expected):
        harness(RayExecutor()).evaluate(judge, cases(1)[0])


class Unloadable(LineJudge):
    def __reduce__(self) -> tuple[Any, ...]:
        return (_fail, ())


def _fail() -> None:
    raise ModuleNotFoundError("No module named 'theirs'")


def test_a_judge_that_cannot_be_loaded_on_a_worker_is_refused_in_one_sentence() -> None:
    expected = "judge 'line' cannot be loaded on a Ray worker .ModuleNotFoundError: No module named 'theirs'.: install"
    with pytest.raises(UsageError, match=expected):
        harness(RayExecutor()).evaluate(Unloadable(1), cases(1)[0])


class TextHere(str):
    """A text that only the process that made it can read."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_read_here, (os.getpid(),))


def _read_here(pid: int) -> TextHere:
    if os.getpid() != pid:
        _fail()
    return TextHere()


class LockedText(str):
    """A text that cannot be pickled."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("cannot pickle it")


def test_what_fails_on_the_way_or_on_a_worker_has_its_own_name() -> None:
    odd = [
        AnswerCase(case_id="locked", output=LockedText("text")),
        AnswerCase(case_id="unread", output=TextHere("text")),
    ]
    with LineServer(refusing=1000) as server:  # a worker may take seconds to begin on a busy machine
        executor = RayExecutor(workers=1, concurrency_per_worker=4, policy=CallPolicy(max_attempts=1, timeout_s=8.0))
        design = harness(executor, perturbations=["none"], repetitions=1)
        results = measured(design, LineJudge(server.port), [*odd, *cases(1, slow="hang")])
        assert len(server.pids) == 1  # what cannot be read costs no worker
    errors = {row.case_id: (row.error, row.attempts) for result in results.values() for row in result.rows}
    assert errors == {
        "locked": ("TypeError: case 'locked' cannot be sent to Ray workers (TypeError: cannot pickle it)", 1),
        "unread": ("ModuleNotFoundError: No module named 'theirs'", 1),
        "case-0": ("ServerError: status 429", 1),
        "slow": ("TimeoutError: no answer within 8 s", 1),
    }


def test_a_limiter_that_nobody_uses_any_more_ends_itself() -> None:
    keeper = ray.remote(KeeperActor).options(num_cpus=0).remote(silent_s=0.0, linger_s=0.0, watch_s=0.1)
    ray.get(keeper.join.remote("run"))
    ray.get(keeper.tell.remote("run", [Begin(1, Rates())]))
    with pytest.raises(ray.exceptions.RayActorError):
        wait_for_end(lambda: ray.get(keeper.state.remote()))


class Stillborn:
    def __init__(self) -> None:
        raise RuntimeError("stillborn")

    async def state(self) -> None:
        """Be as asynchronous as a limiter is."""


def test_a_limiter_that_cannot_be_started_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KeeperActor", Stillborn)
    monkeypatch.setattr(limits, "_TRIES", 2)
    monkeypatch.setattr(limits, "_PAUSE_S", 0.0)
    with pytest.raises(UsageError, match=r"the limiter of stillborn cannot be started .*stillborn"):
        asyncio.run(limits.keeper_of("stillborn"))


@dataclass(frozen=True)
class LoadableOnce(LineJudge):
    """Can be loaded while `marker` does not exist."""

    marker: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return (_loaded_once, (self.port, self.marker))


def _loaded_once(port: int, marker: str) -> LineJudge:
    if Path(marker).exists():
        _fail()
    Path(marker).touch()
    return LineJudge(port)


def test_a_run_whose_workers_cannot_be_replaced_ends_and_keeps_what_was_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_MOST_STARTS", 1)
    log = MemoryLog()
    with LineServer(latency_s=0.02) as server:
        thread = killing(server, after=20)
        judge = LoadableOnce(server.port, marker=str(tmp_path / "loaded"))
        design = harness(RayExecutor(workers=1, concurrency_per_worker=4), log=log, run="ended")
        with pytest.raises(ClusterError, match=r"no Ray worker is left \(judge 'line' cannot be .* run it again"):
            measured(design, judge, cases(50))
        thread.join()
    assert 0 < len(list(log.rows(outcome="ok"))) == len(list(log.rows())) < 50 * CALLS_A_CASE


def test_a_limiter_that_dies_is_replaced_and_refused_calls_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_PAUSE_S", 0.1)
    with LineServer(latency_s=0.02, refusing=3) as server:

        def kill() -> None:
            while server.calls < 20:
                time.sleep(0.002)
            ray.kill(ray.get_actor("limits of line-model", namespace=NAMESPACE))

        thread = threading.Thread(target=kill)
        thread.start()
        results = measured(harness(RayExecutor(workers=1, concurrency_per_worker=4)), LineJudge(server.port), cases(20))
        thread.join()
        assert server.calls == 20 * CALLS_A_CASE + 3
    rows = [row for result in results.values() for row in result.rows]
    assert {row.outcome for row in rows} == {"ok"}
    assert sum(row.attempts or 0 for row in rows) == 20 * CALLS_A_CASE + 3


def test_workers_the_cluster_has_no_room_for_are_refused() -> None:
    executor = RayExecutor(workers=1, resources={"judging": 1}, start_timeout_s=0.5)
    with pytest.raises(UsageError, match=r"did not start within 0\.5 s: ask for fewer workers or for less of each"):
        harness(executor).evaluate(LineJudge(1), cases(1)[0])


def test_nothing_is_left_of_a_run_that_is_closed_early() -> None:
    with LineServer(latency_s=0.2) as server:
        design: JudgeHarness = harness(RayExecutor())
        stream = design.evaluate_many(LineJudge(server.port), cases(200))
        next(iter(stream))
        stream.close()  # type: ignore[attr-defined] # it is a generator
        before = server.calls
        time.sleep(0.3)
        assert server.calls <= before + 2 * 16  # what was on its way
        assert server.calls < 800
        for pid in server.pids:
            with pytest.raises(ProcessLookupError):
                wait_for_end(functools.partial(os.kill, pid, 0))


def wait_for_end(alive: Callable[[], object]) -> None:
    for _ in range(400):
        alive()
        time.sleep(0.05)
