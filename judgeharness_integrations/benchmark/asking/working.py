"""Many items at once: each is a coroutine, so many run at a time, and what they make comes out in their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from judgeharness_integrations.benchmark.asking.asker import AskError
from judgeharness_integrations.chatmodels import ChatModel
from judgeharness_integrations.execution.budget import BudgetExhausted
from judgeharness_integrations.execution.limiter import limiter_for
from judgeharness_integrations.execution.rates import Rates

__all__ = ["Unfinished", "limited", "worked"]

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


@dataclass(frozen=True, kw_only=True)
class Unfinished(Generic[_Item]):
    """An item that could not be made now, and why; what it was answered so far is kept."""

    item: _Item
    reason: str


@contextmanager
def limited(models: Sequence[ChatModel], *, max_concurrency: int, rates: Rates | None = None) -> Iterator[None]:
    """Declare a run of up to so many calls of each model at a time."""
    with ExitStack() as stack:
        for name in {model.name for model in models}:
            stack.enter_context(limiter_for(name).run(max_concurrency, rates=rates))
        yield


async def worked(
    items: Iterable[_Item], make: Callable[[_Item], Awaitable[_Made]], *, max_concurrency: int
) -> AsyncGenerator[_Made | Unfinished[_Item], None]:
    """Yield what `make` makes of each item, in the order of the items, with so many of them under way.

    One that a model could not be asked about is `Unfinished`; so is every one after the budget has ended. Any other
    error of `make` is raised, after those under way were cancelled.
    """
    slots = asyncio.Semaphore(max_concurrency)

    async def one(item: _Item) -> _Made | Unfinished[_Item]:
        async with slots:
            try:
                return await make(item)
            except (AskError, BudgetExhausted) as error:
                return Unfinished(item=item, reason=str(error))

    tasks = [asyncio.ensure_future(one(item)) for item in items]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
