"""One call with its deadline, its retries and its share of the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from judgeharness_integrations._threads import thread_pool
from judgeharness_integrations.execution.budget import Budget, BudgetExhausted
from judgeharness_integrations.execution.deadline import Deadline, unhurried
from judgeharness_integrations.execution.limits import Limits
from judgeharness_integrations.execution.retrying import (
    check_retrying,
    is_refusal,
    is_transient,
    remedy_of,
    retry,
    retry_after_s,
    retry_by,
)
from judgeharness_integrations.modelanswer import EmptyAnswerError, ModelAnswer
from judgeharness_integrations.prices import Spent

if TYPE_CHECKING:
    from tenacity import AsyncRetrying

    from judgeharness_integrations.execution.aimd import Admission

__all__ = ["CallPolicy", "own_failure", "read_apart"]

_T = TypeVar("_T")
_MOST_ATTEMPTS = 4
_LONG_TEXT = 50_000  # characters; some tens of milliseconds of reading


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


async def read_apart(text: str, read: Callable[..., _T], *arguments: object) -> _T:
    """Return what a reader makes of an answer.

    A long text is read in a thread: neither do other calls wait for it, nor does it count against the timeout.

    Args:
        text: what the model answered.
        read: makes something of the arguments.
        arguments: what the reader takes.

    """
    if len(text) < _LONG_TEXT:
        return read(*arguments)
    with unhurried():
        return await asyncio.get_running_loop().run_in_executor(thread_pool(), partial(read, *arguments))


@dataclass(frozen=True, kw_only=True)
class CallPolicy:
    """How long and how often a call is tried.

    Args:
        timeout_s: seconds an attempt.
        max_attempts: attempts at most; 4 when None.
        transient: which errors are worth another attempt.
        retrying: the caller's own policy instead of `max_attempts` and `transient`: which failures are tried again,
            how often and after which wait. A `Retry-After` that is longer than its wait is kept.

    Raises:
        PlanError: `retrying` stands beside `max_attempts`, never stops, or is no policy of tenacity's.

    """

    timeout_s: float | None = 120.0
    max_attempts: int | None = None
    transient: Callable[[BaseException], bool] = is_transient
    retrying: AsyncRetrying | None = None

    def __post_init__(self) -> None:
        """Check the caller's own policy."""
        check_retrying(self.retrying, self.max_attempts)

    async def attempt(
        self,
        call: Callable[[], Awaitable[_T]],
        budget: Budget,
        limiter: Limits | None = None,
        spent: Callable[[object], Spent] | None = None,
        book: Callable[[ModelAnswer], None] | None = None,
    ) -> tuple[_T | Exception, int]:
        """Return what a call answered, or what its last attempt raised, and the number of attempts.

        Args:
            call: makes one attempt.
            budget: what each attempt is counted against.
            limiter: admits each attempt and learns how it ended; the caller holds a slot of it.
            spent: reads what an answer took, for budget and limiter; without it calls alone are counted.
            book: is told at once of each reply that held no answer and was billed; the budget knows of it, too.

        Raises:
            BudgetExhausted: there was no attempt left that the call still needed: it was neither answered nor given up.

        """
        one = _Attempts(call, self.timeout_s, budget, limiter, spent=spent, book=book)
        left = (_MOST_ATTEMPTS if self.max_attempts is None else self.max_attempts) - 1
        try:
            if self.retrying is not None:
                return await retry_by(self.retrying, one.make, final=BudgetExhausted), one.made
            try:
                return await one.make(), one.made
            except Exception as error:
                if left < 1 or not self._is_worth_another(error):
                    raise
                first = error
            again = retry(one.make, first_error=first, attempts_left=left, transient=self._is_worth_another)
            return await again, one.made
        except BudgetExhausted:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a judge raises becomes a row
            return error, one.made

    def remedy(self, error: BaseException) -> str | None:
        """Return what the user has to mend before any call can succeed; None for an error that may heal."""
        return remedy_of(error)

    def _is_worth_another(self, error: BaseException) -> bool:
        final = isinstance(error, BudgetExhausted) or not isinstance(error, Exception)
        return not final and self.transient(error)


class _Attempts(Generic[_T]):
    """The attempts of one call: each is paid for, admitted, made, and its end told to whom it concerns."""

    __slots__ = ("_book", "_budget", "_call", "_limiter", "_metered", "_spent", "_timeout_s", "made")

    def __init__(
        self,
        call: Callable[[], Awaitable[_T]],
        timeout_s: float | None,
        budget: Budget,
        limiter: Limits | None,
        *,
        spent: Callable[[object], Spent] | None,
        book: Callable[[ModelAnswer], None] | None,
    ) -> None:
        self._call, self._timeout_s = call, timeout_s
        self._budget, self._limiter, self._spent, self._book = budget, limiter, spent, book
        self._metered = spent is not None and budget.is_metered
        self.made = 0

    def make(self) -> Awaitable[_T]:
        """Make one attempt."""
        if self._metered:
            return self._reserved()
        self._budget.take()
        return self._limited()

    async def _reserved(self) -> _T:
        await self._budget.reserve()
        try:
            return await self._limited()
        finally:
            self._budget.release()

    async def _limited(self) -> _T:
        """Make the call once it is admitted; one coroutine for all of it, since every call under way holds it."""
        limiter, admission = self._limiter, None
        if limiter is not None and (admission := limiter.admit_at_once()) is None:
            admission = await self._admitted(limiter)
        try:
            self.made += 1
            try:
                with Deadline(self._timeout_s):
                    answer = await self._call()
            except (Exception, asyncio.CancelledError, SystemExit) as error:  # noqa: BLE001
                self._book_empty(error)
                raise own_failure(error)  # noqa: B904 - it is the same error, or carries its cause
            tokens = self._counted(answer)
        except BaseException as error:
            if limiter is not None and admission is not None:
                self._tell(limiter, admission, error)
            raise
        if limiter is not None and admission is not None:
            limiter.answered(admission, tokens)
        return answer

    async def _admitted(self, limiter: Limits) -> Admission:
        try:
            return await limiter.admit()
        except BaseException:
            self._budget.give_back()
            raise

    @staticmethod
    def _tell(limiter: Limits, admission: Admission, error: BaseException) -> None:
        if is_refusal(error):
            limiter.refused(admission, retry_after_s(error))
        else:
            limiter.failed(admission)

    def _counted(self, answer: object) -> int | None:
        """Count what an answer took; return its tokens."""
        if self._spent is None:
            return None
        spent = self._spent(answer)
        self._budget.settle(spent)
        return spent.tokens

    def _book_empty(self, error: BaseException) -> None:
        """Count a reply without an answer: it was billed all the same, but for a proxy's own."""
        if isinstance(error, EmptyAnswerError) and error.answer.tokens.input is not None:
            self._counted(error.answer.judgment(()))
            if self._book is not None:
                self._book(error.answer)
