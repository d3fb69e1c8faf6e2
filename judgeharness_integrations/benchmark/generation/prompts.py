"""What the generator is asked: both plans at once, then each conversation by itself."""

from __future__ import annotations

import json
from typing import Any, Final

from judgeharness_integrations.benchmark.generation.material import Material, Which
from judgeharness_integrations.benchmark.pair import Blueprint
from judgeharness_integrations.benchmark.prompts.material import object_of, prompt
from judgeharness_integrations.chatmodels import Prompt

__all__ = ["GENERATOR_STEPS", "blueprints_prompt", "conversation_prompt"]

GENERATOR_STEPS: Final = ("blueprints", "conversation_better", "conversation_worse")

_TEXT: Final = {"type": "string"}
_ROUND: Final = {"type": "integer"}


def _list_of(title: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": object_of(title, properties)}


_PLANNED: Final = {"round": _ROUND, "user": _TEXT, "chunk": {"type": ["string", "null"]}, "assistant": _TEXT}
_PLAN: Final = {"sketch": _TEXT, "rounds": _list_of("planned_round", _PLANNED)}
_BLUEPRINTS: Final = object_of(
    "blueprints", {"better": object_of("better_plan", _PLAN), "worse": object_of("worse_plan", _PLAN)}
)
_TURN: Final = {"round": _ROUND, "user": _TEXT, "assistant": _TEXT}
_CONVERSATION: Final = object_of("conversation", {"turns": _list_of("turn", _TURN)})


def blueprints_prompt(material: Material) -> Prompt:
    """Return the request for both plans, `{better: {sketch, rounds: [{round, user, chunk, assistant}]}, worse}`."""
    given = [("Conditions", material.conditions_text()), ("Documents", material.text)]
    return prompt("blueprints", given, _BLUEPRINTS, template=None, **_numbers(material))


def conversation_prompt(material: Material, plan: Blueprint, *, side: Which) -> Prompt:
    """Return the request for the conversation of a plan, `{turns: [{round, user, assistant}]}`.

    It is told of its own side alone: nothing in it says what the assistant of the other one does.
    """
    given = [
        ("Conditions", material.conditions_text(side)),
        ("Documents", material.text),
        ("Plan", json.dumps(plan.to_dict(), indent=2, ensure_ascii=False)),
    ]
    return prompt(f"conversation_{side}", given, _CONVERSATION, template=None, **_numbers(material))


def _numbers(material: Material) -> dict[str, int]:
    return {"n_rounds": material.conditions.n_rounds, "flawed_round": material.conditions.flawed_round}
