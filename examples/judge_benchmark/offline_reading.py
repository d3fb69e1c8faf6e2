"""What the offline models read: the marked pieces of a prompt, sentences, the facts of documents, conversations."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PIECE = re.compile(r"<<([0-9a-f]{8}) ([^\n>]+)>>\n(.*?)\n<<\1 end>>", re.DOTALL)
_CHUNK = re.compile(r"^\[([^\]\s]+#\d+)\][^\n]*\n", re.MULTILINE)
_SAID = re.compile(r"\[Round (\d+)\] (User|Assistant): (.*?)(?=\s*\[Round \d+\] (?:User|Assistant): |\Z)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_LEAD_IN = re.compile(r"^[^.!?:]{1,60}: (?=[A-Z])")
_HEADING = re.compile(r"#|[^.!?]{1,60}$")  # of Markdown, or a short line that ends no sentence
_HEADING_AND = re.compile(r"^(?:[\w'-]+ ){1,6}(?=(?:A|An|The|No|One|Every|Each) )")
_FEWEST_WORDS = 4
_VERBS = frozenset(
    [
        "adds",
        "are",
        "be",
        "begins",
        "can",
        "cannot",
        "closes",
        "cost",
        "costs",
        "count",
        "counts",
        "covers",
        "ends",
        "gets",
        "gives",
        "goes",
        "has",
        "have",
        "holds",
        "is",
        "lasts",
        "loses",
        "may",
        "measures",
        "must",
        "need",
        "needs",
        "opens",
        "rests",
        "seats",
        "stands",
        "stays",
        "stops",
        "takes",
        "was",
        "waits",
        "were",
        "works",
    ]
)
_NAMES = frozenset(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])


@dataclass(frozen=True)
class Fact:
    """A sentence of a document, the chunk it stands in, and what it is about, as one would ask for it."""

    chunk: str
    sentence: str
    topic: str

    @property
    def has_figure(self) -> bool:
        """Whether a number can be checked in it."""
        return any(letter.isdigit() for letter in self.sentence[len(self.topic) :])


@dataclass(frozen=True)
class Said:
    """One round of a conversation."""

    round: int
    user: str
    assistant: str


def pieces(user: str) -> dict[str, str]:
    """Return the marked pieces of a prompt by their titles."""
    return {title: text for _, title, text in _PIECE.findall(user)}


def conditions(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the conditions of the pair."""
    return dict(json.loads(given["Conditions"]))


def chunks(documents: str) -> dict[str, str]:
    """Return the chunks by their ids; a text without ids is one chunk."""
    parts = _CHUNK.split(documents)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return found or ({"document#1": documents} if documents.strip() else {})


def plain(text: str) -> str:
    """Return a text in lower case with single blanks, as it is compared."""
    return " ".join(text.lower().split())


def sentences(text: str) -> list[str]:
    """Return the sentences, without lead-ins that end in a colon."""
    return [_LEAD_IN.sub("", one.strip()) for one in _SENTENCE.split(" ".join(text.split())) if one.strip()]


def facts(documents: str) -> list[Fact]:
    """Return what can be asked about, in the order of the documents."""
    found = []
    for name, text in chunks(documents).items():
        lines = [line for line in text.splitlines() if not _HEADING.match(line)]
        for sentence in sentences("\n".join(lines)):
            told = _HEADING_AND.sub("", sentence)
            topic = topic_of(told)
            if topic and len(told.split()) >= _FEWEST_WORDS and told.endswith("."):
                found.append(Fact(chunk=name, sentence=told, topic=topic))
    return found


def topic_of(sentence: str) -> str:
    """Return what a sentence is about: what stands before its verb; empty where none is known."""
    words = sentence.split()
    open_clause = False
    for place, word in enumerate(words):
        if word in {"that", "who"}:
            open_clause = True
        elif place and word.lower() in _VERBS:
            if not open_clause:
                return _uncapitalised(words[:place]) if words[0] != "No" else ""
            open_clause = False
    return ""


def _uncapitalised(words: Sequence[str]) -> str:
    first = words[0] if words[0].lower() in _NAMES else words[0][0].lower() + words[0][1:]
    return " ".join([first, *words[1:]])


def conversation(text: str) -> list[Said]:
    """Return the rounds of a conversation as it is shown to models."""
    said: dict[int, dict[str, str]] = {}
    for number, who, words in _SAID.findall(text):
        said.setdefault(int(number), {})[who] = words.strip()
    return [
        Said(round=number, user=who.get("User", ""), assistant=who.get("Assistant", ""))
        for number, who in sorted(said.items())
    ]


def share(*parts: object) -> float:
    """Return a number in [0, 1) that depends on its arguments alone and looks drawn at random."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8]) / 2**64
