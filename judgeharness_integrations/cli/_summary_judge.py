"""One judge of a run, summed up case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judgeharness_integrations._errors import JudgeHarnessError
from judgeharness_integrations.aggregation.copies import CopiedCases
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.certifying.applying import UncertifiedCases, withheld
from judgeharness_integrations.certifying.certificate import HeldCertificate
from judgeharness_integrations.cli._failures import FailureKinds, without_replay_advice
from judgeharness_integrations.cli._summary_usage import UsageSums
from judgeharness_integrations.replay import CaseDecision, CriterionFold, JudgeFold
from judgeharness_integrations.verdictlog.row import CutOff, Verdict, VerdictRow, verdict_to_json

__all__ = ["JudgeSums"]

_MOST_VERDICTS = 10_000  # a mean of scores may come to another number in every case


@dataclass(kw_only=True)
class _Verdicts:
    """How often each verdict was decided; those beyond the first 10,000 kinds are counted together."""

    counts: Counter[Verdict | None] = field(default_factory=Counter)
    others: int = 0

    def add(self, case: CaseDecision) -> None:
        if case.decision.status != "decided":
            return
        if case.decision.verdict in self.counts or len(self.counts) < _MOST_VERDICTS:
            self.counts[case.decision.verdict] += 1
        else:
            self.others += 1

    def to_dict(self) -> dict[str, Any]:
        listed = [{"verdict": verdict_to_json(verdict), "count": n} for verdict, n in self.counts.most_common()]
        return {"verdicts": listed, "other_verdicts": self.others}


class JudgeSums:
    """Folds, failures and usage of one judge: `add` every planned case once.

    Memory grows with criteria, kinds of failure and verdicts, and with the first 100,000 cases.
    """

    def __init__(
        self,
        *,
        judge: str,
        rule: Rule,
        criteria: Sequence[str],
        min_valid: int | None,
        tolerance: float,
        tolerances: Mapping[str, float],
        certificate: HeldCertificate | None = None,
    ) -> None:
        """Start without cases; with a `certificate` in use, decisions that it does not certify are abstentions."""
        self.certificate = certificate
        self._withheld = None if certificate is None else withheld(*certificate)
        self.uncertified, self.copies = UncertifiedCases(), CopiedCases()
        self._rule = rule
        self._fold = JudgeFold(
            judge=judge, rule=rule, criteria=criteria, min_valid=min_valid, tolerance=tolerance, tolerances=tolerances
        )
        self._verdicts: dict[str, _Verdicts] = {}
        self._graded: Counter[frozenset[str]] = Counter()  # the criteria in which a case was graded -> cases
        self.failures, self.cut_off = FailureKinds(), CutOff()
        self.usage, self.labelled = UsageSums(), UsageSums()  # of its cases, and of those it is calibrated on
        self.cases = self.not_asked = self.planned = 0
        self.saved = 0  # calls that early stopping made needless

    def add(self, rows: Sequence[VerdictRow], *, planned: int) -> None:
        """Take in a planned case, also one without rows."""
        self.cases += 1
        self.planned += planned
        self.not_asked += not rows
        decisions = self._fold.add(rows, planned=planned, withheld=self._withheld)
        graded = []
        for name, case in decisions.items():
            if self.certificate is not None:
                self.uncertified.add(self.certificate[0], name, case.rows)
            if case.decision.status != "not_graded":
                graded.append(name)
                self._verdicts.setdefault(name, _Verdicts()).add(case)
        self._graded[frozenset(graded)] += 1
        if decisions and all(case.censored and case.decision.status != "not_graded" for case in decisions.values()):
            self.saved += planned - max(len(case.rows) for case in decisions.values())
        if rows:
            self.copies.add_rows(rows[0].case_id, rows)
        self.failures.add(rows)
        self.cut_off.add(rows)
        self.usage.add(rows)

    @property
    def alerts(self) -> list[str]:
        """What is to be said first of all."""
        return [self.cut_off.alert] if self.cut_off.alert else []

    def criteria(self) -> list[dict[str, Any]]:
        """Return what each criterion comes to, as the summary keeps it."""
        return [self._criterion(name, fold) for name, fold in self._fold.folds.items()]

    def _criterion(self, name: str, fold: CriterionFold) -> dict[str, Any]:
        verdicts, error = self._verdicts.get(name, _Verdicts()), None
        try:
            with without_replay_advice():
                measured = fold.finish(unasked=self.cases - fold.cases)
        except JudgeHarnessError as problem:  # the rule cannot read these answers: nothing of them is graded
            verdicts, error = _Verdicts(), str(problem)
            empty = CriterionFold(judge=fold.judge, criterion=name, rule=self._rule)
            measured = empty.finish(unasked=self.cases)
        interval = measured.accuracy_interval
        return {
            **measured.to_dict(),
            "planned_samples": self.planned,
            "taken_samples": measured.rows,
            "accuracy_decided_95": None if interval is None else list(interval),
            "decided_with_gold": measured.labelled,
            **verdicts.to_dict(),
            "error": error,
        }

    @property
    def not_graded(self) -> int:
        """Number of cases not graded in at least one criterion."""
        folds = self._fold.folds
        if any(fold.problem is not None for fold in folds.values()):
            return self.cases
        every = frozenset(folds)
        return sum(count for names, count in self._graded.items() if names != every)
