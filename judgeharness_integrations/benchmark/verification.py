"""The layers of verification in their order, and the second of them: are the plans coherent?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from judgeharness_integrations.benchmark.adherence import adherence
from judgeharness_integrations.benchmark.asker import (
    FLAG,
    TEXT,
    Asker,
    Material,
    UnreadableError,
    because,
    entries_of,
    flag_of,
    list_of,
    object_of,
    plans_text,
    prompt,
    text_of,
    words,
)
from judgeharness_integrations.benchmark.grounding import grounding
from judgeharness_integrations.benchmark.pair import LAYERS, Blueprints, LayerResult, Pair, Verification
from judgeharness_integrations.benchmark.results.checks import form_result
from judgeharness_integrations.judging.chatmodels import ChatModel, Prompt

_SCHEMA: Final = object_of(
    "coherence", {"conflicts": list_of("conflict", {"what": TEXT, "reason": TEXT}), "coherent": FLAG}
)


async def verified(pair: Pair, material: Material, *, verifier: ChatModel, min_grounded: float, asker: Asker) -> Pair:
    """Return a pair with a new verification; one without conversations as it is.

    A layer that failed, or whose answers could not be read, is the last one that is run. Plans that are missing keep
    nothing from running, but the pair stays unverified: their coherence was not looked at.

    Args:
        pair: plans, where there are any, and conversations.
        material: what its models were given.
        verifier: who is asked.
        min_grounded: share of a turn's claims that must be grounded.
        asker: asks.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    if pair.conversations is None:
        return pair
    results = await _results(pair, material, verifier, min_grounded, asker)
    made = cascade(results, verifier=verifier.name, min_grounded=min_grounded)
    return pair.model_copy(update={"verification": made})


def cascade(results: Sequence[LayerResult], *, verifier: str | None, min_grounded: float) -> Verification:
    """Return the verification of what layers said, all layers in their order; those that said nothing are `not_run`."""
    said = {result.layer: result for result in results}
    layers = tuple(said.get(layer) or LayerResult(layer=layer, status="not_run") for layer in LAYERS)
    return Verification(verifier=verifier, min_grounded=min_grounded, layers=layers)


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
    unknown = tuple(_unknown_chunks(pair.blueprints, material))
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


def coherence_prompt(blueprints: Blueprints, material: Material) -> Prompt:
    """Return the request for conflicts within both plans, `{conflicts: [{what, reason}], coherent}`."""
    given = [
        ("Conditions", material.conditions_text()),
        ("Documents", material.text),
        ("Plans", plans_text(blueprints)),
    ]
    conditions = material.conditions
    return prompt("coherence", given, _SCHEMA, n_rounds=conditions.n_rounds, flawed_round=conditions.flawed_round)


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


async def _results(
    pair: Pair, material: Material, verifier: ChatModel, min_grounded: float, asker: Asker
) -> list[LayerResult]:
    results = [form_result(pair.blueprints, pair.conversations, pair.conditions, reason=None)]
    for layer in (coherence, adherence):
        if results[-1].status in ("failed", "unread"):
            return results
        results.append(await layer(pair, material, verifier=verifier, asker=asker))
    if results[-1].status == "passed":
        results.append(await grounding(pair, material, verifier=verifier, min_grounded=min_grounded, asker=asker))
    return results


def _unknown_chunks(blueprints: Blueprints, material: Material) -> Iterator[str]:
    """Yield a reason for every chunk a plan cites that the pair does not have."""
    known = {chunk.chunk_id for chunk in material.chunks}
    for which, plan in (("better", blueprints.better), ("worse", blueprints.worse)):
        for entry in plan.rounds:
            if entry.chunk is not None and entry.chunk not in known:
                cites = f"plan cites chunk {words(entry.chunk)} that the pair does not have"
                yield f"{cites} (round {entry.round} of the {which} one)"
