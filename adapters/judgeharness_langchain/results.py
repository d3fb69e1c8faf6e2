"""A measurement as the result dict of the evaluator it replaces, plus one key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from langchain_core.outputs import RunInfo

from judgeharness_integrations.reporting import rationale
from judgeharness_integrations.reporting.rationales import shown_order
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_to_json
from judgeharness_langchain.kinds import Kind, NativeValue

__all__ = ["harness_entry", "result_dict"]


def harness_entry(result: HarnessResult, verdict: Any, status: str) -> dict[str, Any]:
    """Return the `harness` key: what a suite reads first on top of the whole document."""
    document = result.to_dict()
    first = next(iter(document["criteria"].values()))
    single = len(document["criteria"]) == 1
    return {
        "verdict": verdict,
        "status": status,
        "sample_distribution": first["sample_distribution"] if single else None,
        "consistency_rate": first["consistency_rate"] if single else None,
        "calibrated_precision": _calibrated(result, document, "precision"),
        "calibrated_recall": _calibrated(result, document, "recall"),
        **document,
    }


def _calibrated(result: HarnessResult, document: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return a rate of the only criterion, measured by people or checks on exactly this configuration, else None."""
    report = result.calibration
    if report is None or not (report.calibrated and result.calibration_valid) or len(result.criteria) != 1:
        return None
    measured = document["calibration"]["criteria"].get(result.only.criterion)
    rate: dict[str, Any] | None = None if measured is None else measured[name]
    return rate


def result_dict(result: HarnessResult, kind: Kind, *, include_run_info: bool = False) -> dict[str, Any]:
    """Return the evaluator's keys in the original frame, and `harness`.

    A tie is value None, score 0.5; abstained and not graded are value None, score None. With several criteria the
    verdict is PASS when all pass, FAIL when one fails, and open otherwise; a set of labels is the list of labels
    that apply, open while one of them is.
    """
    measured = _label_set(result) if kind.label_set else _combined(result)
    verdict = verdict_to_json(measured.verdict)
    value, score = _native(kind, measured)
    row = rationale(result, measured.criterion)
    native = {"reasoning": _reasoning(measured, row), "value": value, "score": score}
    answer: dict[str, Any] = {key: native[key] for key in kind.keys}
    run_id = row.attributes.get("run_id") if row is not None else None
    if include_run_info and run_id is not None:
        answer["__run"] = RunInfo(run_id=UUID(str(run_id)))
    return answer | {"harness": harness_entry(result, verdict, measured.status)}


def _native(kind: Kind, measured: CriterionResult) -> NativeValue:
    if measured.status != "decided":
        return None, None
    if isinstance(measured.verdict, frozenset):
        return sorted(measured.verdict), None
    return kind.native(measured.verdict)


def _reasoning(measured: CriterionResult, row: VerdictRow | None) -> str:
    if measured.status != "decided":
        return f"{measured.status.replace('_', ' ')}: {measured.reason}"
    if row is None:
        return measured.reason
    return f"{shown_order(row)} ".lstrip() + (row.reasoning or row.raw or "")


def _combined(result: HarnessResult) -> CriterionResult:
    """Return the criterion that decides over all of them: a failing one, else an open one, else any."""
    parts = list(result.criteria.values())
    failing = next((part for part in parts if part.verdict == "FAIL"), None)
    undecided = next((part for part in parts if part.status != "decided"), None)
    return (failing if len(parts) > 1 else None) or undecided or parts[0]


def _label_set(result: HarnessResult) -> CriterionResult:
    combined = next((part for part in result.criteria.values() if part.status != "decided"), None)
    if combined is not None:
        return combined
    applying = frozenset(name for name, part in result.criteria.items() if part.verdict == "PASS")
    return replace(next(iter(result.criteria.values())), verdict=applying)
