"""Several measurements at once that write one run: of one process, and of two."""

from __future__ import annotations

import asyncio
import functools
import gc
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import RunBusyError, UsageError
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.execution import limiter as sharing
from judgeharness_integrations.judging.execution.limiter import claimed
from judgeharness_integrations.judging.perturbations import Perturbation, compose, paraphrase, position_swap
from judgeharness_integrations.judging.perturbations import perturbation as by_name
from judgeharness_integrations.verdictlog import MemoryLog, SqlLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlLog]:
    with SqlLog(tmp_path / "log.sqlite") as opened:
        yield opened


def harness(log: object, run: str | None = "r", **options: Any) -> JudgeHarness:
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority"}
    return JudgeHarness(**design | {"log": log, "run": run, "observers": ()} | options)


def case(name: str) -> AnswerCase:
    return AnswerCase(case_id=name, output=f"text of {name}")


async def slow(_: Any) -> str:
    await asyncio.sleep(0.01)
    return "PASS"


@pytest.mark.parametrize("kind", ["sql", "memory"])
def test_a_case_is_not_measured_twice_at_once_in_one_run(log: SqlLog, kind: str) -> None:
    one = harness(log if kind == "sql" else MemoryLog())

    async def both() -> list[Any]:
        return await asyncio.gather(*(one.aevaluate(slow, case("k")) for _ in range(3)), return_exceptions=True)

    done, *refused = sorted(asyncio.run(both()), key=lambda result: isinstance(result, Exception))
    assert done.verdict == "PASS"
    assert {str(error) for error in refused} == {
        "case 'k' is being measured in run 'r' already: wait for its result, or give the case another id."
    }
    assert one.evaluate(slow, case("k")).verdict == "PASS"  # the log, or the judge, answers
    assert not sharing._shared


@pytest.mark.slow
def test_a_measurement_sees_what_others_of_its_run_have_written_meanwhile(log: SqlLog) -> None:
    asked: list[str] = []

    async def judge(shown: AnswerCase) -> str:
        asked.append(shown.case_id)
        await asyncio.sleep(0 if shown.case_id == "c19" else 0.02)  # so that c19 is measured before its turn comes
        return "PASS"

    one = harness(log, max_concurrency=1)

    async def overtaken() -> None:
        streamed = one.aevaluate_many(judge, (case(f"c{n}") for n in range(20)))
        await anext(streamed)
        await one.aevaluate(judge, case("c19"))
        assert [result.case_id async for result in streamed][-1] == "c19"

    asyncio.run(overtaken())
    assert asked.count("c19") == 3
    assert len(list(log.rows(run="r"))) == 60


@pytest.mark.slow
def test_many_measurements_share_one_claim(log: SqlLog) -> None:
    one = harness(log)

    async def many() -> list[Any]:
        return await asyncio.gather(*(one.aevaluate(slow, case(f"c{n}")) for n in range(50)))

    with log.claim("r"):  # as the command does
        assert len(asyncio.run(many())) == 50
    assert not log._claims._claims


def test_a_claim_ends_with_the_last_who_shares_it(log: SqlLog, tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.sqlite") as other:
        with log.claim("r"):
            with log.claim("r"):
                pass
            with pytest.raises(RunBusyError), other.claim("r"):
                pass
            with pytest.raises(RunBusyError):
                harness(other).evaluate(slow, case("k"))
        with other.claim("r"), pytest.raises(RunBusyError), log.claim("r"):
            pass
        with log.claim("r"):
            pass


def test_a_run_without_a_name_is_claimed_by_nobody(log: SqlLog, tmp_path: Path) -> None:
    async def at_once() -> None:
        async with claimed(log, None), claimed(None, "r"), claimed(MemoryLog(), "r"):
            assert not log._claims._claims

    asyncio.run(at_once())
    with SqlLog(tmp_path / "log.sqlite") as other, other.claim("r"):
        assert harness(log, None).evaluate(slow, case("k")).verdict == "PASS"


def test_a_claim_that_nobody_waits_for_any_more_is_given_back(log: SqlLog) -> None:
    async def cancelled() -> None:
        async def measured() -> None:
            async with claimed(log, "r"):
                await asyncio.sleep(60)

        for pause in (0, 0.2):  # while it is being taken, and after
            task = asyncio.ensure_future(measured())
            await asyncio.sleep(pause)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        task = asyncio.ensure_future(measured())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not log._claims._claims


_SECOND = """
import sys
from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations.verdictlog import SqlLog
harness = JudgeHarness.quick("labels", log=SqlLog(sys.argv[1]), run="r")
harness.evaluate(lambda case: "PASS", AnswerCase(case_id="k", output="o"))
"""


@pytest.mark.slow
def test_a_second_process_does_not_measure_into_the_run(log: SqlLog, tmp_path: Path) -> None:
    said: list[str] = []

    def judge(_: Any) -> str:
        command = [sys.executable, "-c", _SECOND, str(tmp_path / "log.sqlite")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - our own
        said.append(done.stderr)
        return "PASS"

    harness(log, repetitions=1).evaluate(judge, case("k"))
    assert "RunBusyError: run 'r'" in said[0]
    assert "is being written by another process" in said[0]


def test_two_rewriters_of_one_name_do_not_get_each_others_words(log: SqlLog) -> None:
    def says(model: str, text: str) -> str:
        return f"[{model}] {text}"

    first, second = functools.partial(says, "gpt"), functools.partial(says, "claude")
    other = replace(by_name("paraphrase", rewriter=second), name="paraphrase_b")
    shown: list[str] = []

    async def judge(seen: AnswerCase) -> str:
        shown.append(seen.output)
        return "PASS" if len(shown) > 1 else "FAIL"

    one = harness(log, perturbations=[by_name("paraphrase", rewriter=first), other], repetitions=1, max_concurrency=1)
    one.evaluate(judge, case("k"))
    assert shown == ["[gpt] text of k", "[claude] text of k"]


def test_a_rewriter_in_several_places_says_the_same_each_time(log: SqlLog) -> None:
    asked: list[str] = []

    def reworded(text: str) -> str:
        asked.append(text)
        return f"{text} ({len(asked)})"

    shown: list[set[str]] = []

    def judge(seen: PairwiseCase) -> str:
        shown.append({seen.output, seen.output_b})
        return "A"

    for calls in (3, 20):
        one = harness(
            log,
            perturbations=[paraphrase(reworded), compose(position_swap(), compose(paraphrase(reworded)))],
            repetitions=1,
            max_concurrency=1,
            budget=Budget(max_calls=calls),
        )
        one.evaluate(judge, PairwiseCase(case_id="k", output="a", output_b="b"))
    assert len(asked) == 2
    assert shown == [{"a (1)", "b (2)"}] * 2


def test_words_of_a_rewriter_the_design_does_not_name_are_not_kept(log: SqlLog) -> None:

    async def apply(seen: AnswerCase, context: Any) -> AnswerCase:
        return replace(seen, output=await context.rewrite(str.upper, seen.output))

    one = harness(log, perturbations=[Perturbation("mine", apply, contextual=True)])
    shown: list[str] = []

    def judge(seen: AnswerCase) -> str:
        shown.append(seen.output)
        return "PASS"

    one.evaluate(judge, case("k"))
    assert set(shown) == {"TEXT OF K"}
    assert log.rewrite("r/mine#0/upper", "text of k") is None


@pytest.mark.slow
def test_the_first_question_waits_for_few_cases(log: SqlLog) -> None:
    read = 0
    at_first: list[int] = []

    def cases() -> Iterator[AnswerCase]:
        nonlocal read
        for number in range(200):
            read += 1
            yield case(f"c{number}")

    def judge(_: Any) -> str:
        at_first.append(read)
        return "PASS"

    assert len(list(harness(log, max_concurrency=2).evaluate_many(judge, cases()))) == 200
    assert at_first[0] == 8
    assert max(after - before for before, after in pairwise(at_first)) <= 64


@pytest.mark.slow
def test_a_refused_case_leaves_nothing_behind(log: SqlLog) -> None:
    one = harness(log)
    one.evaluate(slow, case("k"))
    with pytest.raises(UsageError):
        one.evaluate(slow, replace(case("k"), output="other"))
    gc.collect()
    assert not sharing._shared
    assert not log._claims._claims
