"""Which failures are worth another attempt, how long to wait for it, and what a run may still spend."""

from __future__ import annotations

import asyncio
import inspect
import math
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from judgeharness_integrations._errors import PlanError, UsageError
from judgeharness_integrations.analysis.usage import UNREPORTED, Billed, Price, Spent, billed, price_of

from .limiter import Slots

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

_T = TypeVar("_T")
_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
_TRANSIENT_NAMES = (
    "timeout",
    "connection",
    "ratelimit",
    "serviceunavailable",
    "overloaded",
    "remoteprotocol",
    "readerror",
    "throttl",
    "toomanyrequests",
    "resourceexhausted",
)
_BUSY_NAMES = ("ratelimit", "throttl", "toomanyrequests", "resourceexhausted")
_BUSY_STATUS = frozenset({503, 529})
_FIRST_ERROR = 400
_TOO_MANY, _OUT_OF_MONEY = 429, "insufficient_quota"  # a 429 that no waiting mends
_OTHER_LOOP = ("Event loop is closed", "bound to a different event loop")
_REMEDIES: Mapping[int, str] = {
    401: "check its API key",
    403: "check what its API key may use",
    404: "check the name of its model and its base URL",
}
_UNKNOWN_HOST = "there is no such host: check its base URL and the network"
_NOBODY_LISTENS = "nothing listens there: check that its server runs, and its base URL"
_FIRST_WAIT_S, _LONGEST_WAIT_S, _LONGEST_RETRY_AFTER_S = 0.5, 30.0, 300.0


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status an error of openai, httpx, requests, aiohttp or google.api_core carries."""
    places = ((error, "status_code"), (getattr(error, "response", None), "status_code"), (error, "status"))
    for holder, name in (*places, (error, "code")):  # one after the other: aiohttp warns when its `code` is read
        value = getattr(holder, name, None)
        if isinstance(value, int):
            return value
    return None


def is_transient(error: BaseException) -> bool:
    """Whether another attempt may help: 408, 409, 425, 429 (but no empty account), 5xx, timeouts, lost connections."""
    status = status_of(error)
    if status == _TOO_MANY and _is_out_of_money(error):
        return False
    if status is not None and status < _FIRST_ERROR and isinstance(error, ValueError):
        return True  # the body of a good answer was garbled on its way
    if status is not None:
        return status in _TRANSIENT_STATUS or status >= 500  # noqa: PLR2004 - HTTP server errors
    if isinstance(error, (TimeoutError, ConnectionError)) or _lost_loop(error):
        return True
    names = [kind.__name__.lower() for kind in type(error).__mro__]
    return any(word in name for name in names for word in _TRANSIENT_NAMES)


def _is_out_of_money(error: BaseException) -> bool:
    # aiohttp's errors, which have a `status`, warn when their `code` is read
    return not hasattr(error, "status") and getattr(error, "code", None) == _OUT_OF_MONEY


def is_refusal(error: BaseException) -> bool:
    """Whether the server had too much to do: 429 (but no empty account), or 503 and 529 that say when to come back."""
    status = status_of(error)
    if status is None:
        return any(word in kind.__name__.lower() for kind in type(error).__mro__ for word in _BUSY_NAMES)
    if status == _TOO_MANY:
        return not _is_out_of_money(error)
    return status in _BUSY_STATUS and retry_after_s(error) is not None


def remedy_of(error: BaseException) -> str | None:
    """Return what the user has to mend where waiting heals nothing; None for any other error.

    That is 401, 403, 404, no such host, and nobody listening at the address, also behind an error raised from one of
    these. A server that starts refuses connections, too: that error counts only when it is met repeatedly.
    """
    for one in _chain(error):
        if (status := status_of(one)) is not None:
            return _REMEDIES.get(status)
        if isinstance(one, BaseExceptionGroup):  # one for each address of the host
            remedies = {remedy_of(each) for each in one.exceptions}
            return remedies.pop() if len(remedies) == 1 else None
        if isinstance(one, socket.gaierror):
            return _UNKNOWN_HOST
        if isinstance(one, ConnectionRefusedError):
            return _NOBODY_LISTENS
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it came from, link by link."""
    known: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in known:
        known.add(id(link))
        yield link
        link = link.__cause__ or link.__context__  # also a hidden one: httpcore hides what the system said


def _lost_loop(error: BaseException) -> bool:
    """Whether a client met a connection that belongs to another event loop; the next attempt opens its own."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _OTHER_LOOP)


def _headers(error: BaseException) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in headers.items()} if hasattr(headers, "items") else {}


def retry_after_s(error: BaseException, *, now: datetime | None = None) -> float | None:
    """Return the seconds a server asked to wait (`Retry-After-Ms`, `Retry-After` in seconds or as a date)."""
    headers = _headers(error)
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * scale
        except ValueError:
            seconds = _until(text, now or datetime.now(UTC))
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _until(date: str, now: datetime) -> float:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few servers answer with a date

    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now.timestamp()


async def retry(
    attempt: Callable[[], Awaitable[_T]],
    *,
    first_error: Exception,
    attempts_left: int,
    transient: Callable[[BaseException], bool] = is_transient,
) -> _T:
    """Try again after a first failure: exponential waits with jitter, or as long as the server asked.

    Args:
        attempt: makes one attempt.
        first_error: what the first attempt raised; its Retry-After is honoured too.
        attempts_left: attempts that may still be made, at least one.
        transient: which errors are worth another attempt.

    Raises:
        Exception: what the last attempt raised.

    """
    import tenacity  # noqa: PLC0415 - only failures pay for the import

    backoff = tenacity.wait_random_exponential(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = retry_after_s(error) if error is not None else None
        return backoff(state) if asked is None else min(asked, _LONGEST_RETRY_AFTER_S)

    async def pause(seconds: float) -> None:
        await asyncio.sleep(seconds)

    pending: list[Exception] = [first_error]

    async def next_attempt() -> _T:
        if pending:  # replays the failure that brought us here, so that its wait comes from the same policy
            raise pending.pop()
        return await attempt()

    policy: Any = tenacity.AsyncRetrying(
        stop=tenacity.stop_after_attempt(attempts_left + 1),
        wait=wait,
        retry=tenacity.retry_if_exception(transient),
        sleep=pause,
        reraise=True,
    )
    result: _T = await policy(next_attempt)
    return result


def check_retrying(retrying: object, max_attempts: int | None) -> None:
    """Raise a PlanError for a retry policy that cannot be followed, or that stands beside `max_attempts`."""
    if retrying is None:
        return
    import tenacity  # noqa: PLC0415 - imported already by whoever gives a policy of it

    if not isinstance(retrying, tenacity.AsyncRetrying):
        kind = retrying.__name__ if isinstance(retrying, type) else type(retrying).__name__
        raise PlanError(f"retrying is a tenacity.AsyncRetrying(...), not {kind}.")
    if max_attempts is not None:
        raise PlanError(
            "give max_attempts or retrying, not both: retrying says itself when to stop, "
            f"as in retrying=AsyncRetrying(stop=stop_after_attempt({max_attempts}))."
        )
    if retrying.stop is tenacity.stop_never:
        raise PlanError("retrying never stops: give it an end, as in AsyncRetrying(stop=stop_after_attempt(4)).")
    if retrying.retry_error_callback is not None:
        raise PlanError(
            "retrying has a retry_error_callback, which would answer in the judge's place: leave it out, "
            "a call that fails for good is a row with its error."
        )
    try:
        retrying.copy(reraise=True)
    except Exception as error:
        raise PlanError(
            f"retrying is copied for each call, and {type(retrying).__name__}.copy fails ({error!s:.200}): "
            "give a plain AsyncRetrying, or a class whose constructor takes the same arguments."
        ) from error


async def retry_by(retrying: AsyncRetrying, attempt: Callable[[], Awaitable[_T]], *, final: type[BaseException]) -> _T:
    """Make the attempts of one call as the caller's own policy says.

    Only attempts that raised are made again: what was answered stands, also where the policy looks at results. The
    wait is the policy's, or as long as the server asked where that is longer.

    Args:
        retrying: the policy; calls run at once, so a copy of it is used.
        attempt: makes one attempt.
        final: what ends the call whatever the policy says.

    Raises:
        Exception: what the last attempt raised.

    """
    asked = 0.0

    async def made() -> _T:
        nonlocal asked
        try:
            return await attempt()
        except Exception as error:
            asked = min(retry_after_s(error) or 0.0, _LONGEST_RETRY_AFTER_S)
            raise

    async def pause(seconds: float) -> None:
        paused: Any = retrying.sleep(max(seconds, asked))
        if inspect.isawaitable(paused):
            await paused

    worth: Any = _failures(retrying.retry, final)
    policy: Any = retrying.copy(retry=worth, sleep=pause, reraise=True)
    result: _T = await policy(made)
    return result


def _failures(worth: Callable[[RetryCallState], Any], final: type[BaseException]) -> Callable[[RetryCallState], Any]:
    """Return a policy's question of what is worth another attempt, asked about failures alone."""

    def failed(state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome is not None else None
        return isinstance(error, Exception) and not isinstance(error, final)

    async def asked(state: RetryCallState) -> bool:
        return failed(state) and bool(await worth(state))

    def told(state: RetryCallState) -> bool:
        return failed(state) and bool(worth(state))

    is_async = inspect.iscoroutinefunction(worth) or inspect.iscoroutinefunction(getattr(worth, "__call__", None))  # noqa: B004
    return asked if is_async else told


class BudgetExhausted(Exception):  # noqa: N818 - a signal inside the executor, not an error a caller meets
    """The run has spent what it may spend."""


@dataclass(kw_only=True)
class Budget:
    """Counts attempts, retries and rewrites included, tokens and money, in any thread; None: no limit.

    Tokens and cost are known only after an answer. So under `max_tokens` or `max_cost` an attempt begins when what is
    spent and as much as the largest call so far took, for it and for each one in flight, stay within the limit; until
    the first answer there is one at a time. Failed attempts, but for replies without an answer that were billed, and
    rewrites count as calls alone: nobody says what they took.

    Args:
        max_calls: attempts.
        max_tokens: tokens read and written.
        max_cost: in the currency of `prices`.
        prices: by model; `*` is any other one.
        spent: attempts made so far; a resumed run begins with those it made before.
        tokens: tokens spent so far, None when no answer reported any; with `max_tokens` and `spent` it must be known.
        cost: money spent so far, None when unknown: no prices, or an answer without tokens or price; likewise.
        largest: what single calls took so far, of a resumed run.
        named: how messages name the limits, by field; as the fields when not given.
        cost_remarks: what is to be said beside `cost`: where it is the most that can have been spent, or not known.
        is_metered: more than calls is limited.
        exhausted: something was left to ask but not to spend, or the limit cannot be kept.
        ended: it was ended by whoever owns it, not by a limit.
        reason: why it is exhausted.
        parked: attempts that wait for a batch, which whoever goes on with the run takes anew.

    Raises:
        UsageError: a limit below 0, money without prices, or a limit for what was spent before in unknown amount.

    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, Price] | None = None
    spent: int = 0
    tokens: int | None = None
    cost: float | None = None
    exhausted: bool = False
    ended: bool = False
    reason: str | None = None
    largest: Sequence[Spent] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    cost_remarks: tuple[str, ...] = field(default=(), init=False)
    parked: int = field(default=0, init=False, repr=False, compare=False)
    is_metered: bool = field(init=False, repr=False, compare=False)
    _largest: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    _slots: Slots = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the limits."""
        self._check_limits()
        if self.max_cost is not None and not self.prices:
            raise UsageError(
                "max_cost needs prices: give them by model, as in {'gpt-4o': Price(input=2.5, output=10)}."
            )
        for name, limit, known in (("tokens", self.max_tokens, self.tokens), ("cost", self.max_cost, self.cost)):
            if limit is not None and known is None and self.spent:
                raise UsageError(
                    f"max_{name} cannot be kept: the {name} of the {self.spent} attempts so far is not known; give "
                    f"{name}, or limit the calls instead."
                )
        if self.prices and self.cost is None and not self.spent:
            self.cost = 0.0
        self.is_metered = self.max_tokens is not None or self.max_cost is not None
        for spent in self.largest:
            self._note_size(spent)
        self._slots = Slots(lock=self._lock)
        self._resize()

    def _check_limits(self) -> None:
        if self.max_calls is not None and not (type(self.max_calls) is int and self.max_calls >= 0):
            raise UsageError(f"max_calls must be a whole number of at least 0, not {self.max_calls!r}.")
        for name, limit in (("max_tokens", self.max_tokens), ("max_cost", self.max_cost)):
            if limit is not None and not (type(limit) in (int, float) and 0 <= limit < math.inf):
                raise UsageError(f"{name} must be a number of at least 0, not {limit!r}.")
        for model, price in (self.prices or {}).items():
            if not isinstance(price, Price):
                raise UsageError(f"the price of {model!r} must be a Price(input=..., output=...), not {price!r}.")

    def check_price(self, model: str | None) -> None:
        """Refuse a model whose calls cannot be counted against `max_cost`.

        Raises:
            UsageError: it has no price.

        """
        if self.max_cost is not None and price_of(model, self.prices or {}) is None:
            raise UsageError(_not_kept("max_cost", billed(Spent(model=model), self.prices or {})))

    def take(self) -> None:
        """Take one attempt.

        Raises:
            BudgetExhausted: there is none left.

        """
        with self._lock:
            if not self.exhausted and self.max_calls is not None and self.spent >= self.max_calls:
                self._exhaust(f"{self._name('max_calls')}={self.max_calls} reached")
            if self.exhausted:
                raise BudgetExhausted(self.reason)
            self.spent += 1

    def end(self, reason: str) -> None:
        """Let no further attempt begin, whatever is left; those in flight may come to their end."""
        with self._lock:
            self.ended = True
            self._exhaust(reason)

    def give_back(self) -> None:
        """Say that an attempt that was taken was not made."""
        with self._lock:
            self.spent -= 1

    def park(self, attempts: int) -> None:
        """Note that so many more attempts, less where it is negative, wait for a batch."""
        with self._lock:
            self.parked += attempts

    @property
    def lasting(self) -> int:
        """What is spent for whoever goes on with the run, should this process be killed now."""
        with self._lock:
            return self.spent - self.parked

    async def reserve(self) -> None:
        """Take one attempt and keep back what it may need, once that is certain to be there; end with `release`.

        Raises:
            BudgetExhausted: there is none left.

        """
        await self._slots.acquire()
        try:
            with self._lock:
                if not self.exhausted and (short := self._short_of()) is not None:
                    self._exhaust(short)
                self.take()
        except BudgetExhausted:
            self._slots.release()
            raise

    def release(self) -> None:
        """End a reservation."""
        self._slots.release()

    def settle(self, spent: Spent) -> None:
        """Count what an answer took; one that does not say ends a budget in tokens or money."""
        tokens = spent.tokens
        if tokens is None and not self.prices and not self.is_metered:
            return  # nothing is known, and nothing hangs on it
        with self._lock:
            if tokens is not None:
                self.tokens = (self.tokens or 0) + tokens
            if self.prices:
                self._settle_cost(spent)
            if self.is_metered:
                self._note_size(spent)
                self._settle_limits(tokens)

    def _settle_cost(self, spent: Spent) -> None:
        bill = billed(spent, self.prices or {})
        self.cost = None if bill.cost is None or self.cost is None else self.cost + bill.cost
        self.cost_remarks = tuple(dict.fromkeys((*self.cost_remarks, *bill.remarks)))
        if bill.cost is None and self.max_cost is not None:
            self._exhaust(_not_kept(self._name("max_cost"), bill))

    def _note_size(self, spent: Spent) -> None:
        """Learn how much one call may take; an answer from a cache, which took nothing, says nothing of the next."""
        if not spent.tokens:
            return
        for name, size in (("tokens", spent.tokens), ("cost", billed(spent, self.prices or {}).cost)):
            if size is not None:
                self._largest[name] = max(size, self._largest.get(name, 0.0))

    def _name(self, limit: str) -> str:
        return self.named.get(limit, limit)

    def _settle_limits(self, tokens: int | None) -> None:
        if tokens is None and self.max_tokens is not None:
            self._exhaust(_not_kept(self._name("max_tokens"), Billed(None, (UNREPORTED,))))
        self._resize()

    def _limits(self) -> list[tuple[str, float, float, float | None]]:
        """Return name, limit, what was spent of it and the most one call took, of the limits besides calls."""
        every = (("tokens", self.max_tokens, self.tokens), ("cost", self.max_cost, self.cost))
        return [
            (name, limit, spent or 0.0, self._largest.get(name)) for name, limit, spent in every if limit is not None
        ]

    def _short_of(self) -> str | None:
        """Return which limit leaves no room for one more call."""
        for name, limit, spent, largest in self._limits():
            if spent >= limit or spent + (largest or 0.0) > limit:
                took = f"{spent:g} spent, and a call took up to {largest or 0:g}"
                return f"{self._name('max_' + name)}={limit:g} reached: {took}"
        return None

    def _resize(self) -> None:
        """Let as many attempts be in flight as there is certainly room for; everybody, to be told that it is over."""
        most = sys.maxsize
        if not self.exhausted and self._short_of() is None:
            for _, limit, spent, largest in self._limits():
                most = min(most, 1 if largest is None else int((limit - spent) / largest) if largest else most)
        self._slots.resize(most)

    def _exhaust(self, reason: str) -> None:
        """End the budget; the first reason stays. The lock is held."""
        if not self.exhausted:
            self.exhausted, self.reason = True, reason
            self._resize()


def _not_kept(limit: str, bill: Billed) -> str:
    instead = "; limit the calls instead" if bill.remarks[0].endswith(UNREPORTED) else ""
    return f"{limit} cannot be kept: {bill.remarks[0]}{instead}"
