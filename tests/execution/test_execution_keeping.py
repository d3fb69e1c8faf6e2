"""A call holds its slot until its rows are in the log."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.judging.judge import FunctionJudge, JudgeIdentity, note_understood
from judgeharness_integrations.verdictlog import SqlLog

DESIGN: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority", "observers": ()}


class Slow(SqlLog):
    """A log whose commits wait until they may go on."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.go_on = threading.Event()

    def append(self, rows: Any) -> None:
        assert self.go_on.wait(20)
        super().append(rows)


def judge(asked: list[str]) -> FunctionJudge:
    async def answer(case: AnswerCase) -> str:
        asked.append(case.case_id)
        await asyncio.sleep(0)
        return "PASS"

    judge = FunctionJudge(function=answer, identity=JudgeIdentity(name="j", model="one model for two runs"))
    note_understood(judge)  # or its first call would go alone
    return judge


def test_other_runs_of_the_model_wait_for_calls_whose_rows_are_not_committed(tmp_path: Path) -> None:
    asked: list[str] = []

    async def scene(log: Slow) -> None:
        slow = JudgeHarness(**DESIGN, max_concurrency=2, log=log, run="slow")
        quick = JudgeHarness(**DESIGN, max_concurrency=2)
        first = asyncio.create_task(slow.aevaluate(judge(asked), AnswerCase(case_id="slow", output="x")))
        while len(asked) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        second = asyncio.create_task(quick.aevaluate(judge(asked), AnswerCase(case_id="quick", output="x")))
        await asyncio.sleep(0.2)
        assert asked == ["slow", "slow"]
        assert not first.done()
        log.go_on.set()
        assert (await first).verdict == (await second).verdict == "PASS"
        assert asked == ["slow", "slow", "quick", "quick"]

    with Slow(tmp_path / "log.sqlite") as log:
        asyncio.run(scene(log))


def test_rows_of_a_run_that_is_closed_early_reach_the_log(tmp_path: Path) -> None:
    asked: list[str] = []

    async def scene(log: Slow) -> None:
        harness = JudgeHarness(**DESIGN, max_concurrency=2, log=log, run="closed")
        asking = asyncio.create_task(harness.aevaluate(judge(asked), AnswerCase(case_id="slow", output="x")))
        while len(asked) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.sleep(0.05)
        log.go_on.set()
        await asyncio.gather(asking, return_exceptions=True)

    with Slow(tmp_path / "log.sqlite") as log:
        asyncio.run(scene(log))
        assert len(list(log.rows(run="closed"))) == 2
