"""Any verdict log under any rule, without asking anybody again: a pure function of rows."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.aggregation.deciding import check_rule_fits, decide
from judgeharness_integrations.aggregation.decision import Decision, not_graded
from judgeharness_integrations.aggregation.grouping import EVERY_CRITERION, by_case, by_criterion, by_judge, is_numeric
from judgeharness_integrations.aggregation.position import position_bias
from judgeharness_integrations.aggregation.rules import Rule, RuleLike
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.aggregation.statistics import distance_share, modal_share, wilson
from judgeharness_integrations.design import RuleFixed
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_text

__all__ = [
    "REPLAY_SCHEMA",
    "CaseDecision",
    "JudgeReplay",
    "ReplayReport",
    "case_consistency",
    "case_decisions",
    "replay",
    "replay_criterion",
    "rows_about",
    "rows_of_judges",
]

REPLAY_SCHEMA = "judgeharness.replay/1"
_PAIRWISE = frozenset({"A", "B", "TIE"})

Kind: TypeAlias = Literal["labels", "numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDecision:
    """What the rule decided about one case, and the case's gold label."""

    case_id: str
    rows: Sequence[VerdictRow]
    decision: Decision
    gold: Verdict | None


@dataclass(frozen=True, kw_only=True)
class JudgeReplay:
    """One judge and criterion under one rule.

    TIE is a decision. `accuracy_decided` = `correct` / `labelled`, where `labelled` is the number of decided cases
    with a gold label (all decided ones in a fully labelled log); `coverage` = decided / cases. Counts and rates of
    position are over pairs of samples shown in both orders, of pairwise criteria alone: verdicts and gold are A, B
    and TIE, and not all TIE. What does not apply is None.
    """

    judge: str
    criterion: str
    kind: Kind
    cases: int
    decided: int
    abstained: int
    not_graded: int
    correct: int | None
    tie_decisions: int | None
    accuracy_decided: float | None
    coverage: float | None
    single_call_accuracy: Mapping[str, float | None] | None
    position_consistency: float | None
    first_slot_rate: float | None
    always_first: int | None
    always_second: int | None
    position_bias_p: float | None
    unparsed: int
    consistency_rate: float | None
    within_case_sd: float | None
    mean_absolute_error: float | None
    labelled: int = field(default=0, metadata={"document": False})
    pairs: int = field(default=0, metadata={"document": False})
    rows: int = field(default=0, metadata={"document": False})

    @property
    def accuracy_interval(self) -> tuple[float, float] | None:
        """95 % Wilson interval of `accuracy_decided`."""
        return None if self.correct is None else wilson(self.correct, self.labelled)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON keeps it."""
        fields = self.__dataclass_fields__.values()
        values = {f.name: getattr(self, f.name) for f in fields if f.metadata.get("document", True)}
        calls = self.single_call_accuracy
        return values | {"single_call_accuracy": None if calls is None else dict(calls)}


@dataclass(frozen=True, kw_only=True)
class ReplayReport:
    """A log under one rule: one entry per judge and criterion, in order of appearance."""

    rule: str
    rule_fixed: RuleFixed
    judges: tuple[JudgeReplay, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON keeps it (schema `judgeharness.replay/1`)."""
        return {
            "schema": REPLAY_SCHEMA,
            "rule": self.rule,
            "rule_fixed": self.rule_fixed,
            "judges": [entry.to_dict() for entry in self.judges],
        }


def replay(
    rows: Iterable[VerdictRow],
    rule: RuleLike,
    *,
    judges: Sequence[str] | None = None,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    rule_fixed: RuleFixed = "after",
) -> ReplayReport:
    """Fold an existing log with a rule.

    Args:
        rows: the log.
        rule: a rule's name, a function of rows, or a `Rule`.
        judges: the judges to look at; all of them when None.
        min_valid: valid samples a verdict needs; at least half of the case's rows when None.
        tolerance: how far two scores lie apart and still agree, in units of the score.
        rule_fixed: whether the rule was chosen before or after the samples.

    Raises:
        UnknownNameError: a judge or the rule is not known.
        UsageError: the rule does not fit the verdicts, or needs both orders and the log never shows them.

    """
    chosen = named_rule(rule)
    _check(min_valid, tolerance)
    selected = rows_of_judges(rows, judges)
    if chosen.both_orders:
        _check_orders(chosen, selected)
    entries = [
        replay_criterion(group, chosen, judge=judge, criterion=name, min_valid=min_valid, tolerance=tolerance)
        for judge, mine in selected.items()
        for name, group in by_criterion(mine).items()
    ]
    return ReplayReport(rule=chosen.name, rule_fixed=rule_fixed, judges=tuple(entries))


def rows_about(rows: Iterable[VerdictRow], criteria: Sequence[str] | None = None) -> list[VerdictRow]:
    """Return the rows about the named criteria, all of them when none is named.

    Calls that failed for every criterion are about each of them.

    Raises:
        UnknownNameError: the log holds no criterion of that name; the nearest is offered.

    """
    rows = list(rows)
    known = {row.criterion for row in rows}
    for name in criteria or ():
        if name not in known:
            raise UnknownNameError("criterion", name, known - {EVERY_CRITERION})
    return [row for row in rows if not criteria or row.criterion in (*criteria, EVERY_CRITERION)]


def rows_of_judges(rows: Iterable[VerdictRow], judges: Sequence[str] | None = None) -> dict[str, list[VerdictRow]]:
    """Return judge -> rows in order of appearance, of the named judges only when some are named.

    Raises:
        UnknownNameError: the log holds no judge of that name; the nearest is offered.

    """
    groups = by_judge(rows)
    for name in judges or ():
        if name not in groups:
            raise UnknownNameError("judge", name, groups)
    return {judge: mine for judge, mine in groups.items() if not judges or judge in judges}


def case_decisions(
    rows: Sequence[VerdictRow], rule: Rule, *, min_valid: int | None = None, planned: Mapping[str, int] | None = None
) -> Iterator[CaseDecision]:
    """Decide every case of one judge and criterion.

    Args:
        rows: its rows.
        rule: how to fold them.
        min_valid: the quorum; see `replay`.
        planned: case id -> samples that were to be asked; cases of it without any row follow as not graded.

    Raises:
        UsageError: the rule does not fit the verdicts, or a case has two different gold labels.

    """
    kind = is_numeric(rows)
    if kind is not None:
        check_rule_fits(rule, numeric=kind, criterion=rows[0].criterion)
    wanted = dict(planned or {})
    for (_, case_id), group in by_case(rows).items():
        decision = decide(group, rule, planned=wanted.pop(case_id, None), min_valid=min_valid, checked=True)
        yield CaseDecision(case_id=case_id, rows=group, decision=decision, gold=_gold(group))
    for case_id, samples in wanted.items():
        nothing = not_graded(f"{samples} of {samples} planned samples were not asked")
        yield CaseDecision(case_id=case_id, rows=(), decision=nothing, gold=None)


def replay_criterion(
    rows: Sequence[VerdictRow],
    rule: Rule,
    *,
    judge: str,
    criterion: str,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    planned: Mapping[str, int] | None = None,
) -> JudgeReplay:
    """Fold the rows of one judge and criterion; see `replay` and, for `planned`, `case_decisions`."""
    kind = is_numeric(rows)
    numeric = rule.kind == "numbers" if kind is None else kind
    cases = list(case_decisions(rows, rule, min_valid=min_valid, planned=planned))
    statuses = Counter(case.decision.status for case in cases)
    used = {value for row in rows for value in (row.verdict, row.gold) if value is not None}
    measured = _numbers(cases) if numeric else _labels(cases, used)
    return JudgeReplay(
        judge=judge,
        criterion=criterion,
        kind="numbers" if numeric else "labels",
        cases=len(cases),
        decided=statuses["decided"],
        abstained=statuses["abstained"],
        not_graded=statuses["not_graded"],
        coverage=statuses["decided"] / len(cases) if cases else None,
        unparsed=sum(row.outcome == "unparsed" for row in rows),
        consistency_rate=_mean(case_consistency(case, numeric=numeric, tolerance=tolerance) for case in cases),
        rows=len(rows),
        **_position(rows, used),
        **measured,
    )


def _check(min_valid: int | None, tolerance: float) -> None:
    if min_valid is not None and min_valid < 1:
        raise UsageError(f"min_valid must be a whole number of at least 1, not {min_valid}.")
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise UsageError(f"tolerance must be a number of at least 0, not {tolerance}.")


def _check_orders(rule: Rule, groups: Mapping[str, Sequence[VerdictRow]]) -> None:
    """Refuse a log in which no judge saw any case in both orders: every case would end not graded."""
    for mine in groups.values():
        seen = {(row.run, row.case_id) for row in mine if not row.swapped}
        if any((row.run, row.case_id) in seen for row in mine if row.swapped):
            return
    raise UsageError(
        f"rule {rule.name} compares the two orders of a pair, but this log never shows a case in both: "
        "ask with position_swap as well, or use a rule like majority."
    )


def _gold(rows: Sequence[VerdictRow]) -> Verdict | None:
    golds = {row.gold for row in rows}
    golds.discard(None)
    if len(golds) > 1:
        first, second, *_ = sorted(verdict_text(gold) for gold in golds)
        row = rows[0]
        raise UsageError(
            f"case {row.case_id!r} has two gold labels for {row.criterion!r}: {first!r} and {second!r}; keep one."
        )
    return golds.pop() if golds else None


def _labels(cases: Sequence[CaseDecision], used: AbstractSet[Verdict]) -> dict[str, Any]:
    decided = [case for case in cases if case.decision.status == "decided"]
    labelled = [case for case in decided if case.gold is not None]
    correct = sum(case.decision.verdict == case.gold for case in labelled)
    known = any(case.gold is not None for case in cases)
    return {
        "correct": correct if known else None,
        "labelled": len(labelled),
        "accuracy_decided": correct / len(labelled) if labelled else None,
        "tie_decisions": sum(case.decision.verdict == "TIE" for case in decided)
        if used and used <= _PAIRWISE
        else None,
        "single_call_accuracy": _single_calls(cases) if known else None,
        "within_case_sd": None,
        "mean_absolute_error": None,
    }


def _single_calls(cases: Iterable[CaseDecision]) -> dict[str, float | None]:
    """Return perturbation -> share of right answers of the calls about labelled cases; a failed call is wrong."""
    asked: dict[str, int] = {}
    right: Counter[str] = Counter()
    for case in cases:
        for row in case.rows:
            asked.setdefault(row.perturbation, 0)
            if case.gold is not None:
                asked[row.perturbation] += 1
                right[row.perturbation] += row.verdict == case.gold
    return {name: right[name] / count if count else None for name, count in asked.items()}


def _numbers(cases: Sequence[CaseDecision]) -> dict[str, Any]:
    passed = [c for c in cases if isinstance(c.gold, str) and c.decision.status == "decided"]  # a rule with pass_at
    correct = sum(case.decision.verdict == case.gold for case in passed)
    spread = _mean(statistics.variance(scores) for case in cases if len(scores := _scores(case)) > 1)
    centers = [(_center(case.decision), case.gold) for case in cases]
    errors = [abs(c - gold) for c, gold in centers if c is not None and is_number(gold)]  # type: ignore[operator]
    return {
        "correct": correct if passed else None,
        "labelled": len(passed) or len(errors),
        "accuracy_decided": correct / len(passed) if passed else None,
        "tie_decisions": None,
        "single_call_accuracy": None,
        "within_case_sd": None if spread is None else math.sqrt(spread),
        "mean_absolute_error": _mean(errors),
    }


def case_consistency(case: CaseDecision, *, numeric: bool, tolerance: float = 1.0) -> float | None:
    """Return how consistent the valid samples of a case are: the share of the most frequent verdict.

    For scores, the share within `tolerance` of the decision, of the median where nothing was decided. None without any.
    """
    if not numeric:
        verdicts = [row.verdict for row in case.rows if row.verdict is not None]
        return modal_share({verdict: verdicts.count(verdict) for verdict in set(verdicts)})
    scores = _scores(case)
    if not scores:
        return None
    center = _center(case.decision)
    return distance_share(scores, statistics.median(scores) if center is None else center, tolerance)


def _scores(case: CaseDecision) -> list[float]:
    return [float(row.verdict) for row in case.rows if isinstance(row.verdict, (int, float))]


def _center(decision: Decision) -> float | None:
    """Return the number behind a decision, also of a rule of the caller's own; None where nothing was decided."""
    if decision.center is None and isinstance(decision.verdict, (int, float)):
        return float(decision.verdict)
    return decision.center


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _position(rows: Sequence[VerdictRow], used: AbstractSet[Verdict]) -> dict[str, Any]:
    """Return what the order did to the verdicts of a pairwise criterion; other verdicts name no slot."""
    bias = position_bias(rows) if _is_pairwise(used) else None
    names = ("always_first", "always_second", "first_slot_rate")
    return {
        **{name: getattr(bias, name, None) for name in names},
        "position_consistency": None if bias is None else bias.consistency,
        "position_bias_p": None if bias is None else bias.p_value,
        "pairs": 0 if bias is None else bias.pairs,
    }


def _is_pairwise(used: AbstractSet[Verdict]) -> bool:
    """Whether verdicts and gold labels are those of a pairwise criterion; ties alone could be anybody's."""
    return used <= _PAIRWISE and used != {"TIE"} and bool(used)
