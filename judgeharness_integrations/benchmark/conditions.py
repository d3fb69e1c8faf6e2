"""What a pair is to be: failure type, behaviour, rounds, side and documents, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Literal, TypeAlias

from pydantic import Field

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.documents.document import Document
from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy

__all__ = ["Conditions", "Drawing", "Side", "draw_conditions"]

Side: TypeAlias = Literal["A", "B"]


class Conditions(Record):
    """The conditions of one pair; `flawed_round` is 1-based, `better` the side that has no flaw.

    `chunks` are the ids of the chunks both conversations may draw on, of `documents` in their order.
    """

    pair_id: str
    number: int = Field(ge=0)
    failure_type: str
    behaviour: str
    n_rounds: int = Field(ge=1)
    flawed_round: int = Field(ge=1)
    better: Side
    domain: str
    documents: tuple[str, ...]
    chunks: tuple[str, ...]


class Drawing(Record):
    """How conditions are drawn: from which seed, between how many rounds, from how much of how many documents.

    `weights`: failure type, behaviour or document id -> weight, 1 for those that are not named, 0 for never.
    `most_characters` of a document's chunks are used: a window of them where it is longer.
    """

    seed: int = 0
    rounds: tuple[int, int] = (3, 7)
    documents_per_pair: int = Field(default=1, ge=1)
    most_characters: int = Field(default=24_000, ge=500)
    weights: Mapping[str, float] = Field(default_factory=dict)


def draw_conditions(number: int, *, documents: Sequence[Document], taxonomy: Taxonomy, drawing: Drawing) -> Conditions:
    """Return the conditions of the pair of a number.

    Every one is drawn by itself and uniformly, or by weight: failure type, behaviour, rounds, side, documents, and the
    flawed round among those in which the flaw can occur. They depend on seed and number alone, so that more pairs, and
    another generator, leave those of a pair as they are.

    Raises:
        UsageError: there is no document, fewer than a pair needs, or nothing of weight above 0.

    """
    if len(documents) < drawing.documents_per_pair:
        raise UsageError(
            f"a pair needs {drawing.documents_per_pair} documents and there are {len(documents)}: give more."
        )
    # a generator for each choice: another taxonomy or another number of rounds moves no other choice
    failure = _choice(f"{drawing.seed}|{number}|failure", list(taxonomy.failure_types), drawing.weights)
    behaviour = _choice(f"{drawing.seed}|{number}|behaviour", list(taxonomy.behaviours), drawing.weights)
    low, high = drawing.rounds
    earliest = taxonomy.failure_types[failure].earliest_round
    n_rounds = _rng(f"{drawing.seed}|{number}|rounds").randint(max(low, earliest), max(high, earliest))
    used = _documents(documents, drawing, number)
    return Conditions(
        pair_id=f"pair-{number + 1:05d}",
        number=number,
        failure_type=failure,
        behaviour=behaviour,
        n_rounds=n_rounds,
        flawed_round=_rng(f"{drawing.seed}|{number}|flawed").randint(earliest, n_rounds),
        better="A" if _rng(f"{drawing.seed}|{number}|side").random() < 1 / 2 else "B",
        domain=used[0].domain,
        documents=tuple(document.document_id for document in used),
        chunks=tuple(chunk for document in used for chunk in _window(document, drawing, number)),
    )


def _rng(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a draw that can be repeated, not a secret


def _choice(seed: str, names: Sequence[str], weights: Mapping[str, float]) -> str:
    weighed = [weights.get(name, 1.0) for name in names]
    if not any(weighed):
        raise UsageError(f"nothing is left to draw from {', '.join(names)}: give one of them a weight above 0.")
    return _rng(seed).choices(names, weights=weighed)[0]


def _documents(documents: Sequence[Document], drawing: Drawing, number: int) -> list[Document]:
    left = {document.document_id: document for document in documents}
    return [
        left.pop(_choice(f"{drawing.seed}|{number}|document|{place}", list(left), drawing.weights))
        for place in range(drawing.documents_per_pair)
    ]


def _window(document: Document, drawing: Drawing, number: int) -> list[str]:
    """Return the ids of consecutive chunks that hold as many characters as allowed, from a place drawn."""
    most = drawing.most_characters // drawing.documents_per_pair
    lengths = [len(chunk.text) for chunk in document.chunks]
    tails = list(accumulate(reversed(lengths)))[::-1]  # characters from each chunk to the end
    starts = [place for place, tail in enumerate(tails) if place == 0 or tail >= most]
    start = _rng(f"{drawing.seed}|{number}|window|{document.document_id}").choice(starts)
    chosen: list[str] = []
    held = 0
    for chunk in document.chunks[start:]:
        if chosen and held + len(chunk.text) > most:
            break
        chosen.append(chunk.chunk_id)
        held += len(chunk.text)
    return chosen
