"""What each judge decided about each pair, who was right about what, and how judging went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field

from judgeharness_integrations.analysis.ranking.correctness import (
    ABSTAINED,
    FAILED,
    NOT_ASKED,
    CriterionDecisions,
    Decisions,
    Policy,
    credits_of,
    decisions_of,
)
from judgeharness_integrations.analysis.ranking.credits import Floats
from judgeharness_integrations.analysis.statistics.proportions import wilson
from judgeharness_integrations.benchmark.pair import Record
from judgeharness_integrations.benchmark.results.rows import CRITERIA, Mode
from judgeharness_integrations.verdictlog.row import VerdictRow

SaidStatus: TypeAlias = Literal["decided", "abstained", "failed", "not_asked"]
OrderRule: TypeAlias = Literal["one_order", "both_orders"]
_STATUS: dict[int, SaidStatus] = {ABSTAINED: "abstained", FAILED: "failed", NOT_ASKED: "not_asked"}
JUDGMENTS: Final = "judgments.jsonl"
Orders: TypeAlias = Literal["both", "one"]


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
        rows: one row an answer about a pair (`rows.joined`).
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


class Judgment(Record):
    """One line of `judgments.jsonl`: one judge on one pair, all its answers folded by `rule`.

    `verdict`, `turn` and `type` are None unless they were decided; the statuses say why. `joint`: right about all.
    """

    schema_: Literal["judgeharness.benchmark_judgment/1"] = Field(
        default="judgeharness.benchmark_judgment/1", alias="schema"
    )
    pair_id: str
    judge: str
    mode: Mode
    rule: str
    verdict: str | None
    verdict_status: SaidStatus
    verdict_correct: bool | None
    turn: str | None
    turn_status: SaidStatus
    turn_correct: bool | None
    type: str | None
    type_status: SaidStatus
    type_correct: bool | None
    joint: bool | None


def judgments_of(tables: Iterable[tuple[Mode, JointTable]]) -> Iterator[Judgment]:
    """Yield the judgments of tables, by mode, pair and judge."""
    for mode, table in tables:
        for pair in table.pairs:
            for judge in sorted(table.judges):
                cell = table.cell(judge, pair)
                if cell is not None:
                    yield Judgment(
                        pair_id=pair,
                        judge=judge,
                        mode=mode,
                        rule=table.rule,
                        verdict=cell.verdict.label,
                        verdict_status=cell.verdict.status,
                        verdict_correct=cell.verdict.correct,
                        turn=cell.turn.label,
                        turn_status=cell.turn.status,
                        turn_correct=cell.turn.correct,
                        type=cell.type.label,
                        type_status=cell.type.status,
                        type_correct=cell.type.correct,
                        joint=cell.joint,
                    )


class RightShare(Record):
    """Pairs a judge was right about, of those it answered about in full, with Wilson's 95 % interval; None of none."""

    right: int = Field(ge=0, description="Pairs it was right about; undecided, refused and unparsed ones are not.")
    of: int = Field(ge=0, description="Pairs about which every call was answered; failed calls are no answers.")
    low: float | None = Field(description="Lower end of the interval of the share.")
    high: float | None = Field(description="Upper end of the interval of the share.")

    @classmethod
    def over(cls, hits: Iterable[bool]) -> Self:
        """Return the share of hits."""
        found = list(hits)
        interval = wilson(sum(found), len(found))
        low, high = (None, None) if interval is None else interval
        return cls(right=sum(found), of=len(found), low=low, high=high)

    @property
    def share(self) -> float | None:
        """The share; None of none."""
        return self.right / self.of if self.of else None


class FailureKind(Record):
    """Calls that failed in one way."""

    outcome: str = Field(description="unparsed, refused or error.")
    error: str | None = Field(description="What was raised, where something was.")
    count: int = Field(ge=1, description="Calls.")


class Took(Record):
    """What the answers of a judge took, over all its calls in a mode; None: not all of them say."""

    calls: int = Field(ge=0, description="Calls that were made.")
    attempts: int | None = Field(description="Attempts at them, retries included.")
    input_tokens: int | None = Field(description="Tokens read.")
    output_tokens: int | None = Field(description="Tokens written.")
    cost: float | None = Field(description="Money, by the prices given; None without them.")
    cost_remarks: tuple[str, ...] = Field(
        default=(), description="Why the cost is not known, where it is the most it can be, whose prices it is by."
    )


class JudgeSummary(Record):
    """One judge in one mode, about the pairs it was to be asked about this time."""

    judge: str = Field(description="Its name.")
    mode: Mode = Field(description="Both conversations of a pair at once, or each by itself.")
    pairs: int = Field(ge=0, description="Pairs it is to be asked about.")
    planned_calls: int = Field(ge=0, description="Calls that takes.")
    unanswered_calls: int = Field(ge=0, description="Calls among them that failed, or were not made.")
    verdict: RightShare = Field(description="Right about which conversation is the better one.")
    turn: RightShare = Field(description="Right about the turn of the flaw.")
    type: RightShare = Field(description="Right about its type.")
    joint: RightShare = Field(description="Right about all three.")
    failures: tuple[FailureKind, ...] = Field(description="Calls without a usable answer, most frequent kind first.")
    took: Took = Field(description="What its answers took.")


class JudgeDocument(Record):
    """What one go of asking judges came to."""

    schema_: Literal["judgeharness.benchmark_judge/1"] = Field(
        default="judgeharness.benchmark_judge/1", alias="schema", description="Name and version of this format."
    )
    state: Literal["complete", "budget_exhausted", "interrupted", "judge_down"] = Field(description="How it ended.")
    budget_reason: str | None = Field(description="Why nothing more may be spent, where that ended it.")
    pairs: int = Field(ge=0, description="Pairs that could be judged, those outside the sample too.")
    states: tuple[str, ...] = Field(description="States of the pairs that could be.")
    sample: str | None = Field(description="File of the sample they were limited to.")
    fraction: float = Field(description="Share of them each judge is asked about.")
    seed: int = Field(description="Seed of that choice.")
    orders: Orders = Field(description="Whether pairs are shown in both orders.")
    repetitions: int = Field(ge=1, description="Times each is asked.")
    documents: bool = Field(description="Whether judges are shown the reference text.")
    rules: dict[str, str] = Field(description="Mode -> the rule its answers are folded by.")
    informal: bool = Field(description="Whether pairs were shown in one order only.")
    planned_calls: int = Field(ge=0, description="Calls planned.")
    whole_calls: int = Field(ge=0, description="Calls that asking every judge about every pair would take.")
    judges: tuple[JudgeSummary, ...] = Field(description="The judges, mode by mode.")

    @property
    def unanswered(self) -> int:
        """Calls that failed, or were not made."""
        return sum(one.unanswered_calls for one in self.judges)


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
