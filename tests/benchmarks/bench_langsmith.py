"""LangSmith's `evaluate` over 1,000 rows with a judge that takes no time: under a harness, against the judge bare.

Both sides run in processes of their own, in turns, against a loopback LangSmith in the parent: what a client keeps
from one experiment must not slow the next, and the server's CPU time is not theirs. Ratios are those of the cheapest
repeat of each side.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from _measuring import Target, report, spread

ROWS, REPEATS = 1_000, 3
SIDES = ("bare", "harnessed")
TESTS = Path(__file__).parents[1]


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    """Answer without a model."""
    return {"answer": f"It is the answer to {inputs['question']}."}


def brief(inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """Judge without a model."""
    del inputs
    return {"key": "brief", "score": len(outputs["answer"]) < 80}


def child(side: str, rows: int) -> None:
    """Evaluate once and print the seconds: wall, and CPU of this process."""
    from langsmith import Client, evaluate

    client = Client()
    data = list(client.list_examples(dataset_name=os.environ["BENCH_DATASET"]))
    if len(data) != rows:
        raise RuntimeError(f"{len(data)} examples instead of {rows}")
    evaluator: Any = brief
    if side == "harnessed":
        from judgeharness_langsmith import HarnessRunEvaluator

        evaluator = HarnessRunEvaluator(brief, key="brief")
    wall, cpu = time.perf_counter(), time.process_time()
    results = evaluate(application, data=data, evaluators=[evaluator], client=client, max_concurrency=4)
    graded = sum(row["evaluation_results"]["results"][0].score is True for row in results)
    client.flush()
    print(json.dumps({"graded": graded, "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))


def measured(side: str, rows: int, environment: dict[str, str]) -> dict[str, float]:
    """Run one side in a process of its own."""
    command = [sys.executable, __file__, "--child", side, str(rows)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if found.pop("graded") != rows:
        raise RuntimeError(f"{side}: not every row was graded")
    return found


def main() -> int:
    """Measure both sides in turns; the cheapest repeat counts, since other work on the machine is not ours."""
    sys.path.insert(0, str(TESTS))
    from support.langsmith_server import LangSmithServer

    found: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(REPEATS):
        for side in SIDES:
            with LangSmithServer() as server:
                client, name = server.client(), f"bench-{uuid4().hex[:6]}"
                dataset = client.create_dataset(name)
                examples = [{"inputs": {"question": f"question {number}"}} for number in range(ROWS)]
                client.create_examples(dataset_id=dataset.id, examples=examples)
                environment = {**os.environ, **server.environment(), "BENCH_DATASET": name}
                found[side].append(measured(side, ROWS, environment))
    best = {f"{side}_{kind}": min(one[kind] for one in found[side]) for side in SIDES for kind in ("cpu", "wall")}
    kinds = [(side, kind) for side in SIDES for kind in ("cpu", "wall")]
    spreads = {f"{side}_{kind}_s": spread([one[kind] for one in found[side]], 2) for side, kind in kinds}
    result = {
        "benchmark": "langsmith",
        "rows": ROWS,
        **spreads,
        "difference_cpu_s": round(best["harnessed_cpu"] - best["bare_cpu"], 2),
        "difference_wall_s": round(best["harnessed_wall"] - best["bare_wall"], 2),
        "harnessed_to_bare_cpu": round(best["harnessed_cpu"] / best["bare_cpu"], 2),
    }
    return report(result, [Target("harnessed_to_bare_cpu", 6.0)])


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(sys.argv[-2], int(sys.argv[-1]))
        sys.exit(0)
    sys.exit(main())
