"""The cases of one judge folded one at a time, whatever criteria turn up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judgeharness_integrations.aggregation.grouping import DEFAULT_CRITERION, EVERY_CRITERION, omitted_answers
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.replay.criterionfold import CriterionFold
from judgeharness_integrations.replay.deciding import CaseDecision, Withheld
from judgeharness_integrations.replay.report import JudgeReplay
from judgeharness_integrations.verdictlog.row import VerdictRow, voting

__all__ = ["JudgeFold"]


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
        recurs: bool = False,
    ) -> dict[str, CaseDecision]:
        """Take in all rows of one case and return criterion -> decision.

        Args:
            rows: its rows, of one run, about any criteria; those of probes do not vote.
            planned: samples that were to be asked and vote; the rows present when None.
            withheld: says why a decision does not stand; the case abstains then.
            recurs: the case is in several runs; see `CriterionFold.add`.

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
        asked: dict[str, Any] = {"planned": planned, "withheld": withheld, "recurs": recurs}
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
