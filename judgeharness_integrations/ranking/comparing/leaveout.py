"""How far the ranking of the others depends on each judge: what is unanimous and hard depends on who judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.comparing.correlation import correlate
from judgeharness_integrations.ranking.comparing.standing import Standing, standing_of
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.curation import CutTies, curate
from judgeharness_integrations.ranking.eip import EipOptions
from judgeharness_integrations.ranking.onethread import one_thread
from judgeharness_integrations.ranking.rating import Method

__all__ = ["LeftOut", "leave_one_out"]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """The ranking of the others without `judge`, held against their order in the ranking of all.

    `pairs`: how many curation keeps without it. `spearman` and `kendall` (tau-b): of the two orders; None with fewer
    than three others. `shifted`: the judge whose rating changes most, by `largest_shift` (signed; Elo, or points of
    EIP's range), both ratings taken from the mean of the judges they share. All None where either ranking cannot be
    made.
    """

    judge: str
    pairs: int | None
    spearman: float | None
    kendall: float | None
    largest_shift: float | None
    shifted: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON keeps it."""
        return asdict(self)


def leave_one_out(
    matrix: Credits,
    *,
    method: Method,
    share: float = 0.0,
    cut_ties: CutTies = "keep",
    eip_options: EipOptions | None = None,
) -> tuple[LeftOut, ...]:
    """Leave out each judge in turn, curate anew and rank the others.

    Args:
        matrix: pairs x judges, without flagged pairs.
        method: what to rank by.
        share: of the hardest pairs to cut, as in `curate`.
        cut_ties: as in `curate`.
        eip_options: parameters of EIP.

    Returns:
        One entry a judge, in order of the matrix.

    Raises:
        UsageError: the share is out of range, or pairs cannot be cut because the judges cannot be rated.

    """

    def ranked(mine: Credits) -> tuple[int, Standing | None]:
        kept = curate(mine, share=share, cut_ties=cut_ties).kept
        return len(kept.pairs), standing_of(kept, method=method, eip_options=eip_options)

    def without(judge: str) -> tuple[int | None, Standing | None]:
        others = matrix.of_judges([name for name in matrix.judges if name != judge])
        try:
            return ranked(others) if others.judges else (None, None)
        except UsageError:  # without this judge, pairs cannot be cut by difficulty
            return None, None

    with one_thread():
        _, whole = ranked(matrix)
        return tuple(_entry(judge, whole, *without(judge)) for judge in matrix.judges)


def _entry(judge: str, whole: Standing | None, pairs: int | None, without: Standing | None) -> LeftOut:
    if whole is None or without is None:
        return LeftOut(judge=judge, pairs=pairs, spearman=None, kendall=None, largest_shift=None, shifted=None)
    correlation = correlate(whole.order, without.order, labels=("all judges", f"without {judge}"))
    shifted, shift = _largest_shift(whole.scores, without.scores)
    return LeftOut(
        judge=judge,
        pairs=pairs,
        spearman=correlation.spearman,
        kendall=correlation.kendall,
        largest_shift=shift,
        shifted=shifted,
    )


def _largest_shift(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[str | None, float | None]:
    names = [name for name in after if name in before]
    if not names:
        return None, None
    old, new = (np.array([side[name] for name in names]) for side in (before, after))
    shift = (new - new.mean()) - (old - old.mean())
    place = int(np.abs(shift).argmax())
    return names[place], float(shift[place])
