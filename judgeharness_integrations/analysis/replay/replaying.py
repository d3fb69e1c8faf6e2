"""Any verdict log under any rule: the cases of one judge folded one at a time, a pure function of rows."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from judgeharness_integrations._errors import JudgeHarnessError, UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, CaseKey, VerdictRow, is_number, voting

from ..aggregation.cases import CaseDecision, Withheld, case_consistency, decided_case, standing
from ..aggregation.grouping import (
    DEFAULT_CRITERION,
    Clusters,
    by_case,
    by_criterion,
    by_judge,
    is_numeric,
    omitted_answers,
)
from ..aggregation.rules import Rule, RuleLike, check_rule_fits, samples_planned
from ..aggregation.rules import rule as named_rule
from ..design import RuleFixed
from .report import (
    FIXED_SAMPLES_ONLY,
    Certificates,
    ExactMean,
    JudgeReplay,
    LabelCounts,
    PositionCounts,
    ReplayReport,
    ScoreSums,
)


@dataclass(kw_only=True)
class _Counts:
    """What was counted so far. Until a case holds a verdict, nobody knows whether they are labels or scores."""

    cases: int = 0
    rows: int = 0
    unparsed: int = 0
    curtailed: int = 0
    censored: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    consistency: ExactMean = field(default_factory=ExactMean)
    labels: LabelCounts = field(default_factory=LabelCounts)
    scores: ScoreSums = field(default_factory=ScoreSums)
    position: PositionCounts = field(default_factory=PositionCounts)


class CriterionFold:
    """One judge and criterion under one rule: `add` every case once, then `finish`.

    Args:
        judge: the judge's name.
        criterion: the criterion's name.
        rule: how to fold each case.
        min_valid: valid samples a verdict needs; see `replay`.
        tolerance: how far two scores lie apart and still agree, in units of the score.

    """

    def __init__(
        self, *, judge: str, criterion: str, rule: Rule, min_valid: int | None = None, tolerance: float = 1.0
    ) -> None:
        """Start without cases."""
        self.judge, self.criterion, self.rule = judge, criterion, rule
        self.min_valid, self.tolerance = min_valid, tolerance
        self._counts = _Counts()
        self._numeric: bool | None = None
        self._examples: list[VerdictRow] = []  # the first verdict, and the first of the other kind
        self._broken: JudgeHarnessError | None = None

    @property
    def cases(self) -> int:
        """Number of cases added."""
        return self._counts.cases

    def named(self, criterion: str) -> CriterionFold:
        """Return a copy for another criterion, which goes on from here."""
        other = copy.copy(self)
        own = {"_counts": copy.deepcopy(self._counts), "_examples": [*self._examples]}
        vars(other).update(own, criterion=criterion)
        return other

    def add(
        self,
        rows: Sequence[VerdictRow],
        *,
        planned: int | None = None,
        withheld: Withheld | None = None,
        cluster: Hashable = None,
        times: int = 1,
    ) -> CaseDecision | None:
        """Take in all rows of one case and return what was decided.

        Args:
            rows: its rows, of one run, failures included; at least one.
            planned: samples that were to be asked; the rows present when None.
            withheld: says why a decision does not stand; the case abstains then.
            cluster: what the case shares with others, or with itself in another run; None where it is alone.
            times: how many cases have such rows, each alone.

        Returns:
            The decision; None when the rows cannot be folded, which `finish` will say.

        """
        self._counts.cases += times
        self._note_kinds(rows)
        if self._broken is not None:
            return None
        try:
            case = decided_case(rows, self.rule, planned=planned, min_valid=self.min_valid)
        except JudgeHarnessError as error:
            self._broken = error
            return None
        stands = standing(case, self.criterion, withheld)
        most = max(planned or 0, samples_planned(rows), len(rows))
        self._count(case, stands, planned=most, cluster=cluster, times=times)
        return stands

    def _note_kinds(self, rows: Sequence[VerdictRow]) -> None:
        """Learn whether the verdicts are scores, and refuse a rule that folds the other kind."""
        for row in rows:
            verdict = row.verdict
            if verdict is None or (not isinstance(verdict, str) and is_number(verdict)) is self._numeric:
                continue
            if self._numeric is None:
                self._numeric = is_number(verdict)
                self._examples.append(row)
                self._check_fits(numeric=self._numeric)
            elif len(self._examples) == 1:
                self._examples.append(row)
                self._broken = self._broken or _mixed(self._examples)

    def _check_fits(self, *, numeric: bool) -> None:
        try:
            check_rule_fits(self.rule, numeric=numeric, criterion=self.criterion)
        except UsageError as error:
            self._broken = self._broken or error

    def _count(self, found: CaseDecision, case: CaseDecision, *, planned: int, cluster: Hashable, times: int) -> None:
        """Count a case as it stands; how consistent its samples are is a matter of what was found.

        The only valid one of several planned samples agrees with itself: it says nothing of consistency.
        """
        counts, rows = self._counts, case.rows
        counts.rows += times * len(rows)
        counts.statuses[case.decision.status] += times
        for row in rows:
            if row.outcome == "unparsed":
                counts.unparsed += times
        counts.curtailed += times * case.curtailed
        counts.censored += times * case.censored
        counts.position.add(rows, cluster, times=times)
        if self._numeric:
            counts.scores.add(case, cluster, times=times)
        else:
            counts.labels.add(case, cluster, times=times)
        consistency = case_consistency(found, numeric=bool(self._numeric), tolerance=self.tolerance)
        alone = planned > 1 and sum(row.verdict is not None for row in rows) == 1
        if consistency is not None and not alone:
            counts.consistency.add(consistency, times=times)

    @property
    def problem(self) -> JudgeHarnessError | None:
        """Why the rule cannot fold these verdicts: they mix kinds, are of the wrong kind, or a case is broken."""
        return _mixed(self._examples) if len(self._examples) > 1 else self._broken

    def finish(self, *, unasked: int = 0) -> JudgeReplay:
        """Return what the cases come to.

        Args:
            unasked: cases without any row, to be counted as not graded.

        Raises:
            UsageError: labels and scores are mixed, the rule does not fit them, or a case has two gold labels.

        """
        if (problem := self.problem) is not None:
            raise problem
        counts = self._counts
        numeric = self.rule.kind == "numbers" if self._numeric is None else self._numeric
        cases, decided = counts.cases + unasked, counts.statuses["decided"]
        found = JudgeReplay(
            judge=self.judge,
            criterion=self.criterion,
            kind="numbers" if numeric else "labels",
            cases=cases,
            decided=decided,
            abstained=counts.statuses["abstained"],
            not_graded=counts.statuses["not_graded"] + unasked,
            coverage=decided / cases if cases else None,
            unparsed=counts.unparsed,
            consistency_rate=counts.consistency.value,
            curtailed=counts.curtailed,
            censored=counts.censored,
            rows=counts.rows,
            **counts.position.measured(),
            **counts.scores.measured() if numeric else counts.labels.measured(pairwise=counts.position.pairwise),
        )
        unknown: dict[str, Any] = dict.fromkeys(FIXED_SAMPLES_ONLY)
        return replace(found, pairs=0, **unknown) if counts.curtailed else found


def _mixed(examples: Sequence[VerdictRow]) -> JudgeHarnessError:
    """Return the error about verdicts of two kinds."""
    try:
        is_numeric(examples)
    except UsageError as error:
        return error
    raise AssertionError(examples)  # pragma: no cover - two examples are of two kinds


class JudgeFold:
    """All criteria of one judge: `add` every case once, then `finish`.

    Rows that failed for every criterion count for each, also for those that turn up later: what such rows alone come
    to is counted beside the criteria, and is where a new criterion starts.

    Args:
        judge: the judge's name.
        rule: how to fold each case and criterion.
        criteria: declared criteria: they come first, also without rows.
        min_valid: valid samples a verdict needs; see `replay`.
        tolerance: how far two scores lie apart and still agree, in units of the score.
        tolerances: criterion -> another tolerance.

    """

    def __init__(
        self,
        *,
        judge: str,
        rule: Rule,
        criteria: Iterable[str] = (),
        min_valid: int | None = None,
        tolerance: float = 1.0,
        tolerances: Mapping[str, float] | None = None,
    ) -> None:
        """Start without cases."""
        self.judge = judge
        self._tolerance, self._tolerances = tolerance, dict(tolerances or {})
        self._shared = CriterionFold(
            judge=judge, criterion=EVERY_CRITERION, rule=rule, min_valid=min_valid, tolerance=tolerance
        )
        self._folds: dict[str, CriterionFold] = {}
        self._declared = tuple(criteria)
        for name in self._declared:
            self._start(name)

    @property
    def folds(self) -> Mapping[str, CriterionFold]:
        """Criterion -> its fold; at least one."""
        return self._folds or {DEFAULT_CRITERION: self._new(DEFAULT_CRITERION)}

    def add(
        self,
        rows: Sequence[VerdictRow],
        *,
        planned: int | None = None,
        withheld: Withheld | None = None,
        cluster: Hashable = None,
    ) -> dict[str, CaseDecision]:
        """Take in all rows of one case and return criterion -> decision.

        Args:
            rows: its rows, of one run, about any criteria; those of probes do not vote.
            planned: samples that were to be asked and vote; the rows present when None.
            withheld: says why a decision does not stand; the case abstains then.
            cluster: what the case shares; see `CriterionFold.add`.

        Returns:
            The decisions; a criterion whose rows cannot be folded is missing, see `CriterionFold.problem`.

        """
        groups: dict[str, list[VerdictRow]] = {}
        rows = voting(rows)
        for row in rows:
            groups.setdefault(row.criterion, []).append(row)
        shared = groups.pop(EVERY_CRITERION, [])
        several = len({*groups, *self._declared}) > 1
        for name in groups:
            if name not in self._folds:
                self._start(name)
        if shared:
            self._shared.add(shared, planned=planned)  # after new criteria have started without this case
            groups = {
                name: [*groups.get(name, ()), *(replace(row, criterion=name) for row in shared)] for name in self._folds
            }
        for row in omitted_answers(rows, self._declared) if several else ():
            groups.setdefault(row.criterion, []).append(row)
        asked: dict[str, Any] = {"planned": planned, "withheld": withheld, "cluster": cluster}
        decisions = {name: self._folds[name].add(group, **asked) for name, group in groups.items()}
        return {name: case for name, case in decisions.items() if case is not None}

    def finish(self, *, planned_cases: int | None = None) -> Iterator[JudgeReplay]:
        """Yield what each criterion comes to; see `CriterionFold.finish`.

        Args:
            planned_cases: the cases that were to be asked: those without a row about a criterion are not graded.

        """
        for fold in self.folds.values():
            yield fold.finish(unasked=0 if planned_cases is None else planned_cases - fold.cases)

    def _start(self, name: str) -> None:
        self._folds[name] = self._new(name)

    def _new(self, name: str) -> CriterionFold:
        fold = self._shared.named(name)
        fold.tolerance = self._tolerances.get(name, self._tolerance)
        return fold


def replay(
    rows: Iterable[VerdictRow],
    rule: RuleLike,
    *,
    judges: Sequence[str] | None = None,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    rule_fixed: RuleFixed = "after",
    certificates: Certificates = MappingProxyType({}),
    planned: Mapping[str, int] = MappingProxyType({}),
    samples: Mapping[CaseKey, int] = MappingProxyType({}),
    like: Mapping[CaseKey, int] = MappingProxyType({}),
) -> ReplayReport:
    """Fold an existing log with a rule.

    Args:
        rows: the log.
        rule: a rule's name, a function of rows, or a `Rule`.
        judges: the judges to look at; all of them when None.
        min_valid: valid samples a verdict needs; at least half of the case's rows when None.
        tolerance: how far two scores lie apart and still agree, in units of the score.
        rule_fixed: whether the rule was chosen before or after the samples.
        certificates: judge -> a certificate and whether it holds (`replay_state`): what it does not certify abstains.
        planned: judge -> cases that were to be asked, where that is known: those without a row are not graded.
        samples: case -> samples that were to be asked, where that is known: a case with fewer rows is not graded.
        like: case -> how many cases it stands for; itself alone where it is not named. See `CasePatterns`.

    Raises:
        UnknownNameError: a judge or the rule is not known.
        UsageError: the rule does not fit the verdicts, or needs both orders and the log never shows them.

    """
    chosen = named_rule(rule)
    _check(min_valid, tolerance)
    selected = rows_of_judges(rows, judges)
    if chosen.both_orders and not any(
        _in_both_orders(group) for mine in selected.values() for group in by_case(mine).values()
    ):
        raise _never_both(chosen)
    given = {judge: certificates[judge] for judge in selected if judge in certificates}
    stand = _withheld(given)
    entries = [
        replay_criterion(
            group,
            chosen,
            judge=judge,
            criterion=name,
            min_valid=min_valid,
            tolerance=tolerance,
            withheld=stand.get(judge),
            planned_cases=planned.get(judge),
            samples=samples,
            clusters=clusters,
            like=like,
        )
        for judge, mine in selected.items()
        for clusters in (Clusters.of_rows(mine).shared(),)
        for name, group in by_criterion(mine).items()
    ]
    return ReplayReport(rule=chosen.name, rule_fixed=rule_fixed, judges=tuple(entries), certificates=given)


def replay_cases(
    groups: Iterable[Sequence[VerdictRow]],
    rule: RuleLike,
    *,
    clusters: Mapping[str, Mapping[str, Hashable]] = MappingProxyType({}),
    judges: Sequence[str] | None = None,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    rule_fixed: RuleFixed = "after",
) -> ReplayReport:
    """Fold a log that is read case by case, in memory that does not grow with the number of cases.

    Args:
        groups: each all rows of one run, judge and case, in any order; judges and criteria may be interleaved.
        rule: a rule's name, a function of rows, or a `Rule`.
        clusters: judge -> case -> its cluster, of cases that share one or are in several runs (`Clusters.shared`),
            which a reader of one case at a time cannot know; any other is taken to be alone.
        judges: the judges to look at; all of them when None.
        min_valid: see `replay`.
        tolerance: see `replay`.
        rule_fixed: whether the rule was chosen before or after the samples.

    Raises:
        UnknownNameError: a judge or the rule is not known.
        UsageError: the rule does not fit the verdicts, or needs both orders and the log never shows them.

    """
    chosen = named_rule(rule)
    _check(min_valid, tolerance)
    folds: dict[str, JudgeFold] = {}
    both = False
    for rows in groups:
        if not rows:
            continue
        name = rows[0].judge
        if name not in folds:
            folds[name] = JudgeFold(judge=name, rule=chosen, min_valid=min_valid, tolerance=tolerance)
        if not judges or name in judges:
            folds[name].add(rows, cluster=clusters.get(name, {}).get(rows[0].case_id))
            both = both or (chosen.both_orders and _in_both_orders(rows))
    _check_judges(judges, folds)
    if chosen.both_orders and not both:
        raise _never_both(chosen)
    entries = [entry for name, fold in folds.items() if not judges or name in judges for entry in fold.finish()]
    return ReplayReport(rule=chosen.name, rule_fixed=rule_fixed, judges=tuple(entries))


def replay_criterion(
    rows: Sequence[VerdictRow],
    rule: Rule,
    *,
    judge: str,
    criterion: str,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    samples: Mapping[CaseKey, int] = MappingProxyType({}),
    withheld: Withheld | None = None,
    planned_cases: int | None = None,
    clusters: Mapping[str, Hashable] | None = None,
    like: Mapping[CaseKey, int] = MappingProxyType({}),
) -> JudgeReplay:
    """Fold the rows of one judge and criterion; see `replay`, `case_decisions` and `CriterionFold.add`.

    `planned_cases` is how many cases there were, `samples` how many of each were to be asked; `clusters` are those of
    all rows of the judge, where the ones here are not all; `like` is how many cases one stands for, each alone.
    """
    fold = CriterionFold(judge=judge, criterion=criterion, rule=rule, min_valid=min_valid, tolerance=tolerance)
    groups = by_case(voting(rows))
    shared = Clusters.of_rows(rows).shared() if clusters is None else clusters
    for (run, case_id), group in groups.items():
        key, cluster = (run, judge, case_id), shared.get(case_id)
        times = like.get(key, 1)
        fold.add(group, planned=samples.get(key), withheld=withheld, cluster=cluster, times=times)
    return fold.finish(unasked=max(0, (planned_cases or 0) - fold.cases))


def rows_about(rows: Iterable[VerdictRow], criteria: Sequence[str] | None = None) -> list[VerdictRow]:
    """Return the rows about the named criteria, all of them when none is named.

    Calls that failed for every criterion are about each of them, and so are calls that left one out.

    Raises:
        UnknownNameError: the log holds no criterion of that name; the nearest is offered.

    """
    rows = list(rows)
    known = {row.criterion for row in rows}
    for name in criteria or ():
        if name not in known:
            raise UnknownNameError("criterion", name, known - {EVERY_CRITERION})
    if not criteria:
        return rows
    return [row for row in [*rows, *omitted_answers(rows)] if row.criterion in (*criteria, EVERY_CRITERION)]


def rows_of_judges(rows: Iterable[VerdictRow], judges: Sequence[str] | None = None) -> dict[str, list[VerdictRow]]:
    """Return judge -> rows that vote in order of appearance, of the named judges only when some are named.

    Raises:
        UnknownNameError: the log holds no judge of that name; the nearest is offered.

    """
    groups = by_judge(voting(rows))
    _check_judges(judges, groups)
    return {judge: mine for judge, mine in groups.items() if not judges or judge in judges}


def refuse_several_runs(judges: Mapping[str, Iterable[VerdictRow]]) -> None:
    """Refuse a judge that judged a case in two runs, where what several judges said of a case is put together.

    Raises:
        UsageError: naming both runs.

    """
    for judge, rows in judges.items():
        runs: dict[tuple[str, str], str] = {}
        for row in rows:
            first = runs.setdefault((row.case_id, row.criterion), row.run)
            if first != row.run:
                raise UsageError(
                    f"judge {judge!r:.60} judged case {row.case_id!r:.60} in the runs {first!r:.40} and "
                    f"{row.run!r:.40}: give the rows of one run."
                )


def _withheld(given: Certificates) -> dict[str, Withheld]:
    if not given:
        return {}
    from ..certifying.applying import withheld  # noqa: PLC0415 - it decides cases by replay

    return {judge: withheld(*one) for judge, one in given.items()}


def _check(min_valid: int | None, tolerance: float) -> None:
    if min_valid is not None and min_valid < 1:
        raise UsageError(f"min_valid must be a whole number of at least 1, not {min_valid}.")
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise UsageError(f"tolerance must be a number of at least 0, not {tolerance}.")


def _check_judges(judges: Sequence[str] | None, known: Iterable[str]) -> None:
    known = list(known)
    for name in judges or ():
        if name not in known:
            raise UnknownNameError("judge", name, known)


def _in_both_orders(rows: Sequence[VerdictRow]) -> bool:
    """Whether the rows of one case show it in both orders."""
    return len({row.swapped for row in rows}) > 1


def _never_both(rule: Rule) -> UsageError:
    """Return the error about a log in which no judge saw any case in both orders: each would end not graded."""
    return UsageError(
        f"rule {rule.name} compares the two orders of a pair, but this log never shows a case in both: "
        "ask with position_swap as well, or use a rule like majority."
    )
