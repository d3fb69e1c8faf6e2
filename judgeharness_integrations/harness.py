"""JudgeHarness: where asking (left of the verdict log) and measuring (right of it) meet."""

from __future__ import annotations

import copy
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from judgeharness_integrations._arguments import (
    check_calibration,
    check_choices,
    check_design,
    check_kinds,
    loaded,
)
from judgeharness_integrations._errors import BudgetError, UsageError
from judgeharness_integrations.aggregation.rules import RuleLike, rule
from judgeharness_integrations.calibration.harnessing import calibration_report
from judgeharness_integrations.calibration.once import Once, SameObject
from judgeharness_integrations.calibration.report import DEFAULT_MAX_AGE, CalibrationReport, CalibrationState
from judgeharness_integrations.design import Design
from judgeharness_integrations.execution.attempting import CallPolicy
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.execution.local import Executor, LocalExecutor
from judgeharness_integrations.execution.loop import run_sync, stream_sync
from judgeharness_integrations.execution.observing import Observer, Spans, default_observers
from judgeharness_integrations.execution.preparing import Rewritten
from judgeharness_integrations.judging import Judge, JudgeLike, as_judge, text_hash
from judgeharness_integrations.perturbations import Perturbation, Rewriter, perturbation
from judgeharness_integrations.plan import CasePlan, OnUnfit, Plan, plan_cases
from judgeharness_integrations.presets import Shape, preset
from judgeharness_integrations.running import Run, fingerprint_parts

if TYPE_CHECKING:
    from os import PathLike

    from judgeharness_integrations.calibration.labels import CalibrationSet
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.execution.answering import Keep
    from judgeharness_integrations.result import HarnessResult
    from judgeharness_integrations.verdictlog.log import VerdictLog

__all__ = ["JudgeHarness"]


def _now() -> datetime:
    return datetime.now(UTC)


class JudgeHarness:
    """Asks a judge again under changes that must not matter, and folds the answers with a named rule.

    Args:
        perturbations: names (`position_swap`, composed as `a+b`) or `Perturbation`s.
        repetitions: samples per perturbation; a case costs perturbations x repetitions calls.
        aggregation_rule: a rule's name (`supermajority(2/3)`), a plain function of rows, or a `Rule`.
        calibration_set: labelled cases; the harness is calibrated on them once, after the first case.
        calibration: a saved calibration instead, or its path; it expires with the configuration and after `max_age`.
        min_valid: valid samples a verdict needs; at least half of the planned ones when None.
        seed: seed of every random choice a perturbation makes.
        max_concurrency, timeout_s, max_attempts: see `LocalExecutor`; `executor` replaces it.
        max_calls: upper limit for a run, checked against the plan before the first call.
        budget: calls that several harnesses or runs share, instead of `max_calls` for each run.
        on_unfit: `error`, or `skip` perturbations that do not fit a case and report them.
        tolerance: how far two scores agree, in units of the score, where the judge declares no scale.
        rewriter: rewords texts for `paraphrase` and `prompt_variant`.
        instructions: the wordings of `prompt_variant(1)`, `prompt_variant(2)`, ...
        keep: how reasoning and raw text are stored in rows: `text`, `hash`, `none`.
        log: where rows go as they come.
        run: the run their rows carry; one of its own for each call that asks when None.
        observers: who watches; a progress bar on a terminal when None.
        clock: returns the current time with offset, for expiry.

    Raises:
        UsageError: an argument cannot be used; nothing was asked.

    """

    def __init__(
        self,
        *,
        perturbations: Sequence[str | Perturbation],
        repetitions: int,
        aggregation_rule: RuleLike,
        calibration_set: CalibrationSet | None = None,
        calibration: CalibrationReport | str | PathLike[str] | None = None,
        min_valid: int | None = None,
        seed: int = 0,
        max_concurrency: int = 16,
        timeout_s: float | None = 120.0,
        max_attempts: int = 4,
        max_calls: int | None = None,
        budget: Budget | None = None,
        on_unfit: OnUnfit = "error",
        tolerance: float = 1.0,
        rewriter: Rewriter | None = None,
        instructions: Sequence[str] = (),
        keep: Keep = "text",
        log: VerdictLog | None = None,
        run: str | None = None,
        observers: Sequence[Observer] | None = None,
        executor: Executor | None = None,
        max_age: timedelta = DEFAULT_MAX_AGE,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        """Check every argument; nothing is asked yet."""
        check_kinds(perturbations, aggregation_rule)
        chosen = tuple(perturbation(p, rewriter=rewriter, instructions=instructions) for p in perturbations)
        counts = {"max_concurrency": max_concurrency, "max_attempts": max_attempts, "max_calls": max_calls}
        check_design(
            chosen, repetitions=repetitions, min_valid=min_valid, timeout_s=timeout_s, tolerance=tolerance, **counts
        )
        check_choices(on_unfit=on_unfit, keep=keep, log=log, observers=observers)
        self.calibration = loaded(calibration)
        check_calibration(self.calibration, calibration_set)
        self.perturbations = chosen
        self.design = Design(
            perturbations=tuple(p.name for p in chosen),
            repetitions=repetitions,
            rule=rule(aggregation_rule),
            min_valid=min_valid,
            tolerance=tolerance,
            wordings=_wordings(chosen, instructions),
        )
        self.calibration_set = calibration_set
        self.seed = seed
        self.max_calls = max_calls
        self.budget = budget
        self.on_unfit: OnUnfit = on_unfit
        self.keep: Keep = keep
        self.log = log
        self.run = run
        self.observers = observers
        self.max_age = max_age
        self.clock = clock
        self.policy = CallPolicy(timeout_s=timeout_s, max_attempts=max_attempts)
        self.executor: Executor = executor or LocalExecutor(max_concurrency=max_concurrency, policy=self.policy)
        self._measured: Once[CalibrationReport] = Once()
        self._rewritten = Rewritten()

    def __repr__(self) -> str:
        """Return the design."""
        design = self.design
        return f"JudgeHarness({', '.join(design.perturbations)}; x {design.repetitions}; {design.rule.name})"

    @classmethod
    def standard(cls, shape: Shape, **options: Any) -> Self:
        """Six calls a case: pairwise none + position_swap x 3 with `swap_consensus`; labels and scores none +
        format_change x 3 with `supermajority(2/3)` or `median`, `any` with whichever fits the answers. Options are
        those of the constructor.
        """  # noqa: D205 - one paragraph
        return cls(**preset("standard", shape) | options)

    @classmethod
    def quick(cls, shape: Shape, **options: Any) -> Self:
        """Two calls a case: the perturbations of `standard`, once each; labels must agree."""
        return cls(**preset("quick", shape) | options)

    @classmethod
    def thorough(cls, shape: Shape, **options: Any) -> Self:
        """Twelve calls a case: four perturbations x 3, those that do not fit skipped and reported."""
        return cls(**preset("thorough", shape) | options)

    def with_calibration(self, calibration: CalibrationReport | str | PathLike[str] | None) -> Self:
        """Return the harness with a saved calibration, or its path; itself for None.

        Raises:
            UsageError: it has a calibration or a label set already.

        """
        if calibration is None:
            return self
        if self.calibration is not None or self.calibration_set is not None:
            raise UsageError("the harness has a calibration already: give it there or here, not in both places.")
        harness = copy.copy(self)
        harness.calibration = loaded(calibration)
        check_calibration(harness.calibration, None)
        return harness

    def watched_by(self, *observers: Observer) -> Self:
        """Return the harness with other observers."""
        harness = copy.copy(self)
        harness.observers = observers
        return harness

    def plan(self, judge: JudgeLike, cases: Iterable[Case]) -> Plan:
        """Return what evaluating the cases would cost; nothing is asked.

        Raises:
            PlanError: a perturbation or the rule does not fit a case.

        """
        judge = as_judge(judge)
        return self._cost(judge, list(self._plans(judge, cases)), None)

    def evaluate(self, judge: JudgeLike, case: Case, judge_model: str | None = None) -> HarnessResult:
        """Measure one case; see `aevaluate`."""
        return run_sync(self.aevaluate(judge, case, judge_model))

    async def aevaluate(self, judge: JudgeLike, case: Case, judge_model: str | None = None) -> HarnessResult:
        """Measure one case.

        Args:
            judge: a `Judge`, or a plain sync or async callable that takes the case.
            case: an `AnswerCase`, a `PairwiseCase`, or whatever the judge takes.
            judge_model: the model behind the judge, for the report and the limiter.

        Raises:
            UsageError: case, perturbations and rule do not fit together; nothing was asked.
            BudgetError: the plan needs more than `max_calls`; nothing was asked.

        """
        async with aclosing(self._stream(as_judge(judge), [case], judge_model, self.observers or ())) as results:
            return await anext(results)

    def evaluate_many(
        self, judge: JudgeLike, cases: Iterable[Case], judge_model: str | None = None
    ) -> Iterator[HarnessResult]:
        """Yield the measurement of every case as it completes; see `aevaluate_many`."""
        return stream_sync(self.aevaluate_many(judge, cases, judge_model))

    async def aevaluate_many(
        self, judge: JudgeLike, cases: Iterable[Case], judge_model: str | None = None
    ) -> AsyncGenerator[HarnessResult, None]:
        """Yield the measurement of every case as it completes, in order of completion.

        A list or tuple of cases is planned as a whole before the first call; other iterables case by case.
        Closing the generator cancels the calls in flight; rows answered until then are in the log.
        """
        observers = default_observers() if self.observers is None else self.observers
        async with aclosing(self._stream(as_judge(judge), cases, judge_model, observers)) as results:
            async for result in results:
                yield result

    def calibrate(
        self, judge: JudgeLike, calibration_set: CalibrationSet, judge_model: str | None = None
    ) -> CalibrationReport:
        """Measure the rule's decisions on labelled cases; see `acalibrate`."""
        return run_sync(self.acalibrate(judge, calibration_set, judge_model))

    async def acalibrate(
        self, judge: JudgeLike, calibration_set: CalibrationSet, judge_model: str | None = None
    ) -> CalibrationReport:
        """Measure the *aggregated* decision (not one raw call) on labelled cases.

        Raises:
            UsageError: labels and decisions cannot be compared, or the cases cannot be planned.
            BudgetError: the plan needs more than `max_calls`; nothing was asked.

        """
        check_calibration(None, calibration_set)
        judge = as_judge(judge)
        plans = list(self._plans(judge, calibration_set.cases))
        run = self._run(judge, judge_model, default_observers() if self.observers is None else self.observers)
        cost = Plan.of(plans, rewritten=self._rewritten)
        self._check_budget(cost)
        with run.spans.around("run", judge.name, calls=cost.total) as span:
            report = await self._calibrated(replace(run, span=span), calibration_set, plans)
        if report is None:
            raise BudgetError(f"the calls allowed ended before {calibration_set.name!r} was judged: raise max_calls.")
        return report

    def _plans(self, judge: Judge, cases: Iterable[Case]) -> Iterator[CasePlan]:
        return plan_cases(
            cases,
            judge,
            perturbations=self.perturbations,
            repetitions=self.design.repetitions,
            rule=self.design.rule,
            on_unfit=self.on_unfit,
        )

    def _cost(self, judge: Judge, plans: Sequence[CasePlan], judge_model: str | None) -> Plan:
        cost = Plan.of(plans, rewritten=self._rewritten)
        if self.calibration_set is None or self._calibration_key(judge, judge_model) in self._measured:
            return cost
        labelled = list(self._plans(judge, self.calibration_set.cases))
        both = Plan.of([*plans, *labelled], rewritten=self._rewritten)
        return replace(cost, calibration_calls=both.total - cost.total)

    def _check_budget(self, plan: Plan) -> None:
        if self.max_calls is not None and plan.total > self.max_calls:
            raise BudgetError(f"the plan is {plan}, more than max_calls={self.max_calls}: nothing was asked.")

    def _run(self, judge: Judge, judge_model: str | None, observers: Sequence[Observer]) -> Run:
        return Run(
            judge=judge,
            design=self.design,
            executor=self.executor,
            policy=self.policy,
            budget=self.budget or Budget(max_calls=self.max_calls),
            spans=Spans(observers),
            seed=self.seed,
            run=self._run_id(),
            keep=self.keep,
            judge_model=judge_model,
            log=self.log,
            rewritten=self._rewritten,
        )

    def _run_id(self) -> str:
        if self.run is not None:
            return self.run
        return os.urandom(6).hex() if self.log is not None else ""

    async def _stream(
        self, judge: Judge, cases: Iterable[Case], judge_model: str | None, observers: Sequence[Observer]
    ) -> AsyncGenerator[HarnessResult, None]:
        run = self._run(judge, judge_model, observers)
        plans: Iterable[CasePlan] = self._plans(judge, cases)
        cost: Plan | None = None
        if isinstance(cases, Sequence):
            plans = list(plans)
            self._check_budget(cost := self._cost(judge, plans, judge_model))
        with run.spans.around("run", judge.name, calls=cost.total if cost else None) as span:
            run = replace(run, span=span)
            run.anchor = partial(self._anchored, run)
            async with aclosing(run.results(plans)) as results:
                async for result in results:
                    yield result

    def _calibration_key(self, judge: Judge, judge_model: str | None) -> object:
        """Return what a calibration is known by: a fingerprint, or the judge itself when it has no identity."""
        parts = fingerprint_parts(judge, self.design, judge_model)
        return SameObject(getattr(judge, "function", judge)) if parts is None else repr(parts)

    async def _anchored(self, run: Run, result: HarnessResult) -> HarnessResult:
        report, state = await self._anchor(run)
        return replace(result, calibration=report, calibration_state=state) if report else result

    async def _anchor(self, run: Run) -> tuple[CalibrationReport | None, CalibrationState | None]:
        """Return the calibration that goes with a result and whether it holds."""
        if self.calibration is not None:
            parts = fingerprint_parts(run.judge, self.design, run.judge_model)
            return self.calibration, self.calibration.state(parts, now=self.clock(), max_age=self.max_age)
        if self.calibration_set is None:
            return None, None
        calibration_set, key = self.calibration_set, self._calibration_key(run.judge, run.judge_model)

        async def measure() -> CalibrationReport | None:
            if run.budget.exhausted:
                return None
            return await self._calibrated(run, calibration_set, list(self._plans(run.judge, calibration_set.cases)))

        report = await self._measured.get(key, measure)
        return report, None if report is None else CalibrationState(status="valid")

    async def _calibrated(
        self, run: Run, calibration_set: CalibrationSet, plans: Sequence[CasePlan]
    ) -> CalibrationReport | None:
        """Return the report, or None when the run ended before every labelled case was judged."""
        # rows of labelled cases are evidence for the report, not for the run's log
        labelled = replace(run, log=None, anchor=None, labelled=calibration_set.name)
        async with aclosing(labelled.results(plans)) as measured:
            results = [result async for result in measured]
        if any(result.state != "complete" for result in results):
            return None
        parts = fingerprint_parts(run.judge, self.design, run.judge_model)
        return calibration_report(
            results, calibration_set, judge=run.judge.name, parts=parts, measured_at=self.clock().isoformat()
        )


def _wordings(perturbations: Sequence[Perturbation], instructions: Sequence[str]) -> tuple[str, ...]:
    """Return what identifies the wordings a calibration was measured with."""
    parts = [part for p in perturbations for part in (p.parts or (p,))]
    rewriters = [part.rewriter for part in parts if part.rewriter is not None]
    names = sorted({str(getattr(rewriter, "__name__", type(rewriter).__name__)) for rewriter in rewriters})
    given = any("prompt_variant" in part.needs and part.rewriter is None for part in parts)
    return (*names, *(text_hash(text) for text in instructions if given))
