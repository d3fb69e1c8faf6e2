"""What a check raises when a judge gave no verdict."""

from __future__ import annotations

from judgeharness_integrations._errors import JudgeHarnessError

__all__ = ["NotGradedError"]


class NotGradedError(JudgeHarnessError):
    """Too few valid answers for a verdict: the measurement failed, not what was judged."""
