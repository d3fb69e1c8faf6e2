"""What a reader finds in a file, before it is cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from judgeharness_integrations._errors import UsageError

__all__ = ["Content", "Passage", "text_of_file"]


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
    return text.replace("\r\n", "\n").replace("\r", "\n")
