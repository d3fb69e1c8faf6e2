"""Rows -> decisions: one cell for each judge and pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_case, by_criterion, by_judge
from judgeharness_integrations.calibration.words import read_golds
from judgeharness_integrations.ranking.correctness.codes import NOT_ASKED
from judgeharness_integrations.ranking.correctness.decisions import CriterionDecisions, Decisions
from judgeharness_integrations.ranking.correctness.folding import Folded, fold, fold_orders
from judgeharness_integrations.ranking.correctness.paircolumns import PairColumns
from judgeharness_integrations.ranking.correctness.policy import Policy
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, VerdictRow, verdict_text, voting

__all__ = ["decisions_of"]


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
