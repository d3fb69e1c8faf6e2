"""Texts a model put in other words, as a run keeps them: paid for once, and the same for every repetition."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from judgeharness_integrations.judging import text_hash

if TYPE_CHECKING:
    from judgeharness_integrations.perturbations import Perturbation, Rewriter

__all__ = ["KeptRewrites", "RewriteLog", "rewriter_name", "rewriter_places", "wordings_of"]


class RewriteLog(Protocol):
    """A log that keeps rewordings; its methods may wait, so they are called in a thread."""

    def rewrite(self, rewriter: str, text: str) -> str | None:
        """Return the kept rewording of a text."""
        ...

    def add_rewrite(self, rewriter: str, text: str, rewritten: str) -> str:
        """Keep a rewording and return the one that is kept: the first of a text stays."""
        ...


class KeptRewrites:
    """The rewordings of one run: two rewriters of one name may be different models, so no other run takes them.

    A rewriter that stands nowhere in the design cannot be known again; nothing of it is kept.
    """

    def __init__(self, log: RewriteLog, run: str, places: Mapping[int, str]) -> None:
        """Keep them in a log; `places` are those of `rewriter_places`."""
        self._log = log
        self._run = run
        self._places = places

    async def find(self, rewriter: Rewriter, text: str) -> str | None:
        """Return what this run was given for a text before it was cut off."""
        if (key := self._key(rewriter)) is None:
            return None
        return await asyncio.to_thread(self._log.rewrite, key, text)

    async def keep(self, rewriter: Rewriter, text: str, rewritten: str) -> str:
        """Keep a rewording; what cannot be one is left to fail its probes."""
        key = self._key(rewriter)
        if key is None or not isinstance(rewritten, str) or not rewritten.strip():
            return rewritten
        return await asyncio.to_thread(self._log.add_rewrite, key, text, rewritten)

    def _key(self, rewriter: Rewriter) -> str | None:
        place = self._places.get(id(rewriter))
        return None if place is None else f"{self._run}/{place}/{rewriter_name(rewriter)}"


def rewriter_name(rewriter: Rewriter) -> str:
    """Return what a rewriter is called."""
    return str(getattr(rewriter, "__name__", type(rewriter).__name__))


def rewriter_places(perturbations: Iterable[Perturbation]) -> dict[int, str]:
    """Return id of a rewriter -> where the design names it first, which is the same each time the run goes on."""
    places: dict[int, str] = {}
    for perturbation in perturbations:
        for number, part in enumerate(_parts(perturbation)):
            if part.rewriter is not None:
                places.setdefault(id(part.rewriter), f"{perturbation.name}#{number}")
    return places


def _parts(perturbation: Perturbation) -> Iterator[Perturbation]:
    for part in perturbation.parts:
        yield from _parts(part)
    if not perturbation.parts:
        yield perturbation


def wordings_of(perturbations: Sequence[Perturbation], instructions: Sequence[str]) -> tuple[str, ...]:
    """Return what identifies the wordings a calibration was measured with."""
    parts = [part for p in perturbations for part in (p.parts or (p,))]
    rewriters = [part.rewriter for part in parts if part.rewriter is not None]
    names = sorted({rewriter_name(rewriter) for rewriter in rewriters})
    given = any("prompt_variant" in part.needs and part.rewriter is None for part in parts)
    return (*names, *(text_hash(text) for text in instructions if given))
