"""Self-preference: does a judge choose answers of its own family more often than other judges do on the same pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats, Marks
from judgeharness_integrations.ranking.correctness.decisions import Decisions
from judgeharness_integrations.ranking.judges.facts import JudgeFacts, family_of
from judgeharness_integrations.ranking.judges.pairwise import chosen_first
from judgeharness_integrations.ranking.judges.plainrecord import plain_record
from judgeharness_integrations.statistics.means import mean_interval

__all__ = ["SelfPreference", "self_preference"]

_AUTHORS = ("author", "author_b")
_ENOUGH = 2  # pairs of which there is a spread


@dataclass(frozen=True, kw_only=True)
class SelfPreference:
    """One judge on the `pairs` of which exactly one answer is of its `family`.

    `own_rate`: share on which it chose that answer, `others_rate`: mean share at which judges of other families did, on
    the same pairs; a tie and no decision count half, failures are left out. `difference` with its standard error and
    Student's 95 % interval, one value a pair. `judges`: how many others decided any of the pairs; those of the rival's
    family are among them. `reason`: why nothing was measured.
    """

    judge: str
    family: str
    pairs: int
    own_rate: float | None
    others_rate: float | None
    difference: float | None
    se: float | None
    ci95: tuple[float, float] | None
    judges: int
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON keeps it."""
        return plain_record(self)


def self_preference(
    decisions: Decisions, criterion: str, facts: Mapping[str, JudgeFacts] | None = None
) -> tuple[SelfPreference, ...]:
    """Compare each judge with judges of other families, where the log says who wrote both answers.

    Empty without columns `author` and `author_b`, and for a criterion that is no choice between A and B.

    Args:
        decisions: of all judges.
        criterion: the choice between A and B.
        facts: judge or author -> facts; see `family_of` for how families are told.

    Raises:
        UnknownNameError: the criterion is not known.

    """
    entry = decisions.criterion(criterion)
    if not entry.pairwise or not all(name in decisions.columns for name in _AUTHORS):
        return ()
    families = [family_of(judge, facts) for judge in decisions.judges]
    authors = [_families(decisions.columns[name], facts) for name in _AUTHORS]
    chosen = chosen_first(entry, undecided=0.5)
    return tuple(_measured(decisions.judges, families, place, chosen, authors) for place in range(len(families)))


def _families(authors: Sequence[str | float | None], facts: Mapping[str, JudgeFacts] | None) -> tuple[str | None, ...]:
    known = {cell: None if cell is None else family_of(str(cell), facts).casefold() for cell in set(authors)}
    return tuple(known[cell] for cell in authors)


def _measured(
    judges: Sequence[str], families: Sequence[str], place: int, chosen: Floats, authors: Sequence[Sequence[str | None]]
) -> SelfPreference:
    family = families[place].casefold()
    first, second = (np.array([one == family for one in side], np.bool_) for side in authors)
    known = np.array([None not in pair for pair in zip(*authors, strict=True)], np.bool_)
    sided = known & (first != second)
    chosen = np.where(first[:, None], chosen, 1 - chosen)[sided]
    others = np.array([other.casefold() != family for other in families], np.bool_)
    return _entry(judges[place], families[place], chosen[:, place], chosen[:, others])


def _entry(judge: str, family: str, mine: Floats, theirs: Floats) -> SelfPreference:
    """Compare choices of one family's answer, `mine` (pairs,) with `theirs` (pairs, judges)."""
    counted: Marks = ~np.isnan(theirs)
    both = ~np.isnan(mine) & counted.any(axis=1)
    mine, theirs, counted = mine[both], theirs[both], counted[both]
    n = len(mine)
    if not n:
        reason = _reason(both, theirs.shape[1])
        return SelfPreference(
            judge=judge,
            family=family,
            pairs=0,
            own_rate=None,
            others_rate=None,
            difference=None,
            se=None,
            ci95=None,
            judges=0,
            reason=reason,
        )
    shares = np.where(counted, theirs, 0.0).sum(axis=1) / counted.sum(axis=1)
    differences = mine - shares
    return SelfPreference(
        judge=judge,
        family=family,
        pairs=n,
        own_rate=float(mine.mean()),
        others_rate=float(shares.mean()),
        difference=float(differences.mean()),
        se=float(differences.std(ddof=1)) / n**0.5 if n >= _ENOUGH else None,
        ci95=mean_interval(differences),
        judges=int(counted.any(axis=0).sum()),
        reason=None,
    )


def _reason(sided: Marks, others: int) -> str:
    if not len(sided):
        return "no pair has exactly one answer of its family"
    if not others:
        return "no judge of another family to compare with"
    return "it and a judge of another family decided none of the pairs with one answer of its family"
