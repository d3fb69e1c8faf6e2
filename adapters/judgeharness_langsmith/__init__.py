"""Harnessed evaluators in LangSmith: feedback families, comparisons, trace trees, and labels from human feedback."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .evaluating import HarnessRunEvaluator, harness_comparative
    from .labels import HumanLabels, human_labels
    from .queueing import JudgedRuns, evaluator_verdicts, grade_again, queue_abstentions, queue_cases
    from .tracing import LangSmithTracing, OpenTelemetry

__all__ = [
    "HarnessRunEvaluator",
    "HumanLabels",
    "JudgedRuns",
    "LangSmithTracing",
    "OpenTelemetry",
    "evaluator_verdicts",
    "grade_again",
    "harness_comparative",
    "human_labels",
    "queue_abstentions",
    "queue_cases",
]

# Loaded at first use, so that the package can say what is missing when LangSmith is not installed.
_HOMES = {
    "HarnessRunEvaluator": "evaluating",
    "HumanLabels": "labels",
    "JudgedRuns": "queueing",
    "LangSmithTracing": "tracing",
    "OpenTelemetry": "tracing",
    "evaluator_verdicts": "queueing",
    "grade_again": "queueing",
    "harness_comparative": "evaluating",
    "human_labels": "labels",
    "queue_abstentions": "queueing",
    "queue_cases": "queueing",
}


def _require(name: str) -> None:
    from .adapter import ADAPTER  # noqa: PLC0415

    ADAPTER.require("otel" if name == "OpenTelemetry" else None)


__getattr__ = lazy(__name__, _HOMES, _require)
