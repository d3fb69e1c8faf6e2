"""The robustness sheet: the same judges rated under other choices, each held against the choice that was made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Marks
from judgeharness_integrations.ranking.comparing.comparison import Comparison, RatedSide, compare
from judgeharness_integrations.ranking.correctness.crediting import credits_of
from judgeharness_integrations.ranking.correctness.decisions import Decisions
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.curation import CutTies, curate
from judgeharness_integrations.ranking.eip import EipOptions

__all__ = ["USUAL_CUT", "robustness"]

USUAL_CUT = 0.05  # share of hardest pairs that RankJudge cuts


def robustness(
    decisions: Decisions,
    criteria: Sequence[str],
    *,
    share: float = 0.0,
    cut_ties: CutTies = "keep",
    flagged: Marks | None = None,
    by: str | None = None,
    pointwise: Decisions | None = None,
    eip_options: EipOptions | None = None,
) -> tuple[Comparison, ...]:
    """Rate judges with and without each choice, on all data and on each group.

    The choices: each criterion but the first; the cut of the hardest pairs (`share`, or 5 % where nothing is cut);
    Bradley-Terry or EIP; verdicts on pairs or scores of single answers. Every side but EIP's is Bradley-Terry Elo, and
    pairs are curated for each side anew, on all data, before they are divided into groups.

    Args:
        decisions: of the ranking.
        criteria: that are credited jointly.
        share: of the hardest pairs to cut.
        cut_ties: as in `curate`.
        flagged: (pairs,) of `credits_of(decisions, criteria)`: pairs that people found wanting.
        by: a column of groups.
        pointwise: decisions from scores of single answers (`pairs_of_scores`); compared on the pairs and judges that
            both have.
        eip_options: parameters of EIP.

    Raises:
        UnknownNameError: a criterion or the column is not known; the nearest is offered.
        UsageError: nothing has gold, the share is out of range, or pairs cannot be cut by difficulty.

    """
    whole = credits_of(decisions, criteria)
    bad = frozenset() if flagged is None else frozenset(np.array(whole.pairs, object)[flagged])
    sides = _Sides(flagged=bad, cut_ties=cut_ties, by=by)
    curate(whole, share=share, cut_ties=cut_ties, flagged=flagged)  # refuses what the ranking itself could not use
    found: list[Comparison] = []
    for criterion in criteria[1:]:
        rest = _credits(decisions, [name for name in criteria if name != criterion])
        x = sides.of(f"Elo with {criterion}", whole, share)
        found += compare(f"with and without {criterion}", x, sides.of(f"Elo without {criterion}", rest, share))
    cut = share or USUAL_CUT
    uncut = sides.of("Elo, no pair cut", whole, 0.0)
    found += compare("with and without the cut", sides.cut(f"Elo, hardest {100 * cut:.3g} % cut", whole, cut), uncut)
    elo = sides.of("Bradley-Terry Elo", whole, share)
    score = replace(elo, label="EIP score", method="eip")
    found += compare("bradley-terry against eip", elo, score, eip_options=eip_options)
    if pointwise is not None:
        mine, theirs = _in_common(decisions, pointwise, criteria)
        x = sides.of("pairwise Elo", mine, share)
        found += compare("pairwise against pointwise", x, sides.of("pointwise Elo", theirs, share))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """How credits are curated and divided into groups."""

    flagged: Collection[str]
    cut_ties: CutTies
    by: str | None

    def of(self, label: str, matrix: Credits | str, share: float) -> RatedSide:
        """Return one side of a comparison; `matrix` may be the reason why there is none."""
        if isinstance(matrix, str):
            return RatedSide(label=label, credits={}, reason=matrix)
        marks = np.array([pair in self.flagged for pair in matrix.pairs], np.bool_)
        try:
            kept = curate(matrix, share=share, cut_ties=self.cut_ties, flagged=marks).kept
        except UsageError as error:
            return RatedSide(label=label, credits={}, reason=str(error).rstrip("."))
        return RatedSide(label=label, credits=dict(self._groups(kept)))

    def cut(self, label: str, matrix: Credits, share: float) -> RatedSide:
        """Return the side with the hardest pairs cut; without credits where the cut takes no pair."""
        side, uncut = self.of(label, matrix, share), self.of(label, matrix, 0.0)
        if side.reason is None and side.credits[None].pairs == uncut.credits[None].pairs:
            reason = "the cut takes no pair: the hardest are tied, or too few"
            return RatedSide(label=label, credits={}, reason=reason)
        return side

    def _groups(self, matrix: Credits) -> Iterator[tuple[str | None, Credits]]:
        yield None, matrix
        if self.by is not None:
            yield from matrix.groups(self.by).items()


def _credits(decisions: Decisions, criteria: Sequence[str]) -> Credits | str:
    """Return the credits, or why there are none."""
    try:
        return credits_of(decisions, criteria)
    except UsageError as error:
        return str(error).rstrip(".")


def _in_common(
    decisions: Decisions, pointwise: Decisions, criteria: Sequence[str]
) -> tuple[Credits | str, Credits | str]:
    """Return both credits on the criteria, judges and pairs that both have, with the columns of the first."""
    shared = [name for name in criteria if name in pointwise.criteria]
    whole, theirs = _credits(decisions, shared or criteria), _credits(pointwise, shared)  # no name in common: all
    if isinstance(whole, str) or isinstance(theirs, str):
        reason = whole if isinstance(whole, str) else str(theirs)
        return reason, reason
    judges = [name for name in whole.judges if name in theirs.judges]
    pairs = frozenset(whole.pairs) & frozenset(theirs.pairs)
    if not judges or not pairs:
        kind = "pair" if judges else "judge"
        reason = f"no {kind} is in both logs under the same name"
        return reason, reason
    mine, other = (_only(side.of_judges(judges), pairs) for side in (whole, theirs))
    places = {pair: place for place, pair in enumerate(mine.pairs)}
    columns: Mapping[str, tuple[str | float | None, ...]] = {
        name: tuple(values[places[pair]] for pair in other.pairs) for name, values in mine.columns.items()
    }
    return mine, replace(other, columns=columns)


def _only(matrix: Credits, pairs: Collection[str]) -> Credits:
    return matrix.of_pairs(np.array([pair in pairs for pair in matrix.pairs], np.bool_))
