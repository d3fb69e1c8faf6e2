"""What the checks share: the texts that are judged, harnesses, and ways to run an evaluator."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

from judgeharness_integrations.execution.observing import Span
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.testing.bench import Bench, Native
from judgeharness_integrations.testing.script import Labels, Script

__all__ = [
    "FIRST",
    "SECOND",
    "Watcher",
    "carried",
    "distribution",
    "expect",
    "harness_of",
    "in_new_loop",
    "in_thread",
    "labels_of",
    "measured",
    "only_criterion",
]

_T = TypeVar("_T")

FIRST = "The capital of Norway is Oslo"
SECOND = "Norwegians are governed from Bergen"


def expect(holds: object, sentence: str) -> None:
    """Raise an AssertionError with a sentence unless something holds."""
    if not holds:
        raise AssertionError(sentence)


class Watcher:
    """An observer that keeps the measurements."""

    def __init__(self) -> None:
        """Keep none yet."""
        self.results: list[HarnessResult] = []

    def begin(self, span: Span) -> None:
        """Let it begin."""

    def end(self, span: Span) -> None:
        """Keep the measurement of a case."""
        if span.kind == "case" and "result" in span.outcome:
            self.results.append(span.outcome["result"])


def harness_of(
    repetitions: int, *perturbations: str, rule: str = "majority", max_concurrency: int = 1, **options: Any
) -> JudgeHarness:
    """Return a harness that asks in order and once, unperturbed by default."""
    return JudgeHarness(
        perturbations=perturbations or ("none",),
        repetitions=repetitions,
        aggregation_rule=rule,
        max_concurrency=max_concurrency,
        max_attempts=1,
        **{"observers": (), **options},
    )


def labels_of(bench: Bench) -> tuple[str, str]:
    """Return the two labels an evaluator may decide for, the favourable one first."""
    return ("A", "B") if bench.pairwise else ("PASS", "FAIL")


def in_thread(work: Callable[[], _T]) -> _T:
    """Run work in a thread of its own, where no event loop runs, so that checks run in notebooks, too."""
    done: Future[_T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the work was asked for
            done.set_exception(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="judgeharness-bench", daemon=True)
    thread.start()
    return done.result()


def in_new_loop(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run async work in an event loop and thread of its own."""

    async def awaited() -> _T:
        return await work()

    return in_thread(lambda: asyncio.run(awaited()))


def measured(bench: Bench, labels: Labels | Script, harness: JudgeHarness) -> Native:
    """Return the result of the harnessed evaluator for `FIRST` and `SECOND`."""
    script = labels if isinstance(labels, Script) else Script(labels)
    evaluator = bench.harnessed(script, harness)
    return in_new_loop(lambda: evaluator.aevaluate(FIRST, SECOND))


def carried(native: Native) -> Mapping[str, Any]:
    """Return the document that a result carries."""
    if native.document is None:
        raise AssertionError("the result carries no measurement")
    return native.document


def only_criterion(native: Native) -> Mapping[str, Any]:
    """Return the one criterion of a result's document."""
    criteria: Mapping[str, Mapping[str, Any]] = carried(native)["criteria"]
    expect(len(criteria) == 1, f"the document holds {len(criteria)} criteria where the bench asks about one")
    return next(iter(criteria.values()))


def distribution(native: Native) -> dict[Any, int]:
    """Return verdict -> samples of a result's document."""
    return {entry["verdict"]: entry["count"] for entry in only_criterion(native)["sample_distribution"]}
