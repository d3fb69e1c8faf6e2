"""What the pages of one pair show: its conditions, plans, conversations, checks and judges, beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from judgeharness_integrations.audit.judgesaid import JudgeAnswer, judge_answers
from judgeharness_integrations.benchmark.conditions import Side
from judgeharness_integrations.benchmark.documents.document import Chunk
from judgeharness_integrations.benchmark.pair import Claim, Pair, RoundPlan, Turn
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Behaviour, FailureType, Taxonomy
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.benchmark.results.joint import JointCell

__all__ = ["Disputed", "PairView", "PlannedRound", "Role", "SideView", "TurnView"]

Role: TypeAlias = Literal["better", "worse"]


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
    role: Role
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
        role: Role = "better" if side == self.pair.conditions.better else "worse"
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


def _names(answer: JudgeAnswer, number: int) -> bool:
    said = answer.of("turn")
    return said is not None and said.text == f"turn {number}"
