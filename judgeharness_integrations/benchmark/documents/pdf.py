"""PDF documents, through pypdf."""

from __future__ import annotations

import logging
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from judgeharness_integrations._errors import NotInstalledError, UsageError
from judgeharness_integrations.benchmark.documents.chunking import unwrapped
from judgeharness_integrations.benchmark.documents.content import Content, Passage

__all__ = ["read_pdf"]

_MOST_CHARACTERS: Final = 20_000_000  # some ten thousand pages: a small file can hold far more, packed
_LIGATURES: Final = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_SOFT_HYPHEN: Final = "\N{SOFT HYPHEN}"


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


def _pages(texts: Iterator[str], path: Path) -> Iterator[Passage]:
    total = 0
    for page, text in enumerate(texts, start=1):
        total += len(text)
        if total > _MOST_CHARACTERS:
            raise UsageError(f"{path} holds more than {_MOST_CHARACTERS:,} characters: split it.")
        whole = text.replace("\r\n", "\n").replace("\r", "\n").replace(f"{_SOFT_HYPHEN}\n", "")
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
