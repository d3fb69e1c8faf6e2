"""A durable run against the same run in memory: wall time, CPU per sample, and what known samples cost.

`known` compares asking with a run that is finished already: resumed under its name, or asked again under another one
so that every answer is re-used; and with reading the rows back. PostgreSQL is measured where a server is reachable,
without its own CPU time and without a target.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from _measuring import Target, cpu_s, report, spread
from _sampling import CALLS_A_CASE, PLACES, RUN, ask, reachable

from judgeharness_integrations.verdictlog import SqlLog

REPEATS = 5
CALLS, LATENCY_S = 2_000, 0.050
SAMPLES = 10_000


def new_run(measure: Callable[[Callable[[], Coroutine[Any, Any, None]]], float], kind: str, **options: Any) -> float:
    """Return what `measure` says of a run into a new log; making its tables is not counted."""
    with PLACES[kind]() as where:
        log = None if where is None else SqlLog(where)
        return measure(partial(ask, log=log, **options))


def wall_s(run: Callable[[], Coroutine[Any, Any, None]]) -> float:
    """Return the wall seconds of one run in a fresh event loop."""
    started = time.perf_counter()
    asyncio.run(run())
    return time.perf_counter() - started


def known_us(where: str) -> dict[str, float]:
    """Return CPU microseconds a sample: asked, resumed, re-used, read as rows and case by case."""
    spent = {"asked": cpu_s(partial(ask, SAMPLES, SqlLog(where)))}
    spent["resumed"] = cpu_s(partial(ask, SAMPLES, SqlLog(where)))
    spent["reused"] = cpu_s(partial(ask, SAMPLES, SqlLog(where), run="another"))
    with SqlLog(where) as log:
        spent["read_rows"] = reading_s(log.rows(run=RUN))
        spent["read_cases"] = reading_s(log.case_groups(run=RUN))
    return {name: 1e6 * seconds / SAMPLES for name, seconds in spent.items()}


def reading_s(found: Iterator[object]) -> float:
    """Return the CPU seconds of reading everything."""
    started = time.process_time()
    if not sum(1 for _ in found):
        raise RuntimeError("the log is empty")
    return time.process_time() - started


def known(kind: str) -> dict[str, float]:
    """Return the cheapest repeat of each, in microseconds a sample, and the ratios to asking."""
    repeats = []
    for _ in range(REPEATS):
        with PLACES[kind]() as where:
            assert where is not None
            repeats.append(known_us(where))
    least = {name: min(repeat[name] for repeat in repeats) for name in repeats[0]}
    ratios = {f"{name}_to_asked": round(least[name] / least["asked"], 3) for name in least if name != "asked"}
    return {f"{name}_us": round(value, 2) for name, value in least.items()} | ratios


def main() -> int:
    """Measure every kind of log in turn and compare the best repeats, since other work on the machine is not ours."""
    kinds = reachable()
    for kind in kinds:
        new_run(cpu_s, kind, samples=600)  # imports and caches
    walls: dict[str, list[float]] = {kind: [] for kind in kinds}
    cpus: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(REPEATS):
        for kind in kinds:
            walls[kind].append(new_run(wall_s, kind, samples=CALLS, latency_s=LATENCY_S))
            cpus[kind].append(1e6 * new_run(cpu_s, kind, samples=SAMPLES) / SAMPLES)
    result: dict[str, object] = {"benchmark": "durable", "calls_a_case": CALLS_A_CASE, "repeats": REPEATS}
    for kind in kinds:
        result[f"{kind}_wall_s"], result[f"{kind}_cpu_us"] = spread(walls[kind], 3), spread(cpus[kind], 2)
    for kind in kinds[1:]:
        result[f"{kind}_to_memory_wall"] = round(min(walls[kind]) / min(walls["memory"]), 4)
        result[f"{kind}_to_memory_cpu"] = round(min(cpus[kind]) / min(cpus["memory"]), 3)
        result[f"{kind}_known"] = known(kind)
    return report(result, [Target("sqlite_to_memory_wall", 1.10), Target("sqlite_to_memory_cpu", 3.0)])


if __name__ == "__main__":
    sys.exit(main())
