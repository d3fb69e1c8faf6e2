"""Names of judges and groups, short enough for a picture and still told apart."""

from __future__ import annotations

from collections.abc import Iterable

from judgeharness_integrations.reporting.figures import plain_name
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["short_name", "short_names"]

_LONGEST = 34
_READ = 400  # characters of a name that are looked at


def short_name(name: str, limit: int = _LONGEST) -> str:
    """Return a name on one line; a long one loses its middle, since judges of one model differ at the end."""
    text = safe_text(name, _READ)
    if len(text) > limit:
        tail = (limit - 1) // 2
        text = f"{text[: limit - 1 - tail]}…{text[-tail:]}"
    return plain_name(text or "(no name)", limit + 1)


def short_names(names: Iterable[str], limit: int = _LONGEST) -> dict[str, str]:
    """Return name -> short name; those that would look alike are numbered."""
    shown: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        short, times = short_name(name, limit), 1
        text = short
        while text in taken:
            times += 1
            text = f"{short} ({times})"
        shown[name] = text
        taken.add(text)
    return shown
