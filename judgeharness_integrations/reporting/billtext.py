"""Tokens and money in words, the same in every report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from judgeharness_integrations.usage import Usage, tokens_of

__all__ = ["cost_text", "tokens_text"]


def tokens_text(used: Usage | Mapping[str, Any], *, number: Callable[[int], str] = str) -> str | None:
    """Return `1200 + 30 (800 cached)`: tokens read and written; None where no call reported them.

    Those in brackets are among the tokens read: the provider read them from its prompt cache, or wrote them to it.
    """
    found = used if isinstance(used, Mapping) else tokens_of([used])
    if found["input_tokens"] is None:
        return None
    parts = (("cached_input_tokens", "cached"), ("cache_write_tokens", "written to the cache"))
    told = ", ".join(f"{number(count)} {what}" for name, what in parts if (count := found.get(name)))
    return f"{number(found['input_tokens'])} + {number(found['output_tokens'] or 0)}" + (f" ({told})" if told else "")


def cost_text(cost: float | None, remarks: Sequence[str] = ()) -> str | None:
    """Return `cost 0.0033 by the prices given` with what is to be said of it; None without prices."""
    if cost is None:
        return f"cost not known ({'; '.join(remarks)})" if remarks else None
    return f"cost {cost:.4f} by the prices given" + (f" ({'; '.join(remarks)})" if remarks else "")
