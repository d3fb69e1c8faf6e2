"""The invocations of one eval case -> their measurements."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from google.adk.evaluation.eval_case import Invocation

from judgeharness_adk.invocations import InvocationCase, invocation_case
from judgeharness_adk.judges import MetricJudge
from judgeharness_adk.models import Reply
from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.execution.budget import Budget, BudgetExhausted
from judgeharness_integrations.execution.limiter import Limiter, limiter_for
from judgeharness_integrations.execution.observing import Spans, calling

__all__ = ["Judged", "measure_invocations"]


@dataclass(kw_only=True)
class Judged:
    """One invocation: its cases (one, or one a step), their measurements, and why there are none if so."""

    invocation_id: str
    cases: Sequence[InvocationCase] = ()
    results: list[HarnessResult] = field(default_factory=list)
    problem: str | None = None
    replies: list[Reply] = field(default_factory=list)  # the judge's model was asked what there is to judge

    @property
    def preparation(self) -> dict[str, int | None]:
        """What finding out cost, besides the samples: calls and tokens."""
        read, written = [r.input_tokens for r in self.replies], [r.output_tokens for r in self.replies]
        return {"calls": len(self.replies), "input_tokens": _sum(read), "output_tokens": _sum(written)}


async def measure_invocations(
    judge: MetricJudge[Any],
    harness: JudgeHarness,
    actual: Sequence[Invocation],
    expected: Sequence[Invocation] | None,
    *,
    names: Sequence[str] = (),
    concurrency: int = 1,
) -> list[Judged]:
    """Measure the invocations of an eval case; one the metric does not judge has no cases.

    Args:
        judge: the metric.
        harness: how it is measured.
        actual: what the agent did.
        expected: what it should have done, invocation by invocation, if that is known.
        names: names that `name_swap` may exchange.
        concurrency: calls of the judge's model at a time.

    Raises:
        UsageError: the cases cannot be judged as the harness is set; nothing was asked.

    """
    if expected is not None and len(expected) != len(actual):
        raise CaseError(f"{len(actual)} invocations cannot be compared with {len(expected)} expected ones.")
    given = [
        invocation_case(
            actual[: place + 1],
            None if expected is None else expected[place],
            case_id=case_id,
            is_last=place == len(actual) - 1,
            names=names,
        )
        for place, case_id in enumerate(_ids(actual))
    ]
    limiter = limiter_for(judge.model.name)
    with limiter.run(concurrency):
        every = await asyncio.gather(*(_prepared(judge, harness, case, limiter) for case in given))
    cases = [case for judged in every for case in judged.cases]
    results: dict[str, HarnessResult] = {}
    async with aclosing(harness.aevaluate_many(judge, cases)) as measured:
        async for result in measured:
            results[result.case_id] = result
    for judged in every:
        judged.results = [results[case.case_id] for case in judged.cases]
    return every


async def _prepared(judge: MetricJudge[Any], harness: JudgeHarness, case: InvocationCase, limiter: Limiter) -> Judged:
    judged = Judged(invocation_id=case.judged.invocation_id or case.case_id)
    spans = Spans(harness.observers or ())

    async def ask(prompt: str) -> Reply | Exception:
        await limiter.acquire()
        try:
            with spans.around("call", f"prepare[{case.case_id}]", case_id=case.case_id) as span, calling(spans, span):
                reply, _ = await harness.policy.attempt(partial(judge.model.ask, prompt), harness.budget or Budget())
        except BudgetExhausted:
            return RuntimeError("max_calls was reached")
        finally:
            limiter.release()
        judged.replies += [reply] if isinstance(reply, Reply) else []
        return reply

    try:
        judged.cases = await judge.cases(case, ask)
    except RuntimeError as error:  # the judge could not be shown what it judges
        judged.problem = str(error)
    return judged


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _ids(invocations: Sequence[Invocation]) -> list[str]:
    """Return an id for each invocation: ADK's own where these tell them apart."""
    ids = [invocation.invocation_id for invocation in invocations]
    if all(ids) and len(set(ids)) == len(ids):
        return ids
    return [f"{given or 'invocation'}#{place}" for place, given in enumerate(ids, start=1)]
