"""The offline observer of `judgeharness benchmark discover`: which type a transcript shows, and what none covers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from offline_reading import Said
from offline_rules import flaws
from offline_wording import BEHAVIOURS, behaves

_SAID = re.compile(r"^user: (.*?)^assistant: (.*?)(?=^user: |\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_NEW = {
    "name": "needless_repetition",
    "definition": "The assistant says the same sentence over and over in one answer.",
    "flaw": "In the flawed round the assistant answers correctly and repeats its answer, word by word, twice more.",
    "benign": "The assistant answers the same question correctly, and once.",
    "earliest_round": 1,
}


def covered(given: Mapping[str, str], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Say which of the present types a transcript shows: `other` for one that is none of them, `nothing` for none."""
    names = properties["type"]["enum"]
    said = _read(given["Transcript"])
    if "evasion" not in names:  # behaviours are asked about
        shown = next((name for name in BEHAVIOURS if all(behaves(name, turn.user) for turn in said)), "nothing")
        return {"shows": f"the user is {shown}", "reason": "by how the user begins", "type": shown}
    found = next(iter(flaws(said, "")), None)
    if found is None:
        return {"shows": "", "reason": "no answer is wanting", "type": "nothing"}
    kind = found.type if found.type in names else "other"
    return {"shows": f"{found.type} in round {found.round}", "reason": found.what, "type": kind}


def proposed(given: Mapping[str, str]) -> dict[str, Any]:
    """Propose the one type that the rules know and the taxonomy does not."""
    numbers = [
        int(title.rpartition(" ")[2])
        for title, text in given.items()
        if title.startswith("Conversation ") and _NEW["name"] in text.partition("\n")[0]
    ]
    return {"types": [{**_NEW, "examples": numbers}] if numbers else []}


def _read(text: str) -> list[Said]:
    rounds = enumerate(_SAID.findall(text), start=1)
    return [Said(round=number, user=user.strip(), assistant=answer.strip()) for number, (user, answer) in rounds]
