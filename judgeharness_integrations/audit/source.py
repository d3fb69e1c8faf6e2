"""What the audit page shows and where a label goes: the seam between the page and what is labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from judgeharness_integrations.benchmark.pair import (
    Behaviour,
    Chunk,
    Claim,
    FailureType,
    Pair,
    RoundPlan,
    Side,
    Taxonomy,
    Turn,
    Which,
)
from judgeharness_integrations.benchmark.results.judgments import (
    CRITERIA,
    FLAWED,
    SCORE,
    TURN,
    TYPE,
    JointCell,
    Mode,
    gold_of,
    side_gold,
    turn_label,
)
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

__all__ = [
    "Answering",
    "AuditSource",
    "CaseView",
    "Choice",
    "CriterionAnswer",
    "Disputed",
    "Fact",
    "Item",
    "JudgeAnswer",
    "PairView",
    "PlannedRound",
    "Progress",
    "SideView",
    "Tone",
    "TurnView",
    "judge_answers",
]

Tone: TypeAlias = Literal["good", "warn", "bad", "plain"]
_CRITERIA: dict[Mode, tuple[str, ...]] = {"pairwise": CRITERIA, "pointwise": (SCORE, FLAWED, TURN, TYPE)}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One label: `value` is what is kept, `key` the one character that gives it, `name` what the button says.

    A source takes keys from `1` to `9` in the order of its choices; `alias` is a second key, a letter of the name.
    """

    value: str
    key: str
    name: str
    definition: str = ""
    alias: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, kw_only=True)
class Answering:
    """What may be said about one item.

    `one` of the choices, `several` of them (kept as one text, joined by `; `), a `number` between `low` and `high`
    where they are given, or any short `text`.
    """

    kind: Literal["one", "several", "number", "text"] = "one"
    choices: tuple[Choice, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing to label, as the list shows it.

    Args:
        item_id: any text; it stands in addresses, so that of a blind source tells nothing.
        title: what people see instead.
        columns: name -> value, of those that `AuditSource.filters` name and others that are only shown.
        judged: further columns, of what judges said; `AuditSource.blind_orders` keep them back.
        telling: names of `columns` that tell what is to be found: shown once it has a label.
        label: what the annotator said last, None when nothing or when it was taken back.
        note: the annotator's, beside the label.
        due: it is the annotator's to label; others can be looked at and labelled too.

    """

    item_id: str
    title: str
    columns: Mapping[str, str] = field(default_factory=dict)
    judged: Mapping[str, str] = field(default_factory=dict)
    telling: tuple[str, ...] = ()
    label: str | None = None
    note: str = ""
    due: bool = True


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A line above the list, as (`noise rate`, `6.7 % [2.1, 16.8]`, `4 of 60 of the uniform sample`)."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the annotator is: `labelled` of the `items` that are due, how often each label was given at all."""

    labelled: int
    items: int
    counts: Mapping[str, int] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CaseView:
    """A plain case: what is asked, and (heading, text) of what is read, without judge and author.

    `side_by_side` headings are those of two answers that are compared.
    """

    question: str
    description: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    side_by_side: tuple[str, ...] = ()


class AuditSource(Protocol):
    """What is labelled by one annotator. The page calls it from one thread at a time.

    `items`, `ordered` and `progress` say what stands in the files at that moment: another tab may have labelled.
    """

    @property
    def kind(self) -> Literal["pairs", "cases"]:
        """Which pages an item has: `views` gives a `PairView` or a `CaseView`."""
        ...

    @property
    def title(self) -> str:
        """What is labelled, in a few words: the folder's name."""
        ...

    @property
    def annotator(self) -> str:
        """Who labels."""
        ...

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The labels of all items, defined on the list; empty where items differ or take numbers."""
        ...

    @property
    def filters(self) -> tuple[str, ...]:
        """The columns of items by which the list can be filtered."""
        ...

    @property
    def orders(self) -> tuple[str, ...]:
        """Names of the orders of items; the first is the one people begin with."""
        ...

    @property
    def blind_orders(self) -> tuple[str, ...]:
        """Those of the orders in which nothing of what judges said is shown of an item without a label."""
        ...

    def items(self) -> Sequence[Item]:
        """Return every item, each once."""
        ...

    def ordered(self, order: str) -> Sequence[str]:
        """Return the ids of all items in an order of `orders`."""
        ...

    def answering(self, item_id: str) -> Answering:
        """Return what may be said about an item that there is."""
        ...

    def views(self, item_id: str) -> PairView | CaseView:
        """Return what the pages of an item that there is show."""
        ...

    def label(self, item_id: str, value: str | None, note: str) -> None:
        """Keep a label that `answering` allows, or take the last one back; it is in the file when this returns.

        Raises:
            UsageError: it cannot be kept after all; the sentence is shown.

        """
        ...

    def progress(self) -> Progress:
        """Return how far the annotator is."""
        ...


@dataclass(frozen=True, kw_only=True)
class TurnView:
    """A turn of one side; `flawed` is the declared flaw, `claims` what grounding decided about it."""

    turn: Turn
    flawed: bool
    claims: tuple[Claim, ...] = ()

    @property
    def ungrounded(self) -> int:
        """How many of its claims are not grounded."""
        return sum(claim.grounded is not True for claim in self.claims)


@dataclass(frozen=True, kw_only=True)
class SideView:
    """One conversation, on the side where judges see it."""

    side: Side
    role: Which
    turns: tuple[TurnView, ...]


@dataclass(frozen=True, kw_only=True)
class PlannedRound:
    """What both plans say about one round; None where a plan has no such round."""

    round: int
    better: RoundPlan | None
    worse: RoundPlan | None
    flawed: bool


@dataclass(frozen=True, kw_only=True)
class Disputed:
    """One round for the check of facts: what was said on both sides, and the chunks that it should rest on.

    `named_by`: judges that name this round as the flawed one. `passages`: words of the chunks that a verifier named.
    """

    round: int
    flawed: bool
    sides: tuple[tuple[SideView, TurnView], ...]
    cited: tuple[str, ...]
    passages: tuple[str, ...]
    named_by: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CriterionAnswer:
    """What an answer says about one criterion; `correct` is None where there is no gold or nothing was said."""

    criterion: str
    text: str | None
    correct: bool | None


@dataclass(frozen=True, kw_only=True)
class JudgeAnswer:
    """One answer of one judge, about both conversations (`side` None) or about the one on `side`.

    `joint`: verdict, turn and type are right all three, None for an answer about one conversation; an answer that
    could not be read is not. `problem` says why nothing was read.
    """

    judge: str
    mode: Mode
    side: Side | None
    probe: str
    said: tuple[CriterionAnswer, ...]
    joint: bool | None
    reasoning: str | None
    raw: str | None
    problem: str | None

    def of(self, criterion: str) -> CriterionAnswer | None:
        """Return what it says about a criterion."""
        return next((said for said in self.said if said.criterion == criterion), None)


@dataclass(frozen=True, kw_only=True)
class PairView:
    """Everything that is known of one pair.

    `titles` are of its documents, `chunks` those both conversations may draw on, in their order. `answers` are what
    judges said one by one, `decided` what each of them decided about both conversations by its own answers; both are
    empty where they are kept back (`without_judges`).
    """

    pair: Pair
    failure_type: FailureType | None
    behaviour: Behaviour | None
    titles: Mapping[str, str]
    chunks: Mapping[str, Chunk]
    answers: tuple[JudgeAnswer, ...] = ()
    decided: Mapping[str, JointCell] = field(default_factory=dict)
    kept_back: bool = False

    @classmethod
    def of(
        cls,
        pair: Pair,
        *,
        taxonomy: Taxonomy,
        titles: Mapping[str, str],
        chunks: Mapping[str, Chunk],
        rows: Iterable[VerdictRow] = (),
        decided: Mapping[str, JointCell] | None = None,
    ) -> PairView:
        """Return the view of a pair.

        Args:
            pair: the pair.
            taxonomy: of its benchmark.
            titles: document id -> title, of all documents.
            chunks: chunk id -> chunk, of all documents.
            rows: of any judges about any pairs.
            decided: judge -> what it decided about this pair.

        """
        wanted = [chunk_id for chunk_id in pair.conditions.chunks if chunk_id in chunks]
        return cls(
            pair=pair,
            failure_type=taxonomy.failure_types.get(pair.conditions.failure_type),
            behaviour=taxonomy.behaviours.get(pair.conditions.behaviour),
            titles={name: titles.get(name, name) for name in pair.conditions.documents},
            chunks={chunk_id: chunks[chunk_id] for chunk_id in wanted},
            answers=judge_answers(rows, pair),
            decided=dict(decided or {}),
        )

    def without_judges(self) -> PairView:
        """Return the view of somebody who is not to be told what judges said, not even whether they said anything."""
        return replace(self, answers=(), decided={}, kept_back=True)

    @property
    def sides(self) -> tuple[SideView, ...]:
        """Conversation A and B; none where they were never written."""
        return tuple(self._side(side) for side in ("A", "B")) if self.pair.conversations else ()

    @property
    def plans(self) -> tuple[PlannedRound, ...]:
        """Both plans round by round."""
        if self.pair.blueprints is None:
            return ()
        better = {plan.round: plan for plan in self.pair.blueprints.better.rounds}
        worse = {plan.round: plan for plan in self.pair.blueprints.worse.rounds}
        flawed = self.pair.conditions.flawed_round
        return tuple(
            PlannedRound(round=number, better=better.get(number), worse=worse.get(number), flawed=number == flawed)
            for number in sorted(better.keys() | worse.keys())
        )

    @property
    def pairwise(self) -> tuple[JudgeAnswer, ...]:
        """Answers about both conversations."""
        return tuple(answer for answer in self.answers if answer.mode == "pairwise")

    @property
    def pointwise(self) -> tuple[JudgeAnswer, ...]:
        """Answers about one conversation at a time."""
        return tuple(answer for answer in self.answers if answer.mode == "pointwise")

    @property
    def rounds(self) -> tuple[int, ...]:
        """Every round that is written on either side."""
        return tuple(sorted({view.turn.round for side in self.sides for view in side.turns}))

    @property
    def named(self) -> Mapping[int, int]:
        """Round -> how many judges name it as the flawed one."""
        return Counter(number for number in self.rounds for _ in self._named_by(number))

    def disputed(self, number: int) -> Disputed:
        """Return a round for the check of facts."""
        sides = tuple((side, view) for side in self.sides for view in side.turns if view.turn.round == number)
        claims = [claim for _, view in sides for claim in view.claims]
        plans = [plan for row in self.plans if row.round == number for plan in (row.better, row.worse)]
        cited = [part.chunk or "" for part in (*plans, *claims) if part is not None]
        return Disputed(
            round=number,
            flawed=number == self.pair.conditions.flawed_round,
            sides=sides,
            cited=tuple(dict.fromkeys(chunk for chunk in cited if chunk in self.chunks)),
            passages=tuple(claim.evidence for claim in claims if claim.evidence and claim.evidence_found),
            named_by=self._named_by(number),
        )

    def _named_by(self, number: int) -> tuple[str, ...]:
        named = (answer.judge for answer in self.answers if _names(answer, number))
        return tuple(dict.fromkeys(named))

    def _side(self, side: Side) -> SideView:
        role: Which = "better" if side == self.pair.conditions.better else "worse"
        conversation = self.pair.conversation(side)
        turns: Sequence[Turn] = conversation.turns if conversation else ()
        claims = {
            grounding.round: grounding.claims
            for layer in self.pair.verification.layers
            for grounding in layer.turns
            if grounding.side == role
        }
        flawed = self.pair.conditions.flawed_round if role == "worse" else None
        return SideView(
            side=side,
            role=role,
            turns=tuple(
                TurnView(turn=turn, flawed=turn.round == flawed, claims=claims.get(turn.round, ())) for turn in turns
            ),
        )


def judge_answers(rows: Iterable[VerdictRow], pair: Pair) -> tuple[JudgeAnswer, ...]:
    """Return the answers about a pair, by judge, pairwise ones first; rows of other pairs are left out."""
    calls: dict[tuple[str, int, str, str, int], list[VerdictRow]] = {}
    for row in rows:
        pair_id, _, side = row.case_id.rpartition("/") if row.case_id != pair.pair_id else (row.case_id, "", "")
        if pair_id == pair.pair_id and side in ("", "A", "B"):
            key = (row.judge, int(bool(side)), side, row.perturbation, row.repetition)
            calls.setdefault(key, []).append(row)
    return tuple(_answer(calls[key], pair) for key in sorted(calls))


def _names(answer: JudgeAnswer, number: int) -> bool:
    said = answer.of("turn")
    return said is not None and said.text == turn_label(number)


def _answer(rows: Sequence[VerdictRow], pair: Pair) -> JudgeAnswer:
    first = rows[0]
    side: Side | None = None if first.case_id == pair.pair_id else "A" if first.case_id.endswith("/A") else "B"
    mode: Mode = "pairwise" if side is None else "pointwise"
    gold = gold_of(pair) if side is None else side_gold(pair, side)
    by_name = {row.criterion: row for row in rows}
    said = tuple(_criterion_answer(name, by_name.get(name), gold.get(name)) for name in _CRITERIA[mode])
    failed = next((row for row in rows if row.outcome != "ok"), None)
    return JudgeAnswer(
        judge=first.judge,
        mode=mode,
        side=side,
        probe=_probe(first),
        said=said,
        joint=all(one.correct is True for one in said) if mode == "pairwise" else None,
        reasoning=next((row.reasoning for row in rows if row.reasoning), None),
        raw=next((row.raw for row in rows if row.raw), None),
        problem=None if failed is None else _problem(failed, all_of_it=all(row.outcome != "ok" for row in rows)),
    )


def _criterion_answer(name: str, row: VerdictRow | None, gold: str | None) -> CriterionAnswer:
    if row is None or row.verdict is None:
        return CriterionAnswer(criterion=name, text=None, correct=None)
    text = verdict_text(row.verdict)
    return CriterionAnswer(criterion=name, text=text, correct=None if gold is None else text == gold)


def _problem(row: VerdictRow, *, all_of_it: bool) -> str:
    about = "" if all_of_it else f" ({row.criterion})"
    return f"{row.outcome}{about}" + (f": {row.error}" if row.error else "")


def _probe(row: VerdictRow) -> str:
    """Return which of a judge's answers it is, in words; empty for the plain first one."""
    parts = [] if row.perturbation == "none" else [row.perturbation.replace("_", " ")]
    return ", ".join([*parts, *([f"repetition {row.repetition + 1}"] if row.repetition else [])])
