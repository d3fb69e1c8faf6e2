"""Chat models made of a name."""

from __future__ import annotations

from typing import Any

from langchain.chat_models import init_chat_model

__all__ = ["chat_model"]


def chat_model(name: str, **options: Any) -> Any:
    """Return the chat model of a name; unless told otherwise it leaves all retrying to the harness, where it can."""
    made = init_chat_model(name, **options)
    if "max_retries" in options or "max_retries" not in getattr(type(made), "model_fields", {}):
        return made
    return init_chat_model(name, **options, max_retries=0)
