"""Decisions -> what is counted of their cases (`calibration.population`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from judgeharness_integrations.analysis.aggregation.cases import CaseDecision, case_consistency
from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.aggregation.grouping import is_numeric
from judgeharness_integrations.analysis.calibration.population import (
    CaseFacts,
    Decided,
    case_columns,
    column_text,
    lengths_of,
)
from judgeharness_integrations.analysis.calibration.transport import unlike_others
from judgeharness_integrations.verdictlog.row import VerdictRow


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
    clusters = Clusters()
    for (_, case_id), (rows, _) in found.items():
        clusters.add_rows(case_id, rows)
    return [
        CaseFacts(
            cluster=clusters.of(case_id),
            criteria=criteria,
            stratum=None if column is None else column_text(rows, column),
            lengths=lengths_of(rows, {}),
            columns=case_columns(rows),
        )
        for (_, case_id), (rows, criteria) in found.items()
    ]


def unlike_labelled(criterion: str, cases: Iterable[CaseDecision], what: str) -> str:
    """Return that cases without a gold label are not like those with one, and `what` follows; see `unlike_others`."""
    sides: tuple[list[CaseDecision], list[CaseDecision]] = ([], [])
    for case in cases:
        sides[case.gold is None].append(case)
    labelled, others = (facts_of_decisions({criterion: side}, column=None) for side in sides)
    return unlike_others(labelled, others, what)
