"""Who was right about what: rows become decisions under a declared policy, and decisions arrays of credits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, VerdictRow, verdict_text, voting

from ..aggregation.cases import decided_case
from ..aggregation.folds import Decision, majority
from ..aggregation.grouping import by_case, by_criterion, by_judge, is_numeric
from ..aggregation.rules import RULE_NAMES, Rule, RuleLike, check_rule_fits, samples_planned
from ..aggregation.rules import rule as named_rule
from ..calibration.items import read_golds

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


ABSTAINED: Final = -1
FAILED: Final = -2
NOT_ASKED: Final = -3


Value = str | float


class PairColumns:
    """Collects the attributes of rows, pair by pair."""

    def __init__(self, pairs: Mapping[str, int]) -> None:
        """Start without a column; `pairs`: case id -> place."""
        self._pairs = pairs
        self._found: dict[str, dict[str, Value]] = {}
        self._divided: dict[str, None] = {}

    def take(self, row: VerdictRow) -> None:
        """Take in the attributes of a row."""
        for name, value in row.attributes.items():
            found = self._found.setdefault(name, {}).setdefault(row.case_id, value)
            if found != value:
                self._divided[name] = None

    @property
    def agreed(self) -> dict[str, tuple[Value | None, ...]]:
        """Column -> value of each pair; None where no row of the pair has one."""
        return {
            name: tuple(values.get(case_id) for case_id in self._pairs)
            for name, values in self._found.items()
            if name not in self._divided
        }

    @property
    def divided(self) -> tuple[str, ...]:
        """Columns that differ between rows of one pair: they say something about the answer."""
        return tuple(self._divided)


Failures: TypeAlias = Literal["wrong", "missing"]
Ties: TypeAlias = Literal["wrong", "half"]

ORDER_RULES: Final = ("one_order", "both_orders")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a judge earns credit on a pair.

    `rule`: `one_order` (right in the order as given), `both_orders` (right in each of the two orders), or the name of
    any aggregation rule, the decision of which is compared with gold. `failures`: an answer that failed or could not be
    parsed is `wrong`, or `missing` as if it had not been asked. `ties`: a decided TIE where gold names a side, and no
    decision, are `wrong` or earn `half`.

    Raises:
        UnknownNameError: a policy is not known, or a rule without a function.

    """

    rule: str
    failures: Failures = "wrong"
    ties: Ties = "wrong"
    fold: Rule | None = None

    def __post_init__(self) -> None:
        """Refuse names that are not known."""
        for kind, value, known in (("failures", self.failures, Failures), ("ties", self.ties, Ties)):
            if value not in get_args(known):
                raise UnknownNameError(f"{kind} policy", value, get_args(known))
        if self.fold is None and self.rule not in ORDER_RULES:
            raise UnknownNameError("rule", self.rule, ORDER_RULES)

    @classmethod
    def of(cls, rule: RuleLike, *, failures: Failures = "wrong", ties: Ties = "wrong") -> Policy:
        """Return the policy of a rule's name, a function of rows, or a `Rule`.

        Raises:
            UnknownNameError: the rule or a policy is not known.
            PlanError: a parameter of the rule cannot be used.

        """
        if isinstance(rule, str) and (name := rule.strip().replace("-", "_")) in ORDER_RULES:
            return cls(rule=name, failures=failures, ties=ties)
        try:
            fold = named_rule(rule)
        except UnknownNameError:
            raise UnknownNameError("rule", str(rule).partition("(")[0].strip(), [*ORDER_RULES, *RULE_NAMES]) from None
        return cls(rule=fold.name, failures=failures, ties=ties, fold=fold)

    @property
    def both_orders(self) -> bool:
        """Whether a pair counts only where it was answered in both orders."""
        return self.rule == "both_orders" or (self.fold is not None and self.fold.both_orders)

    @property
    def tie_credit(self) -> float:
        """Credit of a tie where gold names a side."""
        return 0.5 if self.ties == "half" else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as JSON keeps it."""
        return {"rule": self.rule, "failures": self.failures, "ties": self.ties}


Codes = NDArray[np.int32]
TIE = "TIE"


@dataclass(frozen=True, kw_only=True, eq=False)
class CriterionDecisions:
    """One criterion. Codes are places in `labels`, or one of `codes`: abstained, failed, not asked.

    `codes` (pairs, judges) under the policy's rule; `gold` (pairs,), -1 without; `orders` (2, pairs, judges): the
    majority of the samples in the order as given, and in the other one. `unread` pairs have a gold label that cannot be
    compared with such answers, and count as without one.
    """

    criterion: str
    labels: tuple[str, ...]
    codes: Codes
    gold: Codes
    orders: Codes
    unread: int = 0

    def credit(self, codes: Codes, policy: Policy) -> Floats:
        """Return the credit of (..., pairs, judges) codes; NaN where not asked, missing, or without gold."""
        gold = self.gold[:, None]
        earned = (codes == gold).astype(np.float64)
        earned[(codes == self.coded(TIE)) & (codes != gold)] = policy.tie_credit
        earned[codes == ABSTAINED] = policy.tie_credit
        absent = (codes == NOT_ASKED) | ((codes == FAILED) & (policy.failures == "missing"))
        return np.where(absent | (gold < 0), np.nan, earned)

    @property
    def pairwise(self) -> bool:
        """Whether this is a choice between A and B: A and B may be grades beside C and D."""
        used = set(self.labels)
        return used <= {"A", "B", TIE} and bool(used & {"A", "B"})

    def coded(self, label: str) -> int:
        """Return a label's code; one that no cell holds where nobody used the label."""
        return self.labels.index(label) if label in self.labels else len(self.labels)

    @property
    def labelled(self) -> Marks:
        """(pairs,) whether there is a gold label."""
        return np.asarray(self.gold >= 0, np.bool_)


@dataclass(frozen=True, kw_only=True, eq=False)
class Decisions:
    """Decisions of judges about pairs under a policy.

    `columns`: name -> value of each pair; `divided`: columns whose value differs between rows of one pair.
    """

    judges: tuple[str, ...]
    pairs: tuple[str, ...]
    criteria: Mapping[str, CriterionDecisions]
    policy: Policy
    columns: Mapping[str, tuple[str | float | None, ...]] = field(default_factory=dict)
    divided: tuple[str, ...] = ()

    def criterion(self, name: str) -> CriterionDecisions:
        """Return a criterion.

        Raises:
            UnknownNameError: there is none of that name; the nearest is offered.

        """
        if name not in self.criteria:
            raise UnknownNameError("criterion", name, self.criteria)
        return self.criteria[name]


def credits_of(decisions: Decisions, criteria: Sequence[str] | None = None) -> Credits:
    """Return what each judge earns on each labelled pair: the product over the criteria that have gold there.

    Strict: whoever answered about a pair and left out, or failed, one of its criteria is wrong about it. What no
    criterion was answered about is a failure of the whole, as the policy says, or was not asked.

    Raises:
        UnknownNameError: a criterion is not known.
        UsageError: no pair has a gold label.

    """
    chosen = [decisions.criterion(name) for name in criteria or decisions.criteria]
    values = _joint(
        [entry.credit(entry.codes, decisions.policy) for entry in chosen], [e.codes for e in chosen], chosen
    )
    return _labelled(decisions, values, chosen)


def by_better_first(decisions: Decisions, criterion: str) -> tuple[Credits, Credits] | None:
    """Return the credits where the better answer was shown first, and where it was shown second.

    None for a criterion that is no choice between A and B, or has no gold.

    Raises:
        UnknownNameError: the criterion is not known.

    """
    entry = decisions.criterion(criterion)
    if not entry.pairwise or not entry.labelled.any():
        return None
    shown_first = entry.gold == entry.coded("A")
    sided = shown_first | (entry.gold == entry.coded("B"))
    as_given, swapped = (
        np.where(sided[:, None], entry.credit(codes, decisions.policy), np.nan) for codes in entry.orders
    )
    first = np.where(shown_first[:, None], as_given, swapped)
    second = np.where(shown_first[:, None], swapped, as_given)
    return _labelled(decisions, first, [entry]), _labelled(decisions, second, [entry])


def _joint(credits: Sequence[Floats], codes: Sequence[Codes], chosen: Sequence[CriterionDecisions]) -> Floats:  # noqa: A002
    """Return the product of credits (pairs, judges), NaN where no criterion with gold was answered."""
    answered = np.any([entry >= ABSTAINED for entry in codes], axis=0)
    product = np.ones(codes[0].shape)
    asked = np.zeros(codes[0].shape, np.bool_)
    for values, entry, mine in zip(credits, chosen, codes, strict=True):
        left_out = answered & ((mine == FAILED) | (mine == NOT_ASKED))
        strict = np.where(left_out, 0.0, values)
        counted = entry.labelled[:, None] & ~np.isnan(strict)
        product = np.where(counted, product * np.nan_to_num(strict), product)
        asked |= counted
    return np.where(asked, product, np.nan)


def _labelled(decisions: Decisions, values: Floats, chosen: Sequence[CriterionDecisions]) -> Credits:
    kept: Marks = np.any([entry.labelled for entry in chosen], axis=0)
    if not kept.any():
        raise UsageError("no pair has a gold label: a ranking needs a gold column that says which answer is right.")
    whole = Credits(judges=decisions.judges, pairs=decisions.pairs, values=values, columns=decisions.columns)
    return whole.of_pairs(kept)


Folded = str | int  # a label, or a code


def fold_orders(rows: Sequence[VerdictRow]) -> tuple[Folded, Folded]:
    """Return the majority of the samples shown in the order as given, and of those shown in the other one."""
    return _majority([row for row in rows if not row.swapped]), _majority([row for row in rows if row.swapped])


def fold(rows: Sequence[VerdictRow], policy: Policy, orders: tuple[Folded, Folded]) -> Folded:
    """Return what the policy's rule makes of the rows; under `both_orders`, the label both orders give.

    Raises:
        UsageError: the rule does not fit, or the samples of an order were cut short.

    """
    if policy.fold is not None:
        if policy.fold.both_orders and NOT_ASKED in orders:
            return NOT_ASKED
        return _label(decided_case(_fitting(rows, policy.fold), policy.fold).decision)
    if samples_planned(rows) > len(rows):
        raise UsageError(
            f"case {rows[0].case_id!r} was sampled with early stopping, and {policy.rule} needs all samples of an "
            "order: name the rule it was stopped under with --rule."
        )
    if policy.rule == "one_order":
        return orders[0]
    for code in (NOT_ASKED, FAILED, ABSTAINED):
        if code in orders:
            return code
    return orders[0] if orders[0] == orders[1] else ABSTAINED


def _fitting(rows: Sequence[VerdictRow], rule: Rule) -> Sequence[VerdictRow]:
    """Return the rows as the rule takes them: scores as texts, for a rule that folds labels."""
    numeric = None if rule.kind == "any" else is_numeric(rows)
    if numeric and rule.kind == "labels":
        return [replace(row, verdict=_text(row)) for row in rows]
    if numeric is not None:
        check_rule_fits(rule, numeric=numeric, criterion=rows[0].criterion)
    return rows


def _text(row: VerdictRow) -> str | None:
    return None if row.verdict is None else verdict_text(row.verdict)


def _majority(rows: Sequence[VerdictRow]) -> Folded:
    if not rows:
        return NOT_ASKED
    valid = [row for row in rows if row.verdict is not None]
    if 2 * len(valid) < len(rows):
        return FAILED
    if len(valid) == 1:
        return verdict_text(valid[0].verdict)
    return _label(majority([replace(row, verdict=_text(row)) for row in valid])) if valid else FAILED


def _label(decision: Decision) -> Folded:
    if decision.status == "decided":
        return verdict_text(decision.verdict)
    return ABSTAINED if decision.status == "abstained" else FAILED


def decisions_of(rows: Iterable[VerdictRow], policy: Policy) -> Decisions:
    """Fold a log into one decision for each judge, pair and criterion.

    Args:
        rows: a log of one or several judges; a pair is a case, whatever its run.
        policy: what counts as right.

    Raises:
        UsageError: a judge holds a case in several runs, a case has two gold labels, or the rule does not fit.

    """
    rows = voting(rows)
    judges = by_judge(rows)
    pairs = {case_id: place for place, case_id in enumerate(dict.fromkeys(row.case_id for row in rows))}
    tables: dict[str, _Table] = {}
    for place, (judge, mine) in enumerate(judges.items()):
        for criterion, group in by_criterion(mine).items():
            table = tables.setdefault(criterion, _Table(criterion, len(pairs), len(judges)))
            for case_id, samples in _cases(judge, group).items():
                table.take(pairs[case_id], place, samples, policy)
    columns = PairColumns(pairs)
    for row in rows:
        columns.take(row)
    return Decisions(
        judges=tuple(judges),
        pairs=tuple(pairs),
        criteria={name: table.finish() for name, table in tables.items()},
        policy=policy,
        columns=columns.agreed,
        divided=columns.divided,
    )


def _cases(judge: str, rows: Sequence[VerdictRow]) -> Mapping[str, list[VerdictRow]]:
    cases: dict[str, list[VerdictRow]] = {}
    for (run, case_id), group in by_case(rows).items():
        if case_id in cases:
            runs = ", ".join(sorted({repr(cases[case_id][0].run), repr(run)}))
            raise UsageError(
                f"judge {judge!r} holds case {case_id!r} in several runs ({runs}), which would count twice: choose one "
                "with --run."
            )
        cases[case_id] = group
    return cases


class _Table:
    """Codes of one criterion, filled cell by cell."""

    def __init__(self, criterion: str, pairs: int, judges: int) -> None:
        self._criterion = criterion
        self._places: dict[str, int] = {}
        self._codes = np.full((pairs, judges), NOT_ASKED, np.int32)
        self._orders = np.full((2, pairs, judges), NOT_ASKED, np.int32)
        self._golds: dict[int, Verdict] = {}

    def take(self, pair: int, judge: int, rows: Sequence[VerdictRow], policy: Policy) -> None:
        orders = fold_orders(rows)
        self._orders[:, pair, judge] = [self._code(label) for label in orders]
        self._codes[pair, judge] = self._code(fold(rows, policy, orders))
        for row in rows:
            if row.gold is not None and row.gold != ABSTAIN:
                self._take_gold(pair, row, row.gold)

    def _take_gold(self, pair: int, row: VerdictRow, gold: Verdict) -> None:
        label = verdict_text(gold)  # as verdicts are folded
        if self._golds.setdefault(pair, label) != label:
            raise UsageError(
                f"case {row.case_id!r} has two gold labels for {self._criterion!r}: {self._golds[pair]!r} and "
                f"{label!r}; keep one."
            )

    def _code(self, label: Folded) -> int:
        if isinstance(label, int):
            return label
        return self._places.setdefault(label, len(self._places))

    def finish(self) -> CriterionDecisions:
        """Return the table with its labels in alphabetical order, gold labels read as `read_golds` does."""
        read = read_golds(self._golds.values(), list(self._places))
        gold_codes = np.full(self._codes.shape[0], -1, np.int32)
        for pair, given in self._golds.items():
            if (label := read[given]) is not None:
                gold_codes[pair] = self._code(verdict_text(label))
        labels = sorted(self._places)
        place = np.array([labels.index(label) for label in self._places], np.int32)
        codes, orders, gold = (
            np.where(table >= 0, place[np.maximum(table, 0)] if len(place) else table, table)
            for table in (self._codes, self._orders, gold_codes)
        )
        return CriterionDecisions(
            criterion=self._criterion,
            labels=tuple(labels),
            codes=codes,
            gold=gold,
            orders=orders,
            unread=sum(read[one] is None for one in self._golds.values()),
        )
