"""Rows about pairs, joined with what is known of them; what each judge decided, and who was right about what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field

from judgeharness_integrations.analysis.ranking.correctness import (
    ABSTAINED,
    FAILED,
    NOT_ASKED,
    CriterionDecisions,
    Decisions,
    Floats,
    Policy,
    credits_of,
    decisions_of,
)
from judgeharness_integrations.analysis.statistics.proportions import wilson
from judgeharness_integrations.analysis.usage import known_sum
from judgeharness_integrations.verdictlog.row import EXCHANGED, Outcome, Verdict, VerdictRow, is_number

from ..pair import Pair, Record, Side

VERDICT: Final = "verdict"
TURN: Final = "turn"
TYPE: Final = "type"
SCORE: Final = "score"
FLAWED: Final = "flawed"
SOUND: Final = "sound"
NONE: Final = "none"  # the turn and the type of a conversation without a flaw
CRITERIA: Final = (VERDICT, TURN, TYPE)
GROUPS: Final = ("domain", "failure_type", "behaviour", "n_rounds", "flawed_round", "better")
AUDIT: Final = "audit"
NOISE: Final = "noise"
AMBIGUOUS: Final = "ambiguous"
_TIE: Final = "TIE"
_FAILURES: Final[tuple[Outcome, ...]] = ("error", "refused", "unparsed")  # the worst one first
_OF_A_SIDE: Final = frozenset({"pair", "side", "length", "response_id", "cached", "warning"})
_SUMMED: Final = ("input_tokens", "output_tokens", "latency_s", "attempts")
_Call: TypeAlias = Mapping[str, VerdictRow]  # criterion -> what one call said about it
_Place: TypeAlias = tuple[str, str, str, str, int]
Mode: TypeAlias = Literal["pairwise", "pointwise"]


def turn_label(number: int) -> str:
    """Return the label of a turn, 1-based: turns are names, not numbers to be averaged."""
    return f"turn {number}"


def gold_of(pair: Pair) -> dict[str, str]:
    """Return the right answer about each criterion of a pair."""
    conditions = pair.conditions
    return {VERDICT: conditions.better, TURN: turn_label(conditions.flawed_round), TYPE: conditions.failure_type}


def side_gold(pair: Pair, side: Side) -> dict[str, str]:
    """Return the right answer about each criterion of one conversation but its score, of which there is none."""
    if side == pair.worse_side:
        gold = gold_of(pair)
        return {FLAWED: FLAWED, TURN: gold[TURN], TYPE: gold[TYPE]}
    return {FLAWED: SOUND, TURN: NONE, TYPE: NONE}


def attributes_of(pair: Pair) -> dict[str, str | float]:
    """Return what is known of a pair: what it was drawn with, and who wrote it."""
    conditions = pair.conditions
    return {
        "domain": conditions.domain,
        "failure_type": conditions.failure_type,
        "behaviour": conditions.behaviour,
        "n_rounds": conditions.n_rounds,
        "flawed_round": conditions.flawed_round,
        "better": conditions.better,
        "generator": pair.generator,
    }


def joined(
    rows: Iterable[VerdictRow], pairs: Iterable[Pair], *, audit: Mapping[str, str | None] | None = None
) -> list[VerdictRow]:
    """Return the rows about some pairs with their columns and gold, in an order that says nothing of when they came.

    A call that failed (outcome `error`) is no answer, and is left out: it is asked again.

    Args:
        rows: of judges, a case a pair; those about other pairs are left out.
        pairs: that count.
        audit: pair id -> what people agreed on, None where they did not; None where nobody looked at any pair. It
            becomes the column `audit`, and `noise` is 1 for pairs people found to be noise and 0 for the others.

    """
    known = {pair.pair_id: pair for pair in pairs}
    columns = {name: _columns_of(pair) | _audit_attributes(name, audit) for name, pair in known.items()}
    gold = {name: gold_of(pair) for name, pair in known.items()}
    mine = [
        replace(
            row,
            attributes={**row.attributes, **columns[row.case_id]},
            gold=gold[row.case_id].get(row.criterion, row.gold),
        )
        for row in _counting(rows, known)
    ]
    return _in_order(mine, known)


def judged_rows(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> list[VerdictRow]:
    """Return what `joined` does without what nobody is right or wrong by: neither columns nor what judges wrote.

    Args:
        rows: of judges, a case a pair; those about other pairs are left out.
        pairs: pair id -> pair, of those that count.

    """
    gold = {name: gold_of(pair) for name, pair in pairs.items()}
    mine = [
        VerdictRow(
            case_id=one.case_id,
            verdict=one.verdict,
            run=one.run,
            judge=one.judge,
            criterion=one.criterion,
            perturbation=one.perturbation,
            repetition=one.repetition,
            swapped=one.swapped,
            outcome=one.outcome,
            gold=gold[one.case_id].get(one.criterion, one.gold),
        )
        for one in _counting(rows, pairs)
    ]
    return _in_order(mine, pairs)


@dataclass(frozen=True, kw_only=True)
class _Answered:
    """One answer about a pair, made of the answers about its sides."""

    verdict: Verdict | None = None
    outcome: Outcome = "ok"
    reasoning: str | None = None


def pair_rows(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return what judges that scored single conversations said about pairs: verdict, turn and type.

    The verdict is the side with the higher score, TIE where both are equal. Turn and type are those named for the side
    with the lower score; under a tie those of the one side that was called flawed, and `none` where both or neither
    were: that was read, and points to no flaw. A side whose answer failed makes what rests on it fail the same way.
    What both calls took stands on the verdict.

    Args:
        rows: of single conversations (`judges.side_case`), any judges, perturbations and repetitions.

    Returns:
        Rows of pairs both sides of which were asked, `case_id` the pair, gold that of the pair, in order of appearance.

    """
    places: dict[_Place, dict[Side, dict[str, VerdictRow]]] = {}
    for row in rows:
        place = (row.run, str(row.attributes["pair"]), row.judge, row.perturbation, row.repetition)
        side: Side = "A" if row.attributes["side"] == "A" else "B"
        places.setdefault(place, {}).setdefault(side, {})[row.criterion] = row
    return [made for place, sides in places.items() if len(sides) == len(EXCHANGED) for made in _of_pair(place, sides)]


def _columns_of(pair: Pair) -> dict[str, str | float]:
    """Return what a ranking may group or cluster pairs by, and who wrote both conversations."""
    documents = pair.conditions.documents
    mine = {"document": documents[0] if documents else "", "author": pair.generator, "author_b": pair.generator}
    return attributes_of(pair) | mine


def _counting(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> Iterator[VerdictRow]:
    """Yield the answers about the pairs."""
    return (row for row in rows if row.case_id in pairs and row.outcome != "error")


def _in_order(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> list[VerdictRow]:
    def place(row: VerdictRow) -> tuple[int, str, str, str, str, int]:
        number = pairs[row.case_id].conditions.number
        return (number, row.case_id, row.judge, row.criterion, row.perturbation, row.repetition)

    return sorted(rows, key=place)


def _audit_attributes(pair_id: str, audit: Mapping[str, str | None] | None) -> dict[str, str | float]:
    if audit is None:
        return {}
    label = audit.get(pair_id)
    found: dict[str, str | float] = {NOISE: "1" if label == NOISE else "0"}
    return found if label is None else found | {AUDIT: label}


def _of_pair(place: _Place, sides: Mapping[Side, _Call]) -> list[VerdictRow]:
    verdict = _verdict(sides)
    worse = _worse_side(sides, verdict)
    first = next(iter(sides["A"].values()))
    every = [row for side in sorted(sides) for row in sides[side].values()]
    shared: dict[str, Any] = {
        "case_id": place[1],
        "call_id": "/".join((*place[:4], str(place[4]))),
        "error": next((row.error for row in every if row.error is not None), None),
        "asked_at": min((row.asked_at for row in every if row.asked_at is not None), default=None),
        "attributes": {name: value for name, value in first.attributes.items() if name not in _OF_A_SIDE},
        "probe_hash": None,
        "raw": None,
        **dict.fromkeys(_SUMMED),
    }
    answers = {VERDICT: verdict, TURN: _named(sides, worse, TURN), TYPE: _named(sides, worse, TYPE)}
    gold = _gold(first)
    made = [
        replace(first, **shared, **vars(answer), criterion=name, gold=gold[name]) for name, answer in answers.items()
    ]
    took: dict[str, Any] = {name: known_sum(getattr(row, name) for row in every) for name in _SUMMED}
    return [replace(made[0], **took), *made[1:]]


def _gold(row: VerdictRow) -> dict[str, Verdict]:
    gold = row.attributes
    return {VERDICT: str(gold["better"]), TURN: turn_label(int(gold["flawed_round"])), TYPE: str(gold["failure_type"])}


def _verdict(sides: Mapping[Side, _Call]) -> _Answered:
    first, second = (sides[side].get(SCORE) for side in ("A", "B"))
    scores = [row.verdict for row in (first, second) if row is not None and is_number(row.verdict)]
    if len(scores) < len(EXCHANGED):
        return _Answered(outcome=_worst(first, second))
    a, b = float(scores[0]), float(scores[1])  # type: ignore[arg-type]
    return _Answered(verdict=_TIE if a == b else "A" if a > b else "B")


def _worst(*rows: VerdictRow | None) -> Outcome:
    """Return how the worse of two answers failed."""
    found: list[Outcome] = ["unparsed" if row is None or row.outcome == "ok" else row.outcome for row in rows]
    return min(found, key=_FAILURES.index)


def _worse_side(sides: Mapping[Side, _Call], verdict: _Answered) -> Side | _Answered:
    """Return the side that counts as the worse one, or how it cannot be told."""
    if verdict.verdict == "A":
        return "B"
    if verdict.verdict == "B":
        return "A"
    if verdict.verdict is None:
        return _Answered(outcome=verdict.outcome)
    flawed: list[Side] = [side for side, call in sides.items() if FLAWED in call and call[FLAWED].verdict == FLAWED]
    if len(flawed) == 1:
        return flawed[0]
    called = [call.get(FLAWED) for call in sides.values()]
    unread = [row for row in called if row is None or row.outcome != "ok"]
    return _Answered(outcome=_worst(*unread)) if unread else _Answered(verdict=NONE)


def _named(sides: Mapping[Side, _Call], worse: Side | _Answered, criterion: str) -> _Answered:
    if isinstance(worse, _Answered):
        return worse
    row = sides[worse].get(criterion)
    if row is None:
        return _Answered(outcome="unparsed")
    return _Answered(verdict=row.verdict, outcome=row.outcome, reasoning=row.reasoning)


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
    said = {name: _criterion_answers(decisions, name) for name in CRITERIA}
    joint = _joint(decisions)
    cells = {
        (judge, pair): JointCell(
            **{name: said[name][place][column] for name in CRITERIA},
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
                    said: dict[str, Any] = {}
                    for name in CRITERIA:
                        one: Said = getattr(cell, name)
                        said |= {name: one.label, f"{name}_status": one.status, f"{name}_correct": one.correct}
                    yield Judgment(pair_id=pair, judge=judge, mode=mode, rule=table.rule, joint=cell.joint, **said)


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
        return sum(judge.unanswered_calls for judge in self.judges)


def _criterion_answers(decisions: Decisions, criterion: str) -> list[list[Said]]:
    """Return pairs x judges of a criterion."""
    entry = decisions.criteria.get(criterion)
    if entry is None:
        missing = Said(label=None, status="not_asked", correct=None)
        return [[missing] * len(decisions.judges) for _ in decisions.pairs]
    credit = entry.credit(entry.codes, decisions.policy)
    return [
        [_answer(entry, int(code), float(credit[place, column])) for column, code in enumerate(codes)]
        for place, codes in enumerate(entry.codes)
    ]


def _answer(entry: CriterionDecisions, code: int, credit: float) -> Said:
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
