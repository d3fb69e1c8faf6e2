"""A comparison as JSON keeps it (`schemas/comparison-1.json`)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from judgeharness_integrations.comparison.report import (
    COMPARISON_SCHEMA,
    ComparisonReport,
    CriterionComparison,
    Flip,
)
from judgeharness_integrations.comparison.states import State
from judgeharness_integrations.reporting.runs.bill import Bill
from judgeharness_integrations.result import Distribution
from judgeharness_integrations.verdictlog.row import verdict_to_json

__all__ = ["comparison_document"]

_DROP = 0.1


def comparison_document(report: ComparisonReport) -> dict[str, Any]:
    """Return a comparison as plain JSON types."""
    return {
        "schema": COMPARISON_SCHEMA,
        "answer": report.answer,
        "before": {"source": report.before, "run": report.run_before},
        "after": {"source": report.after, "run": report.run_after},
        "same_run": report.same_run,
        "sequential": report.sequential,
        "stopped": list(report.stopped),
        "alpha": report.alpha,
        "seed": report.seed,
        "judged": asdict(report.judged) | {"sentence": report.judged.sentence},
        "configuration": [asdict(one) for one in report.configuration],
        "shifted": list(report.shifted),
        "certificates": list(report.certificates),
        "only_before": _alone(report.judges_before, report.criteria_before),
        "only_after": _alone(report.judges_after, report.criteria_after),
        "criteria": [_criterion(one) for one in report.criteria],
        "bills": [
            {"judge": one.judge, "judge_after": one.judge_after, "before": _bill(one.before), "after": _bill(one.after)}
            for one in report.bills
        ],
        "unvaried": list(report.unvaried),
        "copies": list(report.copies),
    }


def _alone(judges: tuple[str, ...], criteria: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return {
        "judges": list(judges),
        "criteria": [{"judge": judge, "criterion": criterion} for judge, criterion in criteria],
    }


def _bill(bill: Bill) -> dict[str, Any]:
    return {"usage": asdict(bill.usage), "cost": bill.cost, "cost_remarks": list(bill.cost_remarks)}


def _criterion(one: CriterionComparison) -> dict[str, Any]:
    noise = asdict(one.noise)
    del noise["p_of_case"]  # stands with each flip
    return {
        "judge": one.judge,
        "judge_after": one.judge_after,
        "criterion": one.criterion,
        "kind": one.kind,
        "positive": one.positive,
        "answer": one.answer,
        "reason": one.reason,
        "cases": one.cases,
        "only_before": list(one.only_before),
        "only_after": list(one.only_after),
        "relabelled": list(one.relabelled),
        "main": None if one.main is None else asdict(one.main),
        "p_adjusted": one.p_adjusted,
        "level": one.level,
        "noise": noise,
        "noise_p_adjusted": one.noise_p_adjusted,
        "minimum_detectable": one.minimum_detectable,
        "predicted_power": {"drop": _DROP, "power": one.predicted_power(_DROP)},
        "cases_needed": {"detect": one.detect, "cases": one.cases_needed},
        "beside": [asdict(difference) for difference in one.beside],
        "controls_before": None if one.controls_before is None else one.controls_before.to_dict(),
        "controls_after": None if one.controls_after is None else one.controls_after.to_dict(),
        "transitions": [asdict(transition) for transition in one.transitions],
        "flips": [_flip(flip) for flip in one.flips],
    }


def _flip(flip: Flip) -> dict[str, Any]:
    return {
        "case_id": flip.case_id,
        "before": _state(flip.before, flip.before_distribution),
        "after": _state(flip.after, flip.after_distribution),
        "gold": None if flip.gold is None else verdict_to_json(flip.gold),
        "p": flip.p,
    }


def _state(state: State, distribution: Distribution) -> dict[str, Any]:
    return {
        "status": state.status,
        "verdict": None if state.verdict is None else verdict_to_json(state.verdict),
        "sample_distribution": [
            {"verdict": verdict_to_json(verdict), "count": count} for verdict, count in distribution.items()
        ],
    }
