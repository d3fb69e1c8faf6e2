"""A certificate and the cases of a run: whether those are like the labelled ones it was measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from judgeharness_integrations.calibration.facts import facts_of_decisions
from judgeharness_integrations.calibration.population import CaseFacts, Population, PopulationCount
from judgeharness_integrations.calibration.report import CalibrationReport
from judgeharness_integrations.calibration.saved import CalibrationState
from judgeharness_integrations.calibration.strata import stratum_text
from judgeharness_integrations.calibration.transport import shift_test, transported
from judgeharness_integrations.certifying.certificate import Certificate, HeldCertificate
from judgeharness_integrations.replay.deciding import CaseDecision

__all__ = ["CertifiedCases", "certificate_on_run", "certified_cases"]


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

    def state(self, own: CalibrationState) -> CalibrationState | None:
        """Return what a certificate of this state is worth for all of these cases; None where that was not tested.

        The level is that of all criteria and strata together.
        """
        tested = False
        for (criterion, stratum), labelled in self._labelled.items():
            test = shift_test(labelled, self._counts[criterion, stratum].finish(), tests=len(self._labelled))
            tested = tested or test.shifted is not None
            state = transported(own, test)
            if state != own and stratum is not None:
                where = f"{self.certificate.stratum} {stratum_text(stratum)}"
                return replace(state, reason=f"{where}: {state.reason}")
            if state != own:
                return state
        return own if tested else None


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
    calibration beside it speak for them.

    Args:
        held: the certificate, and whether it holds case by case.
        cases: those of the run; None where they cannot be compared.
        calibration: the one beside it.
        state: what that is worth for the run.

    """
    given, own = held
    now = cases.state(own) if own.valid and cases is not None else None
    if now is not None:
        return given, now
    if not own.valid or calibration is None or state is None or state.status != "shifted":
        return held
    return given, replace(state, reason=f"by the calibration on {calibration.name}, {state.reason}")
