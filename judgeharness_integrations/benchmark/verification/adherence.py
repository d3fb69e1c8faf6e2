"""The third layer: is the declared flaw in the declared turn, and is there nothing else to tell the two apart?"""

from __future__ import annotations

from functools import partial
from typing import Any

from judgeharness_integrations.benchmark.asking.asker import Asker
from judgeharness_integrations.benchmark.generation.material import Material
from judgeharness_integrations.benchmark.pair import Conversations, LayerResult, Pair
from judgeharness_integrations.benchmark.prompts.material import object_of, prompt
from judgeharness_integrations.benchmark.verification.coherence import plans_text
from judgeharness_integrations.benchmark.verification.findings import adherence_reasons, read_findings
from judgeharness_integrations.benchmark.verification.reading import words
from judgeharness_integrations.benchmark.verification.schemas import FLAG, ROUND, TEXT, list_of
from judgeharness_integrations.chatmodels import ChatModel, Prompt

__all__ = ["adherence", "adherence_prompt"]


async def adherence(pair: Pair, material: Material, *, verifier: ChatModel, asker: Asker) -> LayerResult:
    """Return whether both conversations of a pair are what was declared of them.

    A pair without conversations is not looked at: the layer is `not_run`.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    if pair.conversations is None:
        return LayerResult(layer="adherence", status="not_run", reasons=("the pair has no conversations",))
    read = partial(read_findings, n_rounds=pair.conditions.n_rounds, types=tuple(material.taxonomy.failure_types))
    asked = adherence_prompt(pair, pair.conversations, material)
    answer = await asker.ask(verifier, asked, item=pair.pair_id, read=read)
    if answer.value is None:
        return LayerResult(layer="adherence", status="unread", reasons=(words(str(answer.reason)),))
    reasons = tuple(adherence_reasons(answer.value, pair.conditions))
    counts = {"worse_flaws": len(answer.value.worse_flaws), "better_flaws": len(answer.value.better_flaws)}
    return LayerResult(layer="adherence", status="failed" if reasons else "passed", reasons=reasons, counts=counts)


def adherence_prompt(pair: Pair, conversations: Conversations, material: Material) -> Prompt:
    """Return the request for every flaw of both conversations and for what else tells them apart."""
    plans = [] if pair.blueprints is None else [("Plans", plans_text(pair.blueprints))]
    given = [
        ("Conditions", material.conditions_text()),
        ("Documents", material.text),
        *plans,
        ("Better conversation", conversations.better.text()),
        ("Worse conversation", conversations.worse.text()),
    ]
    types = list(material.taxonomy.failure_types.values())
    told: dict[str, Any] = {
        "n_rounds": pair.conditions.n_rounds,
        "flawed_round": pair.conditions.flawed_round,
        "has_plans": bool(plans),
        "failure_types": types,
    }
    return prompt("adherence", given, _schema([failure.name for failure in types]), **told)


def _schema(types: list[str]) -> dict[str, Any]:
    flaw = {"round": ROUND, "type": {"type": "string", "enum": types}, "what": TEXT}
    return object_of(
        "adherence",
        {
            "worse_flaws": list_of("worse_flaw", flaw),
            "better_flaws": list_of("better_flaw", flaw),
            "announced": FLAG,
            "announcement": TEXT,
            "behaviour_kept_better": FLAG,
            "behaviour_kept_worse": FLAG,
            "behaviour_reason": TEXT,
            "same_pressure": FLAG,
            "same_tone_and_length": FLAG,
            "reason": TEXT,
        },
    )
