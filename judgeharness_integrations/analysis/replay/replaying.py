"""Any verdict log under any rule, without asking anybody again: a pure function of rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.cases import Withheld
from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.aggregation.grouping import by_case, by_criterion, by_judge, omitted_answers
from judgeharness_integrations.analysis.aggregation.rules import Rule, RuleLike
from judgeharness_integrations.analysis.aggregation.rules import rule as named_rule
from judgeharness_integrations.analysis.design import RuleFixed
from judgeharness_integrations.analysis.replay.folds import CriterionFold, JudgeFold
from judgeharness_integrations.analysis.replay.report import Certificates, JudgeReplay, ReplayReport
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, CaseKey, VerdictRow, voting


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
    from judgeharness_integrations.analysis.certifying.applying import withheld  # noqa: PLC0415 - it decides cases by replay

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
