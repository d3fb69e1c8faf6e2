"""Wall time of 20 ADK invocations x 5 samples at 50 ms: ours against ADK's default and the ideal, in one run."""

from __future__ import annotations

import asyncio
import math
import sys
import tempfile
import warnings
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

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
REPEATS = 3


class SlowJudge(BaseLlm):
    """Says yes after 50 ms."""

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the names it answers to."""
        return ["slow-judge"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer in the format the prompt asks for."""
        del llm_request, stream
        await asyncio.sleep(LATENCY_S)
        text = f"ID: polite\nProperty: {RUBRIC}\nRationale: It is.\nVerdict: yes"
        yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]))


def evaluate(registry: MetricEvaluatorRegistry, sidecar: str) -> None:
    """Evaluate one eval case of 20 invocations."""
    criterion = {
        "threshold": 0.5,
        "judge_model_options": {"judge_model": "slow-judge", "num_samples": SAMPLES},
        "rubrics": [{"rubric_id": "polite", "rubric_content": {"text_property": RUBRIC}}],
        "judge_harness": {"sidecar": sidecar},
    }
    metric = EvalMetric(metric_name=METRIC, criterion=BaseCriterion.model_validate(criterion))
    said = partial(Content, role="user")
    invocations = [
        Invocation(
            invocation_id=f"e-{number}",
            user_content=said(parts=[Part(text="What time is it?")]),
            final_response=said(parts=[Part(text=f"It is {number} o'clock, thank you for asking.")]),
        )
        for number in range(INVOCATIONS)
    ]
    result = asyncio.run(registry.get_evaluator(metric).evaluate_invocations(invocations))
    if result.overall_score != 1.0 or len(result.per_invocation_results) != INVOCATIONS:
        raise RuntimeError(f"not what was scripted: {result.overall_score}")


def main() -> int:
    """Measure both sides in turns; the best repeat counts, since other work on the machine is not ours."""
    LLMRegistry.register(SlowJudge)
    adk, ours = MetricEvaluatorRegistry(), MetricEvaluatorRegistry()
    judgeharness_adk.register(ours)
    ideal = math.ceil(INVOCATIONS * SAMPLES / CONCURRENCY) * LATENCY_S
    walls: dict[str, list[float]] = {"adk": [], "ours": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(REPEATS):
            for name, registry in (("adk", adk), ("ours", ours)):
                walls[name].append(wall_s(partial(evaluate, registry, str(Path(folder) / "sidecar"))))
    best = {name: min(found) for name, found in walls.items()}
    result = {
        "benchmark": "adk",
        **{f"{name}_s": spread(found, 3) for name, found in walls.items()},
        "speedup": round(best["adk"] / best["ours"], 2),
        "ours_to_adk": round(best["ours"] / best["adk"], 4),
        "ours_to_ideal": round(best["ours"] / ideal, 4),
    }
    return report(result, [Target("ours_to_adk", 0.25)])


if __name__ == "__main__":
    sys.exit(main())
