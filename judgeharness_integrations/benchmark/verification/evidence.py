"""Whether words a verifier quotes stand in the documents."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = ["Evidence"]

_QUOTES: Final = '"`\u00ab\u00bb\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2039\u203a'
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_TYPED: Final = str.maketrans({**dict.fromkeys(_QUOTES, "'"), **dict.fromkeys(_DASHES, "-"), "\u00ad": None})


class Evidence:
    """The texts of a pair's chunks, in which quotes are looked up.

    Case, white space, the shape of quotation marks and dashes, ligatures and soft hyphens make no difference. Quotation
    marks, dots and spaces around a quote are no part of it. It may run over the border of two chunks.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Take the chunks' texts, in their order."""
        self._text = _plain(" ".join(texts))

    def holds(self, quote: str) -> bool:
        """Whether a quote stands there; one without words stands nowhere."""
        words = _plain(quote).strip("'. ")
        return bool(words) and words in self._text


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_TYPED).casefold().split())
