"""A pair about a lending library, its material, and a verifier whose answers are scripted by step."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from judgeharness_integrations.benchmark.asker import Asker, Material
from judgeharness_integrations.benchmark.folder import Journal
from judgeharness_integrations.benchmark.pair import (
    Behaviour,
    Blueprint,
    Blueprints,
    Chunk,
    Conditions,
    Conversation,
    Conversations,
    Document,
    FailureType,
    Pair,
    RoundPlan,
    Taxonomy,
    Turn,
)
from judgeharness_integrations.judging.chatmodels import Completion, Prompt
from judgeharness_integrations.judging.execution.retrying import Budget

__all__ = [
    "DOCUMENT",
    "FACTS",
    "NAMED",
    "TAXONOMY",
    "Verifier",
    "asked",
    "asking",
    "conditions",
    "conversations",
    "material",
    "pair",
    "plans",
]

_T = TypeVar("_T")

NAMED: dict[str, Any] = {}
"""Verifiers by name, for a file of models that a command imports."""

FACTS = (
    "Books are lent for 21 days.",
    "A card costs 12 euros a year.",
    "The reading room closes at 19:30.",
    "Reservations are kept for five days.",
    "Dogs may wait in the yard.",
)
DOCUMENT = Document(
    document_id="library",
    title="Library rules",
    domain="libraries",
    source="library.md",
    chunks=tuple(
        Chunk(chunk_id=f"library#{number}", text=f"{fact} This is rule {number}.")
        for number, fact in enumerate(FACTS, start=1)
    ),
)


def _failure(name: str) -> FailureType:
    return FailureType(name=name, definition=f"it is {name}", flaw=f"do {name}", benign=f"avoid {name}")


TAXONOMY = Taxonomy(
    failure_types={name: _failure(name) for name in ("evasion", "fabricated_answer")},
    behaviours={"focused": Behaviour(name="focused", description="goes deeper into one matter")},
)


def conditions(number: int = 0, **changed: Any) -> Conditions:
    """Return conditions of three rounds, the second one flawed."""
    given = {
        "pair_id": f"pair-{number + 1:05d}",
        "number": number,
        "failure_type": "evasion",
        "behaviour": "focused",
        "n_rounds": 3,
        "flawed_round": 2,
        "better": "A",
        "domain": "libraries",
        "documents": ("library",),
        "chunks": tuple(chunk.chunk_id for chunk in DOCUMENT.chunks),
    }
    return Conditions(**(given | changed))


def material(of: Conditions) -> Material:
    """Return the material of conditions."""
    return Material.of(of, {"library": DOCUMENT}, TAXONOMY)


def plans(rounds: int = 3, *, chunk: str | None = "library#1") -> Blueprints:
    """Return plans of so many rounds."""

    def plan(which: str) -> Blueprint:
        entries = (
            RoundPlan(round=number, user=f"asks {number}", chunk=chunk, assistant=f"{which} answer {number}")
            for number in range(1, rounds + 1)
        )
        return Blueprint(rounds=tuple(entries), sketch=f"the {which} one")

    return Blueprints(better=plan("better"), worse=plan("worse"))


def conversations(rounds: int = 3, *, flawed: int = 2, flaw: str = "That depends on many things.") -> Conversations:
    """Return conversations whose sound turns each state the fact of their number."""
    better = [
        Turn(round=number, user=f"What about {number}?", assistant=FACTS[number - 1]) for number in range(1, rounds + 1)
    ]
    worse = [
        turn.model_copy(update={"assistant": flaw} if turn.round == flawed else {"user": f"And {turn.round}?"})
        for turn in better
    ]
    return Conversations(better=Conversation(turns=tuple(better)), worse=Conversation(turns=tuple(worse)))


def pair(number: int = 0, **changed: Any) -> Pair:
    """Return a pair with plans and conversations, of which nothing was verified yet."""
    given = {
        "conditions": conditions(number),
        "generator": "writer",
        "blueprints": plans(),
        "conversations": conversations(),
    }
    return Pair(**(given | changed))


_SOUND: dict[str, Any] = {
    "coherence": {"coherent": True, "conflicts": []},
    "adherence": {
        "worse_flaws": [{"round": 2, "type": "evasion", "what": "it names no figure"}],
        "better_flaws": [],
        "announced": False,
        "announcement": "",
        "behaviour_kept_better": True,
        "behaviour_kept_worse": True,
        "behaviour_reason": "",
        "same_pressure": True,
        "same_tone_and_length": True,
        "reason": "",
    },
}


def _claims(prompt: Prompt) -> dict[str, Any]:
    """Name the fact of every turn that is shown as its claim."""
    shown = [(number, fact) for number, fact in enumerate(FACTS, start=1) if f"Assistant: {fact}" in prompt.user]
    return {"claims": [{"round": number, "claim": fact} for number, fact in shown]}


def _decisions(prompt: Prompt) -> dict[str, Any]:
    """Find every claim that is shown in the documents."""
    listed = [line.split(" ", 1) for line in prompt.user.splitlines() if line[:1].isdigit() and "." in line[:3]]
    return {
        "decisions": [
            {
                "claim_id": name,
                "grounded": True,
                "chunk": f"library#{name[0]}",
                "evidence": text,
                "reason": "it says so",
            }
            for name, text in listed
        ]
    }


Scripted = Mapping[str, Any] | Completion | Exception | Callable[[Prompt], Any]


@dataclass
class Verifier:
    """A verifier that finds nothing wrong, but for the steps it has other answers for; it counts its prompts."""

    answers: Mapping[str, Scripted] = field(default_factory=dict)
    name: str = "checker"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prompts: list[Prompt] = field(default_factory=list)

    @property
    def steps(self) -> Counter[str]:
        """How often each step was asked."""
        return Counter(prompt.step for prompt in self.prompts)

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer by step."""
        self.prompts.append(prompt)
        known: dict[str, Scripted] = {**_SOUND, "claims": _claims, "grounding": _decisions, **self.answers}
        answer = known[prompt.step]
        said = answer(prompt) if callable(answer) else answer
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Completion) else Completion(text="", parsed=said)

    @staticmethod
    def adherence(**changed: Any) -> dict[str, Any]:
        """Return a sound answer about adherence with some keys changed."""
        return _SOUND["adherence"] | changed


@contextmanager
def asking(folder: Path, *, max_calls: int | None = None) -> Iterator[Asker]:
    """Give an asker with a journal in a folder, which keeps its answers for the next one."""
    with Journal(folder / "answers.sqlite") as journal:
        yield Asker(journal=journal, budget=Budget(max_calls=max_calls))


def asked(folder: Path, layer: Callable[..., Coroutine[Any, Any, _T]], of: Pair, verifier: Verifier, **more: Any) -> _T:
    """Return what a layer, or `verified`, makes of a pair."""
    with asking(folder) as asker:
        return asyncio.run(layer(of, material(of.conditions), verifier=verifier, asker=asker, **more))
