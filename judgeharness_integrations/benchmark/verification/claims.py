"""Atomic claims: what the assistant states in each turn that must be grounded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from judgeharness_integrations.benchmark.asking.asker import UnreadableError
from judgeharness_integrations.benchmark.generation.material import Material, Which
from judgeharness_integrations.benchmark.pair import Claim, Conversation, Pair
from judgeharness_integrations.benchmark.prompts.material import object_of, prompt
from judgeharness_integrations.benchmark.verification.reading import entries_of, round_of, text_of
from judgeharness_integrations.benchmark.verification.schemas import ROUND, TEXT, list_of
from judgeharness_integrations.chatmodels import Prompt

__all__ = ["Claims", "checked_turns", "claims_prompt", "read_claims"]

_SCHEMA: Final = object_of("claims", {"claims": list_of("claim", {"round": ROUND, "claim": TEXT})})


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
    return prompt("claims", given, _SCHEMA)


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
