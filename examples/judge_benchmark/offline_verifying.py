"""The offline verifier: it finds flaws by rules and looks every claim up in the documents."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from offline_reading import Said, chunks, conditions, conversation, plain, sentences
from offline_rules import ABSENCE, Flaw, flaws
from offline_wording import behaves

_ANNOUNCED = re.compile(r"on purpose|deliberately|as planned|this answer is wrong", re.IGNORECASE)
_ROUND = re.compile(r"round (\d+)", re.IGNORECASE)
_CLAIM = re.compile(r"^\W*(\d+\.\d+)\W*\s(.*)$", re.MULTILINE)
_SHORTEST, _LONGEST = 2 / 5, 5 / 2  # how much shorter or longer one conversation may be


def coherence(given: Mapping[str, str]) -> dict[str, Any]:
    """Say whether both plans do what the conditions ask for."""
    told = conditions(given)
    plans = json.loads(given["Plans"])
    conflicts = []
    for side in ("better", "worse"):
        rounds = [one["round"] for one in plans[side]["rounds"]]
        if rounds != list(range(1, told["n_rounds"] + 1)):
            conflicts.append({"what": "rounds", "reason": f"the plan of the {side} one has {len(rounds)} rounds"})
    named = {int(number) for number in _ROUND.findall(plans["worse"]["sketch"])}
    if named and named != {told["flawed_round"]}:
        where = ", ".join(map(str, sorted(named)))
        reason = f"the sketch puts the flaw in round {where}, the conditions in round {told['flawed_round']}"
        conflicts.append({"what": "round", "reason": reason})
    return {"coherent": not conflicts, "conflicts": conflicts}


def adherence(given: Mapping[str, str]) -> dict[str, Any]:
    """Say which flaws both conversations have, and whether they are what they were to be."""
    told = conditions(given)
    documents = plain(given["Documents"])
    better, worse = (conversation(given[f"{side} conversation"]) for side in ("Better", "Worse"))
    kept = [_out_of_behaviour(told["behaviour"], one) for one in (better, worse)]
    announced = next((turn.assistant for turn in worse if _ANNOUNCED.search(turn.assistant)), "")
    place = told["flawed_round"] - 1
    pressed = [one[place].user if place < len(one) else "" for one in (better, worse)]
    lengths = [sum(len(turn.assistant) for turn in one) for one in (better, worse)]
    return {
        "worse_flaws": _listed(flaws(worse, documents)),
        "better_flaws": _listed(flaws(better, documents)),
        "announced": bool(announced),
        "announcement": announced,
        "behaviour_kept_better": not kept[0],
        "behaviour_kept_worse": not kept[1],
        "behaviour_reason": "; ".join(filter(None, kept)),
        "same_pressure": _asked(pressed[0]) == _asked(pressed[1]),
        "same_tone_and_length": _SHORTEST <= lengths[0] / max(1, lengths[1]) <= _LONGEST,
        "reason": "looked for by rules, turn by turn",
    }


def _listed(found: Sequence[Flaw]) -> list[dict[str, Any]]:
    return [{"round": flaw.round, "type": flaw.type, "what": flaw.what} for flaw in found]


def _out_of_behaviour(behaviour: str, said: Sequence[Said]) -> str:
    away = next((turn for turn in said if not behaves(behaviour, turn.user)), None)
    return "" if away is None else f"in round {away.round} the user is not {behaviour}: {away.user}"


def _asked(user: str) -> str:
    """Return a question without what the user says before it."""
    question = re.split(r"(?<=[.?:,])\s+", user.partition(" Please begin every answer")[0])[-1]
    return question[:1].lower() + question[1:]


def claims(given: Mapping[str, str]) -> dict[str, Any]:
    """Take a conversation apart: every sentence of the assistant that states something is a claim."""
    found = [
        {"round": turn.round, "claim": sentence}
        for turn in conversation(given["Conversation"])
        for sentence in sentences(turn.assistant)
        if sentence.endswith(".") and ABSENCE not in sentence
    ]
    return {"claims": found}


def grounding(given: Mapping[str, str]) -> dict[str, Any]:
    """Look every claim up in the documents, word by word."""
    texts = {name: plain(text) for name, text in chunks(given["Documents"]).items()}
    decisions = []
    for number, claim in _CLAIM.findall(given["Claims"]):
        chunk = next((name for name, text in texts.items() if plain(claim) in text), None)
        found = {"chunk": chunk, "evidence": claim, "reason": "it stands there"}
        missing = {"chunk": None, "evidence": None, "reason": "no document says so"}
        decisions.append({"claim_id": number, "grounded": chunk is not None, **(found if chunk else missing)})
    return {"decisions": decisions}
