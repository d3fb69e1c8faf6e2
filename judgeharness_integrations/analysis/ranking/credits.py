"""The arrays of this room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UnknownNameError, UsageError

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Marks: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Credits:
    """Pairs x judges: 1 right, 0 wrong, a fraction for a tie, NaN where a judge was not asked.

    `columns` hold a value for each pair (domain, author ...). A pair is whatever was judged, a single answer too.

    Raises:
        UsageError: a credit is no number from 0 to 1, or a name stands twice.

    """

    judges: tuple[str, ...]
    pairs: tuple[str, ...]
    values: Floats
    columns: Mapping[str, tuple[str | float | None, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is no matrix of credits."""
        if self.values.shape != (len(self.pairs), len(self.judges)):
            raise UsageError(
                f"credits are pairs x judges, {len(self.pairs)} x {len(self.judges)}, not {self.values.shape}."
            )
        for kind, names in (("judge", self.judges), ("pair", self.pairs)):
            if len(set(names)) < len(names):
                raise UsageError(f"a {kind} stands twice among the credits: give each a name of its own.")
        if bool(np.any((self.values < 0) | (self.values > 1))):
            raise UsageError("a credit is a number from 0 (wrong) to 1 (right), or NaN where a judge was not asked.")

    @cached_property
    def seen(self) -> Marks:
        """(pairs, judges) whether the judge was asked about the pair."""
        return ~np.isnan(self.values)

    @cached_property
    def unanimous(self) -> Marks:
        """(pairs,) whether all judges that were asked were right, or all wrong: such a pair ranks nobody."""
        some_right = (np.nan_to_num(self.values, nan=0.0) > 0).any(axis=1)
        some_wrong = (np.nan_to_num(self.values, nan=1.0) < 1).any(axis=1)
        return np.asarray(~(some_right & some_wrong), np.bool_)

    @property
    def complete(self) -> bool:
        """Whether every judge was asked about every pair."""
        return bool(self.seen.all())

    @property
    def fractional(self) -> bool:
        """Whether any credit is neither 0 nor 1."""
        return bool(np.any((self.values > 0) & (self.values < 1)))

    def column(self, name: str) -> tuple[str | float | None, ...]:
        """Return a column.

        Raises:
            UnknownNameError: there is none of that name; the nearest is offered.

        """
        if name not in self.columns:
            raise UnknownNameError("column", name, self.columns)
        return self.columns[name]

    def of_pairs(self, chosen: Marks) -> Credits:
        """Return the credits of some pairs: (pairs,) marks."""
        places = np.flatnonzero(chosen)
        return replace(
            self,
            pairs=tuple(self.pairs[place] for place in places),
            values=self.values[places],
            columns={name: tuple(values[place] for place in places) for name, values in self.columns.items()},
        )

    def of_judges(self, judges: Sequence[str]) -> Credits:
        """Return the credits of some judges, in the order given.

        Raises:
            UnknownNameError: there is no judge of that name; the nearest is offered.

        """
        for name in judges:
            if name not in self.judges:
                raise UnknownNameError("judge", name, self.judges)
        places = [self.judges.index(name) for name in judges]
        return replace(self, judges=tuple(judges), values=self.values[:, places])

    def groups(self, column: str) -> dict[str, Credits]:
        """Return value of a column -> credits of its pairs, sorted by value; pairs without one are left out."""
        values = self.column(column)
        names = sorted({str(value) for value in values if value is not None})
        return {name: self.of_pairs(np.array([str(value) == name for value in values])) for name in names}
