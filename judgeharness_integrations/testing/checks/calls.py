"""Checks of how the model is asked: caches, callbacks, cancellation, event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext, suppress

from judgeharness_integrations.testing.bench import Bench, Evaluator, HarnessedEvaluator, Native
from judgeharness_integrations.testing.checks._bench_work import (
    FIRST,
    SECOND,
    Watcher,
    distribution,
    expect,
    harness_of,
    in_new_loop,
    in_thread,
    labels_of,
    measured,
)
from judgeharness_integrations.testing.script import Script

__all__ = [
    "check_cache_safety",
    "check_callbacks_and_tags",
    "check_cancellation",
    "check_repeated_use",
    "check_running_loop",
]

_SAMPLES = 3
_CANCELLED_OF = 6
_IN_FLIGHT = 2
_PATIENCE_S = 10.0
_SETTLING_S = 0.05
_GLANCE_S = 0.001


def check_cache_safety(bench: Bench) -> None:
    """Samples with equal prompts are as many model calls, whatever the framework caches."""
    label, other = labels_of(bench)
    with bench.caching() if bench.caching is not None else nullcontext():
        if bench.caching is not None and bench.bare is not None:
            _check_caches(bench.bare, label)
        script = Script((label, other, label))
        native = measured(bench, script, harness_of(_SAMPLES))
    expect(script.calls == _SAMPLES, f"{_SAMPLES} samples were {script.calls} model call(s)")
    expect(len(set(script.prompts)) == 1, "repetitions were not asked with equal prompts")
    found = distribution(native)
    expect(found == {label: 2, other: 1}, f"answers {label}, {other}, {label} were recorded as {found}")


def _check_caches(bare: Callable[[Script], Evaluator], label: str) -> None:
    """Make sure that the cache the bench switches on is one."""
    script = Script((label,))
    evaluator = bare(script)
    for _ in range(2):
        in_new_loop(lambda: evaluator.aevaluate(FIRST, SECOND))
    expect(script.calls == 1, "the bench's cache does not answer the bare evaluator's second call")


def check_callbacks_and_tags(bench: Bench) -> None:
    """The framework's callbacks see every sample with its perturbation and repetition; observers see the result."""
    label, _ = labels_of(bench)
    perturbations, watcher = ("none", bench.perturbation), Watcher()
    native = measured(bench, (label,), harness_of(2, *perturbations, observers=(watcher,)))
    asked = sorted((name, repetition) for name in perturbations for repetition in range(2))
    seen = sorted(native.marks)
    expect(seen == asked, f"samples {asked} were seen by the framework's callbacks as {seen}")
    expect(len(watcher.results) == 1, f"observers of the harness saw {len(watcher.results)} results of one case")


def check_cancellation(bench: Bench) -> None:
    """Cancelling the evaluation ends the model calls in flight, begins no new ones, and leaves it usable."""
    in_new_loop(lambda: _check_cancellation(bench))


async def _check_cancellation(bench: Bench) -> None:
    label, _ = labels_of(bench)
    script = Script((label,), holding=True)
    evaluator = bench.harnessed(script, harness_of(_CANCELLED_OF, max_concurrency=_IN_FLIGHT))
    task = asyncio.ensure_future(evaluator.aevaluate(FIRST, SECOND))
    try:
        await _until_in_flight(task, script)
        task.cancel()
        await asyncio.wait({task}, timeout=_PATIENCE_S)
        expect(task.done(), "the evaluation went on although it was cancelled")
        expect(task.cancelled(), "the evaluation kept its cancellation to itself")
        left, begun = script.waiting_async, script.calls
        expect(left == 0, f"{left} model call(s) were left in flight when the evaluation was cancelled")
    finally:
        task.cancel()
        script.release()
    await asyncio.sleep(_SETTLING_S)
    more = script.calls - begun
    expect(more == 0, f"{more} model call(s) began after the evaluation was cancelled")
    await _check_usable(evaluator, script, label)


async def _until_in_flight(task: asyncio.Task[Native], script: Script) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            while script.waiting < _IN_FLIGHT and not task.done():  # noqa: ASYNC110 - some of them are in threads
                await asyncio.sleep(_GLANCE_S)
    if task.done():
        await task
    expect(not task.done(), "the evaluation ended while its model had not answered")
    expect(script.waiting == _IN_FLIGHT, f"of {_IN_FLIGHT} model calls at a time {script.waiting} were in flight")


async def _check_usable(evaluator: HarnessedEvaluator, script: Script, label: str) -> None:
    before = script.calls
    again = await evaluator.aevaluate(FIRST, SECOND)
    asked = script.calls - before
    expect(again.verdict == label, f"after a cancelled evaluation the next one was reported as {again.verdict}")
    expect(asked == _CANCELLED_OF, f"after a cancelled evaluation the next one made {asked} calls of {_CANCELLED_OF}")


def check_running_loop(bench: Bench) -> None:
    """The sync face works inside a running event loop, repeatedly."""
    label, _ = labels_of(bench)
    evaluator = bench.harnessed(Script((label,)), harness_of(2))

    async def notebook() -> list[str | None]:
        return [evaluator.evaluate(FIRST, SECOND).verdict for _ in range(2)]

    found = in_new_loop(notebook)
    expect(found == [label, label], f"inside a running event loop {label} was reported as {found}")


def check_repeated_use(bench: Bench) -> None:
    """One evaluator, with one client, works in one event loop after the other and by both faces."""
    label, _ = labels_of(bench)
    script = Script((label,))
    evaluator = bench.harnessed(script, harness_of(2))
    faces = [in_new_loop(lambda: evaluator.aevaluate(FIRST, SECOND)) for _ in range(2)]
    faces.append(in_thread(lambda: evaluator.evaluate(FIRST, SECOND)))
    for native in faces:
        expect(native.verdict == label, f"used repeatedly, {label} was reported as {native.verdict}")
        expect(native.plain == faces[0].plain, "the sync and the async face give different results")
    expect(script.calls == 2 * len(faces), f"{len(faces)} evaluations of 2 samples were {script.calls} model calls")
