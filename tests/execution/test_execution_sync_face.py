"""The sync face: one background loop, reachable from anywhere, that ends with the process."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest

from judgeharness_integrations import JudgeHarness, JudgeHarnessError
from judgeharness_integrations.judging.cases import case_id_of
from judgeharness_integrations.judging.execution import loop as sync_face
from judgeharness_integrations.judging.execution.loop import run_sync, stream_sync
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog.files import MemoryLog

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")


def harness(**options: object) -> JudgeHarness:
    defaults = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority", "observers": ()}
    return JudgeHarness(**(defaults | options))  # type: ignore[arg-type]


async def background_tasks() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


@contextmanager
def no_task_left_behind() -> Iterator[None]:
    before = run_sync(background_tasks())
    yield
    assert run_sync(background_tasks()) <= before


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_it_works_inside_a_running_event_loop() -> None:
    async def notebook_cell() -> object:
        return harness().evaluate(ScriptedJudge(["PASS"]), "case").verdict

    assert asyncio.run(notebook_cell()) == "PASS"


def test_a_client_stays_usable_because_the_loop_stays_the_same() -> None:
    loops = []

    async def judge(case: object) -> str:
        loops.append(asyncio.get_running_loop())
        return "PASS"

    for _ in range(2):
        harness().evaluate(judge, "case")
    assert len(set(map(id, loops))) == 1
    assert len(loops) == 4


def test_several_threads_may_call_at_once() -> None:
    verdicts: list[object] = []

    def work(number: int) -> None:
        verdicts.append(harness().evaluate(ScriptedJudge([f"L{number}"]), "case").verdict)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, verdicts)) == [f"L{number}" for number in range(8)]


def test_from_inside_an_async_judge_it_says_so_and_does_not_hang() -> None:
    async def judge(case: object) -> object:
        return harness().evaluate(ScriptedJudge(["PASS"]), case).verdict

    result = harness().evaluate(judge, "case")
    assert result.status == "not_graded"
    assert result.rows[0].error == (
        "JudgeHarnessError: the sync face was called from inside an async judge: await the a-variant instead."
    )


def test_context_variables_reach_the_judge_through_both_faces() -> None:
    seen: list[str] = []

    def sync_judge(case: object) -> str:
        seen.append(REQUEST.get())
        return "PASS"

    async def async_judge(case: object) -> str:
        return sync_judge(case)

    async def awaited(judge: object) -> None:
        await harness().aevaluate(judge, "case")
        [_ async for _ in harness().aevaluate_many(judge, ["case"])]

    token = REQUEST.set("mine")
    try:
        for judge in (sync_judge, async_judge):
            harness().evaluate(judge, "case")
            list(harness().evaluate_many(judge, ["case"]))
            asyncio.run(awaited(judge))
    finally:
        REQUEST.reset(token)
    assert seen == ["mine"] * 16


@pytest.mark.slow
def test_a_forked_child_can_evaluate() -> None:
    assert harness().evaluate(lambda _: "PASS", "case").verdict == "PASS"  # the parent has its loop, threads, limiters
    child = os.fork()
    if child == 0:
        try:
            verdict = harness().evaluate(lambda _: "FAIL", "case", "forked-model").verdict
            os._exit(17 if verdict == "FAIL" else 1)
        except BaseException:  # noqa: BLE001 - the child must never return into the test runner
            os._exit(2)
    deadline = time.monotonic() + 20
    while (finished := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(finished[1]) == 17


def test_the_stream_yields_while_cases_are_being_asked() -> None:
    log = MemoryLog()
    with no_task_left_behind():
        results = harness(max_concurrency=1, repetitions=1, log=log).evaluate_many(
            ScriptedJudge(["PASS"]), (f"case {number}" for number in range(500))
        )
        assert next(results).case_id.startswith("case")
        assert len(log) < 400
        results.close()  # type: ignore[attr-defined]
    assert len({row.key for row in log.rows()}) == len(log) < 400


def test_closing_the_stream_cancels_the_calls_in_flight() -> None:
    started, cancelled = [], []

    async def judge(case: str) -> str:
        started.append(case)
        try:
            await asyncio.sleep(0 if case == "first" else 60)
        except asyncio.CancelledError:
            cancelled.append(case)
            raise
        return "PASS"

    log = MemoryLog()
    with no_task_left_behind():
        results = harness(log=log).evaluate_many(judge, ["first", "second", "third"])
        assert next(results).verdict == "PASS"
        results.close()  # type: ignore[attr-defined]
    assert sorted(set(cancelled)) == ["second", "third"]
    assert len(cancelled) == len(started) - 2
    assert len(log) == 2


def test_an_interrupt_cancels_the_run_and_keeps_what_was_answered() -> None:
    cancelled = []

    async def judge(case: str) -> str:
        try:
            await asyncio.sleep(0 if case == "quick" else 60)
        except asyncio.CancelledError:
            cancelled.append(case)
            raise
        return "PASS"

    log = MemoryLog()
    with no_task_left_behind(), pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
        list(harness(log=log).evaluate_many(judge, ["quick", "slow"]))
    assert cancelled == ["slow", "slow"]
    assert [row.case_id for row in log.rows()] == [case_id_of("quick")] * 2


def test_any_exception_of_a_signal_handler_cancels_the_run() -> None:
    cancelled = threading.Event()

    async def judge(case: str) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()
        return "PASS"

    def give_up(*_: object) -> None:
        raise TimeoutError("enough")

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with no_task_left_behind(), pytest.raises(TimeoutError, match="enough"):
            harness(max_attempts=1).evaluate(judge, "case")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert cancelled.is_set()


def test_errors_of_the_call_come_back_as_they_are() -> None:
    async def broken() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        run_sync(broken())


async def numbers(closed: threading.Event) -> AsyncIterator[int]:
    try:
        for number in range(5):
            yield number
    finally:
        closed.set()


def test_a_stream_collected_in_the_loops_own_thread_is_closed_all_the_same() -> None:
    closed = threading.Event()
    held = [stream_sync(numbers(closed))]  # type: ignore[arg-type]
    assert next(held[0]) == 0

    async def collect() -> None:
        held.clear()
        gc.collect()
        while not closed.is_set():  # noqa: ASYNC110 - an event of threads
            await asyncio.sleep(0)

    run_sync(asyncio.wait_for(collect(), 5))


def test_a_stream_that_was_never_started_costs_nothing() -> None:
    with no_task_left_behind():
        harness().evaluate_many(ScriptedJudge(["PASS"]), ["case"])
        gc.collect()


AT_EXIT = {
    "stream left open": "stream = harness.evaluate_many(judge, (str(n) for n in range(10**6))); next(stream)",
    "stream in a cycle": "a = [harness.evaluate_many(judge, ['x', 'y'])]; a.append(a); next(a[0])",
    "calls in flight": (
        "import threading, asyncio, contextlib, time\n"
        "async def slow(case): await asyncio.sleep(60)\n"
        "def work():\n"
        "    with contextlib.suppress(BaseException): harness.evaluate(slow, 'x')\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(.2)"
    ),
    "asked while ending": "import atexit\natexit._clear()\natexit.register(lambda: None)\nharness.evaluate(judge, 'x')",
}


@pytest.mark.slow
@pytest.mark.parametrize("program", AT_EXIT.values(), ids=AT_EXIT.keys())
def test_the_process_ends(program: str) -> None:
    prelude = (
        "from judgeharness_integrations import JudgeHarness\n"
        "harness = JudgeHarness(perturbations=['none'], repetitions=1, aggregation_rule='majority')\n"
        "def judge(case): return 'PASS'\n"
    )
    ran = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", prelude + program],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.slow
def test_nothing_can_be_asked_once_the_loop_was_stopped() -> None:
    program = """
from judgeharness_integrations.judging.execution import loop
from judgeharness_integrations._errors import JudgeHarnessError
async def one(): return 1
assert loop.run_sync(one()) == 1
loop._stop(loop._loop, loop._thread)
loop._stop(loop._loop, loop._thread)
try:
    loop.run_sync(one())
except JudgeHarnessError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)  # noqa: S603
    assert (ran.stdout, ran.stderr) == ("the interpreter is ending: nothing can be asked any more.\n", "")


def test_the_loop_is_made_anew_after_a_fork_and_stopped_with_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_lock", "_loop", "_thread"):
        monkeypatch.setattr(sync_face, name, getattr(sync_face, name))
    before = sync_face._background_loop()
    sync_face._forget()
    mine, thread = sync_face._background_loop(), sync_face._thread
    assert mine is not before
    assert thread is not None
    left = asyncio.run_coroutine_threadsafe(asyncio.sleep(60), mine)
    items = stream_sync(numbers(threading.Event()))  # type: ignore[arg-type]
    assert next(items) == 0
    sync_face._stop(mine, thread)
    assert left.cancelled()
    assert mine.is_closed()
    sync_face._stop(mine, thread)  # has nothing to do any more
    items.close()  # type: ignore[attr-defined]
    nothing = asyncio.sleep(0)
    with pytest.raises(JudgeHarnessError, match="interpreter is ending"):
        run_sync(nothing)
