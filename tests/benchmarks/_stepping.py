"""A run into a SQLite log, step by step: a process of its own, so that its memory can be told.

The arguments are the samples of the run and the number of steps. Each line on standard input lets it take a step; the
answer is one line of JSON with what that cost.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncIterator

from _sampling import ask, results, sqlite_log

from judgeharness_integrations import HarnessResult
from judgeharness_integrations.verdictlog import SqlLog

_BYTES = 1 if sys.platform == "darwin" else 1024  # in which the peak is counted


async def taken(run: AsyncIterator[HarnessResult], samples: int | None) -> int:
    """Take results of so many samples, or all that are left, drop them, and return how many samples they were."""
    asked = 0
    while (samples is None or asked < samples) and (result := await anext(run, None)) is not None:
        asked += result.only.valid
    return asked


async def measure(samples: int, steps: int, where: str) -> None:
    """Take a step a line; the last one ends the run and closes the log."""
    log = SqlLog(where)
    run = results(samples, log)
    for step in range(1, steps + 1):
        sys.stdin.readline()
        wall, cpu = time.perf_counter(), time.process_time()
        asked = await taken(run, samples // steps if step < steps else None)
        if step == steps:
            log.close()
        spent = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES / 1e6
        print(json.dumps({"samples": asked, "peak_mb": peak, **spent}), flush=True)


def main() -> None:
    """Warm up, then obey."""
    with sqlite_log() as elsewhere:
        asyncio.run(ask(600, SqlLog(elsewhere)))  # imports and caches
    with sqlite_log() as where:
        asyncio.run(measure(int(sys.argv[1]), int(sys.argv[2]), where))


if __name__ == "__main__":
    main()
