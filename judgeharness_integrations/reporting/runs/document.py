"""A report as JSON: `schemas/report-1.json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.verdictlog.row import verdict_to_json

if TYPE_CHECKING:
    from judgeharness_integrations.calibration.rates import Rate
    from judgeharness_integrations.gates.report import GateReport
    from judgeharness_integrations.reporting.runs.report import JudgeSection, RunReport
    from judgeharness_integrations.reporting.runs.summary import CriterionSummary, FlipRate
    from judgeharness_integrations.statistics.means import Estimate

__all__ = ["REPORT_SCHEMA", "report_document"]

REPORT_SCHEMA = "judgeharness.report/1"


def report_document(report: RunReport, *, gates: GateReport | None = None, results: bool = False) -> dict[str, Any]:
    """Return the report as JSON-able data.

    Args:
        report: what was measured.
        gates: what gates said of it; without, what the run's own gates said at its end (`gates_of` tells which).
        results: also every case's result (`judgeharness.result/1`); `results` is null without.

    """
    tested, shown = report.annotators, gates or report.gates
    tests = [
        {"test": one.test, "judge": one.judge, "case_id": one.case_id} for one in report.results if one.test is not None
    ]
    return {
        "schema": REPORT_SCHEMA,
        "source": report.source,
        "run": report.run,
        "state": report.state,
        "created_at": report.created_at,
        "cases": report.cases,
        "informal": report.informal,
        "judges": [_judge(section) for section in report.judges],
        "annotators": None if tested is None else tested.to_dict(),
        "annotators_reason": report.annotators_reason,
        "gates": None if shown is None else shown.to_dict(),
        "gates_of": None if shown is None else "report" if gates is not None else "run",
        "results": [result.to_dict() for result in report.results] if results else None,
        **({"tests": tests} if tests else {}),
    }


def _judge(section: JudgeSection) -> dict[str, Any]:
    calibration, state = section.calibration, section.calibration_state
    anchor = None
    if calibration is not None and state is not None:
        anchor = {
            "source": calibration.name,
            "labels": calibration.source,
            "word": calibration.word,
            "status": state.status,
            "reason": state.reason,
            "measured_at": calibration.measured_at,
            "shift": None if section.shift is None else section.shift.to_dict(),
        }
    return {
        "judge": section.judge,
        "models": list(section.models),
        "fingerprint": section.fingerprint,
        "cases": section.cases,
        "not_asked": section.not_asked,
        "calibrated": section.calibrated,
        "calibration": anchor,
        **(
            {"certificates": [given.record(state) for given, state in section.certificates]}
            if section.certificates
            else {}
        ),
        "criteria": [_criterion(summary, section) for summary in section.criteria],
        "usage": asdict(section.usage),
        "cost": section.cost,
        "calibration_usage": None if section.calibration_usage is None else asdict(section.calibration_usage),
        "calibration_cost": section.calibration_cost,
        "cost_remarks": list(section.cost_remarks),
        "skipped": dict(section.skipped),
        "alerts": list(section.alerts),
        "warnings": list(section.warnings),
        "not_measured": dict(section.not_measured),
    }


def _criterion(summary: CriterionSummary, section: JudgeSection) -> dict[str, Any]:
    design, replay = summary.design, summary.replay
    anchor = section.calibration.criteria.get(summary.criterion) if section.calibrated and section.calibration else None
    return {
        "criterion": summary.criterion,
        "kind": replay.kind,
        "aggregation_rule": design.rule.name,
        "rule_fixed": design.rule_fixed,
        "perturbations": list(design.perturbations),
        "repetitions": design.repetitions,
        "min_valid": design.min_valid,
        "tolerance": design.tolerance,
        "curtail": design.curtail,
        "cases": summary.cases,
        "decided": replay.decided,
        "abstained": replay.abstained,
        "not_graded": replay.not_graded,
        "verdicts": [{"verdict": verdict_to_json(label), "count": count} for label, count in summary.verdicts.items()],
        "positive": summary.positive,
        "positive_rate": _rate(summary.positive_rate),
        "coverage": _rate(summary.coverage),
        "abstention": _rate(summary.abstention),
        "accuracy": _rate(summary.accuracy),
        "controls": None if summary.controls is None else summary.controls.to_dict(),
        "mean_score": _estimate(summary.mean_score),
        "mean_absolute_error": replay.mean_absolute_error,
        "consistency_rate": summary.consistency_rate,
        "chance_consistency": summary.chance_consistency,
        "agreement": summary.agreement,
        "flips": [_flip(flip) for flip in summary.flips],
        "noise": None if summary.noise is None else _flip(summary.noise),
        "repeated": summary.repeated,
        "outcomes": dict(summary.outcomes),
        "planned_samples": summary.planned,
        "calibrated_precision": None if anchor is None else _rate(anchor.precision),
        "calibrated_recall": None if anchor is None else _rate(anchor.recall),
    }


def _flip(flip: FlipRate) -> dict[str, Any]:
    ends = {"value": flip.value, "low": flip.low, "high": flip.high}
    return {"perturbation": flip.perturbation, **ends, "n": flip.cases}


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    return None if rate is None else {"value": rate.value, "low": rate.low, "high": rate.high, "n": rate.trials}


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high, "n": found.n}
