"""One call with its deadline, its retries and its share of the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from judgeharness_integrations.execution.budget import Budget, BudgetExhausted
from judgeharness_integrations.execution.retrying import is_transient, retry

__all__ = ["CallPolicy", "own_failure"]

_T = TypeVar("_T")


def own_failure(error: BaseException) -> Exception:
    """Return what a judge or a rewriter raised as the failure of its call.

    Raises:
        asyncio.CancelledError: the call was cancelled from outside, whatever it made of that.

    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error
    if isinstance(error, Exception):
        return error
    ended = RuntimeError(f"the call ended itself with {type(error).__name__}({error})")
    ended.__cause__ = error
    return ended


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
            try:
                return await self._before_deadline(call)
            except (Exception, asyncio.CancelledError, SystemExit) as error:  # noqa: BLE001
                raise own_failure(error)  # noqa: B904 - it is the same error, or carries its cause

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
            answer = await retry(once, first_error=first_error, attempts_left=left, transient=self._is_worth_another)
        except BudgetExhausted:
            return first_error, attempts
        except Exception as error:  # noqa: BLE001
            return error, attempts
        return answer, attempts

    def _is_worth_another(self, error: BaseException) -> bool:
        final = isinstance(error, BudgetExhausted) or not isinstance(error, Exception)
        return not final and self.transient(error)

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
