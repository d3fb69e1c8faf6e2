"""CPU time and peak memory of `judgeharness replay` over a log of millions of rows, from CSV and SQLite.

Half of the rows are of each of two judges; a case has four samples of each, in both orders.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from _measuring import Target, report

LIMITS = (("cpu_s", 20.0), ("peak_mb", 600.0))
HEADER = "case_id,judge,perturbation,repetition,verdict,outcome,gold,subset\n"
CALLS = [*product(("one", "two"), ("none", "position_swap"), (0, 1))]


def lines(rows: int) -> Iterator[str]:
    """Yield the lines of a log."""
    chance = random.Random(7)  # noqa: S311 - makes data
    for number in range(rows // len(CALLS)):
        gold, firmness = chance.choice("AB"), chance.choice((0.6, 0.8, 0.95))
        for judge, order, repetition in CALLS:
            verdict = gold if chance.random() < firmness else chance.choice(("A", "B", "TIE"))
            answer = ",unparsed" if chance.random() < 0.01 else f"{verdict},ok"
            yield f"case-{number:07d},{judge},{order},{repetition},{answer},{gold},s{number % 5}\n"


def command(*arguments: object) -> list[str]:
    """Return a command of the package that this interpreter belongs to."""
    return [str(Path(sys.executable).with_name("judgeharness")), *map(str, arguments)]


def replayed(log: Path, kind: str) -> dict[str, float]:
    """Return the CPU seconds and the peak memory of one replay in a process of its own."""
    words = command("replay", log, "--rule", "majority", "--json")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:  # noqa: S603
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"replay of {log} ended with {process.returncode}")
    return {
        f"{kind}_cpu_s": round(used.ru_utime + used.ru_stime, 1),
        f"{kind}_peak_mb": round(used.ru_maxrss / 1024, 1),
    }


def main() -> int:
    """Write both logs, replay them, and report."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--rows", type=int, default=5_000_000)
    chosen, sys.argv[1:] = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.csv")
        with log.open("w", encoding="utf-8") as file:
            file.write(HEADER)
            file.writelines(lines(chosen.rows))
        database = Path(folder, "log.sqlite")
        subprocess.run(command("log", "import", log, "--log", database), check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        found = replayed(log, "csv") | replayed(database, "sqlite")
    targets = [Target(f"{kind}_{name}", most) for kind in ("csv", "sqlite") for name, most in LIMITS]
    return report({"benchmark": "replay_large", "rows": chosen.rows, **found}, targets)


if __name__ == "__main__":
    sys.exit(main())
