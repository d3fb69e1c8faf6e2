"""A local Ray for the tests of a module, and judges for its workers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.judging.execution.ray_engine import RayExecutor

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.result import HarnessResult
    from judgeharness_integrations.judging.judge import JudgeLike

__all__ = ["cases", "harness", "local_ray", "measured"]


@contextlib.contextmanager
def local_ray() -> Iterator[str]:
    """Start a Ray in this process and yield its address."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    options = {"include_dashboard": False, "object_store_memory": 80_000_000, "logging_level": "ERROR"}
    ray.init("local", num_cpus=4, log_to_driver=False, **options)
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()


def cases(count: int, **texts: str) -> list[AnswerCase]:
    """Return cases of different texts; `texts` are further ones, by id."""
    numbered = {f"case-{number}": f"the text of case {number}" for number in range(count)}
    return [AnswerCase(case_id=name, output=text) for name, text in (numbered | texts).items()]


def harness(executor: RayExecutor | None = None, **options: Any) -> JudgeHarness:
    """Return a harness of four calls a case, on this process or on an executor."""
    design = {"perturbations": ["none", "whitespace"], "repetitions": 2, "aggregation_rule": "majority"}
    return JudgeHarness(**{**design, "observers": (), "executor": executor, **options})


def measured(harness: JudgeHarness, judge: JudgeLike, asked: Iterable[AnswerCase]) -> Mapping[str, HarnessResult]:
    """Return the results by case."""
    return {result.case_id: result for result in harness.evaluate_many(judge, asked)}
