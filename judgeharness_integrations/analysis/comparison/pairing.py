"""Two reports side by side: the cases that both measured, and the samples that may change places between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import columns_together, safe_text
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

from ..aggregation.cases import CaseDecision, standing
from ..aggregation.folds import Status
from ..aggregation.grouping import Clusters, by_criterion
from ..aggregation.rules import Rule, decide
from ..aggregation.statistics import within
from ..certifying.applying import VOTES, withheld
from ..certifying.certificate import HeldCertificate
from ..result import CriterionResult, HarnessResult
from ..runs.report import RunReport
from ..runs.summarising import gold_of

_Cases = Mapping[str, Sequence[HarnessResult]]


@dataclass(frozen=True, kw_only=True)
class JudgePair:
    """A judge before and after; the two names differ where two judges are compared."""

    before: str
    after: str

    @property
    def name(self) -> str:
        """How people call it."""
        return self.before if self.before == self.after else f"{self.before} -> {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One case about one criterion, measured before and after; `measurement` counts those of a case from 1.

    Cases of one `cluster` (`aggregation.clusters`) belong together by the rows of either side.
    """

    case_id: str
    criterion: str
    before: HarnessResult
    after: HarnessResult
    cluster: Hashable
    measurement: int = 1

    @property
    def name(self) -> str:
        """The case, and which of its measurements it is after the first."""
        return self.case_id if self.measurement == 1 else f"{self.case_id} (measurement {self.measurement})"

    @property
    def sides(self) -> tuple[CriterionResult, CriterionResult]:
        """What was measured of the criterion, before and after."""
        return self.before.criteria[self.criterion], self.after.criteria[self.criterion]

    @property
    def golds(self) -> tuple[Verdict | None, Verdict | None]:
        """The gold labels, before and after."""
        return gold_of(self.before, self.criterion), gold_of(self.after, self.criterion)


@dataclass(frozen=True, kw_only=True)
class PairedCriterion:
    """The pairs of one judge and criterion, by case id, and the cases that only one side measured.

    A case that was measured several times under one name (`repeated`) has a pair for each measurement that both sides
    have, in the order they were made; they share a cluster. `unpaired` counts the measurements left over.
    """

    judge: JudgePair
    criterion: str
    pairs: tuple[Pair, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    repeated: tuple[str, ...] = ()
    unpaired: int = 0


def judge_pairs(
    before: RunReport,
    after: RunReport,
    *,
    judges: Sequence[str] | None = None,
    judge_before: str | None = None,
    judge_after: str | None = None,
) -> list[JudgePair]:
    """Return which judges are compared: those of the same name, or the two that are named.

    A judge that is the only one on both sides is compared whatever its names are.

    Raises:
        UnknownNameError: a judge is on neither side.
        UsageError: no judge is on both sides, or just one of a pair was named.

    """
    known = [list(dict.fromkeys(result.judge for result in report.results)) for report in (before, after)]
    for wanted, names in ((judge_before, known[0]), (judge_after, known[1])):
        if wanted is not None and wanted not in names:
            raise UnknownNameError("judge", wanted, names)
    if judge_before is not None or judge_after is not None:
        if judge_before is None or judge_after is None:
            raise UsageError("two judges are compared by naming both: --judge-a and --judge-b.")
        return [JudgePair(before=judge_before, after=judge_after)]
    common = [name for name in known[0] if name in known[1]]
    for name in judges or ():
        if name not in common:
            raise UnknownNameError("judge of both runs", name, common)
    if common:
        return [JudgePair(before=name, after=name) for name in common if not judges or name in judges]
    if len(known[0]) == len(known[1]) == 1:
        return [JudgePair(before=known[0][0], after=known[1][0])]
    told = " and ".join(safe_text(", ".join(side) or "no judge", 100) for side in known)
    raise UsageError(f"the runs have no judge in common ({told}): name one of each, --judge-a and --judge-b.")


def paired_criteria(before: RunReport, after: RunReport, judge: JudgePair) -> Iterator[PairedCriterion]:
    """Yield the criteria of a judge that both sides know, in order of appearance before."""
    sides = (_by_criterion(before, judge.before), _by_criterion(after, judge.after))
    of_both = ((before, judge.before), (after, judge.after))
    clusters = Clusters.of_cases(one for report, name in of_both for one in report.results if one.judge == name)
    for name in (criterion for criterion in sides[0] if criterion in sides[1]):
        yield _paired(judge, name, sides[0][name], sides[1][name], clusters)


def _paired(judge: JudgePair, criterion: str, first: _Cases, second: _Cases, clusters: Clusters) -> PairedCriterion:
    both = sorted(first.keys() & second.keys())
    sizes = [(case, len(first[case]), len(second[case])) for case in both]
    return PairedCriterion(
        judge=judge,
        criterion=criterion,
        pairs=tuple(
            Pair(
                case_id=case,
                criterion=criterion,
                before=one,
                after=other,
                cluster=clusters.of(case),
                measurement=place,
            )
            for case in both
            for place, (one, other) in enumerate(zip(first[case], second[case], strict=False), 1)
        ),
        only_before=tuple(sorted(first.keys() - second.keys())),
        only_after=tuple(sorted(second.keys() - first.keys())),
        repeated=tuple(case for case, before, after in sizes if max(before, after) > 1),
        unpaired=sum(abs(before - after) for _, before, after in sizes),
    )


def _by_criterion(report: RunReport, judge: str) -> Mapping[str, _Cases]:
    """Return criterion -> case -> its measurements, in order of appearance."""
    found: dict[str, dict[str, list[HarnessResult]]] = {}
    for result in report.results:
        for criterion in result.criteria if result.judge == judge else ():
            found.setdefault(criterion, {}).setdefault(result.case_id, []).append(result)
    return found


NOT_GRADED = "not graded"


@dataclass(frozen=True, slots=True)
class State:
    """A status with its verdict: `ABSTAIN` when abstained, None when not graded."""

    status: Status
    verdict: Verdict | None

    def __str__(self) -> str:
        """Return the verdict, or that it is not graded."""
        return NOT_GRADED if self.verdict is None else verdict_text(self.verdict)


@dataclass(frozen=True, kw_only=True)
class Transition:
    """How many cases went from one state to another. Of scores, `before` and `after` are statuses or directions."""

    before: str
    after: str
    count: int


def state_of(measured: CriterionResult) -> State:
    """Return what a criterion of a case came to."""
    return State(measured.status, measured.verdict)


def flipped(before: State, after: State, tolerance: float | None) -> bool:
    """Whether a decision became another one; scores do where they moved by more than the tolerance."""
    if before.status != after.status:
        return True
    if tolerance is None or not isinstance(before.verdict, (int, float)) or not isinstance(after.verdict, (int, float)):
        return before.verdict != after.verdict
    return not within(before.verdict, after.verdict, tolerance)


def transitions(states: Sequence[tuple[State, State]], *, numeric: bool) -> tuple[Transition, ...]:
    """Return the whole table, most frequent first; every case is in it once."""
    pairs: Iterable[tuple[str, str]] = (
        _directed(*pair) if numeric else (str(pair[0]), str(pair[1])) for pair in states
    )
    counts = sorted(Counter(pairs).items(), key=lambda item: (-item[1], item[0]))
    return tuple(Transition(before=before, after=after, count=count) for (before, after), count in counts)


def _directed(before: State, after: State) -> tuple[str, str]:
    """Return a pair of scores as its direction, anything else as statuses."""
    if not isinstance(before.verdict, (int, float)) or not isinstance(after.verdict, (int, float)):
        return (_status(before), _status(after))
    if before.verdict == after.verdict:
        return "score", "same score"
    return "score", "higher score" if after.verdict > before.verdict else "lower score"


def _status(state: State) -> str:
    return "score" if state.status == "decided" else str(state)


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
        by_row = self.held is not None and self.held[0].score not in VOTES
        return by_row or not self.rule.by_verdicts

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
