"""A document as the benchmark uses it: chunks with ids, so that a claim can be traced to its place."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from judgeharness_integrations.benchmark.records import Record

__all__ = ["Chunk", "Document"]


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
