"""How near types are to each other, by the words that describe them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

__all__ = ["MEASURE", "nearest"]

MEASURE: Final = "cosine of tf-idf word weights"
_WORD: Final = re.compile(r"[^\W_]+")


def nearest(texts: Mapping[str, str]) -> dict[str, tuple[str, float] | None]:
    """Return, for every text by name, the name of the most similar other one and how similar it is, 0 to 1.

    The similarity is the cosine of the word counts of two texts, each weighted by ln((1 + n) / (1 + d)) + 1 for a word
    that occurs in d of the n texts (the smoothed weight scikit-learn uses). Equal ones: the first. None: no other text.
    """
    import numpy as np  # noqa: PLC0415 - few commands need it

    names = list(texts)
    counts = [Counter(_WORD.findall(text.lower())) for text in texts.values()]
    words = {word: place for place, word in enumerate(sorted({word for count in counts for word in count}))}
    table = np.zeros((len(names), len(words)))
    for row, count in enumerate(counts):
        table[row, [words[word] for word in count]] = list(count.values())
    table *= np.log((1 + len(names)) / (1 + (table > 0).sum(axis=0))) + 1
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.where(lengths > 0, lengths, 1)
    # rounded before they are compared: the last digits of a sum may differ between machines
    cosines = np.round(np.clip(table @ table.T, 0, 1), 4)
    found: dict[str, tuple[str, float] | None] = {}
    for row, name in enumerate(names):
        others = [(other, float(cosines[row, place])) for place, other in enumerate(names) if place != row]
        found[name] = max(others, key=lambda pair: pair[1]) if others else None
    return found
