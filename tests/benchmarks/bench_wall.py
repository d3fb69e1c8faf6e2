"""Wall time of a run against the ideal: ceil(calls / concurrency) x latency."""

from __future__ import annotations

import asyncio
import math
import sys
from functools import partial

from _measuring import Target, report, spread, wall_s

from judgeharness_integrations import AnswerCase, JudgeHarness

REPEATS = 5
REPETITIONS = 4
SETUPS = {  # name -> calls, concurrency, latency in seconds
    "calls_2000_at_64_50ms": (2_000, 64, 0.050),
    "calls_10000_at_1000_100ms": (10_000, 1_000, 0.100),
}


def run(calls: int, concurrency: int, latency_s: float) -> None:
    """Ask `calls` times through the async face."""

    async def judge(case: object) -> str:
        del case
        await asyncio.sleep(latency_s)
        return "PASS"

    async def ask() -> None:
        harness = JudgeHarness(
            perturbations=["none"],
            repetitions=REPETITIONS,
            aggregation_rule="majority",
            max_concurrency=concurrency,
            observers=(),
        )
        cases = [AnswerCase(case_id=str(number), output="text") for number in range(calls // REPETITIONS)]
        asked = 0
        async for result in harness.aevaluate_many(judge, cases):
            asked += result.only.valid
        if asked != calls:
            raise RuntimeError(f"asked {asked} times instead of {calls}")

    asyncio.run(ask())


def bare(calls: int, concurrency: int, latency_s: float) -> None:
    """Sleep as often behind a semaphore: what event loop and machine need on their own."""

    async def sleep_all() -> None:
        semaphore = asyncio.Semaphore(concurrency)

        async def one() -> None:
            async with semaphore:
                await asyncio.sleep(latency_s)

        await asyncio.gather(*(one() for _ in range(calls)))

    asyncio.run(sleep_all())


def main() -> int:
    """Measure every setup; the best repeat counts, since other work on the machine is not ours."""
    run(400, 64, 0.0)  # imports and caches
    result: dict[str, object] = {"benchmark": "wall"}
    for name, setup in SETUPS.items():
        calls, concurrency, latency_s = setup
        ideal = math.ceil(calls / concurrency) * latency_s
        walls = {side: [wall_s(partial(side, *setup)) for _ in range(REPEATS)] for side in (bare, run)}
        result[f"{name}_s"] = spread(walls[run], 3)
        result[f"{name}_bare_to_ideal"] = round(min(walls[bare]) / ideal, 4)
        result[f"{name}_to_ideal"] = round(min(walls[run]) / ideal, 4)
    return report(
        result, [Target("calls_2000_at_64_50ms_to_ideal", 1.05), Target("calls_10000_at_1000_100ms_to_ideal", 1.5)]
    )


if __name__ == "__main__":
    sys.exit(main())
