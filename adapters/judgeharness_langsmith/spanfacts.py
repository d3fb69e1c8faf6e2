"""What observers tell of a span: facts of a measurement, of one sample, and of a model's answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judgeharness_integrations.execution.observing import Span
from judgeharness_integrations.judging import model_family
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_to_json

__all__ = ["INTERRUPTED", "by_criterion", "failure_of", "provider_of", "result_facts", "row_facts", "step_facts"]

INTERRUPTED = "interrupted"


def result_facts(result: HarnessResult) -> dict[str, Any]:
    """Return what produced a measurement, and its status; `abstained` is told of a single criterion only.

    What was not measured is None.
    """
    facts = {
        "judge": result.judge,
        "judge_model": result.judge_model,
        "aggregation": result.aggregation_rule,
        "repetitions": result.repetitions,
        "perturbations": list(result.perturbations),
        "calibration_source": result.calibration_source,
        "consistency_rate": by_criterion({name: one.consistency_rate for name, one in result.criteria.items()}),
        "status": by_criterion({name: one.status for name, one in result.criteria.items()}),
    }
    return facts | ({"abstained": result.status == "abstained"} if len(result.criteria) == 1 else {})


def step_facts(span: Span) -> dict[str, Any]:
    """Return which sample a call is; a rewrite is none."""
    return {name: span.facts[name] for name in ("perturbation", "repetition", "order") if name in span.facts}


def row_facts(rows: Sequence[VerdictRow]) -> dict[str, Any]:
    """Return outcome and verdict of one call: the value of one criterion, mappings of several."""
    return {
        "outcome": by_criterion({row.criterion: row.outcome for row in rows}),
        "verdict": by_criterion({row.criterion: verdict_to_json(row.verdict) for row in rows}),
    }


def failure_of(rows: Sequence[VerdictRow]) -> VerdictRow | None:
    """Return the first row of a call that gave no verdict at all, else None."""
    return rows[0] if rows and not any(row.ok for row in rows) else None


def provider_of(span: Span) -> str:
    """Return whose model a model span is about: its maker where the name tells, else the class that asks it."""
    return model_family(span.name) or str(span.facts.get("provider", "unknown")).lower()


def by_criterion(values: Mapping[str, Any]) -> Any:
    """Return the value of the only criterion, or the mapping of several."""
    return next(iter(values.values())) if len(values) == 1 else dict(values)
