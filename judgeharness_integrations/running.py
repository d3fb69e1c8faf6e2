"""One run of one judge: probes out, rows in, a measurement for every case that is complete."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.cases import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations.design import Design
from judgeharness_integrations.execution.answering import Keep, RowMaker
from judgeharness_integrations.execution.attempting import CallPolicy
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.execution.local import Asking, Executor
from judgeharness_integrations.execution.observing import Span, Spans
from judgeharness_integrations.execution.preparing import Pending, Preparer, Rewritten
from judgeharness_integrations.fingerprint import Fingerprint
from judgeharness_integrations.judging import Judge, call_maybe_async, model_family
from judgeharness_integrations.measure import measure
from judgeharness_integrations.plan import CasePlan
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.perturbations import Rewriter
    from judgeharness_integrations.verdictlog.log import VerdictLog

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
        "parameters": dict(identity.parameters),
        "prompt": identity.prompt_hash,
        "labels": {c.name: [c.labels, c.scale] for c in judge.criteria or ()},
        **design.parts(),
    }


@dataclass
class _Open:
    """A case some of whose probes were asked."""

    plan: CasePlan
    span: Span | None
    rows: list[VerdictRow] = field(default_factory=list)
    calls_left: int = 0
    rewrites: int = 0


@dataclass(kw_only=True)
class Run:
    """One judge, one design, one budget."""

    judge: Judge
    design: Design
    executor: Executor
    policy: CallPolicy
    budget: Budget
    spans: Spans
    seed: int = 0
    run: str = ""
    keep: Keep = "text"
    judge_model: str | None = None
    log: VerdictLog | None = None
    span: Span | None = None
    rewritten: Rewritten = field(default_factory=Rewritten)
    anchor: Callable[[HarnessResult], Awaitable[HarnessResult]] | None = None  # adds the calibration to a result
    labelled: str | None = None  # the label set whose cases these are

    async def results(self, plans: Iterable[CasePlan]) -> AsyncGenerator[HarnessResult, None]:
        """Yield the measurement of every case as it completes.

        When the budget ends first, the cases it left unfinished follow as `not_graded`; so do those an executor of
        somebody else's gave up.
        """
        left, opened = iter(plans), dict[str, _Open]()
        asking = self._asking()
        preparer = Preparer(seed=self.seed, rewrite=partial(self._rewrite, asking, opened), rewritten=self.rewritten)
        try:
            async with aclosing(
                self.executor.ask(self.judge, self._probes(left, opened, preparer, asking), asking)
            ) as calls:
                async for answered in calls:
                    case = opened[answered[0].case_id]
                    case.rows.extend(answered)
                    case.calls_left -= 1
                    if not case.calls_left:
                        asking.parents.pop(case.plan.case_id, None)
                        yield await self._finished(opened.pop(case.plan.case_id))
            state = "budget_exhausted" if self.budget.exhausted else "interrupted"
            while opened:  # nothing is lost: a case that was not finished says so
                yield await self._finished(opened.pop(next(iter(opened))), state=state)
            if self.budget.exhausted:
                for plan in left:
                    yield await self._finished(_Open(plan, None), state=state)
        finally:
            await preparer.close()
            for case in opened.values():
                if case.span is not None:
                    self.spans.end(case.span)

    def _asking(self) -> Asking:
        rows = RowMaker(
            self.judge,
            run=self.run,
            keep=self.keep,
            judge_model=self.judge_model,
            log=self.log,
            folds=self.design.rule.kind,
        )
        model = self._model or self.judge.name
        return Asking(rows=rows, budget=self.budget, spans=self.spans, model=model)

    def _probes(
        self, left: Iterator[CasePlan], opened: dict[str, _Open], preparer: Preparer, asking: Asking
    ) -> Iterator[Pending]:
        for plan in left:
            span = None
            if self.spans:
                span = self.spans.begin("case", plan.case_id, self.span, **self._facts(plan))
                asking.parents[plan.case_id] = span
            opened[plan.case_id] = _Open(plan, span, calls_left=plan.calls)
            yield from preparer.probes(plan)

    def _facts(self, plan: CasePlan) -> dict[str, Any]:
        facts = {"judge": self.judge.name, "case": plan.case}
        return facts if self.labelled is None else {**facts, "calibration": self.labelled}

    async def _rewrite(
        self, asking: Asking, opened: Mapping[str, _Open], rewriter: Rewriter, text: str, case_id: str
    ) -> str:
        name = getattr(rewriter, "__name__", type(rewriter).__name__)

        async def call() -> str:
            rewritten: str = await call_maybe_async(rewriter, text)
            return rewritten

        opened[case_id].rewrites += 1

        with self.spans.around("rewrite", name, asking.parents.get(case_id)) as span:
            answer, _ = await self.policy.attempt(call, self.budget)
            if isinstance(answer, Exception):
                span.outcome["error"] = type(answer).__name__
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def _model(self) -> str | None:
        identity = self.judge.identity
        return self.judge_model or (identity.model if identity is not None else None)

    @cached_property
    def _fingerprint(self) -> str | None:
        parts = fingerprint_parts(self.judge, self.design, self.judge_model)
        return None if parts is None else Fingerprint(parts).digest

    async def _finished(self, case: _Open, **state: Any) -> HarnessResult:
        result = self._measured(case, **state)
        try:
            if self.anchor is not None:
                result = await self.anchor(result)
        finally:
            if case.span is not None:
                self.spans.end(case.span, result=result)
        return result

    def _measured(self, case: _Open, **state: Any) -> HarnessResult:
        plan, rows = case.plan, case.rows
        identity, criteria = self.judge.identity, (*(self.judge.criteria or ()), *_own_criteria(plan.case))
        order = {perturbation.name: place for place, perturbation in enumerate(plan.perturbations)}
        return measure(
            sorted(rows, key=lambda row: (order[row.perturbation], row.repetition)),
            case_id=plan.case_id,
            judge=self.judge.name,
            design=self.design,
            planned=plan.calls,
            criteria=[criterion.name for criterion in criteria],
            label_counts={c.name: len(c.labels) for c in criteria if c.labels} or _pairwise_labels(plan),
            tolerances={c.name: (c.scale[1] - c.scale[0]) / _SCORE_STEPS for c in criteria if c.scale},
            temperature=identity.parameters.get("temperature") if identity is not None else None,
            rewrites=case.rewrites,
            judge_model=self._model,
            fingerprint=self._fingerprint,
            skipped=plan.skipped,
            model_families=(model_family(self._model), *_author_families(plan.case)),
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
