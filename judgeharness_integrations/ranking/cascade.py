"""How many pairs each step of the curation took, by any column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from judgeharness_integrations.ranking.arrays import Marks
from judgeharness_integrations.ranking.curation import Curation

__all__ = ["NO_VALUE", "CascadeRow", "cascade"]

NO_VALUE: Final = "-"

_STEPS: Final = ("flagged", "unanimous_right", "unanimous_wrong", "unanswered", "hardest", "kept")


@dataclass(frozen=True, kw_only=True)
class CascadeRow:
    """Pairs with one `value` in a `column` (None: all pairs), each counted in one of the steps, which sum to `total`.

    `flagged` by people; `unanimous_right`, `unanimous_wrong`: all judges asked were; `unanswered`: none was asked, or
    every answer is missing by policy; `hardest`: cut by difficulty; `kept`. Each has a percentage of `total`.
    """

    column: str | None
    value: str
    total: int
    flagged: int
    unanimous_right: int
    unanimous_wrong: int
    unanswered: int
    hardest: int
    kept: int

    @property
    def flagged_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.flagged)

    @property
    def unanimous_right_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.unanimous_right)

    @property
    def unanimous_wrong_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.unanimous_wrong)

    @property
    def unanswered_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.unanswered)

    @property
    def hardest_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.hardest)

    @property
    def kept_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.kept)

    def _percent(self, count: int) -> float | None:
        return 100 * count / self.total if self.total else None

    def to_dict(self) -> dict[str, Any]:
        """Return counts and percentages as JSON keeps them."""
        counts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return counts | {f"{step}_percent": getattr(self, f"{step}_percent") for step in _STEPS}


def cascade(curation: Curation, columns: Sequence[str]) -> tuple[CascadeRow, ...]:
    """Return a row for all pairs, then for each column one for each value, pairs without one last.

    Args:
        curation: which pairs were left out, and why.
        columns: of the pairs: domain, failure type, behaviour ...

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.

    """
    steps = _steps(curation)
    every = np.ones(len(curation.matrix.pairs), np.bool_)
    rows = [_row(steps, every, None, "all")]
    for column in columns:
        values = ["" if value is None else str(value) for value in curation.matrix.column(column)]
        rows += [
            _row(steps, np.array([value == name for value in values]), column, name or NO_VALUE)
            for name in sorted({*values}, key=lambda value: (value == "", value))
        ]
    return tuple(rows)


def _steps(curation: Curation) -> dict[str, Marks]:
    """Return step -> marks (pairs,); each pair is in one."""
    matrix = curation.matrix
    right = np.nan_to_num(matrix.values).any(axis=1)
    marks = (
        curation.flagged,
        curation.unanimous & right,
        curation.unanimous & ~right,
        curation.unanswered,
        curation.hardest,
        curation.kept_marks,
    )
    return dict(zip(_STEPS, marks, strict=True))


def _row(steps: dict[str, Marks], chosen: Marks, column: str | None, value: str) -> CascadeRow:
    counts = {step: int((marks & chosen).sum()) for step, marks in steps.items()}
    return CascadeRow(column=column, value=value, total=int(chosen.sum()), **counts)
