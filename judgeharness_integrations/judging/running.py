"""One run of one judge: probes out, rows in, a measurement for every complete case, told to whoever records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.fingerprint import Fingerprint
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.redacting import Redactor
from judgeharness_integrations.verdictlog.files import VerdictLog

from .adapters import beyond_tested
from .cases import AnswerCase, Criterion, PairwiseCase
from .execution.agenda import Agenda, OpenCase, Stopping
from .execution.answering import Keep, RowMaker
from .execution.attempting import CallPolicy, Contact
from .execution.limiter import SharedRun, shared_run
from .execution.local import Asking, Executor
from .execution.observing import Span, Spans
from .execution.preparing import KeptRewrites, Preparer, Rewritten, judge_digest, rewriter_name
from .execution.recalling import Recall, Reuse, is_searchable, keeper_for
from .execution.retrying import Budget
from .judge import Judge, call_maybe_async, model_family
from .perturbations import Rewriter
from .plan import CasePlan
from .recording import record, warned

__all__ = ["Run", "fingerprint_parts"]

_SCORE_STEPS = 9  # two scores agree within one step of a 1-10 scale, or a ninth of any other


def fingerprint_parts(judge: Judge, design: Design, judge_model: str | None = None) -> dict[str, Any] | None:
    """Return what a calibration of this judge under this design depends on; None for a judge without identity."""
    identity = judge.identity
    if identity is None:
        return None
    return {
        "judge": identity.name,
        "model": judge_model or identity.model,
        "parameters": {**identity.parameters, **identity.learned},
        "prompt": identity.prompt_hash,
        **({} if identity.source is None else {"source": identity.source}),
        "labels": {c.name: [c.labels, c.scale] for c in judge.criteria or ()},
        **design.parts(),
    }


@dataclass(kw_only=True)
class Run:
    """One judge, one design, one budget."""

    judge: Judge
    design: Design
    executor: Executor
    policy: CallPolicy
    budget: Budget
    spans: Spans
    contact: Contact = field(default_factory=Contact)
    redact: Redactor = field(default_factory=Redactor)
    seed: int = 0
    run: str = ""
    keep: Keep = "text"
    judge_model: str | None = None
    log: VerdictLog | None = None
    reuse: bool = True
    rewriters: Mapping[int, str] = field(default_factory=dict)  # their places in the design
    span: Span | None = None
    rewritten: Rewritten = field(default_factory=Rewritten)
    anchor: Callable[[Run, HarnessResult], Awaitable[HarnessResult]] | None = None  # adds the calibration to a result
    labelled: str | None = None  # the label set whose cases these are
    meets: str | None = None  # the run of a log where its answers stand beside other judges'
    prime_cache: bool = True  # repetitions of a text wait for its first answer while others can be asked
    one_by_one: bool = False  # whether there is a next case may depend on the answers
    _shared: SharedRun = field(init=False, default_factory=SharedRun)
    _fingerprints: dict[str, str | None] = field(init=False, default_factory=dict)

    async def results(self, plans: Iterable[CasePlan]) -> AsyncGenerator[HarnessResult, None]:
        """Yield the measurement of every case as it completes.

        When the budget ends first, or the judge is down, the cases left unfinished follow as `not_graded`; so do those
        an executor of somebody else's gave up.

        Raises:
            UsageError: a case is being measured in this run already, or the rule cannot fold the answers.

        """
        with shared_run(self.log, self.run) as self._shared:
            async with aclosing(self._results(plans)) as results:
                async for result in results:
                    yield result

    async def _results(self, plans: Iterable[CasePlan]) -> AsyncGenerator[HarnessResult, None]:
        opened: dict[str, OpenCase] = {}
        asking = self._asking()
        preparer = Preparer(
            seed=self.seed,
            rewrite=partial(self._rewrite, asking, opened),
            rewritten=self.rewritten,
            curtail=self.design.curtail,
        )
        opening = self._opening(iter(plans), opened, preparer, asking)
        agenda = Agenda(opening, recall=self._recall, one_by_one=self.one_by_one, prime_cache=self.prime_cache)
        try:
            async with aclosing(self.executor.ask(self.judge, agenda, asking)) as calls:
                async for answered in calls:
                    case = opened[answered[0].case_id]
                    case.add(answered)
                    agenda.answered(case, answered)
                    if case.finished:
                        asking.parents.pop(case.plan.case_id, None)
                        yield await self._finished(opened.pop(case.plan.case_id))
            await self._set_aside()
            async with aclosing(self._unfinished(agenda, opened, asking)) as unfinished:
                async for result in unfinished:
                    yield result
        finally:
            if asking.keeper is not None:
                await asking.keeper.settled()
            await preparer.close()
            for case in opened.values():
                self._shared.end(self.judge.name, case.plan.case_id)
                if case.span is not None:
                    self.spans.end(case.span)

    async def _set_aside(self) -> None:
        """Let a judge that was down be asked again about the calls that showed it, when the run goes on."""
        set_aside = getattr(self.log, "set_failed_aside", None)
        if self.contact.lost is not None and set_aside is not None:
            where = {"run": self.run, "judge": self.judge.name, "case_ids": self.contact.cases}
            await asyncio.to_thread(set_aside, **where)

    async def _unfinished(
        self, agenda: Agenda, opened: dict[str, OpenCase], asking: Asking
    ) -> AsyncGenerator[HarnessResult, None]:
        """Yield the cases that were begun, and unless somebody ended the run all others: nothing is lost."""
        ended: dict[str, Any] = {"state": "interrupted"}
        if not self.budget.ended and self.contact.lost is not None:
            ended = {"state": "judge_down", "ended": self.contact.lost}
        elif not self.budget.ended and self.budget.exhausted:
            ended = {"state": "budget_exhausted"}
        while opened:
            yield await self._closed(opened.pop(next(iter(opened))), asking, ended)
        if ended["state"] != "interrupted":
            async for case in agenda.rest():
                yield await self._closed(opened.pop(case.plan.case_id), asking, ended)

    async def _closed(self, case: OpenCase, asking: Asking, ended: Mapping[str, Any]) -> HarnessResult:
        """Measure a case nothing more is asked about, with what is known of it already."""
        for pending in case.known_left():
            if pending.known and not case.complete:
                if not pending.stored:
                    await asking.keep(pending.known)
                case.add(pending.known)
        return await self._finished(case, **({} if case.complete else ended))

    def _asking(self) -> Asking:
        rows = RowMaker(
            self.judge,
            run=self.run,
            keep=self.keep,
            judge_model=self.judge_model,
            folds=self.design.rule.kind,
            digest=self._digest if is_searchable(self.log) else None,
            redact=self.redact,
        )
        keeper = None if self.log is None else keeper_for(self.log)
        model = self._model or self.judge.name
        return Asking(
            rows=rows,
            budget=self.budget,
            spans=self.spans,
            model=model,
            keeper=keeper,
            rule=self.design.rule,
            contact=self.contact,
            one_by_one=self.one_by_one,
            run=self.run,
            log=self.log,
        )

    @property
    def _recall(self) -> Recall | None:
        if not is_searchable(self.log):
            return None
        mine: dict[str, Any] = {"run": self.run, "judge": self.judge.name, "digest": self._digest}
        mine["shared"] = self._shared
        identity = self.judge.identity  # one that declares none: nobody knows whose answers they are
        knows = self.reuse and identity is not None and identity.source is None
        reuse = Reuse(log=self.log, keep=self.keep, **mine) if knows else None
        return Recall(self.log, **mine, reuse=reuse, learn=getattr(self.judge, "learn", None))

    @cached_property
    def _digest(self) -> bytes:
        return judge_digest(self.judge, self.judge_model)

    def _opening(
        self, plans: Iterator[CasePlan], opened: dict[str, OpenCase], preparer: Preparer, asking: Asking
    ) -> Iterator[OpenCase]:
        for plan in plans:
            self._shared.begin(self.run, self.judge.name, plan.case_id)
            span = None
            if self.spans:
                span = self.spans.begin("case", plan.case_id, self.span, **self._facts(plan))
                asking.parents[plan.case_id] = span
            stopping, probes = self._stopping(plan), list(preparer.probes(plan))
            case = OpenCase(plan, span, probes if stopping is None else stopping.ordered(probes), stopping)
            opened[plan.case_id] = case
            yield case

    def _stopping(self, plan: CasePlan) -> Stopping | None:
        if not self.design.curtail:
            return None
        criteria = (*(self.judge.criteria or ()), *_own_criteria(plan.case))
        names = tuple(criterion.name for criterion in criteria)
        return Stopping(rule=self.design.rule, min_valid=self.design.min_valid, criteria=names)

    def _facts(self, plan: CasePlan) -> dict[str, Any]:
        facts = {"judge": self.judge.name, "case": plan.case, "calls": plan.calls}
        return facts if self.labelled is None else {**facts, "calibration": self.labelled}

    async def _rewrite(
        self, asking: Asking, opened: Mapping[str, OpenCase], rewriter: Rewriter, text: str, case_id: str
    ) -> str:
        """Return a text in other words: those this run was given before, else what the rewriter answers now."""
        kept = None
        if is_searchable(self.log) and self.keep == "text":
            kept = KeptRewrites(self.log, self.run, self.rewriters)
        if kept is not None and (known := await kept.find(rewriter, text)) is not None:
            return known

        async def call() -> str:
            rewritten: str = await call_maybe_async(rewriter, text)
            return rewritten

        opened[case_id].rewrites += 1

        with self.spans.around("rewrite", rewriter_name(rewriter), asking.parents.get(case_id)) as span:
            answer, _ = await self.policy.attempt(call, self.budget)
            if isinstance(answer, Exception):
                span.outcome["error"] = type(answer).__name__
        if isinstance(answer, Exception):
            raise answer
        return answer if kept is None else await kept.keep(rewriter, text, answer)

    @property
    def _model(self) -> str | None:
        identity = self.judge.identity
        return self.judge_model or (identity.model if identity is not None else None)

    @cached_property
    def _untested(self) -> tuple[str, ...]:
        return beyond_tested((self.judge, *self.spans.observers))

    @property
    def _fingerprint(self) -> str | None:
        """Made anew once the judge has learned how it answers."""
        identity = self.judge.identity
        learned = repr(sorted(identity.learned.items())) if identity is not None else ""
        if learned not in self._fingerprints:
            parts = fingerprint_parts(self.judge, self.design, self.judge_model)
            self._fingerprints[learned] = None if parts is None else Fingerprint(parts).digest
        return self._fingerprints[learned]

    async def _finished(self, case: OpenCase, **state: Any) -> HarnessResult:
        result = warned(self._measured(case, **state), self.judge, self.meets)
        try:
            if self.anchor is not None:
                result = await self.anchor(self, result)
        finally:
            self._shared.end(self.judge.name, case.plan.case_id)
            if case.span is not None:
                self.spans.end(case.span, result=result)
        if self.labelled is None:
            record(result, case.plan.case, judge=self.judge, with_texts=self.keep == "text", redact=self.redact)
        return result

    def _measured(self, case: OpenCase, **state: Any) -> HarnessResult:
        plan = case.plan
        identity, criteria = self.judge.identity, (*(self.judge.criteria or ()), *_own_criteria(plan.case))
        return measure(
            case.in_plan_order(),
            case_id=plan.case_id,
            judge=self.judge.name,
            design=self.design,
            planned=plan.samples,
            criteria=[criterion.name for criterion in criteria],
            label_counts={c.name: len(c.labels) for c in criteria if c.labels} or _pairwise_labels(plan),
            tolerances={c.name: (c.scale[1] - c.scale[0]) / _SCORE_STEPS for c in criteria if c.scale},
            temperature=identity.parameters.get("temperature") if identity is not None else None,
            rewrites=case.rewrites,
            judge_model=self._model,
            fingerprint=self._fingerprint,
            skipped=plan.skipped,
            remaining=[p.perturbation.swaps for p in case.unanswered()] if case.stopping is not None else (),
            model_families=(model_family(self._model), *_author_families(plan.case)),
            untested=self._untested,
            **state,
        )


def _pairwise_labels(plan: CasePlan) -> Mapping[str, int]:
    return {"verdict": 3} if isinstance(plan.case, PairwiseCase) else {}  # A, B, TIE


def _own_criteria(case: object) -> tuple[Criterion, ...]:
    return case.criteria if isinstance(case, AnswerCase) else ()


def _author_families(case: object) -> tuple[str | None, ...]:
    if not isinstance(case, AnswerCase):
        return ()
    authors = (case.author, case.author_b if isinstance(case, PairwiseCase) else None)
    return tuple(model_family(author) for author in authors if author)
