"""What LangChain's message says of each ending, by provider: the table a reader of messages is written from.

A fact is a path into the message, such as `response_metadata.stop_reason`; a fact that is None is not there. With every
answer came `USED`, its text was `TEXT`; a refusal's reason was `REASON`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from support.provider_wire import Answer, Ending, Tokens

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

__all__ = ["ENDS", "REASON", "TEXT", "USAGE", "USED", "answer_that", "fact", "usage_details"]

TEXT = "Both are right. [[C]]"
REASON = "I can't help with that."
USED = Tokens(input=2000, output=30, cached=1500, written=100, reasoning=10)

_FINISH = "response_metadata.finish_reason"
_STATUS = "response_metadata.status"
_INCOMPLETE = "response_metadata.incomplete_details.reason"
_STOP = "response_metadata.stop_reason"
_EXPLAINED = "response_metadata.stop_details.explanation"
_PROMPT = "response_metadata.prompt_feedback.block_reason"
_REFUSAL = "additional_kwargs.refusal"

ENDS: Mapping[str, Mapping[Ending, Mapping[str, Any]]] = {
    "openai": {  # "empty" raises, and so does "prompt_blocked"
        "ok": {_FINISH: "stop", _REFUSAL: None, "text": TEXT},
        "stop_sequence": {_FINISH: "stop", "text": TEXT},
        "cut_off": {_FINISH: "length", "text": TEXT},
        "context_full": {_FINISH: "length", "text": TEXT},
        "blocked": {_FINISH: "content_filter", "text": TEXT},
        "refused": {_FINISH: "stop", _REFUSAL: REASON, "text": ""},
    },
    "responses": {  # "prompt_blocked" raises
        "ok": {_STATUS: "completed", _INCOMPLETE: None, _FINISH: None, "text": TEXT},
        "stop_sequence": {_STATUS: "completed", "text": TEXT},
        "cut_off": {_STATUS: "incomplete", _INCOMPLETE: "max_output_tokens", "text": TEXT},
        "context_full": {_STATUS: "incomplete", _INCOMPLETE: "max_output_tokens", "text": TEXT},
        "blocked": {_STATUS: "incomplete", _INCOMPLETE: "content_filter", "text": TEXT},
        "refused": {_STATUS: "completed", "content.0.type": "refusal", "content.0.refusal": REASON, "text": ""},
        "empty": {_STATUS: "completed", "content": [], "text": ""},
    },
    "anthropic": {
        "ok": {_STOP: "end_turn", _FINISH: None, "text": TEXT},
        "stop_sequence": {_STOP: "stop_sequence", "response_metadata.stop_sequence": "\n\nHuman:", "text": TEXT},
        "cut_off": {_STOP: "max_tokens", "text": TEXT},
        "context_full": {_STOP: "model_context_window_exceeded", "text": TEXT},
        "blocked": {_STOP: "refusal", "text": TEXT},
        "refused": {_STOP: "refusal", _EXPLAINED: REASON, "text": ""},
        "prompt_blocked": {_STOP: "refusal", _EXPLAINED: REASON, "text": ""},
        "empty": {_STOP: "end_turn", "content": [], "text": ""},
    },
    "gemini": {
        "ok": {_FINISH: "STOP", "text": TEXT},
        "stop_sequence": {_FINISH: "STOP", "text": TEXT},
        "cut_off": {_FINISH: "MAX_TOKENS", "text": TEXT},
        "context_full": {_FINISH: "MAX_TOKENS", "text": TEXT},
        "blocked": {_FINISH: "SAFETY", "text": ""},
        "refused": {_FINISH: "PROHIBITED_CONTENT", "text": ""},
        "prompt_blocked": {_FINISH: None, _PROMPT: "PROHIBITED_CONTENT", "text": "", "usage_metadata": None},
        "empty": {_FINISH: None, "text": "", "usage_metadata": None},
    },
}

# How LangChain itemises `USED`. OpenAI's names of the items take the tier's name where it is flex or priority, and its
# item of that name still holds what was written; Anthropic's `cache_creation` is 0 where the lifetimes are itemised.
USAGE: Mapping[tuple[str, str | None], Mapping[str, int]] = {
    ("openai", None): {"cache_read": 1500, "cache_creation": 100, "reasoning": 10},
    ("openai", "flex"): {"flex_cache_read": 1500, "flex_cache_creation": 100, "flex": 500, "flex_reasoning": 10},
    ("responses", None): {"cache_read": 1500, "cache_creation": 100, "reasoning": 10},
    ("responses", "priority"): {"priority_cache_read": 1500, "priority_cache_creation": 100, "priority": 500},
    ("anthropic", None): {
        "cache_read": 1500,
        "cache_creation": 0,
        "ephemeral_5m_input_tokens": 100,
        "ephemeral_1h_input_tokens": 0,
        "reasoning": 10,
    },
    ("anthropic", "priority"): {"cache_read": 1500, "cache_creation": 0, "ephemeral_5m_input_tokens": 100},
    ("gemini", None): {"cache_read": 1500, "reasoning": 10},
    ("gemini", "flex"): {"cache_read": 1500, "reasoning": 10},
}


def answer_that(ended: Ending, **fields: Any) -> Answer:
    """The scripted answer of the tables that ended in this way; `fields` win."""
    text = REASON if ended in ("refused", "prompt_blocked") else TEXT
    return Answer(**{"text": text, "ended": ended, "tokens": USED, **fields})


def fact(message: AIMessage, path: str) -> Any:
    """What the message says at `path`; None if it says nothing there."""
    found: Any = message
    for step in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(step)
        elif isinstance(found, list):
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = getattr(found, step, None)
    return found


def usage_details(message: AIMessage) -> dict[str, int]:
    """The items of the message's usage, of the prompt and of the answer."""
    usage: Mapping[str, Any] = message.usage_metadata or {}
    items: dict[str, int] = {**usage.get("output_token_details", {}), **usage.get("input_token_details", {})}
    return items
