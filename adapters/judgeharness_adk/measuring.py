"""The invocations of one eval case -> their measurements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from google.adk.evaluation.eval_case import Invocation

from judgeharness_adk.invocations import InvocationCase, invocation_case
from judgeharness_adk.judges import MetricJudge
from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations._errors import CaseError

__all__ = ["Judged", "measure_invocations"]


@dataclass(kw_only=True)
class Judged:
    """One invocation: its cases (one, or one a step), their measurements, and why there are none if so."""

    invocation_id: str
    cases: Sequence[InvocationCase] = ()
    results: list[HarnessResult] = field(default_factory=list)
    problem: str | None = None


async def measure_invocations(
    judge: MetricJudge[Any],
    harness: JudgeHarness,
    actual: Sequence[Invocation],
    expected: Sequence[Invocation] | None,
    *,
    names: Sequence[str] = (),
) -> list[Judged]:
    """Measure the invocations of an eval case; one the metric does not judge has no cases.

    Raises:
        UsageError: the cases cannot be judged as the harness is set; nothing was asked.

    """
    if expected is not None and len(expected) != len(actual):
        raise CaseError(f"{len(actual)} invocations cannot be compared with {len(expected)} expected ones.")
    every = []
    for place, case_id in enumerate(_ids(actual)):
        case = invocation_case(
            actual[: place + 1],
            None if expected is None else expected[place],
            case_id=case_id,
            is_last=place == len(actual) - 1,
            names=names,
        )
        every.append(await _prepared(judge, harness, case))
    cases = [case for judged in every for case in judged.cases]
    results: dict[str, HarnessResult] = {}
    async with aclosing(harness.aevaluate_many(judge, cases)) as measured:
        async for result in measured:
            results[result.case_id] = result
    for judged in every:
        judged.results = [results[case.case_id] for case in judged.cases]
    return every


async def _prepared(judge: MetricJudge[Any], harness: JudgeHarness, case: InvocationCase) -> Judged:
    judged = Judged(invocation_id=case.judged.invocation_id or case.case_id)
    try:
        judged.cases = await judge.cases(case, harness.policy)
    except RuntimeError as error:  # the judge could not be shown what it judges
        judged.problem = str(error)
    return judged


def _ids(invocations: Sequence[Invocation]) -> list[str]:
    """Return an id for each invocation: ADK's own where these tell them apart."""
    ids = [invocation.invocation_id for invocation in invocations]
    if all(ids) and len(set(ids)) == len(ids):
        return ids
    return [f"{given or 'invocation'}#{place}" for place, given in enumerate(ids, start=1)]
