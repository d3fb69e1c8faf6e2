"""The layers in their order: each runs when those before it passed, and what did not run says so."""

from __future__ import annotations

from collections.abc import Sequence

from judgeharness_integrations.benchmark.asking.asker import Asker
from judgeharness_integrations.benchmark.generation.material import Material
from judgeharness_integrations.benchmark.pair import LAYERS, LayerResult, Pair, Verification
from judgeharness_integrations.benchmark.verification.adherence import adherence
from judgeharness_integrations.benchmark.verification.coherence import coherence
from judgeharness_integrations.benchmark.verification.form import form_result
from judgeharness_integrations.benchmark.verification.grounding import grounding
from judgeharness_integrations.chatmodels import ChatModel

__all__ = ["cascade", "verified"]


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
