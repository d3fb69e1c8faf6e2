"""The offline judges: they find the flaw by rules, and then err as often as they are meant to.

Every judge draws its errors from a hash of its name and of what it reads, so that it says the same whenever it is
asked the same. A pair has a difficulty that all judges feel, and a weaker judge prefers what it reads first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from offline_reading import Said, conversation, plain, share
from offline_rules import Flaw, flaws

_SPREAD = 0.5  # how much easier the easiest pair is than the hardest
_SIDES = ("A", "B")


@dataclass(frozen=True)
class Skill:
    """How often a judge is `right` about a question on a pair of middle difficulty, and takes the `first` unread."""

    name: str
    right: float
    first: float = 0.0

    def knows(self, question: str, key: str) -> bool:
        """Whether it gets a question about a pair right."""
        chance = self.right + _SPREAD * (0.5 - share("difficulty", key)) * (1 - abs(2 * self.right - 1))
        return share(self.name, question, key) < chance

    def one_of(self, names: Sequence[str], question: str, key: str) -> str:
        """Return one of names as it guesses."""
        return names[int(share(self.name, "guess", question, key) * len(names))]


def judged_pair(given: Mapping[str, str], skill: Skill, kinds: Sequence[str]) -> dict[str, Any]:
    """Say which conversation is better, and where and how (one of `kinds`) the other one fails."""
    texts = [given[f"Conversation {side}"] for side in _SIDES]
    key = repr(sorted(texts))  # the same in both orders
    found = {side: _first(text, given) for side, text in zip(_SIDES, texts, strict=True)}
    flawed = [side for side in _SIDES if found[side] is not None]
    worse = flawed[0] if len(flawed) == 1 else _SIDES[texts.index(min(texts))]
    if len(flawed) != 1 or not skill.knows("verdict", key):
        worse = _SIDES[1 - _SIDES.index(worse)]
    if share(skill.name, "order", key) < skill.first:
        worse = "B"
    flaw, said = next((found[side] for side in flawed), None), conversation(texts[0])
    turn, name = _named(flaw, said, skill, kinds, key)
    better = _SIDES[1 - _SIDES.index(worse)]
    return {"reasoning": f"{worse} has {name} in round {turn}.", "verdict": better, "turn": turn, "type": name}


def judged_conversation(given: Mapping[str, str], skill: Skill, kinds: Sequence[str]) -> dict[str, Any]:
    """Give one conversation a score, and say whether, where and how it fails."""
    text = given["Conversation"]
    flaw = _first(text, given)
    is_flawed = (flaw is not None) == skill.knows("verdict", text)
    lucky = share(skill.name, "score", text) < 1 / 2
    if not is_flawed:
        reasoning = "Nothing is wrong with it."
        return {"reasoning": reasoning, "score": 4 + lucky, "flawed": False, "turn": None, "type": None}
    turn, name = _named(flaw, conversation(text), skill, kinds, text)
    reasoning = f"It has {name} in round {turn}."
    return {"reasoning": reasoning, "score": 2 + lucky, "flawed": True, "turn": turn, "type": name}


def _first(text: str, given: Mapping[str, str]) -> Flaw | None:
    return next(iter(flaws(conversation(text), plain(given.get("Documents", "")))), None)


def _named(flaw: Flaw | None, said: Sequence[Said], skill: Skill, kinds: Sequence[str], key: str) -> tuple[int, str]:
    """Return round and type as the judge names them."""
    rounds = [str(turn.round) for turn in said] or ["1"]
    turn, name = (str(flaw.round), flaw.type) if flaw is not None else ("", "")
    if not turn or not skill.knows("turn", key):
        turn = skill.one_of([one for one in rounds if one != turn] or rounds, "turn", key)
    if not name or not skill.knows("type", key):
        name = skill.one_of([one for one in kinds if one != name], "type", key)
    return int(turn), name
