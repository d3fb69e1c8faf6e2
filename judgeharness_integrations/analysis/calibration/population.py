"""What the cases of a label set or a run are like, in counts that hold none of their texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from judgeharness_integrations.verdictlog.encoding import (
    CALL_COLUMNS,
    CHARACTERS,
    CLUSTER_COLUMN,
    ENDED_BY,
    LABEL_COUNT,
    LENGTH_COLUMNS,
    PAIR_COLUMN,
    PLANNED_CASES,
    TEXT_COLUMN,
    columns_together,
    values_together,
)
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, VerdictRow, is_number, verdict_text

from ..aggregation.folds import Status
from ..aggregation.grouping import Clusters
from ..aggregation.rules import PLANNED_SAMPLES
from .measure import NOT_GRADED

__all__ = [
    "CHARACTERS",
    "CaseFacts",
    "CriterionPopulation",
    "Decided",
    "Population",
    "PopulationCount",
    "case_columns",
    "column_text",
    "consistency_bin",
    "length_bin",
    "length_start",
    "lengths_of",
    "population_of",
]

_TOKENS: Final = "input tokens"
_TEXTS: Final = ("output", "output_b")
_OF_ONE: Final = ("length",)
_TENTHS: Final = 10
_PER_DOUBLING: Final = 2
_MOST_VALUES: Final = 20
_FEWEST_EACH: Final = 5  # cases a value on average: columns with fewer name single cases
# What tells no stratum of a case: who wrote its answers changes with every system that is judged.
_NO_STRATA: Final = frozenset(
    {
        *CALL_COLUMNS,
        *(name for names in LENGTH_COLUMNS for name in names),
        *(CHARACTERS, CLUSTER_COLUMN, LABEL_COUNT, PAIR_COLUMN, PLANNED_SAMPLES, TEXT_COLUMN),
        *(ENDED_BY, PLANNED_CASES),
        *("author", "author_b", "run_id"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the rule came to about one case and criterion, and how consistent the samples were."""

    verdict: Verdict | None
    status: Status
    consistency: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFacts:
    """One case without its texts: how long it is by each measure, and what was decided about it.

    Cases of one `cluster` are not independent of each other; without one a case stands alone.
    """

    cluster: Hashable
    criteria: Mapping[str, Decided]
    stratum: str | None = None
    lengths: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CriterionPopulation:
    """Cases by decision (with `ABSTAIN` and `NOT_GRADED`; scores to two digits) and by tenths of consistency."""

    decisions: Mapping[str, int]
    consistency: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Population:
    """Counts of cases, by which a label set and a run are compared.

    `copies` is Kish's design effect of clusters whose cases are copies of each other, (sum s^2) / (sum s) over their
    sizes: 1 where no two cases share one. `lengths` maps a measure (`characters`, `input tokens`, columns of the log)
    to counts over half doublings: the bin k holds lengths from 2^(k/2) to 2^((k+1)/2). `strata` counts the values of
    `column`; None without one. `columns` counts those of every other column of the cases that has 20 values or fewer,
    and 5 cases a value or more; empty of calibrations that earlier versions saved.
    """

    cases: int
    copies: float
    criteria: Mapping[str, CriterionPopulation]
    lengths: Mapping[str, Mapping[str, int]]
    column: str | None = None
    strata: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def worth(self) -> float:
        """The number of independent cases it is worth at least."""
        return self.cases / self.copies

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what `dataclasses.asdict` made of one."""
        criteria = {name: CriterionPopulation(**one) for name, one in data["criteria"].items()}
        return cls(**{**data, "criteria": criteria})


class PopulationCount:
    """Counts cases one by one, in memory that grows with clusters (or cases under their ids) and categories alone.

    Args:
        column: what their strata are called; None where they have none.
        columns: the other columns whose values are counted; None: those that have few.

    """

    def __init__(self, column: str | None = None, *, columns: Collection[str] | None = None) -> None:
        """Start without cases."""
        self.column = column
        self._asked = columns
        self._columns: dict[str, Counter[str]] = {}
        self._alone = 0
        self._clusters: Counter[Hashable] = Counter()
        self._strata: Counter[str] = Counter()
        self._decisions: dict[str, Counter[str]] = {}
        self._consistency: dict[str, Counter[str]] = {}
        self._lengths: dict[str, Counter[str]] = {}

    def add(self, case: CaseFacts) -> None:
        """Count a case."""
        if case.cluster is None:
            self._alone += 1
        else:
            self._clusters[case.cluster] += 1
        if self.column is not None and case.stratum is not None:
            self._strata[case.stratum] += 1
        for name, value in case.columns.items():
            self._count(name, value)
        for measure, length in case.lengths.items():
            self._lengths.setdefault(measure, Counter())[length_bin(length)] += 1
        for criterion, one in case.criteria.items():
            self._decisions.setdefault(criterion, Counter())[_decision(one)] += 1
            counts = self._consistency.setdefault(criterion, Counter())
            if one.consistency is not None:
                counts[consistency_bin(one.consistency)] += 1

    def _count(self, name: str, value: str) -> None:
        """Count what a case says in a column; one of more values than are kept stays at one value more."""
        if name == self.column or not (self._asked is None or name in self._asked):
            return
        counts = self._columns.setdefault(name, Counter())
        if self._asked is not None or len(counts) <= _MOST_VALUES:
            counts[value] += 1

    def _kept(self, counts: Counter[str]) -> bool:
        few = len(counts) <= _MOST_VALUES and len(counts) * _FEWEST_EACH <= counts.total()
        return few or self._asked is not None

    def finish(self, clusters: Clusters | None = None) -> Population:
        """Return what was counted; `clusters` says which cases belong together that were counted under their ids."""
        found = self._clusters
        if clusters is not None:
            found = Counter()
            for case_id, times in self._clusters.items():
                found[clusters.of(str(case_id))] += times
        sizes = found.values()
        total = sum(sizes) + self._alone
        return Population(
            cases=total,
            copies=(sum(size * size for size in sizes) + self._alone) / total if total else 1.0,
            criteria={
                name: CriterionPopulation(decisions=dict(counts), consistency=dict(self._consistency[name]))
                for name, counts in self._decisions.items()
            },
            lengths={measure: dict(counts) for measure, counts in self._lengths.items()},
            column=self.column,
            strata=dict(self._strata),
            columns={name: dict(counts) for name, counts in self._columns.items() if self._kept(counts)},
        )


def population_of(
    cases: Iterable[CaseFacts], *, column: str | None = None, columns: Collection[str] | None = None
) -> Population:
    """Return the counts of cases; see `PopulationCount`."""
    count = PopulationCount(column, columns=columns)
    for case in cases:
        count.add(case)
    return count.finish()


def _decision(one: Decided) -> str:
    if one.status == "abstained":
        return ABSTAIN
    if one.status == "not_graded" or one.verdict is None:
        return NOT_GRADED
    return f"{float(one.verdict):.2g}" if is_number(one.verdict) else verdict_text(one.verdict)  # type: ignore[arg-type]


def consistency_bin(rate: float) -> str:
    """Return the lower end of a share's tenth; 1 stands alone."""
    return f"{math.floor(rate * _TENTHS + 1e-9) / _TENTHS:g}"


def length_bin(length: float) -> str:
    """Return which half doubling a length lies in; what is below 1 counts as 1."""
    return str(math.floor(_PER_DOUBLING * math.log2(max(length, 1.0)) + 1e-9))


def length_start(name: str, *, after: bool = False) -> float:
    """Return where the lengths of a bin start; `after`: where those of the next one do."""
    return float(2 ** ((int(name) + after) / _PER_DOUBLING))


def case_columns(rows: Sequence[VerdictRow]) -> dict[str, str]:
    """Return what a case says in its own columns, but for those that tell no stratum: ids, lengths, authors.

    A number and its text, as one file has it and another, are one value.
    """
    given = rows[0].attributes if rows else {}
    return {name: verdict_text(value) for name, value in given.items() if name not in _NO_STRATA}


def column_text(rows: Sequence[VerdictRow], column: str) -> str | None:
    """Return what the rows of a case say in a column, or in several with commas between; None where they do not."""
    known = {name for row in rows for name in row.attributes}
    said = [_first_value(rows, name) for name in columns_together(column, known)]
    told = [one for one in said if one is not None]
    return values_together(told) if len(told) == len(said) else None


def _first_value(rows: Sequence[VerdictRow], column: str) -> str | None:
    found = next((row.attributes[column] for row in rows if column in row.attributes), None)
    return None if found is None else str(found)


def lengths_of(rows: Sequence[VerdictRow], texts: Mapping[str, str]) -> dict[str, float]:
    """Return how long a case is by every measure there is.

    Characters of the judged answers, by their texts or as the log says of one answer, what its other columns say of
    one answer or of the two of a pair, and the tokens the judge read where nothing was changed about the case.
    """
    found: dict[str, float] = {}
    answers = [texts[name] for name in _TEXTS if name in texts]
    columns = rows[0].attributes if rows else {}
    if answers:
        found[CHARACTERS] = float(sum(map(len, answers)))
    elif is_number(columns.get(CHARACTERS)):
        found[CHARACTERS] = float(columns[CHARACTERS])
    for names in (*LENGTH_COLUMNS, _OF_ONE):
        cells = [columns.get(name) for name in names]
        if all(is_number(cell) for cell in cells):
            found[" + ".join(names)] = math.fsum(float(cell) for cell in cells)  # type: ignore[arg-type]
    plain = (row.input_tokens for row in rows if row.perturbation == "none" and row.input_tokens is not None)
    if (tokens := next(plain, None)) is not None:
        found[_TOKENS] = float(tokens)
    return found
