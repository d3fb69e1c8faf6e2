"""CPU per sample in memory: `aevaluate_many` against a bare loop and against LangChain's own evaluator.

Every judge awaits `asyncio.sleep(0)`. Ratios are those of the cheapest repeat of each side, so that other work on
the machine does not decide.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from _measuring import Target, cpu_s, report, spread

from judgeharness_integrations import JudgeHarness, PairwiseCase

SAMPLES = 10_000
LANGCHAIN_SAMPLES = 1_000
CONCURRENCY = 64
REPEATS = 5
CALLS_A_CASE = 6
TEXT = "The quick brown fox jumps over the lazy dog. " * 4


async def judge(case: object) -> str:
    """Answer after nothing but a turn of the event loop."""
    del case
    await asyncio.sleep(0)
    return "A"


async def bare() -> None:
    """Ask as often with a semaphore and gather, and keep the answers."""
    semaphore = asyncio.Semaphore(CONCURRENCY)

    async def one(number: int) -> str:
        async with semaphore:
            return await judge(number)

    await asyncio.gather(*(one(number) for number in range(SAMPLES)))


async def harnessed() -> None:
    """Measure enough cases to ask `SAMPLES` times."""
    harness = JudgeHarness.standard("pairwise", max_concurrency=CONCURRENCY, observers=())
    cases = [
        PairwiseCase(case_id=f"case-{number}", input="Which?", output=TEXT, output_b=TEXT + "!")
        for number in range(-(-SAMPLES // CALLS_A_CASE))
    ]
    asked = 0
    async for result in harness.aevaluate_many(judge, cases):
        asked += result.only.valid
    if asked < SAMPLES:
        raise RuntimeError(f"asked {asked} times only")


def langchain_evaluator() -> Any:
    """Return LangChain's pairwise evaluator over a fake chat model, or None when it is not installed."""
    try:
        from langchain_classic.evaluation import PairwiseStringEvalChain
        from langchain_core.language_models.chat_models import BaseChatModel
        from langchain_core.messages import AIMessage
        from langchain_core.outputs import ChatGeneration, ChatResult
    except ImportError:
        return None

    class Fake(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "fake"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("Because. [[A]]"))])

        async def _agenerate(self, *arguments: Any, **options: Any) -> ChatResult:
            await asyncio.sleep(0)
            return self._generate(*arguments, **options)

    return PairwiseStringEvalChain.from_llm(llm=Fake())


def langchain_cost() -> list[float]:
    """Return CPU seconds a sample of LangChain's evaluator, one a repeat; empty when it is not installed."""
    evaluator = langchain_evaluator()
    if evaluator is None:
        return []

    async def ask() -> None:
        semaphore = asyncio.Semaphore(CONCURRENCY)

        async def one() -> None:
            async with semaphore:
                await evaluator.aevaluate_string_pairs(prediction=TEXT, prediction_b=TEXT + "!", input="Which?")

        await asyncio.gather(*(one() for _ in range(LANGCHAIN_SAMPLES)))

    return [cpu_s(ask) / LANGCHAIN_SAMPLES for _ in range(REPEATS)]


def main() -> int:
    """Measure every side in turn and compare the cheapest repeats."""
    cpu_s(harnessed)  # imports and caches
    asked = -(-SAMPLES // CALLS_A_CASE) * CALLS_A_CASE
    pairs = [(cpu_s(bare) / SAMPLES, cpu_s(harnessed) / asked) for _ in range(REPEATS)]
    loop, harness = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    langchain = langchain_cost()
    result = {
        "benchmark": "sample_cost",
        "samples": asked,
        "bare_us": spread([1e6 * value for value in loop], 2),
        "harness_us": spread([1e6 * value for value in harness], 2),
        "langchain_us": spread([1e6 * value for value in langchain], 2) if langchain else None,
        "harness_to_bare": round(min(harness) / min(loop), 3),
        "harness_to_langchain": round(min(harness) / min(langchain), 4) if langchain else None,
    }
    return report(result, [Target("harness_to_bare", 4.0), Target("harness_to_langchain", 0.25)])


if __name__ == "__main__":
    sys.exit(main())
