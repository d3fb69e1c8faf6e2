"""Cost per sample and memory of a long durable run: 1,000,000 samples against 10,000.

Both are runs of processes of their own into SQLite logs, with cases from a generator and results that are dropped. The
long one takes its steps in turn with the short ones, so that other work on the machine meets both; a step is long
enough to hold a checkpoint of the log, as the end of a short run does. `last` are the steps of the last quarter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _measuring import Target, report, spread

SHORT = 10_000
STEPS = 40
Step = Callable[[], dict[str, float]]


@contextmanager
def stepping(samples: int, steps: int) -> Iterator[Step]:
    """Start a run of its own process; each call takes a step and returns what it cost."""
    script = Path(__file__).with_name("_stepping.py")
    command = [sys.executable, str(script), str(samples), str(steps)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603

        def step() -> dict[str, float]:
            assert process.stdin is not None
            assert process.stdout is not None
            print(file=process.stdin, flush=True)
            cost: dict[str, float] = json.loads(process.stdout.readline() or "{}")
            if not cost:
                raise RuntimeError(f"the run of {samples} samples ended early")
            return cost

        yield step


def measured(samples: int) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Return the steps of the long run and, one after each of them, the short runs."""
    long, short = [], []
    with stepping(samples, STEPS) as step:
        for _ in range(STEPS):
            long.append(step())
            with stepping(SHORT, 1) as whole:
                short.append(whole())
    return long, short


def compared(long: list[dict[str, float]], short: list[dict[str, float]], clock: str) -> dict[str, Any]:
    """Return what a sample cost in the long run and in the short ones, by one clock."""
    steps, shorts = ([1e6 * step[f"{clock}_s"] / step["samples"] for step in run] for run in (long, short))
    usual = statistics.median(shorts)
    return {
        f"{clock}_long_us": spread(steps, 1),
        f"{clock}_short_us": spread(shorts, 1),
        f"{clock}_long_to_short": round(statistics.median(steps) / usual, 3),
        f"{clock}_long_to_short_of_means": round(statistics.mean(steps) / statistics.mean(shorts), 3),
        f"{clock}_last_to_short": round(statistics.median(steps[-STEPS // 4 :]) / usual, 3),
    }


def main() -> int:
    """Measure and compare."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--samples", type=int, default=1_000_000)
    chosen, sys.argv[1:] = parser.parse_known_args()
    long, short = measured(chosen.samples)
    result: dict[str, Any] = {
        "benchmark": "million",
        "samples": sum(int(step["samples"]) for step in long),
        "short_samples": short[0]["samples"],
        **compared(long, short, "cpu"),
        **compared(long, short, "wall"),
        "short_peak_mb": round(max(step["peak_mb"] for step in short), 1),
        "first_step_peak_mb": round(long[0]["peak_mb"], 1),
        "half_way_peak_mb": round(long[STEPS // 2 - 1]["peak_mb"], 1),
        "peak_mb": round(long[-1]["peak_mb"], 1),
    }
    return report(
        result, [Target("cpu_long_to_short", 1.2), Target("wall_long_to_short", 1.2), Target("peak_mb", 300.0)]
    )


if __name__ == "__main__":
    sys.exit(main())
