"""What a simulated judge can answer, and which preference makes it answer that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.aggregation.statistics import within
from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["KINDS", "Kind", "Scale", "gold_difference", "same", "scale_of"]

Kind: TypeAlias = Literal["pairwise", "graded", "scores"]
KINDS: tuple[Kind, ...] = ("pairwise", "graded", "scores")

_CENTER, _SLOPE = 5.5, 2.0  # a score is 5.5 + 2 z, rounded, from 1 to 10
_LOWEST, _HIGHEST = 1, 10


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Verdicts from the worst for A (or for the only answer) to the best, and the edges of z between them.

    A preference is above an edge when it is greater, at a `closed` one also when it is equal.
    """

    verdicts: tuple[str | int, ...]
    edges: tuple[float, ...]
    closed: tuple[bool, ...]
    criterion: Criterion

    def places(self, preference: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the place among `verdicts` of each preference (n,)."""
        found = np.zeros(len(preference), dtype=np.intp)
        for edge, closed in zip(self.edges, self.closed, strict=True):
            found += preference >= edge if closed else preference > edge
        return found

    @property
    def top(self) -> int:
        """The place of the best verdict."""
        return len(self.verdicts) - 1


def scale_of(kind: Kind, ties: float) -> Scale:
    """Return the scale of a kind of judge; `ties` is half the width of the band in which a pair ties."""
    if kind == "pairwise":
        return Scale(
            verdicts=("B", "TIE", "A"),
            edges=(-ties, ties),
            closed=(True, False),
            criterion=Criterion(name="verdict", labels=("A", "B", "TIE")),
        )
    if kind == "graded":
        return Scale(
            verdicts=("FAIL", "PASS"),
            edges=(0.0,),
            closed=(False,),
            criterion=Criterion(name="verdict", labels=("PASS", "FAIL")),
        )
    scores = tuple(range(_LOWEST, _HIGHEST + 1))
    return Scale(
        verdicts=scores,
        edges=tuple((score - 0.5 - _CENTER) / _SLOPE for score in scores[1:]),
        closed=(True,) * (len(scores) - 1),
        criterion=Criterion(name="verdict", scale=(_LOWEST, _HIGHEST)),
    )


_SIGNS: Mapping[object, float] = {"A": 1.0, "PASS": 1.0, "B": -1.0, "FAIL": -1.0, "TIE": 0.0}


def gold_difference(gold: object, default: float) -> float:
    """Return the quality difference a gold label stands for: the default with its sign; of a score its place."""
    if isinstance(gold, Mapping):
        gold = gold.get("verdict")
    if isinstance(gold, (int, float)) and not isinstance(gold, bool):
        return (gold - _CENTER) / _SLOPE
    return default * _SIGNS.get(gold, 1.0) if isinstance(gold, str) else default


def same(one: Verdict, other: Verdict, tolerance: float) -> bool:
    """Whether two verdicts count as the same: scores within a tolerance do."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return within(one, other, tolerance)
    return one == other
