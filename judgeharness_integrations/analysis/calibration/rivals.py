"""Calibrations of several judges of a run on the same labels, of which the best one may be chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.calibration.candidates import Candidate, one_of, rivals_of
from judgeharness_integrations.analysis.calibration.items import Judged
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration, measure_calibration

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.saved import CalibrationReport

__all__ = ["calibrated_beside", "rivals_on_labels", "widened"]

_DIGITS = 9


def rivals_on_labels(known: Mapping[str, CalibrationReport]) -> dict[tuple[str, str], tuple[int, str]]:
    """Return judge and criterion -> how many candidates its labels decide about, and which it is one of, in words.

    They are the judges and criteria of a run with shared labels, this one included, or as many as any of them counted
    when it was measured. The words are empty where no other is in the run.

    Args:
        known: judge -> its calibration.

    """
    found = {
        (judge, name): Candidate(
            run="",
            judge=judge,
            criterion=name,
            labels={
                item.case_id: (None, item.gold)
                for item in report.items
                if item.criterion == name and item.gold is not None
            },
        )
        for judge, report in known.items()
        for name in report.criteria
    }
    told: dict[tuple[str, str], tuple[int, str]] = {}
    for key, mine in found.items():
        rivals = rivals_of(mine, (one for one in found.values() if one is not mine))
        counted = [known[one.judge].candidates or 1 for one in (mine, *rivals)]
        told[key] = max(len(rivals) + 1, *counted, 1), one_of(mine, rivals)
    return told


def calibrated_beside(
    known: Mapping[str, tuple[CalibrationReport, object]], shown: Collection[str]
) -> dict[str, CalibrationReport]:
    """Return judge -> calibration of the judges of a run that are not shown; see `RunReport`."""
    return {judge: report for judge, (report, _) in known.items() if judge not in shown}


def widened(report: CalibrationReport, criterion: str, candidates: int) -> CriterionCalibration | None:
    """Return what the labelled cases of a calibration say of one of so many candidates; see `simultaneous_level`.

    None where the cases it keeps do not give the numbers it holds, so that nothing can be made of them anew.
    """
    held = report.criteria[criterion]
    items = [
        Judged(gold=item.gold, verdict=item.verdict, status=item.status, cluster=item.cluster)
        for item in report.items
        if item.criterion == criterion and item.gold is not None
    ]
    if len(items) != held.n:
        return None
    try:
        again, wider = (
            measure_calibration(items, criterion=criterion, positive=held.positive, candidates=count)
            for count in (report.candidates or 1, candidates)
        )
    except CaseError:
        return None
    return wider if _ends(again) == _ends(held) else None


def _ends(measured: CriterionCalibration) -> list[float]:
    found = (measured.accuracy, measured.precision, measured.recall, measured.kappa)
    return [round(end, _DIGITS) for one in found if one is not None for end in (one.low, one.high) if end is not None]
