"""Where nodes of a Python file stand in its text, as characters."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst

    from judgeharness_integrations.migration.sources import Source

__all__ = ["Places"]

_NEWLINE = re.compile(r"\r\n|\r|\n")  # what ends a line for Python, and nothing else


class Places:
    """Character positions in one file."""

    def __init__(self, source: Source) -> None:
        """Index the lines."""
        self.text = source.text
        self.view = source.view
        self._starts = [0, *(found.end() for found in _NEWLINE.finditer(source.text))]

    @cached_property
    def newline(self) -> str:
        """The line ending of the file: its first one."""
        found = _NEWLINE.search(self.text)
        return found[0] if found else "\n"

    def start(self, node: cst.CSTNode) -> int:
        """Return where a node begins, parentheses of its own left out."""
        begin = self.view.position(node).start
        return self._starts[begin.line - 1] + begin.column

    def end(self, node: cst.CSTNode) -> int:
        """Return the place behind a node."""
        end = self.view.position(node).end
        return self._starts[end.line - 1] + end.column

    def of(self, node: cst.CSTNode) -> str:
        """Return a node's text."""
        return self.text[self.start(node) : self.end(node)]

    def line(self, node: cst.CSTNode) -> int:
        """Return the line a node begins in, from 1."""
        return int(self.view.position(node).start.line)

    def line_start(self, place: int) -> int:
        """Return where the line of a place begins."""
        return max(start for start in self._starts if start <= place)

    def line_end(self, place: int) -> int:
        """Return where the line after that of a place begins; the end of the text where there is none."""
        return next((start for start in self._starts if start > place), len(self.text))

    def indent(self, place: int) -> str:
        """Return the blank characters the line of a place begins with."""
        start = self.line_start(place)
        line = self.text[start : self.line_end(place)]
        return line[: len(line) - len(line.lstrip(" \t\f"))]
