"""Measured results of labelled cases -> a calibration report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.calibration.items import LabelledItem
from judgeharness_integrations.calibration.labels import ONLY_CRITERION, CalibrationSet
from judgeharness_integrations.calibration.measure import Judged, measure_calibration
from judgeharness_integrations.calibration.report import CalibrationReport
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, is_number

__all__ = ["calibration_report"]

_PAIR = 2


def calibration_report(
    results: Iterable[HarnessResult],
    calibration_set: CalibrationSet,
    *,
    judge: str,
    parts: Mapping[str, Any] | None,
    measured_at: str,
) -> CalibrationReport:
    """Compare the decisions, all of one design, with the labels of a set.

    Raises:
        CaseError: labels name a criterion the judge does not answer, leave it open, or match no result.

    """
    golds, ties = calibration_set.golds()
    items: dict[str, list[Judged]] = {}
    labelled: list[LabelledItem] = []
    design: dict[str, Any] = {}
    for result in results:
        design = dict(result.design.parts())
        for criterion, gold in _by_criterion(golds.get(result.case_id, {}), result).items():
            measured = result.criteria[criterion]
            items.setdefault(criterion, []).append(
                Judged(
                    gold=gold,
                    verdict=measured.verdict,
                    status=measured.status,
                    confidence=measured.consistency_rate,
                    cluster=result.case_id,
                )
            )
            labelled.append(
                LabelledItem(
                    case_id=result.case_id,
                    criterion=criterion,
                    gold=gold,
                    verdict=measured.verdict,
                    status=measured.status,
                )
            )
    if not items:
        raise CaseError(f"no label of {calibration_set.name!r} matches a judged case.")
    return CalibrationReport(
        name=calibration_set.name,
        judge=judge,
        source=calibration_set.source,
        consensus=calibration_set.consensus,
        excluded_ties=ties,
        criteria={
            criterion: measure_calibration(
                judged, criterion=criterion, positive=calibration_set.positive, scale=_scale(parts, criterion)
            )
            for criterion, judged in items.items()
        },
        measured_at=measured_at,
        parts=None if parts is None else json.loads(json.dumps(parts, default=str)),  # equal before and after a file
        items=_in_order(labelled, golds),
        design=design,
    )


def _scale(parts: Mapping[str, Any] | None, criterion: str) -> tuple[float, float] | None:
    """Return lowest and highest score of a criterion, where the judge declares them."""
    declared = (parts or {}).get("labels")
    said = declared.get(criterion) if isinstance(declared, Mapping) else None
    scale = said[1] if isinstance(said, (list, tuple)) and len(said) == _PAIR else None  # parts may come from a file
    if isinstance(scale, (list, tuple)) and len(scale) == _PAIR and all(map(is_number, scale)):
        return float(scale[0]), float(scale[1])
    return None


def _in_order(items: Iterable[LabelledItem], golds: Mapping[str, Any]) -> tuple[LabelledItem, ...]:
    """Return the items in the order of the label set; results come in order of completion."""
    place = {case_id: number for number, case_id in enumerate(golds)}
    return tuple(sorted(items, key=lambda item: place[item.case_id]))


def _by_criterion(labels: Mapping[str, Verdict], result: HarnessResult) -> dict[str, Verdict]:
    named: dict[str, Verdict] = {}
    for criterion, gold in labels.items():
        if criterion == ONLY_CRITERION:
            named[result.only.criterion] = gold
        elif criterion in result.criteria:
            named[criterion] = gold
        else:
            known = ", ".join(result.criteria)
            raise CaseError(f"a label names criterion {criterion!r}, but judge {result.judge!r} answers {known}.")
    return named
