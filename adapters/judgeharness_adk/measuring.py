"""How invocations are measured, and who watches."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import Invocation

from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations._errors import CaseError, JudgeHarnessError
from judgeharness_integrations.analysis.usage import known_sum
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.execution.limiter import Limiter, limiter_for
from judgeharness_integrations.judging.execution.observing import Observer, Spans, calling
from judgeharness_integrations.judging.execution.retrying import Budget, BudgetExhausted
from judgeharness_integrations.judging.recording import watchers
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.verdictlog.row import TOKENS

from .invocations import InvocationCase, invocation_case, part_name
from .judges import MetricJudge, NoQuestionsError, Settled, Unready

_observers: tuple[Observer, ...] | None = None


def observe(*watching: Observer) -> None:
    """Have these observers watch every harnessed metric of this process, beside LangSmith where that traces.

    They see a `run` span a metric and eval case, a `case` span an invocation, a `call` span a sample, and inside it a
    `model` span with the model's name and token counts.
    """
    global _observers  # noqa: PLW0603 - one set of observers a process
    _observers = watching or None


def observers() -> tuple[Observer, ...] | None:
    """Return who watches; None: nobody of the caller's own."""
    return _observers


@dataclass(frozen=True)
class Preparation:
    """Asks within the limits, attempts and budget of the harness, and shows it to its observers."""

    judge: MetricJudge[Any]
    harness: JudgeHarness
    limiter: Limiter

    async def cases(self, case: InvocationCase, replies: list[ModelAnswer]) -> list[InvocationCase | Unready | Settled]:
        """Return the cases of an invocation; what the model answered is added to `replies`."""

        async def ask(prompt: str) -> ModelAnswer | Exception:
            reply = await self._asked(prompt, case.case_id)
            if isinstance(reply, ModelAnswer):
                replies.append(reply)
            return reply

        return await self.judge.cases(case, ask)

    async def _asked(self, prompt: str, case_id: str) -> ModelAnswer | Exception:
        spans, budget = Spans(watchers(self.harness.observers), redactor(self)), self.harness.budget or Budget()
        await self.limiter.acquire()
        try:
            with spans.around("call", f"prepare[{case_id}]", case_id=case_id) as span, calling(spans, span):
                reply, _ = await self.harness.policy.attempt(
                    partial(self.judge.model.ask, prompt), budget, limiter=self.limiter
                )
        except BudgetExhausted:
            return RuntimeError("max_calls was reached")
        finally:
            self.limiter.release()
        return reply


@dataclass(kw_only=True, eq=False)
class Judged:
    """One invocation: its cases (one, or one a step), their measurements, and what could or need not be judged."""

    invocation_id: str
    cases: list[InvocationCase] = field(default_factory=list)
    results: list[HarnessResult] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    replies: list[ModelAnswer] = field(default_factory=list)  # the judge's model was asked what there is to judge
    unasked: NoQuestionsError | None = None

    @property
    def preparation(self) -> dict[str, int | None]:
        """What finding out cost, besides the samples: calls and tokens."""
        used = [answer.usage for answer in self.replies]
        return {"calls": len(used), **{name: known_sum(one[name] for one in used) for name in TOKENS}}


Keep: TypeAlias = Callable[[Judged, InvocationCase, HarnessResult], None]


async def measure_invocations(
    judge: MetricJudge[Any],
    harness: JudgeHarness,
    actual: Sequence[Invocation],
    expected: Sequence[Invocation] | None,
    *,
    keep: Keep,
    names: Sequence[str] = (),
    concurrency: int = 1,
    scenario: ConversationScenario | None = None,
) -> list[Judged]:
    """Measure the invocations of an eval case; one the metric does not judge has no cases.

    Args:
        judge: the metric.
        harness: how it is measured.
        actual: what the agent did.
        expected: what it should have done, invocation by invocation, if that is known.
        keep: told every measurement as it comes, so that none is lost when the evaluation ends early.
        names: names that `name_swap` may exchange.
        concurrency: calls of the judge's model at a time.
        scenario: what the simulated user was to do, if there was one.

    Raises:
        UsageError: the cases cannot be judged as the harness is set; no sample was asked.

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
            scenario=scenario,
        )
        for place, case_id in enumerate(_ids(actual))
    ]
    limiter = limiter_for(judge.model.name)
    with limiter.run(concurrency):
        preparation = Preparation(judge, harness, limiter)
        if judge.asks_first:
            every = await asyncio.gather(*(_prepared(preparation, case) for case in given))
        else:
            every = [await _prepared(preparation, case) for case in given]
    if not any(judged.cases for judged in every) and (missing := next((j.unasked for j in every if j.unasked), None)):
        raise missing
    places = {case.case_id: (judged, case) for judged in every for case in judged.cases}
    async with aclosing(harness.aevaluate_many(judge, [case for _, case in places.values()])) as measured:
        async for result in measured:
            judged, case = places[result.case_id]
            told = _of_part(result, case.part)
            judged.results.append(told)
            keep(judged, case, told)
    order = list(places)
    for judged in every:
        judged.results.sort(key=lambda result: order.index(result.case_id))
    return every


def _of_part(result: HarnessResult, part: str) -> HarnessResult:
    """Return a measurement with its criteria named after the part of the invocation they are about."""
    if not part:
        return result
    names = {name: part_name(name, part) for name in result.criteria}
    criteria = {names[name]: replace(one, criterion=names[name]) for name, one in result.criteria.items()}
    rows = tuple(replace(row, criterion=names.get(row.criterion, row.criterion)) for row in result.rows)
    return replace(result, criteria=criteria, rows=rows)


async def _prepared(preparation: Preparation, case: InvocationCase) -> Judged:
    """Return an invocation ready to be judged; whatever prevents that is a problem of this invocation alone."""
    judged = Judged(invocation_id=case.judged.invocation_id or case.case_id)
    try:
        found = await preparation.cases(case, judged.replies)
    except NoQuestionsError as error:
        judged.unasked = error
    except JudgeHarnessError:
        raise
    except Exception as error:  # noqa: BLE001 - ADK could not make a prompt of it
        judged.problems.append(f"the judge's prompt cannot be made ({type(error).__name__}: {error})")
    else:
        judged.cases = [one for one in found if isinstance(one, InvocationCase)]
        judged.problems = [one.why for one in found if isinstance(one, Unready)]
        judged.settled = [one for one in found if isinstance(one, Settled)]
    return judged


def _ids(invocations: Sequence[Invocation]) -> list[str]:
    """Return an id for each invocation: ADK's own where these tell them apart."""
    ids = [invocation.invocation_id for invocation in invocations]
    if all(ids) and len(set(ids)) == len(ids):
        return ids
    mark = os.urandom(3).hex()  # another eval case may have the same ones
    return [f"{given or 'invocation'}#{place}-{mark}" for place, given in enumerate(ids, start=1)]
