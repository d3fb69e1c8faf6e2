"""Asks what a check plans: every case as it is, changed where nothing may change, then attacked where it lost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import BudgetError, UnknownNameError
from judgeharness_integrations.checking.asking.attacked import aimed, base_verdicts
from judgeharness_integrations.checking.asking.planning import RULE, CheckedCase, CheckPlan
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.harness import JudgeHarness

if TYPE_CHECKING:
    from judgeharness_integrations.judging import Judge
    from judgeharness_integrations.perturbations import Perturbation
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Asked", "ask", "check_options"]

# what of a harness a check leaves to the caller; the design is the check's own
_OPTIONS = (
    "budget",
    "executor",
    "instructions",
    "keep",
    "log",
    "max_attempts",
    "max_calls",
    "max_concurrency",
    "observers",
    "requests_per_minute",
    "retrying",
    "reuse",
    "rewriter",
    "run",
    "timeout_s",
    "tokens_per_minute",
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was answered; `ended` says why it is not all that was planned, None when it is; `down`: nobody answers."""

    rows: list[VerdictRow] = field(default_factory=list)
    ended: str | None = None
    down: bool = False


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse an option that a check does not take.

    Raises:
        UnknownNameError: it is none of `JudgeHarness`, or one that the check chooses itself.

    """
    for name in options:
        if name not in _OPTIONS:
            raise UnknownNameError("option of a check", name, _OPTIONS)


async def ask(
    judge: Judge, plan: CheckPlan, *, judge_model: str | None, seed: int, options: Mapping[str, Any]
) -> Asked:
    """Ask a judge what is planned, as far as the budget goes.

    Raises:
        BudgetError: the plan needs more than `max_calls`; nothing was asked.

    """
    stages = _Stages(judge, judge_model, _shared(plan, options) | {"seed": seed})
    cases = plan.cases
    await stages.ask(["none"], cases, repetitions=plan.repetitions)
    await stages.ask(plan.changes, [case for case in cases if case.changes])
    attacks = aimed(cases, base_verdicts(stages.rows), criteria=judge.criteria)
    await stages.ask(attacks, [case for case in cases if any(one.fits(case.plan.case) is None for one in attacks)])
    return Asked(rows=stages.rows, ended=stages.ended, down=stages.down)


def _shared(plan: CheckPlan, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of every stage: one budget, and with a log one run."""
    given = {name: value for name, value in options.items() if name not in ("max_calls", "rewriter", "instructions")}
    limit, cost = options.get("max_calls"), plan.cost
    budget = Budget(max_calls=limit)  # refuses what is no limit
    if limit is not None and cost.total > limit:
        raise BudgetError(f"the plan is {cost}, more than max_calls={limit}: nothing was asked.")
    if given.get("budget") is None:
        given["budget"] = budget
    if given.get("log") is not None and given.get("run") is None:
        given["run"] = os.urandom(6).hex()
    return given


class _Stages:
    """Asks in stages that share a budget, until it ends or the judge is down."""

    def __init__(self, judge: Judge, judge_model: str | None, options: dict[str, Any]) -> None:
        self._judge, self._model, self._options = judge, judge_model, options
        self.rows: list[VerdictRow] = []
        self.ended: str | None = None
        self.down = False

    async def ask(
        self, perturbations: Sequence[str | Perturbation], cases: Sequence[CheckedCase], *, repetitions: int = 1
    ) -> None:
        """Ask about cases under perturbations, those that do not fit a case left out.

        After the end of the budget the log may still know answers.
        """
        if not perturbations or not cases or self.down:
            return
        harness = JudgeHarness(
            perturbations=perturbations,
            repetitions=repetitions,
            aggregation_rule=RULE,
            on_unfit="skip",
            **self._options,
        )
        shown = [case.case for case in cases]
        async with aclosing(harness.aevaluate_many(self._judge, shown, self._model)) as results:
            async for result in results:
                self.rows += [*result.rows, *result.probe_rows]
                if result.ended is not None:
                    self.ended, self.down = result.ended, True
        budget: Budget = self._options["budget"]
        if budget.exhausted and self.ended is None:
            self.ended = budget.reason or "the budget is spent"
