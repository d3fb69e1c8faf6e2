"""Whether the data rank the judges at all: Ford's condition (Ford 1957), judge by judge.

One judge beats another where some pair has it right and the other wrong. A finite maximum of the likelihood exists if
and only if every judge can be reached from every other by such steps; else Elo is whatever the iteration stopped at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from judgeharness_integrations.ranking.arrays import Ints, Marks
from judgeharness_integrations.ranking.credits import Credits

__all__ = ["PLACES", "Connections", "Place", "connections_of"]

Place: TypeAlias = Literal["rated", "above", "below", "apart", "unseen"]
PLACES: Final[tuple[Place, ...]] = get_args(Place)

_DECIMALS = 6  # sums of fractions differ by rounding alone


@dataclass(frozen=True, kw_only=True)
class Connections:
    """Where each judge stands towards the largest group of judges that can be rated together.

    Of groups as large, the one with more answers is taken, then with more credit, then the first by name.
    `rated` judges are that group. Those `above` beat it and are never beaten by it, directly or over others; `below` is
    the reverse; `apart` is neither, so that nothing compares them with it. `unseen` judges hold no credit at all.
    """

    places: tuple[tuple[str, Place], ...]

    def judges(self, place: Place) -> tuple[str, ...]:
        """Return the judges of a place, in order of the matrix."""
        return tuple(judge for judge, found in self.places if found == place)

    @property
    def connected(self) -> bool:
        """Whether all judges are rated together."""
        return all(place == "rated" for _, place in self.places)


def connections_of(matrix: Credits) -> Connections:
    """Return which judges can be rated together, and where the others stand."""
    beats = _beats(matrix)
    _, component = connected_components(csr_array(beats), directed=True, connection="strong")
    asked = matrix.seen.sum(axis=0)
    main = (component == _largest(matrix, component)) & (asked > 0)
    if main.all():
        return Connections(places=tuple((judge, "rated") for judge in matrix.judges))
    reaches = np.isfinite(shortest_path(csr_array(beats), unweighted=True))
    above = reaches[:, main].any(axis=1) & ~main
    below = reaches[main].any(axis=0) & ~main
    return Connections(
        places=tuple(
            (
                judge,
                _place(rated=bool(main[place]), above=bool(above[place]), below=bool(below[place]))
                if asked[place]
                else "unseen",
            )
            for place, judge in enumerate(matrix.judges)
        )
    )


def _largest(matrix: Credits, component: Ints) -> int:
    """Return the number of the largest group, whatever order judges and pairs come in."""
    asked = matrix.seen.sum(axis=0)
    credit = np.nansum(matrix.values, axis=0)

    def size(number: int) -> tuple[int, int, float]:
        mine = component == number
        return int((asked[mine] > 0).sum()), int(asked[mine].sum()), round(float(credit[mine].sum()), _DECIMALS)

    by_name = sorted(range(len(component)), key=matrix.judges.__getitem__)
    return max(dict.fromkeys(int(component[place]) for place in by_name), key=size)


def _beats(matrix: Credits) -> Marks:
    """Return (judges, judges): whether some pair gives the row's judge credit and denies some to the column's."""
    won = (np.nan_to_num(matrix.values, nan=0.0) > 0).astype(np.float32)
    lost = (np.nan_to_num(matrix.values, nan=1.0) < 1).astype(np.float32)
    beats = (won.T @ lost) > 0
    np.fill_diagonal(beats, val=False)
    return np.asarray(beats, np.bool_)


def _place(*, rated: bool, above: bool, below: bool) -> Place:
    if rated:
        return "rated"
    if above:
        return "above"
    return "below" if below else "apart"
