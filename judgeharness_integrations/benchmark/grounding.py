"""The fourth layer: does everything the assistant states outside the flawed turn stand in the documents?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from judgeharness_integrations.benchmark.asker import (
    FLAG,
    MAYBE_TEXT,
    ROUND,
    TEXT,
    Answer,
    Asker,
    Material,
    UnreadableError,
    because,
    entries_of,
    flag_of,
    list_of,
    maybe_text_of,
    object_of,
    prompt,
    round_of,
    text_of,
    words,
)
from judgeharness_integrations.benchmark.pair import Claim, Conversation, LayerResult, Pair, TurnGrounding, Which
from judgeharness_integrations.benchmark.results.checks import Evidence
from judgeharness_integrations.judging.chatmodels import ChatModel, Prompt

_LONGEST_CLAIM = 120
_SIDES: Final[tuple[Which, ...]] = ("better", "worse")
_CLAIMS: Final = object_of("claims", {"claims": list_of("claim", {"round": ROUND, "claim": TEXT})})
_DECISION: Final = {
    "claim_id": TEXT,
    "chunk": MAYBE_TEXT,
    "evidence": MAYBE_TEXT,
    "reason": TEXT,
    "grounded": FLAG,
}
_DECISIONS: Final = object_of("grounding", {"decisions": list_of("decision", _DECISION)})


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


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Claims by round, each with an id, as `3.2`: the second of round 3. Every round that was shown has an entry.

    `unshown` claims were of rounds that were not; they are left out.
    """

    by_round: Mapping[int, tuple[Claim, ...]]
    unshown: int = 0

    @property
    def all(self) -> tuple[Claim, ...]:
        """Every claim, round by round."""
        return tuple(claim for claims in self.by_round.values() for claim in claims)


def checked_turns(pair: Pair, side: Which) -> Conversation:
    """Return the turns of a conversation that must be grounded: all of the better, all but the flawed of the worse.

    A pair without conversations has none.
    """
    if pair.conversations is None:
        return Conversation(turns=())
    if side == "better":
        return pair.conversations.better
    turns = pair.conversations.worse.turns
    return Conversation(turns=tuple(turn for turn in turns if turn.round != pair.conditions.flawed_round))


def claims_prompt(shown: Conversation, material: Material, *, side: Which) -> Prompt:
    """Return the request for the claims of turns, `{claims: [{round, claim}]}`; documents are not shown for it."""
    given = [("Conditions", material.conditions_text(side)), ("Conversation", shown.text())]
    return prompt("claims", given, _CLAIMS)


def read_claims(data: Mapping[str, Any], *, rounds: Collection[int]) -> Claims:
    """Return the claims of the rounds that were shown, numbered in the order of the answer.

    Raises:
        UnreadableError: there is no list of claims, or one has no round or says nothing.

    """
    texts: dict[int, list[str]] = {number: [] for number in sorted(rounds)}
    unshown = 0
    for entry, where in entries_of(data, "claims"):
        number, text = round_of(entry, where), text_of(entry, "claim", where)
        if not text:
            raise UnreadableError(f"{where} says nothing")
        if number in texts:
            texts[number].append(text)
        else:
            unshown += 1
    by_round = {
        number: tuple(Claim(claim_id=f"{number}.{place}", text=text) for place, text in enumerate(said, start=1))
        for number, said in texts.items()
    }
    return Claims(by_round=by_round, unshown=unshown)


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What was decided about one claim; `chunk`, `evidence` and `reason` are None where nothing is said."""

    grounded: bool
    chunk: str | None
    evidence: str | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decisions by claim id. `unshown` were about claims that were not shown; they are left out."""

    by_claim: Mapping[str, Decision]
    unshown: int = 0


def decisions_prompt(claims: Claims, material: Material, *, side: Which) -> Prompt:
    """Return the request for decisions, `{decisions: [{claim_id, chunk, evidence, reason, grounded}]}`."""
    listed = "\n".join(f"{claim.claim_id} {claim.text}" for claim in claims.all)
    given = [("Conditions", material.conditions_text(side)), ("Documents", material.text), ("Claims", listed)]
    return prompt("grounding", given, _DECISIONS)


def read_decisions(data: Mapping[str, Any], *, claim_ids: Collection[str], chunks: Collection[str]) -> Decisions:
    """Return the decisions about the claims that were shown; a chunk the pair does not have is None.

    Raises:
        UnreadableError: there is no list of decisions, one lacks something, or two about a claim contradict each other.

    """
    found: dict[str, Decision] = {}
    unshown = 0
    for entry, where in entries_of(data, "decisions"):
        claim_id = text_of(entry, "claim_id", where)
        chunk = (maybe_text_of(entry, "chunk", where) or "").removeprefix("[").removesuffix("]").strip()
        decision = Decision(
            grounded=flag_of(entry, "grounded", where),
            chunk=chunk if chunk in chunks else None,
            evidence=maybe_text_of(entry, "evidence", where),
            reason=maybe_text_of(entry, "reason", where),
        )
        if claim_id not in claim_ids:
            unshown += 1
        elif found.setdefault(claim_id, decision).grounded != decision.grounded:
            raise UnreadableError(f"two decisions about claim {claim_id} contradict each other")
    return Decisions(by_claim=found, unshown=unshown)


def decided(claim: Claim, decisions: Decisions, evidence: Evidence) -> Claim:
    """Return a claim with what was decided about it, and whether the words that were quoted stand in the documents."""
    decision = decisions.by_claim.get(claim.claim_id)
    if decision is None:
        return claim
    return Claim(
        claim_id=claim.claim_id,
        text=claim.text,
        grounded=decision.grounded,
        chunk=decision.chunk,
        evidence=decision.evidence,
        evidence_found=None if decision.evidence is None else evidence.holds(decision.evidence),
        reason=decision.reason,
    )


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
