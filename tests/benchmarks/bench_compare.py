"""CPU time of comparing two runs of 2,000 cases x 6 samples with 2,000 permutations, and its ratio to one folding."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from _measuring import Target, report, spread

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.comparisons import Simulation, drawn_labels

from judgeharness_integrations.analysis.comparison import compare
from judgeharness_integrations.analysis.replay import replay

CASES, SAMPLES, REPEATS, PERMUTATIONS = 2000, 3, 3, 2000


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> int:
    """Compare two runs of one noisy judge; the best repeat counts."""
    random = np.random.default_rng(0)
    labels = random.dirichlet([0.5, 0.5, 0.1], CASES)
    pairs = Simulation("swap_consensus")
    before, after = (
        pairs.run(drawn_labels(random, labels, ("A", "B", "TIE"), shown=SAMPLES, swapped=SAMPLES)) for _ in range(2)
    )
    truth = random.uniform(2, 9, (CASES, 1))
    scores = [truth + random.normal(0, 0.7, (CASES, 2 * SAMPLES)) for _ in range(2)]
    means = Simulation("mean")
    lower, higher = (means.run((row[:SAMPLES], row[SAMPLES:]) for row in side.tolist()) for side in scores)
    rows = [replace(row, case_id=result.case_id) for result in before.results for row in result.rows]
    folding = min(cpu(lambda: replay(rows, "swap_consensus")) for _ in range(REPEATS))
    walls = [cpu(lambda: compare(before, after, permutations=PERMUTATIONS)) for _ in range(REPEATS)]
    scored = [cpu(lambda: compare(lower, higher, permutations=PERMUTATIONS)) for _ in range(REPEATS)]
    result = {
        "benchmark": "compare",
        "cases": CASES,
        "samples_per_case_and_run": 2 * SAMPLES,
        "permutations": PERMUTATIONS,
        "labels_cpu_s": spread(walls, 3),
        "scores_cpu_s": spread(scored, 3),
        "folding_cpu_s": round(folding, 3),
        "best_s": round(min(walls), 3),
        "scores_best_s": round(min(scored), 3),
        "foldings": round(min(walls) / folding, 1),
    }
    return report(result, [Target("best_s", 1.0), Target("scores_best_s", 3.0)])


if __name__ == "__main__":
    sys.exit(main())
