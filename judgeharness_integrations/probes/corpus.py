"""Every payload there is, alone: what parsers and prompts of the product are tested against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

from judgeharness_integrations.probes.catalogue import probes
from judgeharness_integrations.probes.wordings import alone

__all__ = ["Payload", "corpus"]

# for a single answer also what forges the best verdict of judges that grade, and of usual scales
_TARGETS = (("A", None), ("B", None), *((None, best) for best in (None, "PASS", "10", "5", "1")))


@runtime_checkable
class _Payloads(Protocol):
    def texts(self, slot: str | None, best: str | None = None) -> tuple[str, ...]: ...


@dataclass(frozen=True, kw_only=True)
class Payload:
    """One payload of an attack: which `property` it belongs to, for which `slot`, and its `text` without an answer.

    `slot` is the letter it wants to win, `A` or `B`; None for payloads about a single answer, which forge the best of
    some usual verdicts: `PASS`, 10, 5, 1.
    """

    property: str
    slot: str | None
    text: str


@lru_cache(maxsize=1)
def corpus() -> tuple[Payload, ...]:
    """Return every wording of every attack, for an answer shown as A, as B, and alone; always in the same order."""
    every = (
        Payload(property=one.property, slot=slot, text=alone(text))
        for one in probes()
        for slot, best in _TARGETS
        for text in _texts(one.change, slot, best)
    )
    return tuple(dict.fromkeys(every))


def _texts(change: object, slot: str | None, best: str | None) -> tuple[str, ...]:
    return change.texts(slot, best) if isinstance(change, _Payloads) else ()
