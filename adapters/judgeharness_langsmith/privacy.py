"""What a private measurement keeps from LangSmith."""

from __future__ import annotations

from dataclasses import replace

from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.measure import remeasure
from judgeharness_integrations.result import HarnessResult
from judgeharness_langsmith.tracing import LangSmithTracing

__all__ = ["is_private", "without_words"]


def is_private(harness: JudgeHarness) -> bool:
    """Whether one of the harness's own observers keeps judge prompts private."""
    return any(one.private for one in harness.observers or () if isinstance(one, LangSmithTracing))


def without_words(result: HarnessResult) -> HarnessResult:
    """Return the measurement without the judge's reasons, raw answers and error texts: verdicts and numbers stay."""
    rows = tuple(
        replace(row, reasoning=None, raw=None, error=None if row.error is None else row.error.partition(":")[0])
        for row in result.rows
    )
    return remeasure(replace(result, rows=rows))
