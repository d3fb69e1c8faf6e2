"""Who watches the measurements: ADK makes the evaluators, so observers are told once a process."""

from __future__ import annotations

from judgeharness_integrations.execution.observing import Observer

__all__ = ["observe", "observers"]

_observers: tuple[Observer, ...] | None = None


def observe(*watching: Observer) -> None:
    """Have these observers watch every harnessed metric of this process, beside LangSmith where that traces.

    They see a `run` span a metric and eval case, a `case` span an invocation, a `call` span a sample, and inside it a
    `model` span with the model's name and token counts.
    """
    global _observers  # noqa: PLW0603 - one set of observers a process
    _observers = watching or None


def observers() -> tuple[Observer, ...] | None:
    """Return who watches; None: nobody of the caller's own."""
    return _observers
