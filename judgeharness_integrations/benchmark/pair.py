"""A pair: two conversations on the same documents, one with a single flaw in one turn, and what was checked of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from judgeharness_integrations.benchmark.conditions import Conditions, Side
from judgeharness_integrations.benchmark.records import Record

__all__ = [
    "LAYERS",
    "Blueprint",
    "Blueprints",
    "Claim",
    "Conversation",
    "Conversations",
    "Layer",
    "LayerResult",
    "LayerStatus",
    "Pair",
    "PairState",
    "RoundPlan",
    "Turn",
    "TurnGrounding",
    "Verification",
]

Layer: TypeAlias = Literal["form", "coherence", "adherence", "grounding"]
LayerStatus: TypeAlias = Literal["passed", "failed", "unread", "not_run"]
PairState: TypeAlias = Literal["accepted", "rejected", "unverified"]

LAYERS: tuple[Layer, ...] = ("form", "coherence", "adherence", "grounding")


class RoundPlan(Record):
    """One round of a blueprint: what the user asks, the chunk it draws on, and what the assistant answers."""

    round: int = Field(ge=1)
    user: str
    chunk: str | None = None
    assistant: str


class Blueprint(Record):
    """A plan of one conversation. `sketch`: how the flaw will show, or how the better one handles the same pressure."""

    rounds: tuple[RoundPlan, ...]
    sketch: str


class Blueprints(Record):
    """The plans of both conversations."""

    better: Blueprint
    worse: Blueprint

    @property
    def in_rounds(self) -> bool:
        """Whether they say what happens in each round; those of a pair from elsewhere may be texts alone."""
        return bool(self.better.rounds or self.worse.rounds)


class Turn(Record):
    """One round of a conversation, 1-based."""

    round: int = Field(ge=1)
    user: str
    assistant: str


class Conversation(Record):
    """A conversation, round by round."""

    turns: tuple[Turn, ...]

    def text(self) -> str:
        """Return it as judges read it: `[Round 1] User: ...`, `[Round 1] Assistant: ...`."""
        said = (
            f"[Round {turn.round}] User: {turn.user}\n\n[Round {turn.round}] Assistant: {turn.assistant}"
            for turn in self.turns
        )
        return "\n\n".join(said)


class Conversations(Record):
    """Both conversations."""

    better: Conversation
    worse: Conversation


class Claim(Record):
    """An atomic claim of a turn, and what the verifier decided about it.

    `grounded` None: it was shown the claim and did not decide, which counts as not grounded. `evidence`: the words of
    the documents it named; `evidence_found`: whether they stand there, None without any.
    """

    claim_id: str
    text: str
    grounded: bool | None = None
    chunk: str | None = None
    evidence: str | None = None
    evidence_found: bool | None = None
    reason: str | None = None


class TurnGrounding(Record):
    """The claims of one assistant turn. `share` grounded is None for a turn without claims."""

    side: Literal["better", "worse"]
    round: int = Field(ge=1)
    claims: tuple[Claim, ...]

    @property
    def share(self) -> float | None:
        """Share of the claims that are grounded."""
        return sum(claim.grounded is True for claim in self.claims) / len(self.claims) if self.claims else None


class LayerResult(Record):
    """What one layer said: `reasons` for a failure or an unread answer, `counts` of what it looked at.

    `turns` are grounding's. `not_run`: an earlier layer failed, or there was no verifier.
    """

    layer: Layer
    status: LayerStatus
    reasons: tuple[str, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    turns: tuple[TurnGrounding, ...] = ()


class Verification(Record):
    """The layers in their order, by whom (None: nobody yet) and how much of a turn had to be grounded."""

    verifier: str | None = None
    min_grounded: float = Field(default=1.0, ge=0, le=1)
    layers: tuple[LayerResult, ...] = ()

    @property
    def failed(self) -> LayerResult | None:
        """The layer that failed."""
        return next((result for result in self.layers if result.status == "failed"), None)


class Pair(Record):
    """One line of `pairs.jsonl`.

    `blueprints` and `conversations` are None as far as the pair did not come. `generator` wrote it.
    """

    schema_: Literal["judgeharness.benchmark_pair/1"] = Field(default="judgeharness.benchmark_pair/1", alias="schema")
    conditions: Conditions
    generator: str
    blueprints: Blueprints | None = None
    conversations: Conversations | None = None
    verification: Verification = Verification()

    @property
    def pair_id(self) -> str:
        """The pair's id."""
        return self.conditions.pair_id

    @property
    def state(self) -> PairState:
        """`rejected` by a layer, `accepted` by all of them, else `unverified`."""
        if self.verification.failed is not None:
            return "rejected"
        passed = [result.layer for result in self.verification.layers if result.status == "passed"]
        return "accepted" if tuple(passed) == LAYERS else "unverified"

    @property
    def worse_side(self) -> Side:
        """The side that has the flaw."""
        return "B" if self.conditions.better == "A" else "A"

    def conversation(self, side: Side) -> Conversation | None:
        """Return the conversation of a side."""
        if self.conversations is None:
            return None
        return self.conversations.better if side == self.conditions.better else self.conversations.worse
