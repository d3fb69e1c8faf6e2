"""What people found when they looked at pairs: which they flagged, and whether that is among the hardest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Floats, Marks
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.curation import Curation

__all__ = ["FLAGGED", "NOT_FLAGGED", "AuditCurve", "audit_curve", "flag_marks"]

FLAGGED: Final = frozenset({"1", "1.0", "true", "t", "yes", "y", "x", "flagged"})
NOT_FLAGGED: Final = frozenset({"", "0", "0.0", "false", "f", "no", "n", "nan"})  # pandas writes nan for what is empty

_SAME = 1e-6  # Elo: pairs of the same pattern differ by rounding alone


@dataclass(frozen=True, kw_only=True)
class AuditCurve:
    """How many of the pairs with an audit label are among the hardest pairs.

    `points`: (share of pairs, share of pairs with the label) from (0, 0) on, hardest pairs first, pairs of the same
    difficulty at once; () where no pair with the label has a difficulty. Of the `n_pairs` that have one, `n_labelled`
    have the label; `n_unplaced` have the label and no difficulty: flagged or unanimous pairs, which ranked nobody.
    """

    column: str
    label: str
    points: tuple[tuple[float, float], ...]
    n_pairs: int
    n_labelled: int
    n_unplaced: int

    @property
    def area(self) -> float | None:
        """Area under the curve: .5 where the label has nothing to do with difficulty, more where hard pairs have it."""
        if not self.points:
            return None
        pairs, labels = np.array(self.points).T
        return float((np.diff(pairs) * (labels[1:] + labels[:-1]) / 2).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON keeps it."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"points": [list(point) for point in self.points], "area": self.area}


def audit_curve(curation: Curation, column: str) -> tuple[AuditCurve, ...]:
    """Return a curve for each label of an audit column, sorted; for marks (1, yes, x ...) one, labelled as the column.

    Args:
        curation: has the difficulty of pairs; flagged ones have none, so flag none by the same column.
        column: audit labels of pairs; empty where people found nothing.

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.

    """
    texts = _texts(curation.matrix, column)
    marked = {text.casefold() for text in texts} <= FLAGGED | NOT_FLAGGED
    if marked:
        labelled = {column: _flagged(texts)}
    else:
        names = sorted({text for text in texts if text.casefold() not in ("", "nan")})
        labelled = {name: np.array([text == name for text in texts]) for name in names}
    return tuple(_curve(curation.difficulty, column, label, marks) for label, marks in labelled.items())


def flag_marks(matrix: Credits, column: str) -> Marks:
    """Return (pairs,): whether people flagged the pair in a column.

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.
        UsageError: a cell is neither a mark nor none.

    """
    texts = _texts(matrix, column)
    for text in texts:
        if text.casefold() not in FLAGGED | NOT_FLAGGED:
            raise UsageError(
                f"column {column!r} holds {text!r:.60}, which neither flags a pair nor does not: write 1, true, yes or "
                "x to flag it, and 0, false, no or nothing else."
            )
    return _flagged(texts)


def _texts(matrix: Credits, column: str) -> list[str]:
    return ["" if value is None else str(value).strip() for value in matrix.column(column)]


def _flagged(texts: list[str]) -> Marks:
    return np.array([text.casefold() in FLAGGED for text in texts], np.bool_)


def _curve(difficulty: Floats, column: str, label: str, marks: Marks) -> AuditCurve:
    placed = np.flatnonzero(~np.isnan(difficulty))
    order = placed[np.argsort(-difficulty[placed], kind="stable")]
    found = np.cumsum(marks[order])
    n_pairs, n_labelled = len(order), int(marks[order].sum())
    points: tuple[tuple[float, float], ...] = ()
    if n_labelled:
        hardest_on = difficulty[order]
        ends = np.flatnonzero(np.append(hardest_on[1:] < hardest_on[:-1] - _SAME, True))
        shares = zip((ends + 1).tolist(), found[ends].tolist(), strict=True)
        points = ((0.0, 0.0), *((pairs / n_pairs, labels / n_labelled) for pairs, labels in shares))
    return AuditCurve(
        column=column,
        label=label,
        points=points,
        n_pairs=n_pairs,
        n_labelled=n_labelled,
        n_unplaced=int(marks.sum()) - n_labelled,
    )
