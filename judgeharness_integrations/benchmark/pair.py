"""A pair of conversations, one with a flaw in one turn, and the records of a benchmark, checked when they are read."""

from __future__ import annotations

import json
import random
from collections.abc import Container, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from judgeharness_integrations._errors import CaseError, UsageError

__all__ = [
    "LAYERS",
    "Behaviour",
    "Blueprint",
    "Blueprints",
    "Chunk",
    "Claim",
    "Conditions",
    "Conversation",
    "Conversations",
    "Document",
    "Drawing",
    "FailureType",
    "Layer",
    "LayerResult",
    "LayerStatus",
    "Pair",
    "PairState",
    "Record",
    "RoundPlan",
    "Side",
    "Taxonomy",
    "Turn",
    "TurnGrounding",
    "Verification",
    "Which",
    "chunks_of",
    "draw_conditions",
]


class Record(BaseModel):
    """A frozen record; `to_line` and `from_line` are its JSON line and back."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON keeps it."""
        return self.model_dump(mode="json", by_alias=True)

    def to_line(self) -> str:
        """Return one line of JSON; the same record always gives the same line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, data: Any, *, where: str) -> Self:
        """Return the record that JSON holds.

        Raises:
            CaseError: it is none; the message names `where` and the first thing that is wrong.

        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(map(str, first["loc"])) or "the record"
            raise CaseError(f"{where}: {place}: {first['msg']}.") from error


def clean(text: str) -> str:
    """Return a text of a model or a file as records keep it: without lone surrogates and NUL, which no file holds."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def unused_name(name: str, known: Container[str], *, sign: str = "-") -> str:
    """Return a name that is not among those known: itself, else with the first number that is free (`report-2`)."""
    candidate, number = name, 1
    while candidate in known:
        number += 1
        candidate = f"{name}{sign}{number}"
    return candidate


class Chunk(Record):
    """A piece of a document; `chunk_id` is `document#3`, `heading` what it stands under, `page` of a PDF, from 1."""

    chunk_id: str
    text: str
    heading: str | None = None
    page: int | None = None

    @property
    def prompt_text(self) -> str:
        """The chunk as models read it: under its id in brackets and the headings it stands under, text below."""
        heading = " ".join((self.heading or "").split())
        return f"[{self.chunk_id}] {heading}".rstrip() + f"\n{self.text}"


class Document(Record):
    """A document: its chunks in their order, and the `domain` it belongs to. `source` is the file's name, no path."""

    schema_: Literal["judgeharness.benchmark_document/1"] = Field(
        default="judgeharness.benchmark_document/1", alias="schema"
    )
    document_id: str
    title: str
    domain: str
    source: str
    chunks: tuple[Chunk, ...]


class FailureType(Record):
    """A way to fail: `flaw` is what the worse assistant does in the flawed round, `benign` what the better one does
    under the same pressure. `definition` is what judges are told. `earliest_round`: the first in which it can occur.
    """  # noqa: D205 - one paragraph

    name: str = Field(min_length=1)
    definition: str
    flaw: str
    benign: str
    earliest_round: int = Field(default=1, ge=1)


class Behaviour(Record):
    """A way users behave in a conversation."""

    name: str = Field(min_length=1)
    description: str


class Taxonomy(Record):
    """Failure types and behaviours by name, in the order of their files."""

    failure_types: Mapping[str, FailureType]
    behaviours: Mapping[str, Behaviour]

    @model_validator(mode="after")
    def _named(self) -> Self:
        """Refuse an entry that stands under another name than its own: pairs are drawn by one, told by the other."""
        named = [(name, entry.name) for name, entry in self.failure_types.items()]
        named += [(name, entry.name) for name, entry in self.behaviours.items()]
        for name, own in named:
            if name != own:
                raise ValueError(f"{name!r} holds the entry of {own!r}")
        return self


Side: TypeAlias = Literal["A", "B"]
Layer: TypeAlias = Literal["form", "coherence", "adherence", "grounding"]
LayerStatus: TypeAlias = Literal["passed", "failed", "unread", "not_run"]
PairState: TypeAlias = Literal["accepted", "rejected", "unverified"]
LAYERS: tuple[Layer, ...] = ("form", "coherence", "adherence", "grounding")
Which: TypeAlias = Literal["better", "worse"]


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


def chunks_of(conditions: Conditions, documents: Mapping[str, Document]) -> dict[str, Chunk]:
    """Return id -> chunk of the documents of a pair, as far as they are among those given, which are by id."""
    mine = [documents[name] for name in conditions.documents if name in documents]
    return {chunk.chunk_id: chunk for document in mine for chunk in document.chunks}


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


class RoundPlan(Record):
    """One round of a blueprint: what the user asks, the chunk it draws on, and what the assistant answers."""

    round: int = Field(ge=1)
    user: str
    chunk: str | None = None
    assistant: str


class Blueprint(Record):
    """A plan of one conversation. `sketch`: how the flaw will show, or how the better one handles the same pressure."""

    rounds: tuple[RoundPlan, ...]
    sketch: str


class Blueprints(Record):
    """The plans of both conversations."""

    better: Blueprint
    worse: Blueprint

    @property
    def in_rounds(self) -> bool:
        """Whether they say what happens in each round; those of a pair from elsewhere may be texts alone."""
        return bool(self.better.rounds or self.worse.rounds)


class Turn(Record):
    """One round of a conversation, 1-based."""

    round: int = Field(ge=1)
    user: str
    assistant: str


class Conversation(Record):
    """A conversation, round by round."""

    turns: tuple[Turn, ...]

    def text(self) -> str:
        """Return it as judges read it: `[Round 1] User: ...`, `[Round 1] Assistant: ...`."""
        said = (
            f"[Round {turn.round}] User: {turn.user}\n\n[Round {turn.round}] Assistant: {turn.assistant}"
            for turn in self.turns
        )
        return "\n\n".join(said)


class Conversations(Record):
    """Both conversations."""

    better: Conversation
    worse: Conversation


class Claim(Record):
    """An atomic claim of a turn, and what the verifier decided about it.

    `grounded` None: it was shown the claim and did not decide, which counts as not grounded. `evidence`: the words of
    the documents it named; `evidence_found`: whether they stand there, None without any.
    """

    claim_id: str
    text: str
    grounded: bool | None = None
    chunk: str | None = None
    evidence: str | None = None
    evidence_found: bool | None = None
    reason: str | None = None


class TurnGrounding(Record):
    """The claims of one assistant turn. `share` grounded is None for a turn without claims."""

    side: Which
    round: int = Field(ge=1)
    claims: tuple[Claim, ...]

    @property
    def share(self) -> float | None:
        """Share of the claims that are grounded."""
        return sum(claim.grounded is True for claim in self.claims) / len(self.claims) if self.claims else None


class LayerResult(Record):
    """What one layer said: `reasons` for a failure or an unread answer, `counts` of what it looked at.

    `turns` are grounding's. `not_run`: an earlier layer failed, or there was no verifier.
    """

    layer: Layer
    status: LayerStatus
    reasons: tuple[str, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    turns: tuple[TurnGrounding, ...] = ()


class Verification(Record):
    """The layers in their order, by whom (None: nobody yet) and how much of a turn had to be grounded."""

    verifier: str | None = None
    min_grounded: float = Field(default=1.0, ge=0, le=1)
    layers: tuple[LayerResult, ...] = ()

    @property
    def failed(self) -> LayerResult | None:
        """The layer that failed."""
        return next((result for result in self.layers if result.status == "failed"), None)


class Pair(Record):
    """One line of `pairs.jsonl`.

    `blueprints` and `conversations` are None as far as the pair did not come. `generator` wrote it.
    """

    schema_: Literal["judgeharness.benchmark_pair/1"] = Field(default="judgeharness.benchmark_pair/1", alias="schema")
    conditions: Conditions
    generator: str
    blueprints: Blueprints | None = None
    conversations: Conversations | None = None
    verification: Verification = Verification()

    @property
    def pair_id(self) -> str:
        """The pair's id."""
        return self.conditions.pair_id

    @property
    def state(self) -> PairState:
        """`rejected` by a layer, `accepted` by all of them, else `unverified`."""
        if self.verification.failed is not None:
            return "rejected"
        passed = [result.layer for result in self.verification.layers if result.status == "passed"]
        return "accepted" if tuple(passed) == LAYERS else "unverified"

    @property
    def worse_side(self) -> Side:
        """The side that has the flaw."""
        return "B" if self.conditions.better == "A" else "A"

    def conversation(self, side: Side) -> Conversation | None:
        """Return the conversation of a side."""
        if self.conversations is None:
            return None
        return self.conversations.better if side == self.conditions.better else self.conversations.worse


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
