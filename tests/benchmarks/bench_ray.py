"""Two Ray workers against one: a run that waits for its judge takes half as long, and what a remote call costs.

Each worker has up to CONCURRENCY calls in flight, so one worker is bound by CONCURRENCY / LATENCY_S calls a second. The
workers start before the clock does: the first case of a run is not measured.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

from _measuring import Target, report, spread

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.judging.execution.ray_engine import RayExecutor

REPEATS = 3
CONCURRENCY, LATENCY_S = 8, 0.2
CASES, REPETITIONS = 80, 4


async def judge(case: object) -> str:
    """Answer after a while, as a model does."""
    del case
    await asyncio.sleep(LATENCY_S)
    return "PASS"


def run(workers: int) -> tuple[float, float]:
    """Return the wall and the driver's CPU seconds between the first result of a run and its last."""
    harness = JudgeHarness(
        perturbations=["none"],
        repetitions=REPETITIONS,
        aggregation_rule="majority",
        executor=RayExecutor(workers=workers, concurrency_per_worker=CONCURRENCY),
        observers=(),
    )
    cases = [AnswerCase(case_id=str(number), output="text") for number in range(CASES)]
    results = harness.evaluate_many(judge, cases)
    asked = next(results).only.valid
    started, cpu = time.perf_counter(), time.process_time()
    wall = 0.0
    for result in results:
        asked += result.only.valid
        wall, spent = time.perf_counter() - started, time.process_time() - cpu
    if asked != CASES * REPETITIONS:
        raise RuntimeError(f"asked {asked} times instead of {CASES * REPETITIONS}")
    return wall, spent


def main() -> int:
    """Measure one and two workers in turn; the best repeat counts, since other work on the machine is not ours."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    options: dict[str, Any] = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
    ray.init("local", num_cpus=4, object_store_memory=100_000_000, **options)
    measured = {1: [run(1)], 2: [run(2)]}
    for _ in range(REPEATS - 1):
        for workers, runs in measured.items():
            runs.append(run(workers))
    ray.shutdown()
    walls = {workers: [wall for wall, _ in runs] for workers, runs in measured.items()}
    one_to_two = min(walls[1]) / min(walls[2])
    result = {
        "benchmark": "ray",
        "one_worker_s": spread(walls[1], 3),
        "two_workers_s": spread(walls[2], 3),
        "speedup": round(one_to_two, 3),
        "two_workers_to_one": round(1 / one_to_two, 4),
        "driver_cpu_ms_a_call": round(1000 * min(cpu for _, cpu in measured[2]) / (CASES * REPETITIONS), 3),
    }
    return report(result, [Target("two_workers_to_one", round(1 / 1.7, 4))])


if __name__ == "__main__":
    sys.exit(main())
