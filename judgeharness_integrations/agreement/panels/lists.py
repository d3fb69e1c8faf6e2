"""Lists of labels as people write them: texts, numbers that stand for labels, or a 0 or 1 for each position."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Sequence

from judgeharness_integrations.verdictlog.row import is_number, verdict_text

__all__ = ["Lists", "is_missing", "listed"]

_MARKS = (0, 1)  # True and False are equal to them
_SHORTEST = 2


class Lists:
    """What the lists of one column are: vectors of marks of one length, or lists of labels.

    `labels` are the positions of vectors, empty for lists of labels.
    """

    def __init__(self, values: Iterable[object]) -> None:
        """Look at all of them."""
        lists = [value for value in values if isinstance(value, list)]
        widths = {len(value) for value in lists}
        vectors = len(widths) == 1 and max(widths) >= _SHORTEST and all(mark in _MARKS for one in lists for mark in one)
        self.labels = tuple(str(place) for place in range(1, max(widths) + 1)) if vectors else ()

    def labels_of(self, value: Sequence[object]) -> list[str]:
        """Return the labels of a list."""
        if self.labels:
            return [label for label, mark in zip(self.labels, value, strict=True) if mark]
        return [verdict_text(label) if is_number(label) else label for label in value]  # type: ignore[arg-type,misc]


def is_missing(value: object) -> bool:
    """Whether a value is none: what pandas writes for a missing cell is not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def listed(value: object) -> object:
    """Return a cell, the list it holds where it is one (JSON, or as Python prints it), None where it is missing."""
    if is_missing(value):
        return None
    text = value.strip() if isinstance(value, str) else ""
    if not (text.startswith("[") and text.endswith("]")):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return list(read(text))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text
