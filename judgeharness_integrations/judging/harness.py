"""Measurement designs that are right by default, by the shape of the verdict."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from judgeharness_integrations._errors import BudgetError, JudgeDownError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import RuleLike
from judgeharness_integrations.analysis.calibration.saved import DEFAULT_MAX_AGE, CalibrationReport
from judgeharness_integrations.analysis.certifying.certificate import Certificate, HeldCertificate
from judgeharness_integrations.analysis.design import Design, PresetCount
from judgeharness_integrations.redacting import current_redactor

from ._arguments import (
    check_calibration,
    check_certificate,
    check_choices,
    check_design,
    check_kinds,
    check_policy,
    check_running,
    designed,
    loaded,
)
from .adapters import as_judge
from .calibrating import Anchor, CalibrationSet
from .cases import Case, CaseFile
from .execution.agenda import OneByOne
from .execution.attempting import CallPolicy, Contact
from .execution.limiter import claimed
from .execution.local import Executor, LocalExecutor
from .execution.loop import run_sync, stream_sync
from .execution.observing import Observer, Spans, default_observers
from .execution.preparing import Rewritten, rewriter_places
from .execution.rates import Rates
from .execution.retrying import Budget
from .judge import Judge, JudgeLike, is_understood
from .perturbations import Perturbation, Rewriter, perturbation
from .plan import CasePlan, OnUnfit, Plan, plan_cases
from .recording import ready, watchers
from .running import Run

if TYPE_CHECKING:
    from os import PathLike

    from tenacity import AsyncRetrying

    from judgeharness_integrations.analysis.probability.passport import Passport
    from judgeharness_integrations.analysis.result import HarnessResult
    from judgeharness_integrations.verdictlog.files import VerdictLog

    from .execution.answering import Keep

__all__ = ["PRESETS", "JudgeHarness", "Shape", "preset"]


Shape: TypeAlias = Literal["pairwise", "labels", "scores", "any"]

_AS_IT_IS = ("none",)
_FORMATS = ("none", "format_change")
_TEXTS = ("none", "format_change", "whitespace", "typography")
_ORDERS = ("none", "position_swap")
_ORDERS_AND_FORMATS = (*_ORDERS, "format_change", "format_change+position_swap")

# `any`: labels or scores, whichever the judge answers
# preset -> shape -> (perturbations, repetitions, rule): calls a case = perturbations x repetitions
PRESETS: dict[str, dict[str, tuple[tuple[str, ...], int, str]]] = {
    "single": {
        "pairwise": (_AS_IT_IS, 1, "majority"),
        "labels": (_AS_IT_IS, 1, "majority"),
        "scores": (_AS_IT_IS, 1, "median"),
        "any": (_AS_IT_IS, 1, "majority | median"),
    },
    "quick": {
        "pairwise": (_ORDERS, 1, "swap_consensus"),
        "labels": (_FORMATS, 1, "abstain_on_disagreement"),
        "scores": (_FORMATS, 1, "median"),
        "any": (_FORMATS, 1, "abstain_on_disagreement | median"),
    },
    "standard": {
        "pairwise": (_ORDERS, 3, "swap_consensus"),
        "labels": (_FORMATS, 3, "supermajority(2/3)"),
        "scores": (_FORMATS, 3, "median"),
        "any": (_FORMATS, 3, "supermajority(2/3) | median"),
    },
    "thorough": {
        "pairwise": (_ORDERS_AND_FORMATS, 3, "swap_consensus"),
        "labels": (_TEXTS, 3, "supermajority(2/3)"),
        "scores": (_TEXTS, 3, "median"),
        "any": (_TEXTS, 3, "supermajority(2/3) | median"),
    },
}
PRESETS["cheap"] = PRESETS["standard"]
_MORE: dict[str, dict[str, Any]] = {"thorough": {"on_unfit": "skip"}, "cheap": {"curtail": True}}


def preset(name: str, shape: str) -> dict[str, Any]:
    """Return the harness arguments of a preset: perturbations, repetitions, aggregation_rule, and what it has besides.

    `cheap` asks the samples of `standard` no further than its decision needs.
    Typography has nothing to vary in many texts, so `thorough` skips perturbations that do not fit, and says so.
    """
    if shape not in PRESETS[name]:
        raise UnknownNameError("shape", shape, PRESETS[name])
    perturbations, repetitions, aggregation_rule = PRESETS[name][shape]
    count = PresetCount(repetitions)
    arguments = {"perturbations": perturbations, "repetitions": count, "aggregation_rule": aggregation_rule}
    return arguments | _MORE.get(name, {})


def _passport(given: Passport | str | PathLike[str] | None, rule: RuleLike) -> tuple[Passport | None, RuleLike]:
    """Return a passport, and the rule that decides: its own where there is one."""
    if given is None:
        return None, rule
    from judgeharness_integrations.analysis.probability.passport import Passport  # noqa: PLC0415 - few have one

    known = loaded(Passport, given)
    return known, rule if known is None else known.rule()


_now = partial(datetime.now, UTC)


class JudgeHarness:
    """Asks a judge again under changes that must not matter, and folds the answers with a named rule.

    Args:
        perturbations: names (`position_swap`, composed as `a+b`) or `Perturbation`s.
        repetitions: samples per perturbation; a case costs perturbations x repetitions calls.
        aggregation_rule: a rule's name (`supermajority(2/3)`), a plain function of rows, or a `Rule`.
        calibration_set: labelled cases; the harness is calibrated on them once, after the first case.
        calibration: a saved calibration instead, or its path; it expires with the configuration and after `max_age`.
        certificate: a saved certificate, or its path: decisions that it does not certify become abstentions.
        passport: that of a judge that answers with probabilities, or its path: it decides, instead of the rule.
        min_valid: valid samples a verdict needs; at least half of the planned ones when None.
        seed: seed of every random choice a perturbation makes.
        max_concurrency, timeout_s, max_attempts: see `LocalExecutor`; `executor` replaces it.
        retrying: the caller's own retry policy, a `tenacity.AsyncRetrying`, instead of `max_attempts`.
        requests_per_minute, tokens_per_minute: limits of the judge's model, shared by every run of this process;
            an `executor` has limits of its own.
        max_calls: upper limit for a run, checked against the plan before the first call.
        budget: calls, tokens or money that several harnesses or runs share, instead of `max_calls` for each run.
        curtail: stop asking about a case when the rule's decision can no longer change.
        prime_cache: repetitions of a text wait for its first answer while there is anything else to ask, so that the
            provider's prompt cache knows it.
        on_unfit: `error`, or `skip` perturbations that do not fit a case and report them.
        tolerance: how far two scores agree, in units of the score, where the judge declares no scale.
        rewriter: rewords texts for `paraphrase` and `prompt_variant`.
        instructions: the wordings of `prompt_variant(1)`, `prompt_variant(2)`, ...
        keep: how reasoning and raw text are stored in rows: `text`, `hash`, `none`.
        log: where rows go as they come; a `SqlLog` also gives back what it holds, so that nothing is paid twice.
        run: the run their rows carry, which is continued when the log has rows of it; a new one each time when None.
        reuse: take answers that other runs of the log hold to the same probe of the same judge.
        observers: who watches, beside LangSmith where that traces; a progress bar on a terminal when None, and nobody
            at all when empty.
        clock: returns the current time with offset, for expiry.

    Raises:
        UsageError: an argument cannot be used; nothing was asked.

    """

    executor: Executor
    keep: Keep
    on_unfit: OnUnfit

    def __init__(
        self,
        *,
        perturbations: Sequence[str | Perturbation],
        repetitions: int,
        aggregation_rule: RuleLike,
        calibration_set: CalibrationSet | None = None,
        calibration: CalibrationReport | str | PathLike[str] | None = None,
        certificate: Certificate | str | PathLike[str] | None = None,
        passport: Passport | str | PathLike[str] | None = None,
        min_valid: int | None = None,
        seed: int = 0,
        max_concurrency: int = 16,
        timeout_s: float | None = 120.0,
        max_attempts: int | None = None,
        retrying: AsyncRetrying | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        max_calls: int | None = None,
        budget: Budget | None = None,
        on_unfit: OnUnfit = "error",
        tolerance: float = 1.0,
        rewriter: Rewriter | None = None,
        instructions: Sequence[str] = (),
        curtail: bool = False,
        prime_cache: bool = True,
        keep: Keep = "text",
        log: VerdictLog | None = None,
        run: str | None = None,
        reuse: bool = True,
        observers: Sequence[Observer] | None = None,
        executor: Executor | None = None,
        max_age: timedelta = DEFAULT_MAX_AGE,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        """Check every argument; nothing is asked yet."""
        check_kinds(perturbations, aggregation_rule)
        chosen = tuple(perturbation(p, rewriter=rewriter, instructions=instructions) for p in perturbations)
        counts = {"max_concurrency": max_concurrency, "max_attempts": max_attempts, "max_calls": max_calls}
        measuring: dict[str, Any] = {"repetitions": repetitions, "min_valid": min_valid, "tolerance": tolerance}
        check_design(chosen, timeout_s=timeout_s, **measuring, **counts)
        limits = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
        switches = {"curtail": curtail, "prime_cache": prime_cache, "reuse": reuse}
        check_running(budget=budget, switches=switches, run=run, executor=executor, rates=limits)
        check_policy(retrying, executor)
        check_choices(on_unfit=on_unfit, keep=keep, log=log, observers=observers)
        check_calibration(known := loaded(CalibrationReport, calibration), calibration_set)
        self.passport, folding = _passport(passport, aggregation_rule)
        self.design = designed(chosen, folding, instructions, **measuring, curtail=curtail)
        check_certificate(promised := loaded(Certificate, certificate), self.design)
        self.seed, self.max_calls, self.budget, self.on_unfit, self.keep = seed, max_calls, budget, on_unfit, keep
        self.log, self.run, self.reuse, self.observers, self.prime_cache = log, run, reuse, observers, prime_cache
        self.policy = CallPolicy(timeout_s=timeout_s, max_attempts=max_attempts, retrying=retrying)
        local = LocalExecutor(max_concurrency=max_concurrency, policy=self.policy, rates=Rates(**limits))
        self.executor, self.perturbations, self._rewritten = executor or local, chosen, Rewritten()
        held: dict[str, Any] = {"given": known, "labels": calibration_set, "certificate": promised}
        self._anchor = Anchor(design=self.design, plan=self._plans, **held, max_age=max_age, clock=clock)

    def __repr__(self) -> str:
        """Return the design."""
        design = self.design
        return f"JudgeHarness({', '.join(design.perturbations)}; x {design.repetitions}; {design.rule.name})"

    @classmethod
    def single(cls, shape: Shape, **options: Any) -> Self:
        """One call a case, as it always was: the first step of a suite that moves, its results called informal."""
        return cls(**preset("single", shape) | options)

    @classmethod
    def standard(cls, shape: Shape, **options: Any) -> Self:
        """Six calls a case: pairwise none + position_swap x 3 with `swap_consensus`; labels and scores none +
        format_change x 3 with `supermajority(2/3)` or `median`, `any` with whichever fits the answers. Options are
        those of the constructor.
        """  # noqa: D205 - one paragraph
        return cls(**preset("standard", shape) | options)

    @classmethod
    def cheap(cls, shape: Shape, **options: Any) -> Self:
        """The samples of `standard`, asked until nothing can change its decision: a steady judge of pairs takes 4."""
        return cls(**preset("cheap", shape) | options)

    @classmethod
    def quick(cls, shape: Shape, **options: Any) -> Self:
        """Two calls a case: the perturbations of `standard`, once each; labels must agree."""
        return cls(**preset("quick", shape) | options)

    @classmethod
    def thorough(cls, shape: Shape, **options: Any) -> Self:
        """Twelve calls a case: four perturbations x 3, those that do not fit skipped and reported."""
        return cls(**preset("thorough", shape) | options)

    @property
    def calibration(self) -> CalibrationReport | None:
        """The saved calibration it was given."""
        return self._anchor.given

    @property
    def calibration_set(self) -> CalibrationSet | None:
        """The labelled cases it calibrates on."""
        return self._anchor.labels

    def certificate_for(self, judge: JudgeLike, judge_model: str | None = None) -> HeldCertificate | None:
        """Return its certificate, and whether that holds for a judge; None without one."""
        return self._anchor.held(judge := as_judge(judge), self.design_for(judge), judge_model)

    def with_calibration(self, calibration: CalibrationReport | str | PathLike[str] | None) -> Self:
        """Return the harness with a saved calibration, or its path; itself for None.

        Raises:
            UsageError: it has a calibration or a label set already.

        """
        if calibration is None:
            return self
        if self._anchor.given is not None or self._anchor.labels is not None:
            raise UsageError("the harness has a calibration already: give it there or here, not in both places.")
        check_calibration(known := loaded(CalibrationReport, calibration), None)
        return self._with(_anchor=replace(self._anchor, given=known))

    def with_certificates(self, certificates: Mapping[str, Certificate]) -> Self:
        """Return the harness under which the decisions of each judge named stand under a certificate of their own.

        Raises:
            UsageError: one of them cannot be used, or the harness has a certificate or passport already.

        """
        if self._anchor.certificate is not None or self.passport is not None:
            raise UsageError("the harness has a certificate or passport of its own: leave it out, the cascade has one.")
        for certificate in certificates.values():
            check_certificate(certificate, self.design)
        return self._with(_anchor=replace(self._anchor, certificates=certificates))

    def with_labels(self, labels: CalibrationSet) -> Self:
        """Return the harness that calibrates on a label set, instead of its own."""
        return self._with(_anchor=replace(self._anchor, labels=labels))

    @classmethod
    def under(cls, passport: Passport | str | PathLike[str], **options: Any) -> Self:
        """Ask as a passport was taken, and decide as it says; options are those of the constructor."""
        from judgeharness_integrations.analysis.probability.passport import Passport  # noqa: PLC0415 - few have one

        known = Passport.load(passport) if isinstance(passport, (str, os.PathLike)) else passport
        return cls(**({**known.asked, "aggregation_rule": "majority", "passport": known} | options))

    def design_for(self, judge: JudgeLike, judge_model: str | None = None) -> Design:
        """Return what is asked of a judge: the design, or what of it tells something about such a judge.

        One unperturbed call where that says all there is to know; a call a perturbation, and some cases once more,
        where the judge answers with probabilities and a preset said how often.
        """
        judge = as_judge(judge)
        if getattr(judge, "asked_once", None) is not None:
            return self.design.asking_once()
        share = getattr(judge, "retested", None)
        preset_count = isinstance(self.design.repetitions, PresetCount)
        design = self.design if share is None or not preset_count else self.design.retesting(share)
        if self.passport is None:
            return design
        return replace(design, rule=self.passport.rule(self._anchor.state(self.passport, judge, design, judge_model)))

    def limited(self, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> Self:
        """Return the harness with limits of the judge's model, the lower one where it has one; itself without any.

        Raises:
            UsageError: a limit is no number above 0, or the harness has an executor of its own, which has its limits.

        """
        limits = Rates(requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute)
        if limits == Rates():
            return self
        if not isinstance(self.executor, LocalExecutor):
            raise UsageError("the harness has an executor of its own: give that the limits, as Rates(...).")
        return self._with(executor=replace(self.executor, rates=Rates.strictest([self.executor.rates, limits])))

    def watched_by(self, *observers: Observer) -> Self:
        """Return the harness with other observers."""
        return self._with(observers=observers)

    def _with(self, **changed: object) -> Self:
        harness = copy.copy(self)
        vars(harness).update(changed)
        return harness

    def plan(self, judge: JudgeLike, cases: Iterable[Case]) -> Plan:
        """Return what evaluating the cases would cost; nothing is asked.

        Raises:
            PlanError: a perturbation or the rule does not fit a case.

        """
        judge = as_judge(judge)
        if hasattr(judge, "planned_in_turn"):
            return judge.planned_in_turn(self, cases)  # type: ignore[no-any-return] # a plan
        return self._cost(judge, self._plans(judge, cases), None)

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
        async with aclosing(self._stream(as_judge(judge), [case], judge_model)) as results:
            result = await anext(results)
            await anext(results, None)  # the end: whoever asked has ended, too, and need not be cancelled
        return result

    def evaluate_many(
        self, judge: JudgeLike, cases: Iterable[Case], judge_model: str | None = None
    ) -> Iterator[HarnessResult]:
        """Yield the measurement of every case as it completes; see `aevaluate_many`."""
        return stream_sync(self.aevaluate_many(judge, cases, judge_model))

    async def aevaluate_many(
        self, judge: JudgeLike, cases: Iterable[Case], judge_model: str | None = None
    ) -> AsyncGenerator[HarnessResult, None]:
        """Yield the measurement of every case as it completes, in order of completion.

        A list or tuple of cases is planned as a whole before the first call; other iterables case by case. Where there
        are many calls, or a plain function none of whose answers was read yet, the first one goes alone: it shows
        whether key, model, rule and answers are right. A judge that answers nothing, by errors that no waiting heals,
        is asked no more than a handful of times; the cases left over follow as `not_graded`, in the state
        `judge_down`, and `HarnessResult.ended` says why.
        Closing the generator cancels the calls in flight; rows answered until then are in the log.
        """
        async with aclosing(self._stream(as_judge(judge), cases, judge_model, default_observers())) as results:
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
            JudgeDownError: the judge answers nothing, by errors that no waiting heals.

        """
        check_calibration(None, calibration_set)
        judge = as_judge(judge)
        plans = list(self._plans(judge, calibration_set.cases))
        run = self._run(judge, judge_model, default_observers())
        cost = Plan.of(plans, rewritten=self._rewritten)
        self._check_budget(cost)
        run.contact = Contact.of(cost, understood=is_understood(judge))
        async with claimed(self.log, self.run):
            await self._check_batches()
            with run.spans.around("run", judge.name, calls=cost.total) as span:
                report = await self._anchor.measured(replace(run, span=span), calibration_set, plans)
        if report is None and run.contact.lost is not None:
            raise JudgeDownError(f"{run.contact.lost}.")
        if report is None:
            raise BudgetError(f"the calls allowed ended before {calibration_set.name!r} was judged: raise max_calls.")
        return report

    def _plans(self, judge: Judge, cases: Iterable[Case]) -> Iterator[CasePlan]:
        design = self.design_for(judge)
        return plan_cases(
            cases,
            judge,
            perturbations=self.perturbations,
            repetitions=design.repetitions,
            retested=design.retested,
            rule=self.design.rule,
            on_unfit=self.on_unfit,
            unique=isinstance(cases, CaseFile) and cases.check().count > 0,  # which finds ids that occur twice
        )

    def _cost(self, judge: Judge, plans: Iterable[CasePlan], judge_model: str | None) -> Plan:
        return Plan.of(plans, labelled=self._anchor.due(judge, judge_model), rewritten=self._rewritten)

    def _check_budget(self, plan: Plan) -> None:
        if self.max_calls is not None and plan.total > self.max_calls:
            raise BudgetError(f"the plan is {plan}, more than max_calls={self.max_calls}: nothing was asked.")

    def _run(self, judge: Judge, judge_model: str | None, default: Sequence[Observer]) -> Run:
        redact = current_redactor(judge, self.perturbations)  # whose rewriters ask models of their own
        return Run(
            judge=judge,
            design=self.design_for(judge, judge_model),
            executor=self.executor,
            policy=self.policy,
            budget=self.budget or Budget(max_calls=self.max_calls),
            spans=Spans(watchers(self.observers, default), redact),
            redact=redact,
            seed=self.seed,
            run=self._run_id(),
            keep=self.keep,
            judge_model=judge_model,
            log=self.log,
            reuse=self.reuse,
            prime_cache=self.prime_cache,
            rewriters=rewriter_places(self.perturbations),
            rewritten=self._rewritten,
            meets=None if self.log is None else self.run,
        )

    async def _check_batches(self) -> None:
        """Refuse to pay again for what open batches of the run ask already."""
        refuse = getattr(self.log, "refuse_open_batches", None)
        if self.run is not None and refuse is not None and not getattr(self.executor, "by_batch", False):
            instead = "collect or cancel them with a BatchExecutor, or give the run another name"
            await asyncio.to_thread(refuse, self.run, instead=instead)

    def _run_id(self) -> str:
        return (os.urandom(6).hex() if self.log is not None else "") if self.run is None else self.run

    async def _stream(
        self, judge: Judge, cases: Iterable[Case], judge_model: str | None, default: Sequence[Observer] = ()
    ) -> AsyncGenerator[HarnessResult, None]:
        in_turn: Any = getattr(judge, "asked_in_turn", None)
        if in_turn is not None:  # the judges of a cascade, one after the other
            async with aclosing(in_turn(self, cases, default)) as results:
                async for result in results:
                    yield result
            return
        run = self._run(judge, judge_model, default)
        plans: Iterable[CasePlan] = self._plans(judge, cases)
        cost: Plan | None = None
        if isinstance(cases, Sequence):
            plans = list(plans)
            self._check_budget(cost := self._cost(judge, plans, judge_model))
        ready()
        async with claimed(self.log, self.run):
            await self._check_batches()
            with run.spans.around("run", judge.name, calls=cost.total if cost else None) as span:
                contact = Contact.of(cost, understood=is_understood(judge))
                run = replace(run, span=span, contact=contact, anchor=self._anchor.anchored)
                run.one_by_one = isinstance(cases, OneByOne)
                async with aclosing(run.results(plans)) as results:
                    async for result in results:
                        yield result
