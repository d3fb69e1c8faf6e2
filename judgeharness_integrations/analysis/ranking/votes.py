"""Several judges of a log as one: each member's decision is a vote, and a rule folds the votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.cases import case_decisions
from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.aggregation.deciding import PLANNED_SAMPLES
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion
from judgeharness_integrations.analysis.aggregation.rules import Rule, RuleLike, rule
from judgeharness_integrations.analysis.calibration.items import read_golds
from judgeharness_integrations.analysis.replay.replaying import refuse_several_runs, rows_of_judges
from judgeharness_integrations.verdictlog.encoding import REUSED_FROM
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.ranking.panels import Panel

FEWEST: Final = 2  # members
MEMBER: Final = "member"  # the attribute of a vote that names the judge whose decision it is
_EITHER: Final = "majority | median"


@dataclass(frozen=True, kw_only=True)
class PanelVotes:
    """The votes of a panel as rows of a judge of its own, which every other measurement reads as it reads any judge.

    A vote is a member's decision about a case and criterion, its repetition the member's place. A member that abstained
    or was not graded is a vote without a verdict: it counts in the shares of a rule, and for nobody. What members cost
    stands in their own rows.
    """

    name: str
    members: tuple[str, ...]
    member_rule: str
    rows: tuple[VerdictRow, ...]


def panel_votes(
    rows: Iterable[VerdictRow],
    members: Sequence[str],
    *,
    member_rule: RuleLike = _EITHER,
    min_valid: int | None = None,
    name: str | None = None,
) -> PanelVotes:
    """Return the votes of a panel.

    Args:
        rows: a log, in which each member judged.
        members: judges of it, in order.
        member_rule: how the samples of a member are folded.
        min_valid: the quorum of a member's samples; see `replay`.
        name: the panel's, `panel(a+b+c)` when None.

    Raises:
        UnknownNameError: a member is no judge of the log.
        UsageError: there are fewer than two members, or one stands twice, or judged a case in two runs.

    """
    if len(members) < FEWEST or len(set(members)) < len(members):
        raise UsageError("a panel has two members or more, each of them once: name judges of the log.")
    rows = list(rows)
    judges = rows_of_judges(rows, members)
    refuse_several_runs(judges)
    chosen, called = rule(member_rule), name or f"panel({'+'.join(members)})"
    if any(row.judge == called for row in rows):
        raise UsageError(f"a judge is called {called!r} already: give the panel another name.")
    votes = [
        vote
        for place, member in enumerate(members)
        for criterion, group in by_criterion(judges[member]).items()
        for vote in _votes(group, chosen, (called, criterion, member, place), min_valid)
    ]
    return PanelVotes(name=called, members=tuple(members), member_rule=chosen.name, rows=tuple(votes))


def _votes(
    rows: Sequence[VerdictRow], chosen: Rule, place: tuple[str, str, str, int], min_valid: int | None
) -> Iterator[VerdictRow]:
    name, criterion, member, number = place
    for case in case_decisions(rows, chosen, min_valid=min_valid):
        stood = case.decision.status == "decided"
        yield VerdictRow(
            run="",  # members may have judged in runs of their own
            case_id=case.case_id,
            judge=name,
            criterion=criterion,
            repetition=number,
            verdict=case.decision.verdict if stood else None,
            outcome="ok" if stood else "unparsed",
            gold=case.gold,
            reasoning=case.decision.reason,
            attributes=_of_case(case.rows[0].attributes) | {MEMBER: member},
        )


def _of_case(attributes: Mapping[str, str | float]) -> dict[str, str | float]:
    """Return attributes without what they say of samples."""
    return {name: value for name, value in attributes.items() if name not in (PLANNED_SAMPLES, REUSED_FROM)}


def panel_errors(votes: PanelVotes, criterion: str) -> Panel:
    """Return how alike the members err about one criterion, and what their majority is worth; see `ranking.Panel`.

    Raises:
        UnknownNameError: there is no such criterion.
        UsageError: no case has a gold label.

    """
    import numpy as np  # noqa: PLC0415 - with the next, what few replays pay for

    from judgeharness_integrations.analysis.ranking.credits import Credits  # noqa: PLC0415
    from judgeharness_integrations.analysis.ranking.panels import panels  # noqa: PLC0415

    mine = [row for row in votes.rows if row.criterion == criterion]
    if not mine:
        raise UnknownNameError("criterion", criterion, {row.criterion for row in votes.rows})
    right = _right(mine)
    if not right:
        raise UsageError(f"no decision about {criterion!r} has a gold label: how alike members err is not known.")
    cases = tuple(dict.fromkeys(case for case, _ in right))
    values = [[right.get((case, member), np.nan) for member in votes.members] for case in cases]
    clusters, numbers = Clusters.of_rows(mine), dict[Any, int]()
    keys = [numbers.setdefault(clusters.of(case), len(numbers)) for case in cases]
    matrix = Credits(judges=votes.members, pairs=cases, values=np.array(values, dtype=float))
    return panels(matrix, clusters=np.array(keys, dtype=np.intp))[-1]


def _right(rows: Sequence[VerdictRow]) -> Mapping[tuple[str, str], float]:
    """Return (case, member) -> 1 where its decision is that of people, else 0; decisions with a gold label alone."""
    decided = [
        (row.case_id, str(row.attributes[MEMBER]), row.verdict, row.gold)
        for row in rows
        if row.verdict is not None and row.gold is not None
    ]
    read = read_golds((gold for *_, gold in decided), (verdict for *_, verdict, _ in decided))
    return {
        (case_id, member): float(read[gold] == verdict)
        for case_id, member, verdict, gold in decided
        if read[gold] is not None
    }
