"""One call with its deadline, its retries and its share of the budget; a judge that is down is given up on.

How long an attempt may take: the attempts under way in an event loop share one timer. An `asyncio.timeout` for each
would cost every call a timer of its own, though hardly any of them ever rings.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from functools import partial
from threading import current_thread, main_thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import WeakValueDictionary, ref

from judgeharness_integrations.analysis.usage import Spent

from ..answer import EmptyAnswerError, ModelAnswer
from ..judge import thread_pool
from .limiter import Limits
from .retrying import (
    Budget,
    BudgetExhausted,
    check_retrying,
    is_refusal,
    is_transient,
    remedy_of,
    retry,
    retry_after_s,
    retry_by,
)

if TYPE_CHECKING:
    from tenacity import AsyncRetrying

    from ..plan import Plan
    from .preparing import Rows
    from .rates import Admission

_ENOUGH = 3  # calls that fail for good before any answer
_FEW = 12  # calls that may begin at once, whether or not anybody answers


@dataclass(kw_only=True)
class Contact:
    """What is known of whether a judge answers in a run; it is lost for good only before the first answer.

    Args:
        alone: the first call ends before another one begins.
        unread: alone only to see whether its answer can be read; where the call fails, the others follow at once.
        together: all calls begin at once, as they are answered together.
        made: it has answered; a refusal, or an answer nobody can read, is one, too.
        lost: why it is asked nothing more, as a sentence.
        cases: those whose calls showed that it is down.

    """

    alone: bool = False
    unread: bool = False
    together: bool = False
    made: bool = False
    lost: str | None = None
    cases: set[str] = field(default_factory=set)
    _failed: int = field(default=0, init=False)

    @classmethod
    def of(cls, plan: Plan | None, *, understood: bool = True) -> Contact:
        """Return the contact of a run.

        Many calls about several cases, or nobody knows how many, begin with one; so do those of a judge whose answers
        nobody may understand.
        """
        many = plan is None or (plan.cases > 1 and plan.calls > _FEW)
        return cls(alone=many or not understood, unread=not many and not understood)

    @property
    def room(self) -> float:
        """Calls that may be under way before the first answer: after a failure no more than are needed to be sure."""
        if self._failed > self.unread and not self.together:
            return _ENOUGH - self._failed
        return 1 if self.alone and not self._failed and not self.together else math.inf

    def answered(self) -> None:
        """Note an answer."""
        self.made = True

    def failed(self, rows: Rows, remedy: str | None) -> None:
        """Note a failed call; `remedy` says what mends its error, None for one that may heal by itself."""
        if self.made or remedy is None:
            self.alone = False
            return
        self._failed += 1
        self.cases.add(rows[0].case_id)
        if self._failed == _ENOUGH:
            error = " ".join((rows[0].error or "").split()).rstrip(".")
            self.lost = (
                f"judge {rows[0].judge!r} is down: no call was answered, and {_ENOUGH} failed with {error}; {remedy}"
            )


_innermost: ContextVar[Deadline | None] = ContextVar("judgeharness_deadline", default=None)


class Deadline:
    """A block of a task that is cancelled after so many seconds, None for no limit.

    Raises:
        TimeoutError: the block was cancelled, and let the cancellation pass.

    """

    __slots__ = ("_cancelling", "_left", "_outer", "_pauses", "_seconds", "_task", "_watch", "ends", "expired", "over")

    def __init__(self, seconds: float | None) -> None:
        """Let the block take so long from when it begins."""
        self._seconds = seconds
        self.ends = 0.0  # by the clock of the loop
        self.expired = self.over = False
        self._pauses, self._left = 0, 0.0

    def __enter__(self) -> None:
        """Start the clock."""
        loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[Any]", asyncio.current_task(loop))
        self._cancelling = self._task.cancelling()
        self._watch = _watch_of(loop)
        if self._seconds is not None:
            self._run(self._seconds)
        self._outer: Token[Deadline | None] = _innermost.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Stop the clock; where it had run out, the cancellation was its own unless the task met another one, too."""
        self.over = True
        self._watch.running.discard(self)
        if kind is not GeneratorExit:  # else it is garbage, collected in somebody else's context
            _innermost.reset(self._outer)
        if not self.expired or self._task.uncancel() > self._cancelling:
            return
        if isinstance(error, (asyncio.CancelledError, TimeoutError)):
            raise TimeoutError(f"no answer within {self._seconds:g} s") from error

    def pause(self) -> None:
        """Stop the clock, which goes on once whoever paused it has resumed it."""
        self._pauses += 1
        if self in self._watch.running:
            self._watch.running.discard(self)
            self._left = self.ends - self._watch.loop.time()

    def resume(self) -> None:
        """Let the block take what was left of its time, unless somebody else still pauses it, or it is over."""
        self._pauses -= 1
        if self._seconds is not None and not (self._pauses or self.over or self.expired):
            self._run(self._left)

    def _run(self, seconds: float) -> None:
        self.ends = self._watch.loop.time() + seconds
        self._watch.add(self)

    def expire(self) -> None:
        """Cancel the block."""
        self._watch.running.discard(self)
        self.expired = True
        self._task.cancel()


class _Watch:
    """The deadlines that run in one event loop, and the timer that rings when the first of them is due.

    Most are met long before, so nothing is done when one ends: a timer that rings too early is set anew.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.running: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, deadline: Deadline) -> None:
        self.running.add(deadline)
        if self._timer is None or deadline.ends < self._timer.when():
            self._set()

    def _set(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        first = min(one.ends for one in tuple(self.running))  # a thread of the judge's may stop a clock meanwhile
        self._timer = self.loop.call_at(first, self._ring, first)

    def _ring(self, due: float) -> None:
        self._timer = None
        now = max(due, self.loop.time())  # a loop may ring a little early
        for one in tuple(self.running):
            if one.ends <= now:
                one.expire()
        if self.running:
            self._set()


# By the id of their loop, each as long as its timer or an attempt is there: what a closed loop left behind can go.
_watches: WeakValueDictionary[int, _Watch] = WeakValueDictionary()


_latest: ref[_Watch] | None = None  # asked for last: most are of one loop


def _watch_of(loop: asyncio.AbstractEventLoop) -> _Watch:
    global _latest  # noqa: PLW0603 - a memory of one
    watch = None if _latest is None else _latest()
    if watch is None or watch.loop is not loop:
        watch = _watches.get(id(loop)) or _watches.setdefault(id(loop), _Watch(loop))
        _latest = ref(watch)
    return watch


@contextmanager
def unhurried() -> Iterator[None]:
    """Stop the clock of the attempt under way: what is done inside is no waiting for the judge's answer."""
    deadline = _innermost.get()
    if deadline is not None:
        deadline.pause()
    try:
        yield
    finally:
        if deadline is not None:
            deadline.resume()


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
            except (Exception, asyncio.CancelledError, SystemExit, KeyboardInterrupt) as error:
                if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                    raise  # the user's; elsewhere it is the judge's own, and would end the loop of all evaluations
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
