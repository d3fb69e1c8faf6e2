"""Harnessed evaluators in LangSmith: feedback families, comparisons, trace trees, and labels from human feedback."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_langsmith.comparing import harness_comparative
    from judgeharness_langsmith.evaluating import HarnessRunEvaluator
    from judgeharness_langsmith.labels import HumanLabels, human_labels
    from judgeharness_langsmith.opentelemetry import OpenTelemetry
    from judgeharness_langsmith.queueing import grade_again, queue_abstentions
    from judgeharness_langsmith.tracing import LangSmithTracing

__all__ = [
    "HarnessRunEvaluator",
    "HumanLabels",
    "LangSmithTracing",
    "OpenTelemetry",
    "grade_again",
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
    "grade_again": "queueing",
    "harness_comparative": "comparing",
    "human_labels": "labels",
    "queue_abstentions": "queueing",
}


def _require(name: str) -> None:
    from judgeharness_langsmith.adapter import ADAPTER  # noqa: PLC0415

    ADAPTER.require("otel" if name == "OpenTelemetry" else None)


__getattr__ = lazy(__name__, _HOMES, _require)
