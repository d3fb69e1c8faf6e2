"""Time of `judgeharness agreement alt-test` in a fresh process, file reading included, on two seeded panels.

Labels: 22,968 rows (2,552 items x 3 humans and 6 candidates) at 7 epsilons. Numbers: 57,600 rows (1,152 items x 44
humans and 6 candidates). `best_cpu_s` counts where others use the machine too; `best_s` is what a user waits for.
"""

from __future__ import annotations

import csv
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from _measuring import Target, report, spread

REPEATS = 3
LABELS = ("A", "B", "C", "D")
RIGHT = 0.75
TARGETS = {"labels": 2.0, "numbers": 4.0}


def label(truth: float, rng: random.Random) -> str:
    """Return the right label three times out of four."""
    return LABELS[int(truth * len(LABELS))] if rng.random() < RIGHT else rng.choice(LABELS)


def number(truth: float, rng: random.Random) -> str:
    """Return a rating near the right one."""
    return f"{100 * truth + rng.gauss(0, 8):.2f}"


def write(path: Path, items: int, humans: int, answer: Callable[[float, random.Random], str]) -> None:
    """Write a panel as a verdict log."""
    rng = random.Random(7)  # noqa: S311 - nothing secret
    truths = [rng.random() for _ in range(items)]
    raters = [f"human_{k}" for k in range(humans)] + [f"model_{k}" for k in range(6)]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["case_id", "judge", "verdict"])
        rows.writerows((f"i{item}", rater, answer(truth, rng)) for rater in raters for item, truth in enumerate(truths))


def tested(path: Path, *options: str) -> tuple[float, float, int]:
    """Return wall and CPU seconds of one command, and how many entries it reports."""
    command = [str(Path(sys.executable).with_name("judgeharness")), "agreement", "alt-test", str(path)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [*command, "--humans", "human_*", "--candidate", "*", *options, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, len(json.loads(done.stdout)["candidates"])


def main() -> int:
    """Test both panels several times; the best repeat counts."""
    result: dict[str, object] = {"benchmark": "alttest"}
    with tempfile.TemporaryDirectory() as folder:
        labels, numbers = Path(folder, "labels.csv"), Path(folder, "numbers.csv")
        write(labels, 2552, 3, label)
        write(numbers, 1152, 44, number)
        runs = {
            "labels": [tested(labels, "--epsilon", "0:0.3:0.05") for _ in range(REPEATS)],
            "numbers": [tested(numbers, "--epsilon", "0:0.3:0.05") for _ in range(REPEATS)],
        }
    for name, times in runs.items():
        result[f"{name}_entries"] = times[0][2]
        result[f"{name}_wall_s"] = spread([wall for wall, _, _ in times], 3)
        result[f"{name}_best_s"] = round(min(wall for wall, _, _ in times), 3)
        result[f"{name}_best_cpu_s"] = round(min(cpu for _, cpu, _ in times), 3)
    return report(result, [Target(f"{name}_best_s", most) for name, most in TARGETS.items()])


if __name__ == "__main__":
    sys.exit(main())
