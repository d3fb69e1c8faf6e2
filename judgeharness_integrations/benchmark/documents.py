"""Documents of several formats, found in folders and read into records with chunks that have ids."""

from __future__ import annotations

import logging
import os
import re
import unicodedata
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf, ValidationError

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import LogFormatError, NotInstalledError, UsageError
from judgeharness_integrations.judging.config.schema import at_line, first_problem
from judgeharness_integrations.verdictlog.files import iter_records

from .pair import Chunk, Document, clean, unused_name

if TYPE_CHECKING:
    from markdown_it.token import Token


_WRAPPED: Final = range(40, 201)  # the longest line of a text whose lines are broken where a page is full
_FULL: Final = 0.7  # of the longest line
_COLUMNS: Final = re.compile(r"\S\s{2,}\S|\t")
_LISTED: Final = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])[.)]\s")
_ENDED: Final = (".", "!", "?", ":")
_GOING: Final = (*_ENDED, ",", ";", "-")
_HYPHENATED: Final = re.compile(r"[^\W\d_]-$")
_MOST_CHARACTERS: Final = 20_000_000  # some ten thousand pages: a small file can hold far more, packed
_LIGATURES: Final = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_SOFT_HYPHEN: Final = "\N{SOFT HYPHEN}"
_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY: Final = re.compile(r"\s*[\w.-]+[ \t]*:(?:\s|\Z)")
_PATH: Final = " > "


def unwrapped(text: str) -> str:
    """Return a text whose lines were broken at the width of a page with its paragraphs in one line each.

    A line is joined to the one before where that is about as long as the longest and this one goes on with a letter,
    digit or quote; a word divided by a hyphen becomes one. Lists, columns and short lines stay as they are, and so does
    a text whose lines are longer, or shorter, than those of a page.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    longest = max(map(len, lines))
    if longest not in _WRAPPED:
        return text
    joined: list[str] = []
    before = ""
    for line in lines:
        if _goes_on(before, line, longest):
            divided = _HYPHENATED.search(before) and line.lstrip()[0].islower()
            joined[-1] = (joined[-1][:-1] if divided else joined[-1] + " ") + line.lstrip()
        else:
            joined.append(line)
        before = line
    return "\n".join(joined)


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A text that no chunk reaches beyond; `heading` is the path of headings it stands under, `page` a PDF's."""

    text: str
    heading: str | None = None
    page: int | None = None


@dataclass(frozen=True, kw_only=True)
class Content:
    """A document as it was read.

    `name` becomes its id. `where` names its place in errors; `empty` says what to do when it holds no text.
    """

    name: str
    title: str
    passages: tuple[Passage, ...]
    where: str
    domain: str | None = None
    empty: str = "fill it, or leave it out"


def text_of_file(path: Path) -> str:
    """Return the text of a file: UTF-8, or UTF-16 where its first bytes say so; line ends become newlines.

    Raises:
        UsageError: it is not text.

    """
    data = path.read_bytes()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.upper().removesuffix("-SIG")
        raise UsageError(f"{path}: is not {name} text (byte {error.start}): save it as UTF-8.") from error
    if "\0" in text:
        raise UsageError(f"{path}: is not text (it holds zero bytes): save it as UTF-8 text, or leave it out.")
    return _newlines(text)


def _named(name: object) -> object:
    """Return a number as the text that names it."""
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # pydantic's own texts refuse half an emoji, which a program that cuts texts leaves
    text: InstanceOf[str]
    id: Annotated[InstanceOf[str] | None, BeforeValidator(_named)] = None
    title: InstanceOf[str] | None = None
    domain: InstanceOf[str] | None = None


def read_lines(path: Path) -> Iterator[Content]:
    """Yield the document of each line; only `text` must be there, and no other key may.

    A line without an `id` is named after the file and its number.

    Raises:
        UsageError: the file or a line of it cannot be read, or an id stands twice; file and line are named.

    """
    lines: dict[str, int] = {}
    try:
        for number, record in iter_records(path):
            where = f"{path}, line {number}"
            line = _json_line(record, where)
            name = line.id or f"{path.stem}-{number}"
            if (earlier := lines.setdefault(name, number)) != number:
                raise UsageError(f"{where}: repeats the id {name!r} of line {earlier}: give each document its own.")
            yield Content(
                name=name,
                title=line.title or name,
                passages=(Passage(text=_newlines(line.text)),),
                where=where,
                domain=line.domain,
            )
    except LogFormatError as error:
        raise UsageError(str(error).replace("a row is", "a document is")) from error


def read_pdf(path: Path) -> Content:
    """Return a PDF, a passage for each page that holds text.

    Raises:
        NotInstalledError: pypdf is not installed.
        UsageError: it is encrypted, broken, or unpacks to too much.

    """
    try:
        from pypdf import PdfReader  # noqa: PLC0415 - an extra
        from pypdf.errors import DependencyError, FileNotDecryptedError  # noqa: PLC0415
    except ImportError:
        raise NotInstalledError("pypdf, which reads PDF documents,", "benchmark") from None
    try:
        with _quiet(), path.open("rb") as file:
            reader = PdfReader(file)
            title = reader.metadata.title if reader.metadata is not None else None
            passages = tuple(_pages((page.extract_text() for page in reader.pages), path))
    except UsageError:
        raise
    except FileNotDecryptedError as error:
        raise UsageError(f"{path} is encrypted: save it without a password, or leave it out.") from error
    except DependencyError as error:
        raise UsageError(f"{path} is encrypted: pip install 'pypdf[crypto]', or save it without encryption.") from error
    except Exception as error:  # broken files fail in any way
        raise UsageError(
            f"{path} cannot be read as PDF ({type(error).__name__}): save it anew, or convert it to text."
        ) from error
    shown = title.strip() if isinstance(title, str) else ""
    empty = "if its pages are pictures, run text recognition over it, else leave it out"
    return Content(name=path.stem, title=shown or path.stem, passages=passages, where=str(path), empty=empty)


def read_text(path: Path) -> Content:
    """Return a text file.

    Raises:
        UsageError: it is not text.

    """
    passage = Passage(text=unwrapped(text_of_file(path)))
    return Content(name=path.stem, title=path.stem, passages=(passage,), where=str(path))


def read_markdown(path: Path) -> Content:
    """Return a Markdown file (CommonMark with tables), a passage for each of its headings and what stands below.

    A passage begins with its heading; one with nothing below it begins the next passage. Front matter is left out: keys
    and values between two lines of hyphens; other text between such lines is text. The title is that of the front
    matter, else the first heading of the first level, else the file's name.

    Raises:
        UsageError: it is not text.

    """
    text = text_of_file(path)
    front = _FRONT.match(text)
    facts = None if front is None else _facts(front[1] or "")
    body = text if front is None or facts is None else text[front.end() :]
    tokens = _tokens(body)
    firsts = (title for level, title, _ in _headings(tokens) if level == 1 and title)
    title = _title(facts or {}) or next(firsts, path.stem)
    return Content(name=path.stem, title=title, passages=tuple(_passages(body, tokens)), where=str(path))


def _newlines(text: str) -> str:
    """Return a text whose lines end in newlines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _goes_on(before: str, line: str, longest: int) -> bool:
    """Whether a line goes on with the paragraph of the one before it."""
    begins = line.lstrip()[:1]
    if len(before) < _FULL * longest or not (begins.isalnum() or begins in ('"', "'", "(", "“", "‘")):  # noqa: RUF001 - quotes
        return False
    if before.endswith(_ENDED) and len(line) < longest / 2 and not line.endswith(_GOING):
        return False  # a heading
    return not (_LISTED.match(line) or _COLUMNS.search(line) or _COLUMNS.search(before.strip()))


def _json_line(record: object, where: str) -> _Line:
    try:
        return _Line.model_validate(record)
    except ValidationError as error:
        raise at_line(first_problem(error.errors(include_url=False), where, _Line), where) from None


def _pages(texts: Iterator[str], path: Path) -> Iterator[Passage]:
    total = 0
    for page, text in enumerate(texts, start=1):
        total += len(text)
        if total > _MOST_CHARACTERS:
            raise UsageError(f"{path} holds more than {_MOST_CHARACTERS:,} characters: split it.")
        whole = _newlines(text).replace(f"{_SOFT_HYPHEN}\n", "")
        plain = unwrapped(whole.replace(_SOFT_HYPHEN, "").translate(_LIGATURES))
        yield Passage(text=plain, page=page)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what pypdf logs and warns about odd files from the terminal: what cannot be read is said once."""
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _tokens(text: str) -> list[Token]:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - other documents do without

    return MarkdownIt("commonmark").enable("table").parse(text)


def _facts(front: str) -> dict[Any, Any] | None:
    """Return what front matter says, nothing of what cannot be read; None for a text that merely stands there."""
    try:
        facts: Any = load_yaml(front)
    except (ValueError, RecursionError):
        return {} if _KEY.match(front) or front.lstrip().startswith("{") else None
    if facts is None:
        return None if front.strip() else {}
    return facts if isinstance(facts, dict) else None


def _title(facts: dict[Any, Any]) -> str | None:
    """Return the title that front matter gives."""
    title = facts.get("title")
    return title.strip() or None if isinstance(title, str) else None


def _headings(tokens: list[Token]) -> Iterator[tuple[int, str, int]]:
    """Yield level, text and first line of every heading that is not inside something else."""
    for opened, inline in pairwise(tokens):
        if opened.type == "heading_open" and opened.level == 0 and opened.map is not None:
            yield int(opened.tag[1:]), " ".join(inline.content.split()), opened.map[0]


def _passages(text: str, tokens: list[Token]) -> Iterator[Passage]:
    lines, paragraphs, bodies = text.split("\n"), _paragraphs(tokens), _bodies(tokens)
    path: dict[int, str] = {}
    headings = [(0, "", 0), *_headings(tokens)]
    ends = [first for _, _, first in headings[1:]] + [len(lines)]
    began = 0
    for (level, heading, first), end in zip(headings, ends, strict=True):
        path = {higher: name for higher, name in path.items() if higher < level} | ({level: heading} if heading else {})
        if end < len(lines) and bisect_left(bodies, first) == bisect_left(bodies, end):
            continue  # nothing but the heading: it goes with what follows
        yield Passage(text=_joined(lines, began, end, paragraphs), heading=_PATH.join(path.values()) or None)
        began = end


def _paragraphs(tokens: list[Token]) -> dict[int, int]:
    """Return first line -> line after the last of every paragraph whose line ends are mere spaces."""
    found = (token.map for token in tokens if token.type == "paragraph_open" and token.level == 0)
    return {place[0]: place[1] for place in found if place is not None}


def _bodies(tokens: list[Token]) -> list[int]:
    """Return the first line of everything that is neither a heading nor a rule, in their order."""
    return [
        token.map[0]
        for token in tokens
        if token.level == 0
        and token.map is not None
        and token.nesting >= 0
        and token.type not in ("heading_open", "hr")
    ]


def _joined(lines: list[str], began: int, end: int, paragraphs: dict[int, int]) -> str:
    """Return lines as a text, each paragraph in one line."""
    made: list[str] = []
    place = began
    while place < end:
        until = paragraphs.get(place, place + 1)
        part = lines[place:until]
        made.append(part[0] if len(part) == 1 else " ".join(line.strip() for line in part))
        place = until
    return "\n".join(made)


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
