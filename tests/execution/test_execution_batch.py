"""A run by batch in short, and what asks at once; `test_execution_batches` has what can go wrong."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from support.batch_server import Faults
from support.batched import CALLS, Batched, pairs
from support.openai_server import Reply
from support.provider_clients import MODELS

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.execution.batch_engine import BatchExecutor, Terms, cancel_batches

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("judgeharness_langchain")


def test_a_batch_whose_submit_was_cut_off_and_that_expired_is_paid_once_a_request(tmp_path: Path) -> None:
    with Batched(tmp_path, faults=Faults(dropped=1, expired=3)) as one:
        one.results()
        assert Counter(one.server.finish().values()) == {1: 4 * CALLS}


def test_a_judge_that_asks_two_questions_at_once_asks_the_same_whichever_comes_first(tmp_path: Path) -> None:
    with Batched(tmp_path, script=lambda _: Reply.text("A")) as one:
        model, numbers = MODELS["openai"](one.server), count()

        async def ask(text: str, seconds: float) -> str:
            await asyncio.sleep(seconds)
            return str((await model.ainvoke(text)).content)

        async def judge(case: Any) -> str:
            first = next(numbers) // CALLS % 2  # the other one each time
            return (await asyncio.gather(*(ask(f"{case.output}, {n}?", 0.1 * (n != first)) for n in range(2))))[0]

        one.results(1, judge=judge)
        assert Counter(one.server.finish().values()) == {1: 2 * CALLS}


def test_a_run_is_asked_by_one_evaluation_at_a_time(tmp_path: Path) -> None:
    with Batched(tmp_path, faults=Faults(polls=5)) as one:
        executor = BatchExecutor(terms=Terms(poll_s=0.02))
        harness, judge = JudgeHarness.standard("pairwise", log=one.log, run="run", executor=executor), one.judge()
        first, second = pairs(2)

        async def both() -> list[Any]:
            waiting = asyncio.ensure_future(harness.aevaluate(judge, first))
            while "look" not in one.server.seen:  # noqa: ASYNC110 - the server knows of no waiting
                await asyncio.sleep(0.01)
            with pytest.raises(UsageError, match="are under way already: give all cases to one evaluate_many"):
                await harness.aevaluate(judge, second)
            with pytest.raises(UsageError, match="are under way already"):
                await cancel_batches(one.log, "run")
            return [await waiting, await harness.aevaluate(judge, second)]

        assert [result.verdict for result in asyncio.run(both())] == ["A", "B"]
