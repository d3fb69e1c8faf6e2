"""Memory of a run does not grow with its cases: what lives after a few cases lives after many."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.cases import CaseFile
from judgeharness_integrations.judging.judge import FunctionJudge, JudgeIdentity
from judgeharness_integrations.verdictlog import SqlLog

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES = 4_000
LOOKS = 20
RUNS: dict[str, dict[str, Any]] = {  # into one log, one after the other
    "asked": {"run": "first"},
    "resumed": {"run": "first"},
    "reused": {"run": "second"},
    "curtailed": {"run": "third", "curtail": True, "repetitions": 3},
}


async def passes(case: object) -> str:
    return "PASS"


JUDGE = FunctionJudge(function=passes, name="judge", identity=JudgeIdentity(name="judge", model="m-1"))


def case_file(folder: Path, count: int) -> CaseFile:
    path = folder / f"{count}.jsonl"
    with path.open("w") as file:
        for number in range(count):
            print(json.dumps({"case_id": f"case-{number:06d}", "output": f"text {number}"}), file=file)
    cases = CaseFile(path)
    cases.check()
    return cases


async def measured(log: SqlLog, cases: CaseFile, look_every: int, **options: Any) -> list[int]:
    """Measure the cases, drop the results, and return how many memory blocks were in use at each look."""
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    harness = JudgeHarness(**design | options, log=log, observers=(), max_concurrency=4)
    blocks: list[int] = []
    seen = 0
    async for result in harness.aevaluate_many(JUDGE, cases):
        assert result.verdict == "PASS"
        seen += 1
        if seen % look_every == 0:
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    assert seen == len(cases)
    return blocks


def growth(blocks: list[int]) -> int:
    """Return by how much the least of the later looks exceeds that of the earlier ones; the end frees too much."""
    half = len(blocks) // 2
    return min(blocks[half:-2]) - min(blocks[1:half])


@pytest.fixture
def few_objects() -> Iterator[None]:
    """Keep what the whole test session loaded out of every collection, which would take most of the time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_objects")
def test_nothing_of_a_case_is_left_when_its_result_was_dropped(tmp_path: Path) -> None:
    cases = case_file(tmp_path, CASES)
    with SqlLog(tmp_path / "log.sqlite") as log:
        growths = {
            name: growth(asyncio.run(measured(log, cases, CASES // LOOKS, **options))) for name, options in RUNS.items()
        }
    # half of the cases lie between; some blocks come and go, as the cursors sqlite3 forgets 200 at a time
    assert all(grown < CASES // 4 for grown in growths.values()), growths
