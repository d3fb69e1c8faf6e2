"""What the benchmarks share: CPU time of a run, JSON on standard output, targets that `--check` enforces."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Target:
    """A number of the result that must not exceed `most`."""

    name: str
    most: float


def cpu_s(run: Callable[[], Coroutine[Any, Any, object]]) -> float:
    """Return the CPU seconds of one run in a fresh event loop."""
    gc.collect()
    started = time.process_time()
    asyncio.run(run())
    return time.process_time() - started


def wall_s(run: Callable[[], object]) -> float:
    """Return the wall seconds of one run."""
    gc.collect()
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def spread(values: list[float], digits: int = 4) -> dict[str, float]:
    """Return what repeats of one measurement have in common."""
    return {"min": round(min(values), digits), "median": round(statistics.median(values), digits)}


def report(result: Mapping[str, Any], targets: list[Target]) -> int:
    """Print the result with its targets as JSON; with `--check`, return 1 and a sentence for each target missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    check = parser.parse_args().check
    print(json.dumps({**result, "targets": {target.name: target.most for target in targets}}, indent=2))
    missed = [target for target in targets if result.get(target.name) is not None and result[target.name] > target.most]
    for target in missed:
        print(f"{target.name} is {result[target.name]:g}, more than the target of {target.most:g}.", file=sys.stderr)
    return int(check and bool(missed))
