"""Which pairs are ranked by: those left out, and how many each step of the curation took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.credits import Credits, Floats, Marks
from judgeharness_integrations.analysis.ranking.rating import rate

CutTies: TypeAlias = Literal["keep", "cut"]

_SAME = 1e-6  # Elo: pairs of the same pattern differ by rounding alone


@dataclass(frozen=True, kw_only=True, eq=False)
class Curation:
    """Marks (pairs,) on `matrix`, each pair in one of them at most: `flagged` by people, `unanimous`, `hardest`.

    `unanswered`: no judge was asked, or no answer counts under the policy; of these nobody was right or wrong.
    `difficulty` (pairs,): Elo of a pair among the informative ones, before the cut; NaN where it has none.
    """

    matrix: Credits
    flagged: Marks
    unanimous: Marks
    unanswered: Marks
    hardest: Marks
    difficulty: Floats
    share: float
    cut_ties: CutTies

    @property
    def kept(self) -> Credits:
        """Credits of the pairs that are left."""
        return self.matrix.of_pairs(self.kept_marks)

    @property
    def kept_marks(self) -> Marks:
        """(pairs,) of `matrix`."""
        return np.asarray(~(self.flagged | self.unanimous | self.unanswered | self.hardest), np.bool_)


def curate(
    matrix: Credits, *, share: float = 0.0, cut_ties: CutTies = "keep", flagged: Marks | None = None
) -> Curation:
    """Leave out flagged, unanswered and unanimous pairs, then the hardest `share` of the rest by Bradley-Terry.

    What is unanimous and what is hard depends on the judges: curate again whenever they change. Pairs of the same
    difficulty are kept together or cut together where the share would divide them.

    Args:
        matrix: pairs x judges.
        share: of the informative pairs, from 0 to below 1.
        cut_ties: whether pairs tied at the cut are all kept or all cut.
        flagged: (pairs,) pairs that people found wanting.

    Raises:
        UsageError: the share is out of range, or pairs have no difficulty because the judges cannot be rated.

    """
    if not 0 <= share < 1:
        raise UsageError(f"the share of pairs to cut must be at least 0 and below 1, not {share}.")
    marked = np.zeros(len(matrix.pairs), np.bool_) if flagged is None else flagged
    informative = ~(marked | matrix.unanimous)
    answered = matrix.seen.any(axis=1)
    left = np.flatnonzero(informative)
    difficulty = np.full(len(matrix.pairs), np.nan)
    hardest = np.zeros(len(matrix.pairs), np.bool_)
    rating = rate(matrix.of_pairs(informative), methods=("bradley-terry",))
    difficulty[left] = rating.difficulty
    if share:
        if rating.joint is None:
            reason = rating.reasons["bradley-terry"]
            raise UsageError(f"pairs cannot be cut by difficulty: {reason}; ask more judges, or cut none.")
        hardest[left] = _hardest(difficulty[left], share, cut_ties)
    return Curation(
        matrix=matrix,
        flagged=marked,
        unanimous=matrix.unanimous & answered & ~marked,
        unanswered=~answered & ~marked,
        hardest=hardest,
        difficulty=difficulty,
        share=share,
        cut_ties=cut_ties,
    )


def _hardest(difficulty: Floats, share: float, cut_ties: CutTies) -> Marks:
    """Return marks (pairs,) of the hardest share, tied pairs together."""
    known = difficulty[~np.isnan(difficulty)]
    wanted = int(share * len(known) + 1e-9)
    if not wanted:
        return np.zeros(len(difficulty), np.bool_)
    edge = np.sort(known)[::-1][wanted - 1]
    cut = difficulty >= edge - _SAME
    if int(cut.sum()) > wanted and cut_ties == "keep":
        cut = difficulty > edge + _SAME
    return np.asarray(cut, np.bool_)


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
