"""Asking judges: concurrency, limits, retries, budgets, observers."""

from judgeharness_integrations.judging.execution.answering import Keep
from judgeharness_integrations.judging.execution.local import Executor, LocalExecutor
from judgeharness_integrations.judging.execution.observing import Observer, ProgressBar, Span
from judgeharness_integrations.judging.execution.retrying import Budget

__all__ = ["Budget", "Executor", "Keep", "LocalExecutor", "Observer", "ProgressBar", "Span"]
