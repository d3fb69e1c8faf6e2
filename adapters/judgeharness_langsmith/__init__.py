"""Harnessed evaluators in LangSmith: feedback families, comparisons, trace trees, and labels from human feedback."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeharness_langsmith.comparing import harness_comparative
    from judgeharness_langsmith.evaluating import HarnessRunEvaluator
    from judgeharness_langsmith.labels import HumanLabels, human_labels
    from judgeharness_langsmith.opentelemetry import OpenTelemetry
    from judgeharness_langsmith.queueing import queue_abstentions
    from judgeharness_langsmith.tracing import LangSmithTracing

__all__ = [
    "HarnessRunEvaluator",
    "HumanLabels",
    "LangSmithTracing",
    "OpenTelemetry",
    "harness_comparative",
    "human_labels",
    "queue_abstentions",
]

# Loaded at first use, so that the package can say what is missing when LangSmith is not installed.
_HOMES = {
    "HarnessRunEvaluator": "evaluating",
    "HumanLabels": "labels",
    "LangSmithTracing": "tracing",
    "OpenTelemetry": "opentelemetry",
    "harness_comparative": "comparing",
    "human_labels": "labels",
    "queue_abstentions": "queueing",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from judgeharness_langsmith.adapter import ADAPTER  # noqa: PLC0415

    ADAPTER.require("otel" if name == "OpenTelemetry" else "langsmith")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
