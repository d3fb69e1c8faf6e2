"""What there is to judge of an invocation; some metrics have to ask the judge's model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from judgeharness_adk.invocations import InvocationCase
from judgeharness_adk.judges import MetricJudge, Settled, Unready
from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.execution.budget import Budget, BudgetExhausted
from judgeharness_integrations.execution.limiter import Limiter
from judgeharness_integrations.execution.observing import Spans, calling
from judgeharness_integrations.modelanswer import ModelAnswer
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.watching import watchers

__all__ = ["Preparation"]


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
