"""Which pairs to look at first: those that judges answer as if something were wrong with the pair itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from judgeharness_integrations._errors import UsageError

JointMatrix: TypeAlias = Mapping[str, Mapping[str, bool | None]]
"""Judge -> pair id -> whether its verdict, turn and type were all right; None, or no entry: nothing was decided."""


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A pair in an order of suspicion: `correct` of the `asked` judges were right.

    `score` is what the order goes by, in its own sense; judges without a decision count in none of the three.
    """

    pair_id: str
    score: float
    correct: int
    asked: int

    @property
    def share(self) -> float:
        """Share of the asked judges that were right."""
        return self.correct / self.asked


def by_joint_correctness(table: JointMatrix) -> list[Suspect]:
    """Return the pairs by the share of judges that were jointly right about them, smallest first; ties by pair id.

    `score` is that share. A pair that no judge decided is not in it: nothing speaks for or against it.
    """
    found = [
        Suspect(pair_id=pair_id, score=sum(cells.values()) / len(cells), correct=sum(cells.values()), asked=len(cells))
        for pair_id, cells in _by_pair(table)
    ]
    return sorted(found, key=lambda suspect: (suspect.score, suspect.pair_id))


def strong_miss_weak_hit(table: JointMatrix, strength: Mapping[str, float] | None = None) -> list[Suspect]:
    """Return the pairs that strong judges miss and weak ones hit, the most striking first; ties by pair id.

    `score` is the mean strength of the judges that miss minus the mean strength of those that hit: above 0 where the
    stronger ones miss. A pair that all asked judges miss, or all hit, is not in it.

    Args:
        table: who was right about what.
        strength: judge -> how good it is: Elo, or any number that grows with it; `strengths` of the table when None.

    Raises:
        UsageError: a judge of the table has no strength, or one that is no finite number.

    """
    known = strengths(table) if strength is None else strength
    for judge in table:
        decided = any(cell is not None for cell in table[judge].values())
        if decided and not math.isfinite(known.get(judge, math.nan)):
            raise UsageError(f"judge {judge!r} has no finite strength: give that of every judge of the table.")
    found = []
    for pair_id, cells in _by_pair(table):
        hits = [known[judge] for judge, right in cells.items() if right]
        misses = [known[judge] for judge, right in cells.items() if not right]
        if hits and misses:
            score = _mean(misses) - _mean(hits)
            found.append(Suspect(pair_id=pair_id, score=score, correct=len(hits), asked=len(cells)))
    return sorted(found, key=lambda suspect: (-suspect.score, suspect.pair_id))


def strengths(table: JointMatrix) -> dict[str, float]:
    """Return judge -> share of its decided pairs it was jointly right about; judges without any are left out."""
    decided = {judge: [cell for cell in cells.values() if cell is not None] for judge, cells in table.items()}
    return {judge: sum(cells) / len(cells) for judge, cells in decided.items() if cells}


def suspicious_slice(orders: Iterable[Sequence[Suspect]], *, n: int, without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return up to `n` pairs from the tops of the orders: one of the first, one of the second, and again.

    Args:
        orders: of suspicion; none of their pairs that all judges got right is taken, nor one of a negative score.
        n: how many.
        without: pairs that are looked at anyway.

    """
    taken = dict.fromkeys(without)
    chosen: list[str] = []
    lists = [iter([s.pair_id for s in order if s.correct < s.asked and s.score >= 0]) for order in orders]
    while lists and len(chosen) < n:
        for order in list(lists):
            pair_id = next((name for name in order if name not in taken), None)
            if pair_id is None:
                lists.remove(order)
            elif len(chosen) < n:
                taken[pair_id] = None
                chosen.append(pair_id)
    return tuple(chosen)


def _by_pair(table: JointMatrix) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield (pair id, judge -> right) of the pairs that some judge decided."""
    pairs = sorted({pair_id for cells in table.values() for pair_id in cells})
    for pair_id in pairs:
        cells = {judge: right for judge, mine in table.items() if (right := mine.get(pair_id)) is not None}
        if cells:
            yield pair_id, cells


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)  # the same in every order of the judges
