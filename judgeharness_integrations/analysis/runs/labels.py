"""A report and the labels its judges were calibrated on: are its cases like the labelled ones?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.calibration.population import CaseFacts, population_of
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport
from judgeharness_integrations.analysis.calibration.transport import STOPPED, ShiftTest, shift_test, transported
from judgeharness_integrations.analysis.certifying.certificate import HeldCertificate
from judgeharness_integrations.analysis.certifying.transport import certificate_on_run
from judgeharness_integrations.analysis.measure import facts_of_result
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.summarising import design_key

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
    facts = _facts(results, texts, column=known.column)
    return shift_test(known, population_of(facts, column=known.column, columns=known.columns))


def _facts(
    results: Iterable[HarnessResult], texts: Mapping[str, Mapping[str, str]], *, column: str | None
) -> Iterator[CaseFacts]:
    """Yield what is counted of the cases that were judged: of others nobody knows what they would have been."""
    judged = [one for one in results if one.state == "complete"]
    clusters = Clusters.of_cases(judged)
    for one in judged:
        yield facts_of_result(one, texts.get(one.case_id, {}), column=column, cluster=clusters.of(one.case_id))


def certificates_on_run(
    results: Sequence[HarnessResult], texts: Mapping[str, Mapping[str, str]], *, stopped: bool = False
) -> tuple[HeldCertificate, ...]:
    """Return the different certificates of a judge's results, with what each is worth for all of them.

    Args:
        results: of one judge, whose calibration is `transported_results`' already.
        texts: see there.
        stopped: see there.

    """
    found: dict[Hashable, tuple[HeldCertificate, list[HarnessResult]]] = {}
    for one in results:
        if (given := one.certificate) is not None and (state := one.certificate_state) is not None:
            found.setdefault((given.name, given.measured_at, state), ((given, state), []))[1].append(one)
    return tuple(
        certificate_on_run(
            held,
            _facts(mine, texts, column=held[0].stratum),
            mine[0].calibration,
            mine[0].calibration_state,
            stopped=stopped,
        )
        for held, mine in found.values()
    )
