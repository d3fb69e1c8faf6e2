"""A configuration as it may be written beside results: without its secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["redacted"]

_SECRET = re.compile(
    r"api.?key|access.?key|private.?key|token(?!s)|secret|authori[sz]ation|password|passwd|credential|bearer|cookie",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(://)[^/@\s]+@")
REDACTED = "[redacted]"


def redacted(value: Any) -> Any:
    """Return JSON-able data with the value of every key that looks like a secret replaced."""
    if isinstance(value, Mapping):
        return {
            str(key): REDACTED if part is not None and _SECRET.search(str(key)) else redacted(part)
            for key, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redacted(part) for part in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _IN_URL.sub(rf"\1{REDACTED}@", str(value))
