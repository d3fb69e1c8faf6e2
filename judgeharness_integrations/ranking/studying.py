"""From rows to a ranking, with everything between kept for the analyses that go on from there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import CLUSTER
from judgeharness_integrations.ranking.arrays import Ints, Marks
from judgeharness_integrations.ranking.audit import flag_marks
from judgeharness_integrations.ranking.comparing.pointwise import has_scored_pairs, pairs_of_scores
from judgeharness_integrations.ranking.correctness.building import decisions_of
from judgeharness_integrations.ranking.correctness.codes import NOT_ASKED
from judgeharness_integrations.ranking.correctness.crediting import credits_of
from judgeharness_integrations.ranking.correctness.decisions import Decisions
from judgeharness_integrations.ranking.correctness.policy import Policy
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.curation import Curation, curate
from judgeharness_integrations.ranking.rating import Rating, rate
from judgeharness_integrations.ranking.request import RankRequest
from judgeharness_integrations.replay.replaying import rows_of_judges
from judgeharness_integrations.verdictlog.columns import columns_together, values_together
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["RankStudy", "study"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RankStudy:
    """A log with the steps between its rows and a ranking.

    `rows` are those that were folded (pairs, where single answers were scored); `scored` are the scores, else empty.
    `matrix`: credits of all labelled pairs; `rating`: of those that curation kept; `groups`: value of the `by` column
    -> rating of its pairs.
    """

    request: RankRequest
    rows: Sequence[VerdictRow]
    scored: Sequence[VerdictRow]
    decisions: Decisions
    criteria: tuple[str, ...]
    matrix: Credits
    curation: Curation
    rating: Rating
    groups: Mapping[str, Rating]

    @property
    def cluster(self) -> str | None:
        """The column of what pairs come from: the one that was asked for, else `cluster` where the rows have it."""
        return _cluster_column(self.matrix, self.request)

    @property
    def flagged(self) -> Marks | None:
        """(pairs,) of `matrix`, flagged by people; None where no column was named."""
        return None if self.request.flagged is None else self.curation.flagged


def study(rows: Iterable[VerdictRow], request: RankRequest) -> RankStudy:
    """Fold, credit, curate and rate.

    Raises:
        UnknownNameError: a judge, criterion, column or rule is not known; the nearest is offered.
        UsageError: nothing has a gold label, the rule does not fit, or the method cannot be used on these credits.

    """
    mine = [row for group in rows_of_judges(rows, request.judges or None).values() for row in group]
    scored = mine if has_scored_pairs(mine) else []
    folded = pairs_of_scores(scored) if scored else mine
    decisions = _together(decisions_of(folded, policy_of(folded, request, scored=bool(scored))), request.by)
    criteria = tuple(request.criteria) or tuple(
        name for name, entry in decisions.criteria.items() if entry.labelled.any()
    )
    _check_orders(decisions, criteria)
    _check_rule(decisions, criteria)
    matrix = credits_of(decisions, criteria)
    _check_columns(matrix, decisions, request)
    flagged = None if request.flagged is None else flag_marks(matrix, request.flagged)
    curation = curate(matrix, share=request.cut, cut_ties=request.cut_ties, flagged=flagged)
    kept = curation.kept
    cluster = _cluster_column(kept, request)
    clusters = clusters_of(kept, cluster)
    if clusters is not None and len(np.unique(clusters)) == 1:
        raise UsageError(
            f"column {cluster!r} puts all pairs that are ranked by into one cluster, which has no error: name another "
            "one with --cluster, or leave it out."
        )
    rating = rate(kept, clusters=clusters, eip_options=request.eip)
    _check_method(rating, request)
    groups = (
        {}
        if request.by is None
        else {
            name: rate(group, methods=(request.method,), eip_options=request.eip)
            for name, group in kept.groups(request.by).items()
        }
    )
    return RankStudy(
        request=request,
        rows=folded,
        scored=scored,
        decisions=decisions,
        criteria=criteria,
        matrix=matrix,
        curation=curation,
        rating=rating,
        groups=groups,
    )


def policy_of(rows: Iterable[VerdictRow], request: RankRequest, *, scored: bool) -> Policy:
    """Return what counts as right, defaults filled in."""
    rule = request.rule
    if rule is None:
        rule = "both_orders" if any(row.swapped for row in rows) else "one_order"
    ties = request.ties or ("half" if scored else "wrong")
    return Policy.of(rule, failures=request.failures, ties=ties)


def clusters_of(matrix: Credits, column: str | None) -> Ints | None:
    """Return the number of each pair's cluster; a pair without a value is one of its own. None without a column."""
    if column is None:
        return None
    names = [
        f"c{value}" if value not in {None, ""} else f"p{pair}"
        for value, pair in zip(matrix.column(column), matrix.pairs, strict=True)
    ]
    return np.asarray(np.unique(names, return_inverse=True)[1], np.intp)


def _cluster_column(matrix: Credits, request: RankRequest) -> str | None:
    return request.cluster or (CLUSTER if CLUSTER in matrix.columns else None)


def _check_orders(decisions: Decisions, criteria: Sequence[str]) -> None:
    """Refuse a rule of both orders for a criterion of one: nobody would have been asked about it."""
    for name in criteria if decisions.policy.both_orders else ():
        orders = decisions.criterion(name).orders
        if not (orders != NOT_ASKED).all(axis=0).any():
            raise UsageError(
                f"criterion {name!r} was never answered in both orders, and {decisions.policy.rule} takes both: rank "
                "by --rule one_order, or leave the criterion out with --criterion."
            )


def _together(decisions: Decisions, by: str | None) -> Decisions:
    """Return decisions with a column for several columns together; a pair that lacks one of them has none."""
    parts = () if by is None else columns_together(by, decisions.columns)
    if by is None or by in decisions.columns or not {*parts} <= decisions.columns.keys():
        return decisions
    rows = zip(*(decisions.columns[name] for name in parts), strict=True)
    values = tuple(None if None in row else values_together([*map(str, row)]) for row in rows)
    return replace(decisions, columns={**decisions.columns, by: values})


def _check_columns(matrix: Credits, decisions: Decisions, request: RankRequest) -> None:
    groups = () if request.by is None else columns_together(request.by, matrix.columns)
    named = [name for name in (*groups, request.cluster, request.flagged) if name is not None]
    for name in (*named, CLUSTER) if request.cluster is None else named:
        if name in decisions.divided:
            raise UsageError(f"column {name!r} differs between rows of one pair: name a column that describes pairs.")
    for name in named:
        matrix.column(name)


def _check_rule(decisions: Decisions, criteria: Sequence[str]) -> None:
    """Refuse a rule of A and B on labels that it cannot read: every judge would be wrong about every pair."""
    if decisions.policy.rule != "net_preference":
        return
    other = [name for name in criteria if name in decisions.criteria and not decisions.criteria[name].pairwise]
    if other:
        raise UsageError(
            f"rule net_preference reads A, B and TIE, but criterion {other[0]!r} holds other labels: name the others "
            "with --criterion, or use both_orders."
        )


def _check_method(rating: Rating, request: RankRequest) -> None:
    """Refuse a method that these credits do not admit; judges that cannot be compared are a diagnosis instead."""
    reason = rating.reasons.get(request.method)
    if reason is not None and (request.method == "eip" or rating.joint is not None):
        raise UsageError(f"{reason}.")
