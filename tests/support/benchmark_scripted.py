"""A generator and a verifier that answer every prompt the benchmark has, by rule, and count what they were asked."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from judgeharness_integrations.benchmark.asker import Material
from judgeharness_integrations.benchmark.pair import (
    Behaviour,
    Chunk,
    Conditions,
    Document,
    Drawing,
    FailureType,
    Taxonomy,
    draw_conditions,
)
from judgeharness_integrations.judging.chatmodels import Completion, FunctionModel, Prompt

__all__ = ["KINDS", "LIBRARY", "Scripted", "answer_to", "conditions_of", "material_of", "pieces"]

KINDS = Taxonomy(
    failure_types={
        name: FailureType(
            name=name,
            definition=f"{name} defined",
            flaw=f"FLAW of {name}",
            benign=f"BENIGN of {name}",
            earliest_round=2,
        )
        for name in ("evasion", "fabricated_answer")
    },
    behaviours={name: Behaviour(name=name, description=f"a {name} user") for name in ("focused", "skeptical")},
)
LIBRARY = Document(
    document_id="library",
    title="Library",
    domain="loans",
    source="library.md",
    chunks=tuple(
        Chunk(chunk_id=f"library#{place}", text=f"Loan kind {place} lasts {place + 7} days and costs {place} euros.")
        for place in range(1, 5)
    ),
)
_PIECE = re.compile(r"<<([0-9a-f]{8}) ([^\n]+)>>\n(.*?)\n<<\1 end>>", re.DOTALL)


def conditions_of(number: int = 0, *, seed: int = 0) -> Conditions:
    """Return the conditions of a pair on the library."""
    return draw_conditions(number, documents=[LIBRARY], taxonomy=KINDS, drawing=Drawing(seed=seed))


def material_of(conditions: Conditions) -> Material:
    """Return what its models are given."""
    return Material.of(conditions, {LIBRARY.document_id: LIBRARY}, KINDS)


def pieces(prompt: Prompt) -> dict[str, str]:
    """Return the material of a prompt by its titles."""
    return {title: text for _, title, text in _PIECE.findall(prompt.user)}


def answer_to(prompt: Prompt) -> dict[str, Any]:
    """Return an answer that passes every layer."""
    given = pieces(prompt)
    told = json.loads(given["Conditions"])
    rounds = range(1, told["n_rounds"] + 1)
    if prompt.step == "blueprints":
        first = given["Documents"].partition("]")[0].removeprefix("[")
        return {side: _plan(side, rounds, first) for side in ("better", "worse")}
    if prompt.step.startswith("conversation_"):
        side = told["side"]
        return {"turns": [{"round": n, "user": f"And {n}?", "assistant": f"It is {n}, {side}."} for n in rounds]}
    if prompt.step == "coherence":
        return {"coherent": True, "conflicts": []}
    if prompt.step == "adherence":
        flaw = {"round": told["flawed_round"], "type": told["failure_type"], "what": "as declared"}
        kept = ("behaviour_kept_better", "behaviour_kept_worse", "same_pressure", "same_tone_and_length")
        said = {"announcement": "", "behaviour_reason": "", "reason": ""}
        return {"worse_flaws": [flaw], "better_flaws": [], "announced": False} | dict.fromkeys(kept, True) | said
    if prompt.step == "claims":
        shown = [n for n in rounds if told["side"] == "better" or n != told["flawed_round"]]
        return {"claims": [{"round": n, "claim": f"it is {n}"} for n in shown]}
    ids = [line.split(" ")[0] for line in given["Claims"].splitlines()]
    decision = {"grounded": True, "chunk": "library#1", "evidence": "Loan kind 1", "reason": ""}
    return {"decisions": [{"claim_id": claim} | decision for claim in ids]}


def _plan(side: str, rounds: range, chunk: str) -> dict[str, Any]:
    planned = [{"round": n, "user": f"asks {n}", "chunk": chunk, "assistant": f"{side} {n}"} for n in rounds]
    return {"sketch": f"how the {side} one does it", "rounds": planned}


@dataclass
class Scripted:
    """A model of a name: `instead` answers what it has an answer for, `answer_to` the rest.

    `delays` makes answers come back in an order of their own. `tokens` is what each says it read, and wrote. `prompts`
    are those it was asked, in their order.
    """

    name: str = "scripted"
    instead: Callable[[Prompt], Any] = lambda _: None
    delays: bool = False
    tokens: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prompts: list[Prompt] = field(default_factory=list)
    in_flight_max: int = 0
    _in_flight: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer, as `FunctionModel` does."""
        with self._lock:
            self.prompts.append(prompt)
            self._in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self._in_flight)
        try:
            if self.delays:
                await asyncio.sleep(int(prompt.digest[:2], 16) / 60_000)
            said = self.instead(prompt)
            model = FunctionModel(function=lambda one: answer_to(one) if said is None else said, name=self.name)
            answer = await model.complete(prompt)
            return replace(answer, input_tokens=self.tokens, output_tokens=self.tokens)
        finally:
            with self._lock:
                self._in_flight -= 1

    @property
    def steps(self) -> Counter[str]:
        """How often it was asked what."""
        return Counter(prompt.step for prompt in self.prompts)
