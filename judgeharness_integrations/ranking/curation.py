"""Which pairs are ranked by: unanimous, unanswered, too hard and flagged ones left out, and how many of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Floats, Marks
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.rating import rate

__all__ = ["Curation", "CutTies", "curate"]

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
