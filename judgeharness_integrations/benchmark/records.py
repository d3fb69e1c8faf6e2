"""The records of a benchmark: frozen, checked when they are read, the same bytes for the same content."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from judgeharness_integrations._errors import CaseError

__all__ = ["Behaviour", "Chunk", "Document", "FailureType", "Record", "Taxonomy", "clean", "unused_name"]


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
    def shown(self) -> str:
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
