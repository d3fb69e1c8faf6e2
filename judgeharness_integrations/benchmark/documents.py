"""Documents of several formats, found in folders and read into records with chunks that have ids."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.formats import Content, read_lines, read_markdown, read_pdf, read_text
from judgeharness_integrations.benchmark.pair import Chunk, Document, clean, unused_name

_READERS: Final[dict[str, Callable[[Path], Iterable[Content]]]] = {
    ".pdf": lambda path: (read_pdf(path),),
    ".md": lambda path: (read_markdown(path),),
    ".markdown": lambda path: (read_markdown(path),),
    ".txt": lambda path: (read_text(path),),
    ".jsonl": read_lines,
}
_ENDINGS: Final = tuple(_READERS)
_LONGEST_NAME: Final = 60
_LONGEST_TITLE: Final = 200
MOST_BYTES = 200_000_000
LONGEST: Final = 1_200  # characters: a few paragraphs, which a model can cite as one place

# where a text may be cut, best first: after a paragraph, a sentence, a line, a word
_BORDERS: Final = tuple(
    map(re.compile, (r"\n[^\S\n]*\n", r"[.!?…][\"'”’»)\]]{0,3}(?=\s)|[。！？]", r"\n", r"\s"))  # noqa: RUF001 - full stops
)


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
    for found in found_files(paths, endings=_ENDINGS, what="a document"):
        before = len(made)
        for content in _READERS[found.path.suffix.lower()](found.path):
            document = _document(content, found, document_id=unused_name(slug(content.name), made), domain=domain)
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


@dataclass(frozen=True, kw_only=True)
class FoundFile:
    """A file, and the domain its place gives it: the first folder below the one that was named, else that one."""

    path: Path
    domain: str


def found_files(paths: Sequence[Path], *, endings: Sequence[str], what: str) -> list[FoundFile]:
    """Return files of some endings: each path in the order given, a folder's files sorted by their path.

    Hidden files and folders are left out, and so are files of other endings below a folder. A file is found once.

    Args:
        paths: files and folders.
        endings: as `.pdf`, in lower case.
        what: one of them, as errors name it (`a document`).

    Raises:
        UsageError: a path does not exist, is a file of another ending, or too large, or a folder holds none.

    """
    found: dict[Path, FoundFile] = {}
    for path in paths:
        if path.is_dir():
            below = [FoundFile(path=file, domain=_domain(file, path)) for file in _walked(path, endings)]
            if not below:
                raise UsageError(f"{path} holds no file that is {what}: {what} ends in {_listed(endings)}.")
        else:
            _check(path, endings, what)
            below = [FoundFile(path=path, domain=_name(path.resolve().parent))]
        for file in below:
            _check_size(file.path)
            found.setdefault(file.path.resolve(), file)
    return list(found.values())


def pieces(text: str, *, longest: int = LONGEST) -> Iterator[str]:
    """Yield consecutive pieces of a text, each of at most `longest` characters, without white space at their ends.

    A cut is made in the second half of what a piece may hold: at the last end of a paragraph there, else of a sentence,
    of a line, of a word, else where the piece is full.
    """
    start = 0
    while start < len(text):
        left = len(text) - start
        # two pieces of about the same size rather than a full one and a rest
        most = longest if left >= 2 * longest else min(longest, 2 * left // 3)
        end = len(text) if left <= longest else _cut(text, start, start + most)
        if piece := text[start:end].strip():
            yield piece
        start = end


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


def _check(path: Path, endings: Sequence[str], what: str) -> None:
    if not path.exists():
        raise UsageError(f"{path} does not exist: give {what}, or a folder of them.")
    if not path.is_file():
        raise UsageError(f"{path} is neither a file nor a folder: give {what}, or a folder of them.")
    if path.suffix.lower() not in endings:
        raise UsageError(f"{path}: {what} ends in {_listed(endings)}: convert the file, or leave it out.")


def _check_size(path: Path) -> None:
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise UsageError(
            f"{path} has {size // 1_000_000} MB, more than the {MOST_BYTES // 1_000_000} MB that are read: split it."
        )


def _walked(folder: Path, endings: Sequence[str]) -> list[Path]:
    return sorted(_below(folder, endings), key=lambda path: path.relative_to(folder).parts)


def _below(folder: Path, endings: Sequence[str]) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(place) / name
            if not name.startswith(".") and path.suffix.lower() in endings and path.is_file():
                yield path


def _domain(file: Path, folder: Path) -> str:
    parts = file.relative_to(folder).parts
    return _name(Path(parts[0])) if len(parts) > 1 else _name(folder.resolve())


def _name(folder: Path) -> str:
    return " ".join(clean(folder.name).split()) or "documents"


def _listed(endings: Sequence[str]) -> str:
    return f"{', '.join(endings[:-1])} or {endings[-1]}" if len(endings) > 1 else endings[0]


def _cut(text: str, start: int, end: int) -> int:
    half = start + (end - start) // 2
    for border in _BORDERS:
        ends = [found.end() for found in border.finditer(text, half, end)]
        if ends:
            return ends[-1]
    return end
