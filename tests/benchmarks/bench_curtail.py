"""Calls saved by early stopping: simulated odd majorities against the exact expectation, and the cost of deciding.

The exact saving of each (samples, p) stands in `golden/curtailment.json`; a simulation must lie within five standard
errors of it, with the decisions of all samples. `harness` is the same through `JudgeHarness(curtail=True)`.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from _measuring import Target, report

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.analysis.aggregation import decide, needed, rule, settled
from judgeharness_integrations.verdictlog.row import VerdictRow

CASES = 1_000
HARNESS_CASES = 300
SEED = 20_260_101
MAJORITY = rule("majority")
GOLDEN = json.loads((Path(__file__).parents[1] / "data/golden/curtailment.json").read_text("utf-8"))["curtailed"]


def answered(p: float, samples: int, chance: random.Random) -> list[VerdictRow]:
    """Return all planned answers of one case."""
    verdicts = ["PASS" if chance.random() < p else "FAIL" for _ in range(samples)]
    return [VerdictRow(case_id="c", verdict=verdict, repetition=n) for n, verdict in enumerate(verdicts)]


def taken_of(rows: list[VerdictRow]) -> tuple[int, int]:
    """Return how many samples one case takes, and in how many waves.

    Raises:
        RuntimeError: the stopped decision is not the whole one.

    """
    taken = waves = 0
    while wave := needed(rows[:taken], MAJORITY, remaining=[False] * (len(rows) - taken)):
        taken, waves = taken + wave, waves + 1
    stopped = settled(rows[:taken], MAJORITY, remaining=[False] * (len(rows) - taken))
    whole = decide(rows, MAJORITY)
    if stopped is None or (stopped.status, stopped.verdict) != (whole.status, whole.verdict):
        raise RuntimeError(f"stopped as {stopped}, whole {whole}")
    return taken, waves


def compared(golden: dict[str, Any], taken: list[int]) -> dict[str, Any]:
    """Return the saving of a simulation beside the exact one; `off` is their distance in standard errors."""
    samples = golden["N"]
    saving = 1 - statistics.fmean(taken) / samples
    error = statistics.stdev(taken) / samples / len(taken) ** 0.5
    return {
        "samples": samples,
        "p": golden["p"],
        "saving": round(saving, 4),
        "exact": round(golden["saving"], 4),
        "off": round(abs(saving - golden["saving"]) / error, 2),
    }


def simulated(golden: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return the saving of the pure functions."""
    found = [taken_of(answered(golden["p"], golden["N"], chance)) for _ in range(CASES)]
    waves = statistics.fmean([waves for _, waves in found])
    return compared(golden, [taken for taken, _ in found]) | {"waves": round(waves, 2)}


def through_harness(golden: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return the saving of a whole harness."""

    async def judge(case: object) -> str:
        del case
        await asyncio.sleep(0)
        return "PASS" if chance.random() < golden["p"] else "FAIL"

    async def run() -> list[int]:
        harness = JudgeHarness(
            perturbations=["none"], repetitions=golden["N"], aggregation_rule="majority", curtail=True, observers=()
        )
        cases = [f"answer {number}" for number in range(HARNESS_CASES)]
        return [result.only.taken async for result in harness.aevaluate_many(judge, cases)]

    return compared(golden, asyncio.run(run()))


def decision_us() -> float:
    """Return the microseconds one `needed` takes for half a case of six samples in two orders."""
    rows = [VerdictRow(case_id="c", verdict="A", repetition=n) for n in range(3)]
    consensus, repeats = rule("swap_consensus"), 300
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(repeats):
            needed(rows, consensus, remaining=[True] * 3)
        best = min(best, (time.process_time() - started) / repeats)
    return round(1e6 * best, 1)


def main() -> int:
    """Simulate every golden (samples, p) and compare."""
    chance = random.Random(SEED)  # noqa: S311 - a simulation
    pure = [simulated(golden, chance) for golden in GOLDEN]
    harness = [through_harness(golden, chance) for golden in GOLDEN if golden["p"] in {0.5, 0.7, 0.9}]
    result = {
        "benchmark": "curtail",
        "cases": CASES,
        "pure": pure,
        "harness": harness,
        "least_saving": min(one["saving"] for one in pure),
        "most_saving": max(one["saving"] for one in pure),
        "farthest_off": max(one["off"] for one in pure),
        "farthest_off_through_harness": max(one["off"] for one in harness),
        "needed_us": decision_us(),
    }
    return report(result, [Target("farthest_off", 5.0), Target("farthest_off_through_harness", 5.0)])


if __name__ == "__main__":
    sys.exit(main())
