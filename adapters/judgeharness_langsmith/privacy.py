"""What a private measurement keeps from LangSmith."""

from __future__ import annotations

from dataclasses import replace

from judgeharness_integrations.measure import remeasure
from judgeharness_integrations.result import HarnessResult

__all__ = ["without_words"]


def without_words(result: HarnessResult) -> HarnessResult:
    """Return the measurement without the judge's reasons, raw answers and error texts: verdicts and numbers stay."""
    rows = tuple(replace(row, reasoning=None, raw=None, error=row.error_kind) for row in result.rows)
    return remeasure(replace(result, rows=rows))
