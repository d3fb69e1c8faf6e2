"""The fourth layer: does everything the assistant states outside the flawed turn stand in the documents?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from judgeharness_integrations.benchmark.asking.asker import Answer, Asker
from judgeharness_integrations.benchmark.generation.material import Material, Which
from judgeharness_integrations.benchmark.pair import Conversation, LayerResult, Pair, TurnGrounding
from judgeharness_integrations.benchmark.verification.claims import Claims, checked_turns, claims_prompt, read_claims
from judgeharness_integrations.benchmark.verification.decisions import (
    Decisions,
    decided,
    decisions_prompt,
    read_decisions,
)
from judgeharness_integrations.benchmark.verification.evidence import Evidence
from judgeharness_integrations.benchmark.verification.reading import because, words
from judgeharness_integrations.chatmodels import ChatModel

__all__ = ["SideGrounding", "grounding", "grounding_result"]

_LONGEST_CLAIM = 120
_SIDES: Final[tuple[Which, ...]] = ("better", "worse")


@dataclass(frozen=True, kw_only=True)
class SideGrounding:
    """What was found of one conversation: its turns with their decided claims, or why an answer could not be read.

    `unshown`: claims and decisions about what was not shown.
    """

    side: Which
    turns: tuple[TurnGrounding, ...] = ()
    unshown: int = 0
    unread: str | None = None


async def grounding(
    pair: Pair, material: Material, *, verifier: ChatModel, min_grounded: float, asker: Asker
) -> LayerResult:
    """Return whether the claims of every turn but the flawed one are grounded; both conversations are always looked at.

    No prompt holds `min_grounded`, so that another one needs no further answer. A pair without conversations is not
    looked at: the layer is `not_run`.

    Args:
        pair: whose conversations are checked.
        material: the chunks they may draw on.
        verifier: names the claims, and decides about each.
        min_grounded: share of a turn's claims that must be grounded.
        asker: asks.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    if pair.conversations is None:
        return LayerResult(layer="grounding", status="not_run", reasons=("the pair has no conversations",))
    checking = _Checking(pair=pair, material=material, verifier=verifier, asker=asker)
    sides = [await checking.side(side) for side in _SIDES]
    return grounding_result(sides, min_grounded=min_grounded)


def grounding_result(sides: Sequence[SideGrounding], *, min_grounded: float) -> LayerResult:
    """Return the layer's result; `min_grounded`: share of a turn's claims that must be grounded.

    A claim that was shown and not decided is not grounded. A turn without claims passes and is counted; a conversation
    without any fails, since nothing of it was checked.
    """
    turns = tuple(turn for side in sides for turn in side.turns)
    unread = tuple(words(side.unread) for side in sides if side.unread is not None)
    reasons = unread or tuple(reason for side in sides for reason in _reasons(side, min_grounded))
    return LayerResult(
        layer="grounding",
        status="unread" if unread else "failed" if reasons else "passed",
        reasons=reasons,
        counts=_counts(turns, unshown=sum(side.unshown for side in sides)),
        turns=turns,
    )


@dataclass(frozen=True, kw_only=True)
class _Checking:
    """The conversations of one pair being checked."""

    pair: Pair
    material: Material
    verifier: ChatModel
    asker: Asker

    async def side(self, side: Which) -> SideGrounding:
        """Return what is found of one conversation."""
        shown = checked_turns(self.pair, side)
        if not shown.turns:  # a worse conversation of one round
            return SideGrounding(side=side)
        named = await self._claims(shown, side)
        if (claims := named.value) is None:
            return SideGrounding(side=side, unread=f"claims of the {side} conversation: {named.reason}")
        answer = await self._decisions(claims, side)
        if (decisions := answer.value) is None:
            return SideGrounding(side=side, unread=f"decisions about the {side} conversation: {answer.reason}")
        headings = [chunk.heading or "" for chunk in self.material.chunks]  # behind the texts, which run on
        evidence = Evidence([*(chunk.text for chunk in self.material.chunks), *headings])
        turns = (
            TurnGrounding(side=side, round=number, claims=tuple(decided(claim, decisions, evidence) for claim in said))
            for number, said in claims.by_round.items()
        )
        return SideGrounding(side=side, turns=tuple(turns), unshown=claims.unshown + decisions.unshown)

    async def _claims(self, shown: Conversation, side: Which) -> Answer[Claims]:
        rounds = [turn.round for turn in shown.turns]
        asked = claims_prompt(shown, self.material, side=side)
        read = partial(read_claims, rounds=rounds)
        return await self.asker.ask(self.verifier, asked, item=self.pair.pair_id, read=read)

    async def _decisions(self, claims: Claims, side: Which) -> Answer[Decisions]:
        if not claims.all:
            return Answer(value=Decisions(by_claim={}), answers=0)
        asked = decisions_prompt(claims, self.material, side=side)
        ids, chunks = [claim.claim_id for claim in claims.all], [chunk.chunk_id for chunk in self.material.chunks]
        read = partial(read_decisions, claim_ids=ids, chunks=chunks)
        return await self.asker.ask(self.verifier, asked, item=self.pair.pair_id, read=read)


def _reasons(side: SideGrounding, min_grounded: float) -> Iterator[str]:
    if side.turns and not any(turn.claims for turn in side.turns):
        yield f"no claim of the {side.side} conversation could be checked"
    for turn in side.turns:
        if turn.share is not None and turn.share < min_grounded:
            first = next(claim for claim in turn.claims if claim.grounded is not True)
            held = sum(claim.grounded is True for claim in turn.claims)
            grounded = f"{held} of {len(turn.claims)} claims are grounded"
            where = f"{grounded} in turn {turn.round} of the {side.side} conversation"
            why = "not decided" if first.grounded is None else first.reason or "not grounded"
            yield because(where, f"“{words(first.text, _LONGEST_CLAIM)}”: {why}")


def _counts(turns: Sequence[TurnGrounding], *, unshown: int) -> dict[str, int]:
    claims = [claim for turn in turns for claim in turn.claims]
    return {
        "turns": len(turns),
        "turns_without_claims": sum(not turn.claims for turn in turns),
        "claims": len(claims),
        "grounded": sum(claim.grounded is True for claim in claims),
        "not_grounded": sum(claim.grounded is False for claim in claims),
        "undecided": sum(claim.grounded is None for claim in claims),
        "unshown": unshown,
        "evidence_missing": sum(claim.grounded is True and claim.evidence_found is not True for claim in claims),
    }
