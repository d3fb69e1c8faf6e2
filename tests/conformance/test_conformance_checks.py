"""Each check fails on an adapter with the defect it looks for, and says which."""

from __future__ import annotations

import asyncio
import copy
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from support.toy_adapter import Toy, ToyJudge, toy_bench

from judgeharness_integrations.analysis.result import all_failed
from judgeharness_integrations.judging.adapterkit import GARBAGE, Native
from judgeharness_integrations.testing import CHECKS, check_bench

if TYPE_CHECKING:
    from judgeharness_integrations import HarnessResult
    from judgeharness_integrations.judging.judge import Probe

MIRROR = {"A": "B", "B": "A"}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("pairwise", [True, False])
def test_an_adapter_without_a_defect_passes(check: str, pairwise: bool) -> None:  # noqa: FBT001
    bench = toy_bench(pairwise=pairwise)
    if check in bench.opted_out:
        pytest.skip(bench.opted_out[check])
    CHECKS[check](bench)


def judging(**methods: Any) -> type[Toy]:
    """A toy whose judge has other methods."""
    return type("Defective", (Toy,), {"judge_class": type("DefectiveJudge", (ToyJudge,), methods)})


def reporting(**methods: Any) -> type[Toy]:
    """A toy that reports in another way."""
    return type("Defective", (Toy,), methods)


def never_swaps(self: ToyJudge, probe: Probe) -> str:
    return "\n".join(sorted(probe.case.texts()))


def restores_itself(self: ToyJudge, label: str, probe: Probe) -> str:
    return MIRROR[label] if probe.perturbation.swaps else label


def hides_a_text(self: ToyJudge, probe: Probe) -> str:
    return str(probe.case.output)


def mirrored(self: Toy, result: HarnessResult) -> str | None:
    return MIRROR.get(str(result.verdict))


def never_undecided(self: Toy, result: HarnessResult) -> str:
    return "A" if result.status != "decided" else str(result.verdict)


def fine_when_down(self: Toy, result: HarnessResult) -> str | None:
    return "A" if all_failed(result) else Toy.verdict(self, result)


def no_ties(self: Toy, result: HarnessResult) -> str | None:
    return None if result.verdict == "TIE" else Toy.verdict(self, result)


def undecided_ties(self: Toy, result: HarnessResult) -> dict[str, Any]:
    document = copy.deepcopy(result.to_dict())
    for criterion in document["criteria"].values():
        criterion["status"] = "abstained" if criterion["verdict"] == "TIE" else criterion["status"]
    return document


def one_label(self: Toy, result: HarnessResult) -> str | None:
    return "A" if result.status == "decided" else None


def reads_garbage(self: ToyJudge, label: str, probe: Probe) -> str:
    return "B" if label == GARBAGE else label


async def swallows_errors(self: ToyJudge, probe: Probe) -> str:
    try:
        return await ToyJudge.ask(self, probe)
    except ConnectionError:
        return GARBAGE


def graded_at_least(self: Toy, result: HarnessResult) -> dict[str, Any]:
    document = copy.deepcopy(result.to_dict())
    for criterion in document["criteria"].values():
        criterion["status"] = "abstained"
    return document


async def shares_its_cache(self: ToyJudge, probe: Probe) -> str:
    return await self.model.says(self.prompt(probe))


def numbers_its_prompts(self: ToyJudge, probe: Probe) -> str:
    return f"{probe.repetition}\n{ToyJudge.prompt(self, probe)}"


def unmarked(self: Toy, result: HarnessResult, marks: Any) -> Native:
    return Toy.native(self, result, [])


class Unobserved(Toy):
    def __init__(self, script: Any, harness: Any, *, pairwise: bool) -> None:
        harness = copy.copy(harness)
        harness.observers = ()
        super().__init__(script, harness, pairwise=pairwise)


class Stubborn(Toy):
    """Goes on when it is cancelled."""

    async def aevaluate(self, first: str, second: str) -> Native:
        task = asyncio.ensure_future(super().aevaluate(first, second))
        return await asyncio.shield(task)


class Deaf(Toy):
    """Makes an answer of its cancellation."""

    async def aevaluate(self, first: str, second: str) -> Native:
        try:
            return await super().aevaluate(first, second)
        except asyncio.CancelledError:
            return Native(answer={}, plain={}, verdict=None)


class Restless(Toy):
    """Asks once more when it is cancelled."""

    async def aevaluate(self, first: str, second: str) -> Native:
        try:
            return await super().aevaluate(first, second)
        except asyncio.CancelledError:
            self.again = asyncio.get_running_loop().call_later(0.001, self.script.ask, "again")
            raise


class Broken(Toy):
    """Cannot be used after a cancellation."""

    broken = False

    async def aevaluate(self, first: str, second: str) -> Native:
        if self.broken:
            return Native(answer={}, plain={}, verdict=None)
        try:
            return await super().aevaluate(first, second)
        except asyncio.CancelledError:
            self.broken = True
            raise


class Remembering(Toy):
    """Gives its last answer again."""

    last: Native | None = None

    async def aevaluate(self, first: str, second: str) -> Native:
        try:
            self.last = self.last or await super().aevaluate(first, second)
        except asyncio.CancelledError:
            self.last = Native(answer={}, plain={}, verdict="A")
            raise
        return self.last


class Hasty(Toy):
    """Answers before its model does."""

    async def aevaluate(self, first: str, second: str) -> Native:
        return Native(answer={}, plain={}, verdict="A")


class Failing(Toy):
    async def aevaluate(self, first: str, second: str) -> Native:
        raise ValueError("no such face")


class InSeries(Toy):
    def __init__(self, script: Any, harness: Any, *, pairwise: bool) -> None:
        harness = copy.copy(harness)
        harness.executor = type(harness.executor)(max_concurrency=1)
        super().__init__(script, harness, pairwise=pairwise)


class Scripts(Toy):
    """Its sync face is for scripts only."""

    def evaluate(self, first: str, second: str) -> Native:
        with closing(self.aevaluate(first, second)) as coroutine:
            return asyncio.run(coroutine)


class Other(Toy):
    """Its sync face says less."""

    def evaluate(self, first: str, second: str) -> Native:
        native = super().evaluate(first, second)
        return Native(answer={}, plain={}, verdict=native.verdict)


class Silent(Toy):
    def evaluate(self, first: str, second: str) -> Native:
        return Native(answer={}, plain={}, verdict=None)


def stale_precision(self: Toy, result: HarnessResult) -> float | None:
    return 1.0 if result.calibration else None


def no_precision(self: Toy, result: HarnessResult) -> float | None:
    return None


def always_valid(self: Toy, result: HarnessResult) -> dict[str, Any]:
    document = result.to_dict()
    return document | {"calibration": document["calibration"] and {**document["calibration"], "status": "valid"}}


def documented(change: dict[str, Any]) -> Any:
    return lambda self, result: result.to_dict() | change


def with_rows(self: Toy, result: HarnessResult) -> dict[str, Any]:
    document = result.to_dict(rows=True)
    for row in document["rows"]:
        row["verdict"] = "B"
    return document


def undocumented(self: Toy, result: HarnessResult, marks: Any) -> Native:
    native = Toy.native(self, result, marks)
    return Native(answer=native.answer, plain=native.plain, verdict=native.verdict, marks=native.marks)


def two_criteria(self: Toy, result: HarnessResult) -> dict[str, Any]:
    document = result.to_dict()
    return document | {"criteria": {**document["criteria"], "more": {}}}


def plainly(**keys: Any) -> Any:
    def native(self: Toy, result: HarnessResult, marks: Any) -> Native:
        made = Toy.native(self, result, marks)
        return Native(answer=made.answer, plain={**made.plain, **keys}, verdict=made.verdict, document=made.document)

    return native


def answering(answer: Any) -> Any:
    def native(self: Toy, result: HarnessResult, marks: Any) -> Native:
        made = Toy.native(self, result, marks)
        return Native(answer=answer, plain=made.plain, verdict=made.verdict, document=made.document)

    return native


DEFECTS: list[tuple[str, type[Toy], str]] = [
    ("original_frame", judging(prompt=never_swaps), "both orders were asked for and the model was not shown both"),
    ("original_frame", judging(read=restores_itself), "four samples for B in either order were recorded as "),
    ("original_frame", judging(prompt=hides_a_text), "the prompt does not show 'Norwegians are governed from Bergen'"),
    ("original_frame", reporting(verdict=mirrored), "a judge that says B in both orders was reported as A"),
    ("original_frame", reporting(verdict=never_undecided), "goes by the place alone was reported as A"),
    ("tie_is_no_abstention", reporting(verdict=no_ties), "a judge that says TIE was reported as None"),
    ("tie_is_no_abstention", reporting(document=undecided_ties), "the judge declared was not recorded as decided"),
    ("tie_is_no_abstention", reporting(verdict=never_undecided), "an abstention was reported as A"),
    ("failures_are_outcomes", judging(read=reads_garbage), "and recorded as {'ok': 3, 'error': 1}"),
    ("failures_are_outcomes", judging(ask=swallows_errors), "and recorded as {'ok': 2, 'unparsed': 2}"),
    ("failures_are_outcomes", reporting(verdict=never_undecided), "every sample failed was reported as A"),
    ("failures_are_outcomes", reporting(document=graded_at_least), "every sample failed was recorded as abstained"),
    ("failures_are_outcomes", reporting(verdict=fine_when_down), "a case whose model is down was reported as A"),
    ("cache_safety", judging(ask=shares_its_cache), "3 samples were 0 model call(s)"),
    ("cache_safety", judging(prompt=numbers_its_prompts), "repetitions were not asked with equal prompts"),
    ("callbacks_and_tags", reporting(native=unmarked), "were seen by the framework's callbacks as []"),
    ("callbacks_and_tags", Unobserved, "observers of the harness saw 0 results of one case"),
    ("cancellation", Stubborn, "2 model call(s) were left in flight when the evaluation was cancelled"),
    ("cancellation", Deaf, "the evaluation kept its cancellation to itself"),
    ("cancellation", Restless, "1 model call(s) began after the evaluation was cancelled"),
    ("cancellation", Broken, "after a cancelled evaluation the next one was reported as None"),
    ("cancellation", Remembering, "after a cancelled evaluation the next one made 0 calls of 6"),
    ("cancellation", Hasty, "the evaluation ended while its model had not answered"),
    ("cancellation", Failing, "no such face"),
    ("repeated_use", Other, "the sync and the async face give different results"),
    ("repeated_use", Silent, "used repeatedly, A was reported as None"),
    ("repeated_use", Remembering, "3 evaluations of 2 samples were 4 model calls"),
    ("running_loop", Scripts, "asyncio.run() cannot be called from a running event loop"),
    ("running_loop", Silent, "inside a running event loop A was reported as [None, None]"),
    (
        "calibration",
        reporting(precision=stale_precision),
        "that is expired has precision None, and the result states 1",
    ),
    ("calibration", reporting(precision=no_precision), "that is valid has precision 1.0, and the result states None"),
    ("calibration", reporting(document=always_valid), "a calibration that is expired was reported as valid"),
    ("calibration", reporting(document=documented({"calibration": None})), "that is valid was reported as absent"),
    ("calibration", reporting(native=undocumented), "the result carries no measurement"),
    ("json", reporting(native=answering({1, 2})), "the result is no JSON (Object of type set"),
    ("json", reporting(native=answering(float("nan"))), "the result is no JSON (Out of range float"),
    ("json", reporting(document=documented({"judge": object()})), "the result is no JSON"),
    ("json", reporting(document=documented({"usage": {}})), "the document differs from the measurement in usage"),
    ("json", reporting(document=with_rows), "the document does not rebuild the measurement"),
    ("json", Unobserved, "observers of the harness saw 0 results of one case"),
    ("equality_with_bare", reporting(native=plainly(more=1)), "differs from the bare evaluator in more"),
    ("equality_with_bare", reporting(native=plainly(verdict=None)), "differs from the bare evaluator in verdict"),
    ("equality_with_bare", reporting(document=documented({"informal": False})), "is not said to be informal"),
    ("tie_is_no_abstention", reporting(document=two_criteria), "holds 2 criteria where the bench asks about one"),
]


@pytest.mark.sampled(11)
@pytest.mark.parametrize(("check", "toy", "sentence"), DEFECTS, ids=[f"{one[0]}-{one[2][:40]}" for one in DEFECTS])
def test_a_defect_is_found(check: str, toy: type[Toy], sentence: str) -> None:
    found = {result.check: result for result in check_bench(toy_bench(toy))}
    assert found[check].outcome == "fail"
    assert sentence in found[check].detail
    assert "\n" not in found[check].detail


def test_every_check_finds_a_defect() -> None:
    assert {check for check, *_ in DEFECTS} == set(CHECKS)


def test_calls_that_are_made_one_at_a_time_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgeharness_integrations.testing.benchchecks._PATIENCE_S", 0.5)
    with pytest.raises(AssertionError, match="of 2 model calls at a time 1 were in flight"):
        CHECKS["cancellation"](toy_bench(InSeries))


def test_an_evaluation_that_cannot_be_cancelled_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(Toy):
        async def aevaluate(self, first: str, second: str) -> Native:
            task = asyncio.ensure_future(super().aevaluate(first, second))
            while not task.done():
                try:
                    await asyncio.shield(task)
                except asyncio.CancelledError:
                    continue
            return await task

    monkeypatch.setattr("judgeharness_integrations.testing.benchchecks._PATIENCE_S", 0.5)
    with pytest.raises(AssertionError, match="the evaluation went on although it was cancelled"):
        CHECKS["cancellation"](toy_bench(Endless))


def test_a_graded_evaluator_that_ignores_the_order_is_found() -> None:
    bench = toy_bench(pairwise=False, opted_out={})
    with pytest.raises(AssertionError, match="opt out, and say that there is no order of texts"):
        CHECKS["original_frame"](bench)


def test_a_graded_abstention_is_no_negative_verdict() -> None:
    def failed(self: Toy, result: HarnessResult) -> str | None:
        return "FAIL" if result.status != "decided" else str(result.verdict)

    with pytest.raises(AssertionError, match="an abstention was reported as FAIL"):
        CHECKS["tie_is_no_abstention"](toy_bench(reporting(verdict=failed), pairwise=False))


def test_a_cache_that_is_none_is_found() -> None:
    with pytest.raises(AssertionError, match="cache does not answer the bare evaluator's second call"):
        CHECKS["cache_safety"](toy_bench(caching=nullcontext))


def test_calls_are_counted_where_there_is_no_cache() -> None:
    CHECKS["cache_safety"](toy_bench(caching=None))


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(AssertionError, match="there is no bare evaluator to compare with"):
        CHECKS["equality_with_bare"](toy_bench(bare=None))


def test_a_bench_that_misreads_the_bare_evaluator_is_found() -> None:
    class Misread:
        def evaluate(self, first: str, second: str) -> Native:
            return Native(answer={}, plain={}, verdict=None)

        async def aevaluate(self, first: str, second: str) -> Native:
            return Native(answer={}, plain={}, verdict=None)

    with pytest.raises(AssertionError, match="the bench's bare evaluator reads A as None"):
        CHECKS["equality_with_bare"](toy_bench(bare=lambda script: Misread()))
