"""Asking judges: concurrency, limits, retries, budgets, observers."""

from .answering import Keep
from .local import Executor, LocalExecutor
from .observing import Observer, ProgressBar, Span
from .retrying import Budget

__all__ = ["Budget", "Executor", "Keep", "LocalExecutor", "Observer", "ProgressBar", "Span"]
