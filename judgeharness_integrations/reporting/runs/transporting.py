"""The results of a run and the labels behind its calibration: whether the run's cases are like the labelled ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from judgeharness_integrations.calibration.facts import facts_of_result
from judgeharness_integrations.calibration.population import population_of
from judgeharness_integrations.calibration.report import CalibrationReport
from judgeharness_integrations.calibration.transport import ShiftTest, shift_test, transported
from judgeharness_integrations.reporting.runs.designs import design_key
from judgeharness_integrations.result import HarnessResult

__all__ = ["STOPPED", "TESTED", "calibration_key", "transported_results"]

STOPPED = "the run ended once its own gate was settled, which cases that look like success do sooner"
TESTED = frozenset({"valid", "unverifiable"})


def calibration_key(result: HarnessResult) -> Hashable:
    """Return what tells calibrations of one judge apart, and the designs they are looked at under."""
    report = result.calibration
    return None if report is None else (report.name, report.measured_at, design_key(result.design))


def transported_results(
    results: Sequence[HarnessResult], texts: Mapping[str, Mapping[str, str]], *, stopped: bool = False
) -> tuple[list[HarnessResult], dict[Hashable, ShiftTest]]:
    """Return the results of one judge, calibrated no more where the run is shifted, and what was tested.

    Args:
        results: of one judge, perhaps under several designs.
        texts: case -> field -> text of what was judged, as far as that is known.
        stopped: whether asking ended because of what was answered: such cases cannot be compared.

    """
    groups: dict[Hashable, list[HarnessResult]] = {}
    for result in results:
        if result.calibration is not None and (state := result.calibration_state) and state.status in TESTED:
            groups.setdefault(calibration_key(result), []).append(result)
    tests = {
        key: ShiftTest(shifted=None, reason=STOPPED) if stopped else _tested(group[0].calibration, group, texts)
        for key, group in groups.items()
    }
    return [_transported(result, tests) for result in results], tests


def _transported(result: HarnessResult, tests: Mapping[Hashable, ShiftTest]) -> HarnessResult:
    state, test = result.calibration_state, tests.get(calibration_key(result))
    if state is None or test is None or not test.shifted:
        return result
    return replace(result, calibration_state=transported(state, test))


def _tested(
    report: CalibrationReport | None, results: Sequence[HarnessResult], texts: Mapping[str, Mapping[str, str]]
) -> ShiftTest:
    known = None if report is None else report.population
    if known is None:
        return shift_test(None, population_of(()))
    judged = [one for one in results if one.state == "complete"]  # of others nobody knows what they would have been
    facts = (facts_of_result(one, texts.get(one.case_id, {}), column=known.column) for one in judged)
    return shift_test(known, population_of(facts, column=known.column))
