"""The rows of one judge and criterion, laid out by what was changed, case and order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from judgeharness_integrations.aggregation.collapse import response_of
from judgeharness_integrations.aggregation.grouping import is_numeric
from judgeharness_integrations.aggregation.position import base_perturbation
from judgeharness_integrations.aggregation.statistics import within
from judgeharness_integrations.verdictlog.probenames import is_probe
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

__all__ = ["SCORE_STEPS", "UNCHANGED", "Kind", "Place", "Samples", "samples_of"]

Kind: TypeAlias = Literal["pairwise", "graded", "scores", "labels", "unknown"]
Place: TypeAlias = "tuple[str, bool]"  # the case, and whether its texts stood in the other order

UNCHANGED: Final = "none"
SCORE_STEPS: Final = 9  # two scores agree within one step of a 1-10 scale, or a ninth of any other
_PAIRWISE: Final = frozenset({"A", "B", "TIE"})
_GRADES: Final = frozenset({"PASS", "FAIL"})


@dataclass(frozen=True, kw_only=True)
class Samples:
    """What one judge said about one criterion.

    `placed` holds, per perturbation without its swap and per place, the valid samples in order of repetition; those
    that are proven copies of another one are left out and counted in `copies`. `rows` are all samples but errors of
    infrastructure, `asked` counts those as well, per perturbation as it stands in the log. `tolerance` is how far two
    scores may lie apart and still be the same verdict, `lowest` the lowest score there is, where that is declared.
    """

    criterion: str
    kind: Kind
    tolerance: float
    rows: tuple[VerdictRow, ...]
    placed: Mapping[str, Mapping[Place, tuple[VerdictRow, ...]]]
    asked: Mapping[str, int]
    copies: int
    lowest: float | None = None

    @property
    def unchanged(self) -> Mapping[Place, tuple[VerdictRow, ...]]:
        """The samples of the cases as they are, in both orders."""
        return self.placed.get(UNCHANGED, {})

    @property
    def calls_as_it_is(self) -> float:
        """How often a case was asked as it is: what every probe of one more case costs besides itself."""
        return self.asked.get(UNCHANGED, 0) / max(1, self.cases)

    @property
    def cases(self) -> int:
        """The cases that were asked without a probe."""
        return len({row.case_id for row in self.voting()})

    def differ(self, first: Verdict | None, second: Verdict | None) -> bool:
        """Whether two verdicts are different ones."""
        if isinstance(first, (int, float)) and isinstance(second, (int, float)):
            return not within(first, second, self.tolerance)
        return first != second

    def voting(self) -> Iterator[VerdictRow]:
        """Yield the samples that vote: those of adversarial probes do not."""
        return (row for row in self.rows if not is_probe(row.perturbation))


def samples_of(
    criterion: str, rows: Iterable[VerdictRow], *, tolerance: float | None = None, lowest: float | None = None
) -> Samples:
    """Lay out the rows of one judge and criterion.

    Args:
        criterion: the criterion.
        rows: its rows.
        tolerance: how far two scores may lie apart and still be the same verdict; None takes a ninth of the range of
            the scores seen.
        lowest: the lowest score there is, where that is declared.

    Raises:
        UsageError: labels and numbers are mixed.

    """
    rows = sorted(rows, key=lambda row: (row.case_id, row.perturbation, row.repetition, row.run))
    asked: dict[str, int] = {}
    groups: dict[str, dict[Place, list[VerdictRow]]] = {}
    for row in rows:
        asked[row.perturbation] = asked.get(row.perturbation, 0) + 1
        if row.ok:
            places = groups.setdefault(base_perturbation(row), {})
            places.setdefault((row.case_id, row.swapped), []).append(row)
    placed = {name: {place: _own(group) for place, group in places.items()} for name, places in groups.items()}
    valid = sum(row.ok for row in rows)
    return Samples(
        criterion=criterion,
        kind=_kind(rows),
        tolerance=_step(rows) if tolerance is None else tolerance,
        rows=tuple(row for row in rows if row.outcome != "error"),
        placed=placed,
        asked=asked,
        copies=valid - sum(len(group) for places in placed.values() for group in places.values()),
        lowest=lowest,
    )


def _step(rows: Sequence[VerdictRow]) -> float:
    """Return how far scores of a scale that is not declared may lie apart: a part of the range of those seen."""
    scores = [row.verdict for row in rows if isinstance(row.verdict, (int, float))]
    return (max(scores) - min(scores)) / SCORE_STEPS if scores else 0.0


def _own(group: Sequence[VerdictRow]) -> tuple[VerdictRow, ...]:
    """Return the samples that are answers of their own, not those of a shared cache or of a response seen before."""
    if len(group) == 1:
        return (group[0],)
    kept: list[VerdictRow] = []
    seen: set[object] = set()
    for row in sorted(group, key=_from_cache):
        response = response_of(row)
        if not kept or not (_from_cache(row) or (response is not None and response in seen)):
            kept.append(row)
        seen.add(response)
    return tuple(sorted(kept, key=lambda row: row.repetition))


def _from_cache(row: VerdictRow) -> bool:
    return row.attributes.get("cached") == "shared"


def _kind(rows: Sequence[VerdictRow]) -> Kind:
    """Return what the verdicts are; PASS or FAIL may stand among other grades."""
    numeric = is_numeric(rows)
    if numeric is None:
        return "unknown"
    if numeric:
        return "scores"
    verdicts = {row.verdict for row in rows if row.ok}
    if verdicts <= _PAIRWISE:
        return "pairwise"
    return "graded" if verdicts & _GRADES else "labels"
