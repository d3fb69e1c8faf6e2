"""Checks of a bench: how the model is asked, what the framework says was decided, and the result."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from contextvars import copy_context
from typing import Any, TypeVar

from judgeharness_integrations._errors import NotGradedError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.adapterkit import (
    GARBAGE,
    Bench,
    Evaluator,
    HarnessedEvaluator,
    Labels,
    Native,
    Script,
)
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.execution.observing import Span
from judgeharness_integrations.judging.harness import JudgeHarness

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


def check_calibration(bench: Bench) -> None:
    """A calibration is reported as valid, as expired without its numbers, or not at all."""
    label, _ = labels_of(bench)
    report = _calibrated(bench, label)
    for calibration, repetitions, status, precision in (
        (None, 2, None, None),
        (report, 2, "valid", 1.0),
        (report, 3, "expired", None),
    ):
        native = measured(bench, (label,), harness_of(repetitions, calibration=calibration))
        said = _status(native)
        expect(said == status, f"a calibration that is {status or 'absent'} was reported as {said or 'absent'}")
        wanted = f"a calibration that is {status or 'absent'} has precision {precision}"
        expect(native.precision == precision, f"{wanted}, and the result states {native.precision}")


def _calibrated(bench: Bench, label: str) -> CalibrationReport:
    harness = harness_of(2)
    evaluator = bench.harnessed(Script((label,)), harness)
    labelled = CalibrationSet("bench", ((evaluator.case(FIRST, SECOND), label),))
    return in_new_loop(lambda: harness.acalibrate(evaluator.judge, labelled))


def _status(native: Native) -> str | None:
    calibration = carried(native)["calibration"]
    return None if calibration is None else str(calibration["status"])


def check_json(bench: Bench) -> None:
    """The framework's result is JSON, and the document in it is the measurement."""
    label, _ = labels_of(bench)
    watcher = Watcher()
    native = measured(bench, (label,), harness_of(2, "none", bench.perturbation, observers=(watcher,)))
    _as_json(native.answer, "result")
    document = _as_json(carried(native), "document")
    expect(len(watcher.results) == 1, f"observers of the harness saw {len(watcher.results)} results of one case")
    wanted = _as_json(watcher.results[0].to_dict(), "measurement")
    differing = sorted(name for name, value in wanted.items() if document.get(name) != value)
    expect(not differing, f"the document differs from the measurement in {', '.join(differing)}")
    if "rows" in document:
        rebuilt = _as_json(HarnessResult.from_dict(document).to_dict(), "rebuilt measurement")
        expect(rebuilt == wanted, "the document does not rebuild the measurement")


def _as_json(value: Any, what: str) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"the {what} is no JSON ({error})") from error


def check_equality_with_bare(bench: Bench) -> None:
    """One sample of an unperturbed case gives the bare evaluator's result, and says that it is informal."""
    if bench.bare is None:
        raise AssertionError("there is no bare evaluator to compare with: give one, or opt out and say why")
    for label in (*labels_of(bench), *(("TIE",) if bench.pairwise else ())):
        bares = _by_both_faces(bench.bare(Script((label,))))
        natives = _by_both_faces(bench.harnessed(Script((label,)), harness_of(1)))
        for bare, native in zip(bares, natives, strict=True):
            expect(bare.verdict == label, f"the bench's bare evaluator reads {label} as {bare.verdict}")
            differing = ", ".join(sorted(k for k in {*bare.plain, *native.plain} if not _same(bare, native, k)))
            expect(not differing, f"one sample saying {label} differs from the bare evaluator in {differing}")
            expect(carried(native)["informal"] is True, "a single sample is not said to be informal")


def _by_both_faces(evaluator: Evaluator) -> tuple[Native, Native]:
    return in_thread(lambda: evaluator.evaluate(FIRST, SECOND)), in_new_loop(lambda: evaluator.aevaluate(FIRST, SECOND))


def _same(bare: Native, native: Native, key: str) -> bool:
    """Whether both results have a key with the same value of the same type: True is not 1.0."""
    if key not in bare.plain or key not in native.plain:
        return False
    one, other = bare.plain[key], native.plain[key]
    return type(one) is type(other) and bool(one == other)


def check_original_frame(bench: Bench) -> None:
    """Both orders are shown, and verdicts come back in the order of the caller's texts."""
    _expect_swaps(bench)
    harness = harness_of(2, "none", "position_swap", rule="swap_consensus")
    kept = "B" if bench.pairwise else "PASS"  # the judge looks at the texts, not at their places
    script = Script(_prefers_second if bench.pairwise else (kept,))
    native = measured(bench, script, harness)
    orders = {_second_first(prompt) for prompt in script.prompts}
    expect(orders == {True, False}, "both orders were asked for and the model was not shown both")
    found = distribution(native)
    expect(found == {kept: 4}, f"four samples for {kept} in either order were recorded as {found}")
    expect(native.verdict == kept, f"a judge that says {kept} in both orders was reported as {native.verdict}")
    _check_place_bias(bench)


def _check_place_bias(bench: Bench) -> None:
    """A judge that looks at the places alone has no verdict."""
    harness = harness_of(2, "none", "position_swap", rule="swap_consensus")
    first, second = labels_of(bench)
    native = measured(bench, ("A",) if bench.pairwise else _passes_in_order, harness)
    found = distribution(native)
    expect(found == {first: 2, second: 2}, f"a judge that goes by the place alone was recorded as {found}")
    expect(native.verdict is None, f"a judge that goes by the place alone was reported as {native.verdict}")


def check_tie_is_no_abstention(bench: Bench) -> None:
    """A tie the judge declares is a verdict; samples that disagree are none, and no negative verdict either."""
    if bench.pairwise:
        tie = measured(bench, ("TIE",), harness_of(2))
        expect(tie.verdict == "TIE", f"a judge that says TIE was reported as {tie.verdict}")
        expect(only_criterion(tie)["status"] == "decided", "a tie the judge declared was not recorded as decided")
    labels = labels_of(bench)
    for label in labels:
        decided = measured(bench, (label,), harness_of(2))
        expect(decided.verdict == label, f"a judge that says {label} was reported as {decided.verdict}")
    split = measured(bench, labels, harness_of(2))
    status = only_criterion(split)["status"]
    expect(status == "abstained", f"samples that disagree evenly were recorded as {status}")
    expect(split.verdict is None, f"an abstention was reported as {split.verdict}")


def check_failures_are_outcomes(bench: Bench) -> None:
    """Calls that fail and replies nobody can read are counted as such, and never as verdicts."""
    label, _ = labels_of(bench)
    down = ConnectionError("the bench's model is down")
    native = measured(bench, (label, down, GARBAGE, label), harness_of(4))
    _expect_outcomes(only_criterion(native)["outcomes"], ok=2, error=1, unparsed=1)
    expect(distribution(native) == {label: 2}, f"two of four samples failed, and recorded were {distribution(native)}")
    failed = measured(bench, (down, GARBAGE), harness_of(2))
    _expect_outcomes(only_criterion(failed)["outcomes"], ok=0, error=1, unparsed=1)
    status = only_criterion(failed)["status"]
    expect(status == "not_graded", f"a case of which every sample failed was recorded as {status}")
    expect(failed.verdict is None, f"a case of which every sample failed was reported as {failed.verdict}")
    _expect_nothing_decided(bench, down)


def _expect_nothing_decided(bench: Bench, down: Exception) -> None:
    """A model that is down is `NotGradedError`, as where an evaluator raises, or a result without a verdict."""
    try:
        dead = measured(bench, (down,), harness_of(2))
    except NotGradedError as error:
        expect(len(error.results) == 1, f"the error of one case holds {len(error.results)} results")
        return
    expect(dead.verdict is None, f"a case whose model is down was reported as {dead.verdict}")


def _expect_outcomes(found: dict[str, int], **wanted: int) -> None:
    counted = {name: count for name, count in found.items() if count}
    wanted = {name: count for name, count in wanted.items() if count}
    expect(counted == wanted, f"outcomes were {wanted} and recorded as {counted}")


def _expect_swaps(bench: Bench) -> None:
    swaps = bench.perturbation == "position_swap"
    expect(swaps, "nothing shows two texts in both orders: opt out, and say that there is no order of texts")


def _second_first(prompt: str) -> bool:
    for text in (FIRST, SECOND):
        expect(text in prompt, f"the prompt does not show {text!r}")
    return prompt.find(SECOND) < prompt.find(FIRST)


def _prefers_second(prompt: str) -> str:
    return "A" if _second_first(prompt) else "B"


def _passes_in_order(prompt: str) -> str:
    return "FAIL" if _second_first(prompt) else "PASS"


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
