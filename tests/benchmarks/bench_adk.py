"""ADK invocations x 5 samples: ours against ADK's own evaluator, wall time at 50 ms and CPU of a call, in one run.

ADK asks one sample at a time unless `parallelism_limit` says otherwise, so its wall time is taken both ways.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

from _measuring import Target, report, spread, wall_s

warnings.filterwarnings("ignore", message=r"\[EXPERIMENTAL\]")

from google.adk.evaluation.eval_case import Invocation  # noqa: E402 - it warns when it is imported
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric  # noqa: E402
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry  # noqa: E402
from google.adk.models.base_llm import BaseLlm  # noqa: E402
from google.adk.models.llm_request import LlmRequest  # noqa: E402
from google.adk.models.llm_response import LlmResponse  # noqa: E402
from google.adk.models.registry import LLMRegistry  # noqa: E402
from google.genai.types import Content, Part  # noqa: E402

import judgeharness_adk  # noqa: E402

METRIC = "rubric_based_final_response_quality_v1"
RUBRIC = "The answer is polite."
INVOCATIONS, SAMPLES, LATENCY_S, CONCURRENCY = 20, 5, 0.050, 16
CPU_INVOCATIONS = 20
REPEATS, CPU_REPEATS = 3, 15
_REASONS = itertools.count()


class SlowJudge(BaseLlm):
    """Says yes, after 50 ms if it is called `slow-judge`."""

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the names it answers to."""
        return ["slow-judge", "quick-judge"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer in the format the prompt asks for."""
        del llm_request, stream
        await asyncio.sleep(LATENCY_S if self.model == "slow-judge" else 0)
        reason = f"It is, as {next(_REASONS)} readers found."  # no two answers alike, as of a model
        text = f"ID: polite\nProperty: {RUBRIC}\nRationale: {reason}\nVerdict: yes"
        yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]))


def metric_of(model: str, *, parallelism: int = 1, **block: object) -> EvalMetric:
    """Return the metric; ADK's own evaluator passes over the block."""
    options = {"judge_model": model, "num_samples": SAMPLES, "parallelism_limit": parallelism}
    criterion = {
        "threshold": 0.5,
        "judge_model_options": options,
        "rubrics": [{"rubric_id": "polite", "rubric_content": {"text_property": RUBRIC}}],
        "judge_harness": block,
    }
    return EvalMetric(metric_name=METRIC, criterion=BaseCriterion.model_validate(criterion))


def invocations_of(count: int) -> list[Invocation]:
    """Return one eval case."""
    said = partial(Content, role="user")
    return [
        Invocation(
            invocation_id=f"e-{number}",
            user_content=said(parts=[Part(text="What time is it?")]),
            final_response=said(parts=[Part(text=f"It is {number} o'clock, thank you for asking.")]),
        )
        for number in range(count)
    ]


async def evaluate(registry: MetricEvaluatorRegistry, metric: EvalMetric, count: int) -> float:
    """Evaluate one eval case; return the CPU seconds it took."""
    invocations, evaluator = invocations_of(count), registry.get_evaluator(metric)
    gc.collect()
    started = time.process_time()
    judged: Any = evaluator.evaluate_invocations(invocations)
    result = await judged
    taken = time.process_time() - started
    if result.overall_score != 1.0 or len(result.per_invocation_results) != count:
        raise RuntimeError(f"not what was scripted: {result.overall_score}")
    return taken


def measure() -> dict[str, object]:
    """Measure both sides in turns; the best repeat counts, since other work on the machine is not ours."""
    adk, ours = MetricEvaluatorRegistry(), MetricEvaluatorRegistry()
    judgeharness_adk.register(ours)
    slow, wide = metric_of("slow-judge"), metric_of("slow-judge", parallelism=CONCURRENCY)
    walls: dict[str, list[float]] = {"adk": [], "adk_wide": [], "ours": []}
    for _ in range(REPEATS):
        for name, registry, metric in (("adk", adk, slow), ("adk_wide", adk, wide), ("ours", ours, slow)):
            walls[name].append(wall_s(lambda r=registry, m=metric: asyncio.run(evaluate(r, m, INVOCATIONS))))
    quick = metric_of("quick-judge", parallelism=CONCURRENCY)
    unkept = metric_of("quick-judge", parallelism=CONCURRENCY, sidecar=False)
    cpus: dict[str, list[float]] = {"adk": [], "ours": [], "ours_without_sidecar": []}
    for _ in range(CPU_REPEATS):
        for name, registry, metric in (
            ("adk", adk, quick),
            ("ours", ours, quick),
            ("ours_without_sidecar", ours, unkept),
        ):
            seconds = asyncio.run(evaluate(registry, metric, CPU_INVOCATIONS))
            cpus[name].append(seconds / (CPU_INVOCATIONS * SAMPLES) * 1e6)
    wall = {name: min(found) for name, found in walls.items()}
    cpu = {name: min(found) for name, found in cpus.items()}
    return {
        **{f"{name}_s": spread(found, 3) for name, found in walls.items()},
        "speedup": round(wall["adk"] / wall["ours"], 2),
        "speedup_wide": round(wall["adk_wide"] / wall["ours"], 2),
        "ours_to_adk": round(wall["ours"] / wall["adk"], 4),
        "ours_to_ideal": round(wall["ours"] / (math.ceil(INVOCATIONS * SAMPLES / CONCURRENCY) * LATENCY_S), 4),
        **{f"{name}_cpu_us_a_call": spread(found, 1) for name, found in cpus.items()},
        "cpu_ratio": round(cpu["ours"] / cpu["adk"], 2),
        "cpu_ratio_without_sidecar": round(cpu["ours_without_sidecar"] / cpu["adk"], 2),
    }


def main() -> int:
    """Measure in a folder of its own, where the measurements are kept as they are by default."""
    LLMRegistry.register(SlowJudge)
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()  # noqa: PTH109
        os.chdir(folder)
        try:
            result = {"benchmark": "adk", **measure()}
        finally:
            os.chdir(before)
    return report(result, [Target("ours_to_adk", 0.25), Target("cpu_ratio", 2.2)])


if __name__ == "__main__":
    sys.exit(main())
