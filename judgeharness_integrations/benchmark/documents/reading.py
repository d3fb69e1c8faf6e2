"""Documents of several formats, read into records with chunks that have ids."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.documents.chunking import pieces
from judgeharness_integrations.benchmark.documents.content import Content
from judgeharness_integrations.benchmark.documents.document import Chunk, Document
from judgeharness_integrations.benchmark.documents.finding import FoundFile, found_files
from judgeharness_integrations.benchmark.documents.lines import read_lines
from judgeharness_integrations.benchmark.documents.pdf import read_pdf
from judgeharness_integrations.benchmark.documents.texts import read_markdown, read_text
from judgeharness_integrations.benchmark.records import clean

__all__ = ["ENDINGS", "read_documents", "slug"]

_READERS: Final[dict[str, Callable[[Path], Iterable[Content]]]] = {
    ".pdf": lambda path: (read_pdf(path),),
    ".md": lambda path: (read_markdown(path),),
    ".markdown": lambda path: (read_markdown(path),),
    ".txt": lambda path: (read_text(path),),
    ".jsonl": read_lines,
}
ENDINGS: Final = tuple(_READERS)
_LONGEST_NAME: Final = 60
_LONGEST_TITLE: Final = 200


def read_documents(paths: Sequence[Path], *, domain: str | None = None) -> list[Document]:
    """Return the documents in files and below folders, in their order; the same files always give the same ones.

    A document's id is its name in lower case with hyphens (`report`, `report-2`), unique among those read together. Its
    domain is `domain`, else the one its line of JSON names, else the first folder below the one that was given, else
    that folder, or the one the file lies in.

    Args:
        paths: PDF (`.pdf`), Markdown (`.md`, `.markdown`), text (`.txt`), lines of JSON (`.jsonl`), folders of them.
        domain: of all documents.

    Raises:
        UsageError: a file cannot be read or holds no text; it is named, with what to do.
        NotInstalledError: there are PDF documents and pypdf is not installed.

    """
    if domain is not None and not domain.strip():
        raise UsageError("a domain is a name, not an empty text: leave it out, or name one.")
    made: dict[str, Document] = {}
    for found in found_files(paths, endings=ENDINGS, what="a document"):
        before = len(made)
        for content in _READERS[found.path.suffix.lower()](found.path):
            document = _document(content, found, document_id=_unique(slug(content.name), made), domain=domain)
            made[document.document_id] = document
        if len(made) == before:
            raise UsageError(f"{found.path} holds no document: fill it, or leave it out.")
    if not made:
        raise UsageError("there is no document: give files or folders that hold text.")
    return list(made.values())


def slug(name: str) -> str:
    """Return a name as an id: its letters and digits in lower case, hyphens for everything between them."""
    kept = "".join(c if c.isalnum() else " " for c in clean(name).lower())
    return "-".join(kept.split())[:_LONGEST_NAME].rstrip("-") or "document"


def _unique(name: str, known: Container[str]) -> str:
    candidate, number = name, 1
    while candidate in known:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _document(content: Content, found: FoundFile, *, document_id: str, domain: str | None) -> Document:
    parts = [(piece, passage) for passage in content.passages for piece in pieces(clean(passage.text))]
    if not parts:
        raise UsageError(f"{content.where} holds no text: {content.empty}.")
    chunks = (
        Chunk(
            chunk_id=f"{document_id}#{number}",
            text=piece,
            heading=None if passage.heading is None else _line(passage.heading),
            page=passage.page,
        )
        for number, (piece, passage) in enumerate(parts, start=1)
    )
    return Document(
        document_id=document_id,
        title=_line(content.title) or document_id,
        domain=_line(domain or content.domain or found.domain) or found.domain,
        source=clean(found.path.name),
        chunks=tuple(chunks),
    )


def _line(text: str) -> str:
    """Return a text in one line of no more than a title's length."""
    return " ".join(clean(text).split())[:_LONGEST_TITLE]
