"""A certificate and a whole run: on cases unlike the labelled ones it promises nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.calibration.population import CaseFacts, Population, PopulationCount
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState
from judgeharness_integrations.analysis.calibration.strata import stratum_text
from judgeharness_integrations.analysis.calibration.transport import STOPPED, ShiftTest, shift_test, transported
from judgeharness_integrations.analysis.certifying.certificate import Certificate, HeldCertificate

_UNCOUNTED: Final = "the certificate was saved by an earlier version, without what its cases are like: certify again"


class CertifiedCases:
    """Counts the cases of a run by criterion and stratum, as a certificate keeps counts of its labelled ones.

    Only where decisions are certified: a certificate that promises nothing needs no cases that are like its own.

    Args:
        certificate: theirs.
        clusters: which cases belong together, of cases whose facts name their ids; else those name their clusters.

    """

    def __init__(self, certificate: Certificate, clusters: Clusters | None = None) -> None:
        """Start without cases."""
        self.certificate, self._clusters = certificate, clusters
        self._labelled: dict[tuple[str, str | None], Population] = {
            (one.criterion, one.stratum): one.population
            for one in certificate.selections
            if one.threshold is not None and one.population is not None
        }
        self._counts = {place: PopulationCount(columns=one.columns) for place, one in self._labelled.items()}

    def add(self, case: CaseFacts) -> None:
        """Count a case, whose `stratum` is the value of the certificate's column."""
        for criterion, decided in case.criteria.items():
            count = self._counts.get((criterion, case.stratum))
            if count is not None:
                count.add(replace(case, criteria={criterion: decided}))

    def state(self, own: CalibrationState) -> tuple[CalibrationState, bool]:
        """Return what a certificate of this state is worth for all of these cases, and whether that was tested at all.

        The level is that of all criteria and strata together. A valid one says in its reason what was not tested.
        """
        untested: list[str] = []
        for (criterion, stratum), labelled in self._labelled.items():
            test = shift_test(
                labelled, self._counts[criterion, stratum].finish(self._clusters), tests=len(self._labelled)
            )
            where = "" if stratum is None else f"{self.certificate.stratum} {stratum_text(stratum)}: "
            state = transported(own, test)
            if state != own:
                return replace(state, reason=where + state.reason), True
            if test.shifted is None:
                untested.append(where + test.sentence)
        if not self._labelled and self.certificate.granted:
            untested.append(ShiftTest(shifted=None, reason=_UNCOUNTED).sentence)
        more = len(untested) - 1
        also = f"; nor in {more} {'other' if more == 1 else 'others'}" if more > 0 else ""
        told = replace(own, reason=untested[0] + also) if untested else own
        return told, len(untested) < len(self._labelled)


def certificate_on_run(
    held: HeldCertificate,
    cases: CertifiedCases | Iterable[CaseFacts],
    calibration: CalibrationReport | None,
    state: CalibrationState | None,
    *,
    stopped: bool = False,
) -> HeldCertificate:
    """Return a certificate as it stands for a whole run: on cases unlike the labelled ones it promises nothing.

    Decisions that were made under it stay as they are. Where its own labelled cases could not be compared, those of a
    calibration beside it that holds speak for them, and without one the state says that nothing was compared.

    Args:
        held: the certificate, and whether it holds case by case.
        cases: those of the run, counted or one by one, with the values of the certificate's column as strata.
        calibration: the one beside it.
        state: what that is worth for the run.
        stopped: whether asking ended because of what was answered: such cases are compared with no labelled ones.

    """
    given, own = held
    if not own.valid:
        return held
    if stopped:
        now, tested = replace(own, reason=ShiftTest(shifted=None, reason=STOPPED).sentence), False
    else:
        now, tested = _counted(given, cases).state(own)
    if tested or calibration is None or state is None or state.status not in {"shifted", "valid"}:
        return given, now
    if state.valid:
        return held
    return given, replace(state, reason=f"by the calibration on {calibration.name}, {state.reason}")


def _counted(certificate: Certificate, cases: CertifiedCases | Iterable[CaseFacts]) -> CertifiedCases:
    if isinstance(cases, CertifiedCases):
        return cases
    counted = CertifiedCases(certificate)
    for case in cases:
        counted.add(case)
    return counted
