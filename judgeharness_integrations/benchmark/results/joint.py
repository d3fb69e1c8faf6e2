"""Who was right about what: judges x pairs, under the rule a run was asked by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from judgeharness_integrations.benchmark.results.joining import CRITERIA
from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.correctness.building import decisions_of
from judgeharness_integrations.ranking.correctness.codes import ABSTAINED, FAILED, NOT_ASKED
from judgeharness_integrations.ranking.correctness.crediting import credits_of
from judgeharness_integrations.ranking.correctness.decisions import CriterionDecisions, Decisions
from judgeharness_integrations.ranking.correctness.policy import Policy
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["JointCell", "JointTable", "OrderRule", "Said", "SaidStatus", "in_one_order", "joint_table", "order_rule"]

SaidStatus: TypeAlias = Literal["decided", "abstained", "failed", "not_asked"]
OrderRule: TypeAlias = Literal["one_order", "both_orders"]

_STATUS: dict[int, SaidStatus] = {ABSTAINED: "abstained", FAILED: "failed", NOT_ASKED: "not_asked"}


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a judge decided about one criterion of a pair; `label` is None unless it decided.

    `correct` is None where it was not asked; abstained and failed are wrong.
    """

    label: str | None
    status: SaidStatus
    correct: bool | None


@dataclass(frozen=True, kw_only=True)
class JointCell:
    """One judge on one pair. `joint`: right about verdict, turn and type at once; None where that cannot be told yet.

    It cannot where nothing was answered, or an order that the rule needs is missing.
    """

    verdict: Said
    turn: Said
    type: Said
    joint: bool | None


@dataclass(frozen=True, kw_only=True)
class JointTable:
    """Judges x pairs under a rule, see `order_rule`.

    `cells`: (judge, pair id) -> cell, of those that were asked.
    """

    judges: tuple[str, ...]
    pairs: tuple[str, ...]
    rule: str
    cells: Mapping[tuple[str, str], JointCell]

    def cell(self, judge: str, pair_id: str) -> JointCell | None:
        """Return what a judge said of a pair; None where it was not asked."""
        return self.cells.get((judge, pair_id))

    def joint(self, judge: str, pair_id: str) -> bool | None:
        """Whether a judge was right about verdict, turn and type of a pair; None where it was not asked."""
        cell = self.cell(judge, pair_id)
        return None if cell is None else cell.joint

    def matrix(self) -> dict[str, dict[str, bool]]:
        """Return judge -> pair id -> whether it was right about everything, of the pairs for which that is known."""
        return {
            judge: {pair: found for pair in self.pairs if (found := self.joint(judge, pair)) is not None}
            for judge in self.judges
        }


def in_one_order(rows: Iterable[VerdictRow]) -> tuple[str, ...]:
    """Return the judges that were shown pairs in one order alone, sorted."""
    asked: dict[str, bool] = {}
    for row in rows:
        asked[row.judge] = asked.get(row.judge, False) or row.swapped
    return tuple(sorted(judge for judge, both in asked.items() if not both))


def order_rule(rows: Iterable[VerdictRow]) -> OrderRule:
    """Return the rule all judges of some rows can be measured by: that of both orders needs both of each of them."""
    mine = list(rows)
    return "both_orders" if mine and not in_one_order(mine) else "one_order"


def joint_table(rows: Iterable[VerdictRow], *, rule: str | None = None) -> JointTable:
    """Fold rows of pairs, with gold, into who was right about what.

    Strict: no decision, a failed answer and a criterion that was left out are wrong.

    Args:
        rows: one row an answer about a pair (`joining.joined`).
        rule: `both_orders` or `one_order`; what all of their judges can be measured by when None.

    Raises:
        UsageError: a pair was judged in several runs, or has two gold labels.

    """
    mine = [row for row in rows if row.criterion in CRITERIA]
    rule = rule or order_rule(mine)
    if not mine:
        return JointTable(judges=(), pairs=(), rule=rule, cells={})
    decisions = decisions_of(mine, Policy.of(rule))
    said = {name: _said(decisions, name) for name in CRITERIA}
    joint = _joint(decisions)
    cells = {
        (judge, pair): JointCell(
            verdict=said["verdict"][place][column],
            turn=said["turn"][place][column],
            type=said["type"][place][column],
            joint=None if np.isnan(joint[place, column]) else bool(joint[place, column] == 1),
        )
        for place, pair in enumerate(decisions.pairs)
        for column, judge in enumerate(decisions.judges)
        if _asked(decisions, place, column)
    }
    return JointTable(judges=decisions.judges, pairs=decisions.pairs, rule=rule, cells=cells)


def _said(decisions: Decisions, criterion: str) -> list[list[Said]]:
    """Return pairs x judges of a criterion."""
    entry = decisions.criteria.get(criterion)
    if entry is None:
        missing = Said(label=None, status="not_asked", correct=None)
        return [[missing] * len(decisions.judges) for _ in decisions.pairs]
    credit = entry.credit(entry.codes, decisions.policy)
    return [
        [_one(entry, int(code), float(credit[place, column])) for column, code in enumerate(codes)]
        for place, codes in enumerate(entry.codes)
    ]


def _one(entry: CriterionDecisions, code: int, credit: float) -> Said:
    return Said(
        label=entry.labels[code] if code >= 0 else None,
        status=_STATUS.get(code, "decided"),
        correct=None if np.isnan(credit) else credit == 1,
    )


def _joint(decisions: Decisions) -> Floats:
    """Return credits (pairs, judges), NaN without gold; a criterion that nobody ever answered is wrong everywhere."""
    known = [name for name in CRITERIA if name in decisions.criteria]
    found = credits_of(decisions, known)
    values = np.full((len(decisions.pairs), len(decisions.judges)), np.nan)
    labelled = {*found.pairs}
    values[[pair in labelled for pair in decisions.pairs]] = found.values
    return values if len(known) == len(CRITERIA) else values * 0  # not asked stays so


def _asked(decisions: Decisions, place: int, column: int) -> bool:
    return any(bool((entry.orders[:, place, column] != NOT_ASKED).any()) for entry in decisions.criteria.values())
