"""Pieces of the JSON schemas verifiers answer by: every property required, no others allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from judgeharness_integrations.benchmark.prompts.material import object_of

__all__ = ["FLAG", "MAYBE_TEXT", "ROUND", "TEXT", "list_of"]

TEXT: Final = {"type": "string"}
MAYBE_TEXT: Final = {"type": ["string", "null"]}
FLAG: Final = {"type": "boolean"}
ROUND: Final = {"type": "integer"}


def list_of(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of objects."""
    return {"type": "array", "items": object_of(title, properties)}
