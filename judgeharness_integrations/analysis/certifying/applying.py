"""A certificate in use: how sure a decision is; those it does not certify are left to people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import counted, number_text
from judgeharness_integrations.verdictlog.row import ABSTAIN, VerdictRow, finite_number

from ..aggregation.cases import CaseDecision, Withheld, case_consistency, decided_case
from ..aggregation.folds import averaged
from ..aggregation.grouping import by_criterion, is_numeric
from ..aggregation.rules import samples_planned
from ..calibration.population import column_text
from ..calibration.saved import CalibrationState
from ..calibration.strata import stratum_text
from ..design import Design
from ..result import CriterionResult, HarnessResult
from .certificate import Certificate, promise_text

if TYPE_CHECKING:
    from ..probability.maps import ProbabilityMap

COLUMN: Final = "column:"
PROBABILITY: Final = "probability"
VOTES: Final = ("consistency", "margin")  # what verdicts of samples alone say
SCORES: Final = (*VOTES, PROBABILITY)


def check_score(score: str, rows: Sequence[VerdictRow], *, numeric: bool) -> None:
    """Refuse a score that is none, or that the rows of a criterion do not have.

    Raises:
        UsageError: saying which scores there are.

    """
    if score.startswith(COLUMN):
        column = score.removeprefix(COLUMN)
        known = {name for row in rows for name in row.attributes}
        if column not in known:
            raise UnknownNameError("column", column, known)
    elif score not in SCORES:
        raise UsageError(f"a score is {', '.join(SCORES)} or column:NAME, not {score!r:.60}.")
    elif numeric and score != "consistency":
        raise UsageError(f"verdicts that are numbers have no {score}: use the score consistency, or column:NAME.")
    elif score == PROBABILITY and all(row.probabilities is None for row in rows):
        raise UsageError(
            f"no answer to {rows[0].criterion!r:.60} holds probabilities: use the score consistency, or certify a "
            "judge that answers with them."
        )


def check_numbers(score: str, cases: Iterable[CaseDecision]) -> None:
    """Refuse a column that says something else than a number of a case: nobody could tell how sure that is.

    Raises:
        UsageError: naming the first such case.

    """
    column = score.removeprefix(COLUMN)
    for case in cases if score.startswith(COLUMN) else ():
        for value in (row.attributes[column] for row in case.rows if column in row.attributes):
            if finite_number(value) is None:
                raise UsageError(
                    f"case {case.case_id!r:.80} says {str(value)!r:.40} in column {column!r:.60}, which tells nobody "
                    "how sure its decision is: give finite numbers, or leave the cell empty."
                )


def counted_samples(case: CaseDecision, score: str) -> int:
    """Return on how many samples the score of a decision stands, those that early stopping spared included.

    Failed ones are none, except of the margin, which they lower: a judge that fails where it is in doubt agrees with
    itself on what is left.
    """
    if score == PROBABILITY:  # an answer without a most probable label is one
        return (samples_planned(case.rows) or len(case.rows)) - sum(not row.answered for row in case.rows)
    failed = 0 if score == "margin" else sum(row.verdict is None for row in case.rows)
    return (samples_planned(case.rows) or len(case.rows)) - failed


def sureness(
    case: CaseDecision, score: str, *, numeric: bool, tolerance: float, by: ProbabilityMap | None = None
) -> float | None:
    """Return how sure a decision is, higher being surer; None where the case does not say.

    Args:
        case: the decision and its rows.
        score: `consistency` (`replay.case_consistency`); `margin`: by how many votes the most frequent label
            leads the next one, as a share of all votes, failures included; `probability`: that of the decision,
            averaged over orders and wordings and calibrated; `column:NAME`: the mean of a numeric column of the rows.
        numeric: whether verdicts are numbers.
        tolerance: how far two scores agree, for their consistency.
        by: what calibrates probabilities.

    """
    if score.startswith(COLUMN):
        return _mean(case.rows, score.removeprefix(COLUMN))
    if score == PROBABILITY:
        return _calibrated(case, by)
    if score == "margin":
        votes = Counter(row.verdict for row in case.rows if row.verdict is not None).most_common(2)
        lead = [count for _, count in votes] + [0, 0]
        return (lead[0] - lead[1]) / len(case.rows) if case.rows else None
    return case_consistency(case, numeric=numeric, tolerance=tolerance)


def _calibrated(case: CaseDecision, by: ProbabilityMap | None) -> float | None:
    shares = averaged(case.rows)
    if by is None or shares is None or not shares.keys() <= set(by.options):
        return None
    return by.apply(shares).get(str(case.decision.verdict))


def _mean(rows: Sequence[VerdictRow], column: str) -> float | None:
    found = [value for row in rows if (value := finite_number(row.attributes.get(column))) is not None]
    return math.fsum(found) / len(found) if found else None


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
    sure = sureness(
        case,
        certificate.score,
        numeric=bool(is_numeric(case.rows)),
        tolerance=certificate.tolerance,
        by=selection.map,
    )
    if sure is not None and selection.threshold is not None and sure >= selection.threshold:
        return None
    return (
        f"{certificate.score} {number_text(sure)} is below {number_text(selection.threshold)}, from which on decisions "
        f"{promise_text(certificate)}"
    )
