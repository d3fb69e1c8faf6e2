"""How a call on a worker is tried again: as the run's policy says, and once more when its worker died."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from judgeharness_integrations.execution.attempting import CallPolicy
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.execution.limits import Limits
from judgeharness_integrations.execution.ray_engine.failures import RemoteFailure, WorkerDied
from judgeharness_integrations.modelanswer import ModelAnswer
from judgeharness_integrations.prices import Spent

__all__ = ["RemotePolicy"]

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class RemotePolicy(CallPolicy):
    """A policy whose calls are made on workers and admitted by the `limits` of the cluster.

    A probe that lost its worker is asked again whatever `max_attempts` is; each time counts as an attempt, since the
    call may have been paid.
    """

    limits: Limits

    @classmethod
    def of(cls, policy: CallPolicy, limits: Limits) -> RemotePolicy:
        """Return the policy for remote calls; the remote judge keeps the deadline, as it knows when a call begins."""
        transient = _known_to(policy.transient)
        return cls(timeout_s=None, max_attempts=policy.max_attempts, transient=transient, limits=limits)

    def remedy(self, error: BaseException) -> str | None:
        """Return what the user has to mend, as the worker read it off the original."""
        return error.remedy if isinstance(error, RemoteFailure) else super().remedy(error)

    async def attempt(
        self,
        call: Callable[[], Awaitable[_T]],
        budget: Budget,
        limiter: Limits | None = None,
        spent: Callable[[object], Spent] | None = None,
        book: Callable[[ModelAnswer], None] | None = None,
    ) -> tuple[_T | Exception, int]:
        """Return what a call answered, or what its last attempt raised, and the number of attempts.

        Raises:
            BudgetExhausted: there was no attempt left that the call still needed.

        """
        del limiter  # that of this process, which is not alone
        attempts = 0
        while True:
            outcome = await super().attempt(call, budget, self.limits, spent, book)
            answer, made = outcome
            attempts += made
            if not isinstance(answer, WorkerDied) or answer.final:
                return answer, attempts


def _known_to(transient: Callable[[BaseException], bool]) -> Callable[[BaseException], bool]:
    """Return the rule for errors on the driver: the worker has asked the same rule about the original."""

    def worth_another(error: BaseException) -> bool:
        if isinstance(error, RemoteFailure):
            return error.transient
        return not isinstance(error, WorkerDied) and transient(error)

    return worth_another
