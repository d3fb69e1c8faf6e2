"""Two reports -> the cases that both measured, judge by judge and criterion by criterion; nobody is lost silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.aggregation.decision import Status
from judgeharness_integrations.analysis.aggregation.statistics import within
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.analysis.runs.report import RunReport
from judgeharness_integrations.analysis.runs.summarising import gold_of
from judgeharness_integrations.verdictlog.plain import safe_text
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

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
