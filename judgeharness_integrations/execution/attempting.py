"""One call with its deadline, its retries and its share of the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from judgeharness_integrations.execution.budget import Budget, BudgetExhausted
from judgeharness_integrations.execution.retrying import is_transient, retry

__all__ = ["CallPolicy"]

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class CallPolicy:
    """`timeout_s` seconds an attempt, up to `max_attempts`; `transient` says which errors are worth another one."""

    timeout_s: float | None = 120.0
    max_attempts: int = 4
    transient: Callable[[BaseException], bool] = is_transient

    async def attempt(self, call: Callable[[], Awaitable[_T]], budget: Budget) -> tuple[_T | Exception, int]:
        """Return what a call answered, or what its last attempt raised, and the number of attempts.

        Raises:
            BudgetExhausted: not even a first attempt was left.

        """
        attempts = 0

        async def once() -> _T:
            nonlocal attempts
            budget.take()
            attempts += 1
            return await self._before_deadline(call)

        try:
            return await once(), attempts
        except BudgetExhausted:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a judge raises becomes a row
            if self.max_attempts <= 1 or not self.transient(error):
                return error, attempts
            first_error = error
        left = self.max_attempts - 1
        try:
            answer = await retry(once, first_error=first_error, attempts_left=left, transient=self.transient)
        except BudgetExhausted:
            return first_error, attempts
        except Exception as error:  # noqa: BLE001
            return error, attempts
        return answer, attempts

    async def _before_deadline(self, call: Callable[[], Awaitable[_T]]) -> _T:
        if self.timeout_s is None:
            return await call()
        deadline = asyncio.timeout(self.timeout_s)
        try:
            async with deadline:
                return await call()
        except TimeoutError as error:
            if deadline.expired():
                raise TimeoutError(f"no answer within {self.timeout_s:g} s") from error
            raise
