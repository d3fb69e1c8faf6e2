"""What is asked next: probes of one case after the other, taken by many workers at once."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.execution.opened import OpenCase
    from judgeharness_integrations.execution.preparing import Pending
    from judgeharness_integrations.execution.recalling import Recall

__all__ = ["Agenda", "OneByOne"]

_FIRST_LOOKUP = 8  # cases: the first question does not wait for many of them to be read
_CASES_A_LOOKUP = 64


class OneByOne(ABC):
    """Cases that are opened one at a time: whether there is a next one may depend on the answers so far."""

    @abstractmethod
    def __iter__(self) -> Iterator[Case]:
        """Yield the cases."""


class Agenda:
    """An async iterator of probes that any number of workers may pull from.

    Cases are opened when somebody wants a probe and none is at hand. A case that may stop early holds back probes
    until earlier ones are answered; workers wait for those only when no further case is left to open.
    """

    def __init__(self, cases: Iterator[OpenCase], *, recall: Recall | None = None, one_by_one: bool = False) -> None:
        """Take cases from an iterator, `one_by_one` or several a look-up; `recall` knows what the log holds of them."""
        self._cases = cases
        self._recall = recall
        self._ready: deque[Pending] = deque()
        self._at_once, self._most_at_once = (1, 1) if one_by_one else (_FIRST_LOOKUP, _CASES_A_LOOKUP)
        self._holding = 0  # cases that hold probes back
        self._left = True  # whether there may be further cases
        self._failure: Exception | None = None  # told once what was read before it is handed out
        self._ended = False
        self._opening = asyncio.Lock()
        self._change = asyncio.Event()

    def __aiter__(self) -> Self:
        """Iterate over the probes."""
        return self

    async def __anext__(self) -> Pending:
        """Return the next probe.

        Raises:
            Exception: a case could not be read or planned; nothing follows.

        """
        while (pending := self.at_once()) is None:
            # the last look-up leaves no further cases, but its own are not ready before it ends
            if (self._left or self._opening.locked()) and not self._ended:
                await self._open()
            elif self._holding and not self._ended:
                await self._change.wait()
            else:
                raise StopAsyncIteration
        return pending

    def at_once(self) -> Pending | None:
        """Return the next probe if one is at hand."""
        return self._ready.popleft() if self._ready else None

    def stop(self) -> None:
        """Hand out nothing any more."""
        self._ended = True
        self._ready.clear()
        self._wake()

    async def rest(self) -> AsyncGenerator[OpenCase, None]:
        """Yield the cases that were never opened, with what is known of them; nothing of them is asked any more."""
        while cases := list(islice(iter(self._next, None), _CASES_A_LOOKUP)):
            if self._recall is not None:
                await self._recall.look_up(cases)
            for case in cases:
                yield case

    def answered(self, case: OpenCase) -> None:
        """Take the probes a case held back until an answer came; it is done when it has none."""
        if not case.holds_back:
            return
        self._ready.extendleft(reversed(case.released()))  # what is begun is finished first
        self._holding -= not case.holds_back
        self._wake()

    async def _open(self) -> None:
        if self._recall is None:
            self._add([] if (case := self._next()) is None else [case])
            return
        async with self._opening:
            if self._ready or self._ended or not self._left:  # somebody else did it meanwhile
                return
            cases = self._several()
            try:
                await self._recall.look_up(cases)
            except BaseException:
                self._ended = True
                raise
            self._add(cases)
            self._wake()

    def _several(self) -> list[OpenCase]:
        """Return cases for one look-up; those before a case that cannot be read are asked before that is said."""
        cases: list[OpenCase] = []
        if self._failure is not None:
            self._left, failure = False, self._failure
            raise failure
        try:
            cases.extend(islice(iter(self._next, None), self._at_once))
            self._at_once = min(2 * self._at_once, self._most_at_once)
        except Exception as error:
            if not cases:
                raise
            self._failure, self._left = error, True
        return cases

    def _next(self) -> OpenCase | None:
        try:
            case = next(self._cases, None)
        except BaseException:
            self._left = False
            self._wake()
            raise
        self._left = case is not None
        if case is None:
            self._wake()
        return case

    def _add(self, cases: list[OpenCase]) -> None:
        for case in cases:
            self._ready.extend(case.released())
            self._holding += case.holds_back

    def _wake(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
