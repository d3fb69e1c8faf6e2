"""A result as JSON: `schemas/result-1.json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from judgeharness_integrations.reporting.boundary import boundary
from judgeharness_integrations.result import CriterionResult, Distribution, HarnessResult
from judgeharness_integrations.verdictlog.encoding import to_record
from judgeharness_integrations.verdictlog.row import verdict_to_json

__all__ = ["RESULT_SCHEMA", "result_document"]

RESULT_SCHEMA = "judgeharness.result/1"


def result_document(result: HarnessResult, *, rows: bool = False) -> dict[str, Any]:
    """Return the result as JSON-able data; a distribution is a list of `{verdict, count}`, so numbers stay numbers."""
    document: dict[str, Any] = {
        "schema": RESULT_SCHEMA,
        "case_id": result.case_id,
        "judge": result.judge,
        "judge_model": result.judge_model,
        "criteria": {name: _criterion(measured, result) for name, measured in result.criteria.items()},
        "perturbations": list(result.perturbations),
        "skipped": dict(result.skipped),
        "repetitions": result.repetitions,
        "aggregation_rule": None if result.informal else result.aggregation_rule,
        "rule_fixed": None if result.informal else result.rule_fixed,
        "informal": result.informal,
        "state": result.state,
        "fingerprint": result.fingerprint,
        "calibration": _calibration(result),
        "usage": asdict(result.usage),
        "warnings": list(result.warnings),
        "not_measured": list(boundary(result)),
    }
    return document | ({"rows": [to_record(row) for row in result.rows]} if rows else {})


def _distribution(distribution: Distribution) -> list[dict[str, Any]]:
    return [{"verdict": verdict_to_json(verdict), "count": count} for verdict, count in distribution.items()]


def _criterion(measured: CriterionResult, result: HarnessResult) -> dict[str, Any]:
    aggregated = not result.informal  # of a single sample nothing was folded
    return {
        "verdict": verdict_to_json(measured.verdict),
        "status": measured.status,
        "reason": measured.reason if aggregated or measured.status != "decided" else "",
        "kind": "numbers" if measured.numeric else "labels",
        "sample_distribution": _distribution(measured.sample_distribution),
        "outcomes": dict(measured.outcomes),
        "planned": measured.planned,
        "consistency_rate": measured.consistency_rate if aggregated else None,
        "chance_consistency": measured.chance_consistency if aggregated else None,
        "label_count": measured.label_count,
        "agreement": measured.agreement,
        "sd": measured.sd,
        "tolerance": measured.tolerance,
        "perturbations": [
            {
                "name": p.name,
                "asked": p.asked,
                "valid": p.valid,
                "swapped": p.swapped,
                "sample_distribution": _distribution(p.sample_distribution),
                "flip_rate": p.flip_rate,
            }
            for p in measured.perturbations
        ],
        "prompt_sensitivity": dict(measured.prompt_sensitivity),
        "samples": measured.independence.status,
        "effective_samples": measured.independence.effective,
        "collapse_evidence": list(measured.independence.evidence),
        "parser_conflicts": measured.parser_conflicts,
    }


def _calibration(result: HarnessResult) -> dict[str, Any] | None:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return None
    return {
        "source": report.name,
        "labels": report.source,
        "word": report.word,
        "status": state.status,
        "reason": state.reason,
        "measured_at": report.measured_at,
        "criteria": {
            name: {
                "n": measured.n,
                "positive": measured.positive,
                "precision": _rate(measured.precision) if state.valid else None,
                "recall": _rate(measured.recall) if state.valid else None,
                "coverage": _rate(measured.coverage) if state.valid else None,
            }
            for name, measured in report.criteria.items()
        },
    }


def _rate(rate: Any) -> dict[str, Any] | None:
    return None if rate is None else {"value": rate.value, "low": rate.low, "high": rate.high, "n": rate.trials}
