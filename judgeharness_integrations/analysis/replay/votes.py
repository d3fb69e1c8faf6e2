"""Several judges of a log as one: each member's decision is a vote, and a rule folds the votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations._lazy import renderer
from judgeharness_integrations.verdictlog.encoding import REUSED_FROM
from judgeharness_integrations.verdictlog.row import VerdictRow

from ..aggregation.cases import case_decisions
from ..aggregation.grouping import by_criterion
from ..aggregation.rules import PLANNED_SAMPLES, Rule, RuleLike, rule
from ..spending import Prices
from .replaying import refuse_several_runs, rows_of_judges

__all__ = ["MEMBER", "PanelVotes", "panel_votes"]

FEWEST: Final = 2  # members
MEMBER: Final = "member"  # the attribute of a vote that names the judge whose decision it is
_EITHER: Final = "majority | median"


@dataclass(frozen=True, kw_only=True)
class PanelVotes:
    """The votes of a panel as rows of a judge of its own, which every other measurement reads as it reads any judge.

    A vote is a member's decision about a case and criterion, its repetition the member's place. A member that abstained
    is an answer without a verdict, one that was not graded has failed: both count in the shares of a rule, and for
    nobody. Only too few graded members make a case not graded. What members cost stands in their own rows.
    """

    name: str
    members: tuple[str, ...]
    member_rule: str
    rows: tuple[VerdictRow, ...]

    def record(self, rule: RuleLike, *, asked: Iterable[VerdictRow], prices: Prices | None = None) -> dict[str, Any]:
        """Return the panel under a rule over its members, as documents keep it.

        Args:
            rule: what folds the votes.
            asked: the rows of the log, which say what each member cost.
            prices: of a million tokens, by model.

        """
        document: dict[str, Any] = renderer(self, "document")(self, rule, asked=asked, prices=prices)
        return document


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
        status = case.decision.status
        yield VerdictRow(
            run="",  # members may have judged in runs of their own
            case_id=case.case_id,
            judge=name,
            criterion=criterion,
            repetition=number,
            verdict=case.decision.verdict if status == "decided" else None,
            outcome="unparsed" if status == "not_graded" else "ok",
            gold=case.gold,
            reasoning=case.decision.reason,
            attributes=_of_case(case.rows[0].attributes) | {MEMBER: member},
        )


def _of_case(attributes: Mapping[str, str | float]) -> dict[str, str | float]:
    """Return attributes without what they say of samples."""
    return {name: value for name, value in attributes.items() if name not in (PLANNED_SAMPLES, REUSED_FROM)}
