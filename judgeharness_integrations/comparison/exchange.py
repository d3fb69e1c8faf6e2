"""The samples of one case that may change places between two runs: those under the same perturbation and order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.comparison.pairing import Pair
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CaseSamples", "Exchangeable", "Side", "copied", "exchangeable"]

_REUSED_FROM = "reused_from"  # attribute of a copied row: the run that paid for the answer


@dataclass(frozen=True, slots=True)
class Side:
    """How one side folds its samples."""

    rule: Rule
    planned: int
    min_valid: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSamples:
    """One case: strata of (samples before, samples after) that may change places, and those that stay on their side.

    A stratum is a perturbation in one order of the texts. Samples of a perturbation that one side did not ask about
    stay where they are (`fixed`).
    """

    case_id: str
    strata: tuple[tuple[tuple[VerdictRow, ...], tuple[VerdictRow, ...]], ...]
    fixed: tuple[tuple[VerdictRow, ...], tuple[VerdictRow, ...]]
    sides: tuple[Side, Side]

    @property
    def tells(self) -> bool:
        """Whether changing places can tell anything: with one sample each it changes nothing but the runs' names."""
        return len(self.strata) > 1 or any(len(before) + len(after) > 2 for before, after in self.strata)  # noqa: PLR2004


@dataclass(frozen=True, kw_only=True)
class Exchangeable:
    """The cases of a criterion whose samples may change places, and how many may not: copies and collapsed samples."""

    cases: tuple[CaseSamples, ...]
    copied: int
    collapsed: int
    stopped: bool


def exchangeable(pairs: Sequence[Pair]) -> Exchangeable:
    """Return what of the pairs a permutation of samples may look at."""
    cases: list[CaseSamples] = []
    copies = collapses = 0
    for pair in pairs:
        if copied(pair):
            copies += 1
        elif any(side.independence.status == "collapsed" for side in pair.sides):
            collapses += 1
        else:
            cases.append(_samples(pair))
    return Exchangeable(
        cases=tuple(case for case in cases if case.tells),
        copied=copies,
        collapsed=collapses,
        stopped=any(pair.before.design.curtail or pair.after.design.curtail for pair in pairs),
    )


def copied(pair: Pair) -> bool:
    """Whether both sides hold answers that were paid for once, in one of the runs or in a third one."""
    if not any(_REUSED_FROM in row.attributes for result in (pair.before, pair.after) for row in result.rows):
        return False
    before, after = ({_origin(row) for row in result.rows} for result in (pair.before, pair.after))
    return not before.isdisjoint(after)


def _origin(row: VerdictRow) -> tuple[str, str, int]:
    return str(row.attributes.get(_REUSED_FROM, row.run)), row.perturbation, row.repetition


def _samples(pair: Pair) -> CaseSamples:
    before, after = (_by_stratum(result, pair.criterion) for result in (pair.before, pair.after))
    shared = sorted(before.keys() & after.keys())
    designs = (pair.before.design, pair.after.design)
    sides = [
        Side(design.rule, measured.planned, design.min_valid)
        for design, measured in zip(designs, pair.sides, strict=True)
    ]
    return CaseSamples(
        case_id=pair.name,
        strata=tuple((tuple(before[key]), tuple(after[key])) for key in shared),
        fixed=(tuple(_others(before, after)), tuple(_others(after, before))),
        sides=(sides[0], sides[1]),
    )


def _by_stratum(result: HarnessResult, criterion: str) -> Mapping[tuple[bool, str], list[VerdictRow]]:
    rows: Sequence[VerdictRow] = result.rows
    if any(row.criterion != criterion for row in rows):
        rows = by_criterion(rows, list(result.criteria))[criterion]
    strata: dict[tuple[bool, str], list[VerdictRow]] = {}
    for row in rows:
        strata.setdefault((row.swapped, row.perturbation), []).append(row)
    return strata


def _others(
    mine: Mapping[tuple[bool, str], list[VerdictRow]], theirs: Mapping[tuple[bool, str], list[VerdictRow]]
) -> Iterator[VerdictRow]:
    for key in sorted(mine.keys() - theirs.keys()):
        yield from mine[key]
