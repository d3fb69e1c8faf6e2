"""Which failures are worth another attempt, and how long to wait for it."""

from __future__ import annotations

import asyncio
import inspect
import math
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from judgeharness_integrations._errors import PlanError

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
