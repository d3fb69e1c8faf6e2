"""The second layer: do behaviour, flaw and round of the plans conflict with each other or with the documents?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from judgeharness_integrations.benchmark.asking.asker import Asker, UnreadableError
from judgeharness_integrations.benchmark.generation.material import Material
from judgeharness_integrations.benchmark.pair import Blueprints, LayerResult, Pair
from judgeharness_integrations.benchmark.prompts.material import object_of, prompt
from judgeharness_integrations.benchmark.verification.reading import because, entries_of, flag_of, text_of, words
from judgeharness_integrations.benchmark.verification.schemas import FLAG, TEXT, list_of
from judgeharness_integrations.chatmodels import ChatModel, Prompt

__all__ = ["coherence", "coherence_prompt", "plans_text", "read_conflicts", "unknown_chunks"]

_SCHEMA: Final = object_of(
    "coherence", {"conflicts": list_of("conflict", {"what": TEXT, "reason": TEXT}), "coherent": FLAG}
)


async def coherence(pair: Pair, material: Material, *, verifier: ChatModel, asker: Asker) -> LayerResult:
    """Return whether a pair's plans are coherent.

    Plans that cite chunks the pair does not have fail without a call. A pair without plans of its rounds, as one from
    elsewhere, is not looked at: the layer is `not_run`.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    if pair.blueprints is None:
        return LayerResult(layer="coherence", status="not_run", reasons=("the pair has no plans",))
    if not pair.blueprints.in_rounds:
        return LayerResult(layer="coherence", status="not_run", reasons=("the plans do not say what each round holds",))
    unknown = tuple(unknown_chunks(pair.blueprints, material))
    if unknown:
        return LayerResult(layer="coherence", status="failed", reasons=unknown)
    asked = coherence_prompt(pair.blueprints, material)
    answer = await asker.ask(verifier, asked, item=pair.pair_id, read=read_conflicts)
    if answer.value is None:
        return LayerResult(layer="coherence", status="unread", reasons=(words(str(answer.reason)),))
    counts = {"conflicts": len(answer.value)}
    return LayerResult(
        layer="coherence", status="failed" if answer.value else "passed", reasons=answer.value, counts=counts
    )


def unknown_chunks(blueprints: Blueprints, material: Material) -> Iterator[str]:
    """Yield a reason for every chunk a plan cites that the pair does not have."""
    known = {chunk.chunk_id for chunk in material.chunks}
    for which, plan in (("better", blueprints.better), ("worse", blueprints.worse)):
        for entry in plan.rounds:
            if entry.chunk is not None and entry.chunk not in known:
                cites = f"plan cites chunk {words(entry.chunk)} that the pair does not have"
                yield f"{cites} (round {entry.round} of the {which} one)"


def coherence_prompt(blueprints: Blueprints, material: Material) -> Prompt:
    """Return the request for conflicts within both plans, `{conflicts: [{what, reason}], coherent}`."""
    given = [
        ("Conditions", material.conditions_text()),
        ("Documents", material.text),
        ("Plans", plans_text(blueprints)),
    ]
    conditions = material.conditions
    return prompt("coherence", given, _SCHEMA, n_rounds=conditions.n_rounds, flawed_round=conditions.flawed_round)


def plans_text(blueprints: Blueprints) -> str:
    """Return both plans as JSON, as verifiers are shown them."""
    return json.dumps(blueprints.to_dict(), indent=2, ensure_ascii=False)


def read_conflicts(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a reason for every conflict a verifier named; none: the plans are coherent.

    Raises:
        UnreadableError: something is missing, or the answer contradicts itself.

    """
    coherent = flag_of(data, "coherent")
    conflicts = tuple(
        because(words(text_of(entry, "what", where)) or "conflict", text_of(entry, "reason", where))
        for entry, where in entries_of(data, "conflicts")
    )
    if coherent and conflicts:
        raise UnreadableError("the answer calls the plans coherent and names conflicts")
    if not coherent and not conflicts:
        raise UnreadableError("the answer calls the plans incoherent and names no conflict")
    return conflicts
