"""A pair in the field names of the public release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judgeharness_integrations.benchmark.documents.document import Document
from judgeharness_integrations.benchmark.pair import Blueprint, Conversation, Pair

__all__ = ["public_record"]


def public_record(pair: Pair, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return a pair as the public release names its fields; rounds count from 1.

    What was checked of it is not in it. `generator` is a key of ours: without it a reader would not know who wrote the
    pair.

    Args:
        pair: one that has conversations.
        documents: id -> document; the pair's chunks become its context.

    """
    conditions = pair.conditions
    texts = {
        chunk.chunk_id: chunk.text
        for name in conditions.documents
        if name in documents
        for chunk in documents[name].chunks
    }
    context = "\n\n".join(texts[name] for name in conditions.chunks if name in texts)
    plans = pair.blueprints
    return {
        "id": pair.pair_id,
        "domain": conditions.domain,
        "convo_a": _messages(pair.conversation("A")),
        "convo_b": _messages(pair.conversation("B")),
        "better_is_a": conditions.better == "A",
        "plan": None if plans is None else {"good": _plan(plans.better), "bad": _plan(plans.worse)},
        "metadata": {
            "user_behavior_type": conditions.behaviour,
            "assistant_behavior_type": conditions.failure_type,
            "n_rounds": conditions.n_rounds,
            "bad_round_index": conditions.flawed_round,
            "context": context,
        },
        "generator": pair.generator,
    }


def _messages(conversation: Conversation | None) -> list[dict[str, str]]:
    turns = () if conversation is None else conversation.turns
    return [
        {"role": role, "content": text}
        for turn in turns
        for role, text in (("user", turn.user), ("assistant", turn.assistant))
    ]


def _plan(plan: Blueprint) -> Any:
    """Return a plan of rounds as an object, and one that is a text as that."""
    return plan.to_dict() if plan.rounds else plan.sketch
