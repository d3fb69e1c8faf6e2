"""Results and decisions -> what is counted of their cases (`calibration.population`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from judgeharness_integrations.analysis.aggregation.grouping import cluster_of, is_numeric
from judgeharness_integrations.analysis.calibration.population import CaseFacts, Decided, column_text, lengths_of
from judgeharness_integrations.analysis.replay.deciding import CaseDecision, case_consistency
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.result import HarnessResult

__all__ = ["facts_of_decisions", "facts_of_result"]


def facts_of_result(
    result: HarnessResult, texts: Mapping[str, str], *, column: str | None, criteria: Collection[str] | None = None
) -> CaseFacts:
    """Return what is counted of a measured case: the rule's decisions, as labelled cases are counted.

    Args:
        result: the measurement.
        texts: field -> text of what was judged, as far as that is known.
        column: the column of the strata.
        criteria: the criteria that count; all of them when None.

    """
    from judgeharness_integrations.analysis.measure import uncertified  # noqa: PLC0415 - it measures with calibrations

    result = uncertified(result)
    return CaseFacts(
        cluster=cluster_of(result.case_id, result.rows),
        criteria={
            name: Decided(verdict=one.verdict, status=one.status, consistency=one.consistency_rate)
            for name, one in result.criteria.items()
            if criteria is None or name in criteria
        },
        stratum=None if column is None else column_text(result.rows, column),
        lengths=lengths_of(result.rows, texts),
    )


def facts_of_decisions(decided: Mapping[str, Iterable[CaseDecision]], *, column: str | None) -> list[CaseFacts]:
    """Return what is counted of the cases of a log, whose texts are not known.

    Args:
        decided: criterion -> decisions about the cases that count, each of one run.
        column: the column of the strata.

    """
    found: dict[tuple[str, str], tuple[Sequence[VerdictRow], dict[str, Decided]]] = {}
    for criterion, decisions in decided.items():
        cases = list(decisions)
        numeric = bool(is_numeric([row for case in cases for row in case.rows]))
        for case in cases:
            key = (case.rows[0].run, case.case_id)
            _, criteria = found.setdefault(key, (case.rows, {}))
            criteria[criterion] = Decided(
                verdict=case.decision.verdict,
                status=case.decision.status,
                consistency=case_consistency(case, numeric=numeric),
            )
    return [
        CaseFacts(
            cluster=cluster_of(case_id, rows),
            criteria=criteria,
            stratum=None if column is None else column_text(rows, column),
            lengths=lengths_of(rows, {}),
        )
        for (_, case_id), (rows, criteria) in found.items()
    ]
