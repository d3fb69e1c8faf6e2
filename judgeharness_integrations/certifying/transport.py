"""A certificate and the cases of a run: whether those are like the labelled ones it was measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from judgeharness_integrations.calibration.facts import facts_of_decisions
from judgeharness_integrations.calibration.population import CaseFacts, Population, PopulationCount
from judgeharness_integrations.calibration.report import CalibrationReport
from judgeharness_integrations.calibration.saved import CalibrationState
from judgeharness_integrations.calibration.strata import stratum_text
from judgeharness_integrations.calibration.transport import STOPPED, ShiftTest, shift_test, transported
from judgeharness_integrations.certifying.certificate import Certificate, HeldCertificate
from judgeharness_integrations.replay.deciding import CaseDecision

__all__ = ["CertifiedCases", "certificate_on_run", "certified_cases"]

_UNCOUNTED: Final = "the certificate was saved by an earlier version, without what its cases are like: certify again"


class CertifiedCases:
    """Counts the cases of a run by criterion and stratum, as a certificate keeps counts of its labelled ones.

    Only where decisions are certified: a certificate that promises nothing needs no cases that are like its own.
    """

    def __init__(self, certificate: Certificate) -> None:
        """Start without cases."""
        self.certificate = certificate
        self._labelled: dict[tuple[str, str | None], Population] = {
            (one.criterion, one.stratum): one.population
            for one in certificate.selections
            if one.threshold is not None and one.population is not None
        }
        self._counts = {place: PopulationCount() for place in self._labelled}

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
            test = shift_test(labelled, self._counts[criterion, stratum].finish(), tests=len(self._labelled))
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


def certified_cases(certificate: Certificate, decided: Mapping[str, Iterable[CaseDecision]]) -> CertifiedCases:
    """Return the counts of the cases of a log.

    Args:
        certificate: whose strata count.
        decided: criterion -> the rule's decisions.

    """
    cases = CertifiedCases(certificate)
    for case in facts_of_decisions(decided, column=certificate.stratum):
        cases.add(case)
    return cases


def certificate_on_run(
    held: HeldCertificate,
    cases: CertifiedCases | None,
    calibration: CalibrationReport | None,
    state: CalibrationState | None,
) -> HeldCertificate:
    """Return a certificate as it stands for a whole run: on cases unlike the labelled ones it promises nothing.

    Decisions that were made under it stay as they are. Where its own labelled cases could not be compared, those of a
    calibration beside it that holds speak for them, and without one the state says that nothing was compared.

    Args:
        held: the certificate, and whether it holds case by case.
        cases: those of the run; None where its end hung on what was answered, so that they cannot be compared.
        calibration: the one beside it.
        state: what that is worth for the run.

    """
    given, own = held
    if not own.valid:
        return held
    if cases is None:
        now, tested = replace(own, reason=ShiftTest(shifted=None, reason=STOPPED).sentence), False
    else:
        now, tested = cases.state(own)
    if tested or calibration is None or state is None or state.status not in {"shifted", "valid"}:
        return given, now
    if state.valid:
        return held
    return given, replace(state, reason=f"by the calibration on {calibration.name}, {state.reason}")
