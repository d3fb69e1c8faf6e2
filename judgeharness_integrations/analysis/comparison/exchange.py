"""The samples of a case that may change places between two runs, and what changing places does to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.analysis.aggregation.cases import CaseDecision, standing
from judgeharness_integrations.analysis.aggregation.deciding import decide
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion
from judgeharness_integrations.analysis.aggregation.rules import Bound, ByKind, Rule
from judgeharness_integrations.analysis.certifying.applying import withheld
from judgeharness_integrations.analysis.certifying.certificate import HeldCertificate
from judgeharness_integrations.analysis.certifying.sureness import COLUMN
from judgeharness_integrations.analysis.comparison.pairing import Pair, State
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.verdictlog.encoding import columns_together
from judgeharness_integrations.verdictlog.row import VerdictRow

_REUSED_FROM = "reused_from"  # attribute of a copied row: the run that paid for the answer


@dataclass(frozen=True, slots=True)
class Side:
    """How one side decides about samples of a criterion: its rule, and what its certificate leaves standing.

    `stratum` holds the columns of the case that tell its stratum of the certificate.
    """

    rule: Rule
    planned: int
    min_valid: int | None
    criterion: str = ""
    held: HeldCertificate | None = None
    stratum: tuple[tuple[str, str | float], ...] = ()

    @property
    def key(self) -> Hashable:
        """What tells sides apart that decide about equal counts of samples in different ways."""
        held = None if self.held is None else (self.held[0].name, self.held[0].measured_at, self.held[1])
        return self.rule.name, self.planned, self.min_valid, self.criterion, held, self.stratum

    @property
    def reads_rows(self) -> bool:
        """Whether more counts than the verdicts of samples and their order."""
        by_column = self.held is not None and self.held[0].score.startswith(COLUMN)
        return by_column or not isinstance(self.rule.function, (Bound, ByKind))

    def state(self, rows: Sequence[VerdictRow]) -> State:
        """Return what samples of a case come to."""
        decision = decide(rows, self.rule, planned=self.planned, min_valid=self.min_valid)
        if self.held is not None:
            case = CaseDecision(case_id=rows[0].case_id, rows=rows, decision=decision, gold=None)
            decision = standing(case, self.criterion, withheld(*self.held)).decision
        return State(decision.status, decision.verdict)


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
    sides = [_side(result, pair.criterion) for result in (pair.before, pair.after)]
    return CaseSamples(
        case_id=pair.name,
        strata=tuple((tuple(before[key]), tuple(after[key])) for key in shared),
        fixed=(tuple(_others(before, after)), tuple(_others(after, before))),
        sides=(sides[0], sides[1]),
    )


def _side(result: HarnessResult, criterion: str) -> Side:
    given, design = result.certificate, result.design
    state, column = result.certificate_state, None if given is None else given.stratum
    said = {name: value for row in reversed(result.rows) for name, value in row.attributes.items()} if column else {}
    return Side(
        rule=design.rule,
        planned=result.criteria[criterion].planned,
        min_valid=design.min_valid,
        criterion=criterion,
        held=None if given is None or state is None else (given, state),
        stratum=tuple((name, said[name]) for name in columns_together(column or "", set(said)) if name in said),
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


_ROUNDING: Final = 1e-9

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class CaseOutcomes:
    """The outcomes of one case under the null, and the one that was observed.

    An outcome is whether the decision flips and how far the samples of the two sides lie apart (`distances`).
    `chances` are their probabilities where all ways to change places were enumerated; None where the outcomes are
    draws, one a permutation.
    """

    case_id: str
    flips: Bools
    distances: Floats
    chances: Floats | None
    flipped: bool
    distance: float

    @property
    def p(self) -> float:
        """The probability of a flip with samples at least as far apart."""
        extreme = self.flips & (self.distances >= self.distance - _ROUNDING)
        if self.chances is None:
            return float((1 + extreme.sum()) / (1 + len(extreme)))
        return float(min(1.0, self.chances[extreme].sum()))

    @property
    def evidence(self) -> float:
        """The distance of a flip; nothing where the decision stays."""
        return self.distance if self.flipped else 0.0


@dataclass(frozen=True, kw_only=True)
class NullDistribution:
    """Flipped decisions, and the distances of flips summed over all cases, one entry a permutation."""

    flips: Floats
    evidence: Floats


def null_distribution(cases: Sequence[CaseOutcomes], *, seed: int, permutations: int) -> NullDistribution:
    """Return what permutations of all cases at once give.

    Cases with the same outcomes are drawn together. They are taken in an order that depends on outcomes alone, so that
    neither the order of cases nor that of the runs changes what a seed gives.
    """
    random = np.random.default_rng(seed)
    flips, evidence = np.zeros(permutations), np.zeros(permutations)
    counts: dict[tuple[tuple[float, ...], ...], int] = {}
    merged: dict[int, tuple[tuple[float, ...], ...]] = {}  # cases of one composition share their arrays
    for case in cases:
        if case.chances is None:
            flips += case.flips
            evidence += np.where(case.flips, case.distances, 0.0)
        else:
            table = merged.get(id(case.flips)) or merged.setdefault(id(case.flips), _merged(case))
            counts[table] = counts.get(table, 0) + 1
    for table in sorted(counts):
        found, values, chances = (np.array(column) for column in zip(*table, strict=True))
        drawn = _drawn(random, chances, counts[table], permutations)
        flips += drawn(found)
        evidence += drawn(values)
    return NullDistribution(flips=flips, evidence=evidence)


def _merged(case: CaseOutcomes) -> tuple[tuple[float, ...], ...]:
    """Return (flip, evidence, chance) of a case's outcomes, equal ones together, in a fixed order."""
    chances = np.zeros(0) if case.chances is None else case.chances
    evidence = np.round(np.where(case.flips, case.distances, 0.0), 9)
    values, places = np.unique(np.where(case.flips, evidence, -1.0), return_inverse=True)
    together = np.round(np.bincount(places.ravel(), weights=chances, minlength=len(values)), 12)
    return tuple(
        (float(value >= 0), max(0.0, value), chance)
        for value, chance in zip(values.tolist(), together.tolist(), strict=True)
    )


class _Drawn:
    """Sums over cases of one kind, one a permutation."""

    def __init__(self, numbers: NDArray[np.int64], *, counted: bool) -> None:
        self.numbers, self.counted = numbers, counted

    def __call__(self, values: Floats) -> Floats:
        found: Floats = self.numbers @ values if self.counted else values[self.numbers].sum(axis=1)
        return found


def _drawn(random: np.random.Generator, chances: Floats, cases: int, permutations: int) -> _Drawn:
    """Draw outcomes for some cases: how often each occurs, or which ones occur, whichever is less."""
    chances /= chances.sum()
    if len(chances) <= 4 * cases:
        return _Drawn(random.multinomial(cases, chances, size=permutations), counted=True)
    places = np.searchsorted(np.cumsum(chances), random.random((permutations, cases)), side="right")
    return _Drawn(np.minimum(places, len(chances) - 1), counted=False)
