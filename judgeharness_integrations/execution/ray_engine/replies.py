"""Answers of actors as futures of an event loop, and the errors Ray wraps on their way."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

__all__ = ["answer_of", "carried"]


def answer_of(reply: Any) -> asyncio.Future[Any]:
    """Return the answer an object reference stands for.

    Awaiting the reference itself would cancel Ray's own future together with the caller, and the threads of a Ray
    client end with a trace of `InvalidStateError` when the answer to a cancelled one comes.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def tell(done: Future[Any]) -> None:
        if answer.done():  # nobody waits any more
            return
        if (error := done.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(done.result())

    def came(done: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, done)

    future: Future[Any] = reply.future()
    future.add_done_callback(came)
    return answer


def carried(error: BaseException) -> Exception | None:
    """Return the error inside one of Ray's: what an actor raised, or what reading an object raised; None: neither."""
    inner = getattr(error, "cause", None)
    if inner is None:
        inner = getattr(error, "client_exc", None)
    return (carried(inner) or inner) if isinstance(inner, Exception) else None
