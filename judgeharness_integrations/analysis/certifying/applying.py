"""A certificate in use: decisions it does not certify are left to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from judgeharness_integrations.analysis.aggregation.cases import CaseDecision, Withheld, decided_case
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion, is_numeric
from judgeharness_integrations.analysis.calibration.population import (
    column_text,
)
from judgeharness_integrations.analysis.calibration.saved import CalibrationState
from judgeharness_integrations.analysis.calibration.strata import stratum_text
from judgeharness_integrations.analysis.certifying.certificate import Certificate
from judgeharness_integrations.analysis.certifying.sureness import counted_samples, sureness
from judgeharness_integrations.analysis.certifying.wording import promise_text
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.plain import counted, number_text
from judgeharness_integrations.verdictlog.row import ABSTAIN, VerdictRow


def withheld(certificate: Certificate, state: CalibrationState) -> Withheld:
    """Return what says of a decision why it is not certified; of one about a criterion without labels, nothing."""

    def why(criterion: str, case: CaseDecision) -> str | None:
        if case.decision.status != "decided" or not certificate.of(criterion):
            return None
        if not state.valid:
            return f"the certificate on {certificate.name} is {state}"
        return _unsure(case, certificate, criterion)

    return why


def certified(result: HarnessResult, certificate: Certificate, state: CalibrationState) -> HarnessResult:
    """Return a result whose decisions abstain where the certificate does not hold for them, and say why.

    Criteria without labels of the certificate stay as they are, which is a warning of the result, as it is where those
    labels cannot tell the judge from one that reads nothing.
    """
    groups, asked = by_criterion(result.rows), withheld(certificate, state)
    criteria = {
        name: _criterion(measured, groups.get(name, ()), result.design, asked)
        for name, measured in result.criteria.items()
    }
    unusable = () if state.valid else (f"the certificate on {certificate.name} is {state}: its decisions abstain",)
    warnings = tuple(dict.fromkeys((*result.warnings, *unusable, *certificate.warnings(criteria))))
    return replace(result, criteria=criteria, certificate=certificate, certificate_state=state, warnings=warnings)


def withheld_of(result: HarnessResult) -> Withheld | None:
    """Return what says which decisions about the rows of a result do not stand; None where nothing is certified."""
    if result.certificate is None or result.certificate_state is None:
        return None
    return withheld(result.certificate, result.certificate_state)


def _criterion(
    measured: CriterionResult, rows: Sequence[VerdictRow], design: Design, asked: Withheld
) -> CriterionResult:
    if measured.status != "decided":
        return measured
    case = decided_case(rows, design.rule, planned=measured.planned, min_valid=design.min_valid)
    why = asked(measured.criterion, case)
    if why is None:
        return measured
    return replace(measured, verdict=ABSTAIN, status="abstained", reason=f"{measured.reason}; {why}")


def uncertified_where(certificate: Certificate, criterion: str, rows: Sequence[VerdictRow]) -> str | None:
    """Return why no decision about a criterion is certified where the rows of a case belong; None where some are."""
    selections = certificate.of(criterion)
    if not selections:
        return None
    where, stratum = "", None
    if certificate.stratum is not None:
        stratum = column_text(rows, certificate.stratum)
        where = f" where {certificate.stratum} is {None if stratum is None else stratum_text(stratum)}"
    selection = selections.get(stratum)
    if selection is not None and selection.threshold is not None:
        return None
    why = "has no labels" if selection is None else "was refused"
    return f"no decision is certified{where}: the certificate on {certificate.name} {why} there"


class UncertifiedCases:
    """Counts the cases of strata in which a certificate certifies nothing."""

    def __init__(self) -> None:
        """Start without cases."""
        self._cases: Counter[tuple[str, str]] = Counter()

    def add(self, certificate: Certificate, criterion: str, rows: Sequence[VerdictRow]) -> None:
        """Count a case that was asked about, by its rows about a criterion."""
        if rows and (why := uncertified_where(certificate, criterion, rows)) is not None:
            self._cases[criterion, why] += 1

    @property
    def warnings(self) -> list[str]:
        """What is to be said of them, a sentence a criterion and stratum."""
        return [f"{criterion}: {why} ({counted(count, 'case')})" for (criterion, why), count in self._cases.items()]


def _unsure(case: CaseDecision, certificate: Certificate, criterion: str) -> str | None:
    """Return why a decision is not certified; None where it is."""
    if (why := uncertified_where(certificate, criterion, case.rows)) is not None:
        return why
    stratum = None if certificate.stratum is None else column_text(case.rows, certificate.stratum)
    selection = certificate.of(criterion)[stratum]
    graded = counted_samples(case, certificate.score)
    if selection.samples is not None and graded < selection.samples:
        return (
            f"{graded} graded {'sample' if graded == 1 else 'samples'}, fewer than the {selection.samples} that were "
            "certified: fewer agree more often by chance"
        )
    sure = sureness(case, certificate.score, numeric=bool(is_numeric(case.rows)), tolerance=certificate.tolerance)
    if sure is not None and selection.threshold is not None and sure >= selection.threshold:
        return None
    return (
        f"{certificate.score} {number_text(sure)} is below {number_text(selection.threshold)}, from which on decisions "
        f"{promise_text(certificate)}"
    )
