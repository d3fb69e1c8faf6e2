"""Wall time of a run against the ideal: ceil(calls / concurrency) x latency, and against one that primes no cache."""

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


def run(calls: int, concurrency: int, latency_s: float, *, prime_cache: bool = True) -> None:
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
            prime_cache=prime_cache,
            observers=(),
        )
        cases = [AnswerCase(case_id=str(number), output="text") for number in range(calls // REPETITIONS)]
        asked = 0
        async for result in harness.aevaluate_many(judge, cases):
            asked += result.only.valid
        if asked != calls:
            raise RuntimeError(f"asked {asked} times instead of {calls}")

    asyncio.run(ask())


def unprimed(calls: int, concurrency: int, latency_s: float) -> None:
    """Ask likewise, with all probes of a case at once."""
    run(calls, concurrency, latency_s, prime_cache=False)


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
        sides = (bare, run, unprimed)
        rounds = [{side: wall_s(partial(side, *setup)) for side in sides} for _ in range(REPEATS)]
        walls = {side: [one[side] for one in rounds] for side in sides}
        result[f"{name}_s"] = spread(walls[run], 3)
        result[f"{name}_bare_to_ideal"] = round(min(walls[bare]) / ideal, 4)
        result[f"{name}_to_ideal"] = round(min(walls[run]) / ideal, 4)
        result[f"{name}_to_unprimed"] = round(min(walls[run]) / min(walls[unprimed]), 4)
    targets = {
        "calls_2000_at_64_50ms_to_ideal": 1.05,
        "calls_2000_at_64_50ms_to_unprimed": 1.05,
        "calls_10000_at_1000_100ms_to_ideal": 1.5,
    }
    return report(result, [Target(*target) for target in targets.items()])


if __name__ == "__main__":
    sys.exit(main())
