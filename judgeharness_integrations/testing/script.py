"""The scripted model of a bench: what it answers, what it was asked, and how many calls are under way."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

__all__ = ["GARBAGE", "Labels", "Script"]

GARBAGE: Final = "GARBAGE"
_PATIENCE_S = 10.0  # a thread cannot be cancelled, so it does not wait for ever
_GLANCE_S = 0.002

# A label, or what is raised, for each call in turn, over and over; or a function of the prompt.
Labels: TypeAlias = "Sequence[str | Exception] | Callable[[str], str]"


class Script:
    """What the model behind a framework's judge answers.

    An adapter's fake model shows it the whole prompt, by `ask` or `aask`, and makes the framework's reply text of the
    label it gets: `A` (the answer that stands first in the prompt), `B`, `TIE`; `PASS`, `FAIL` of a graded answer;
    `GARBAGE`, which becomes a reply that nobody can read. What it raises is to be raised.

    Attributes:
        prompts: what was asked, in order of arrival.
        cancelled: how many async calls were cancelled.

    """

    def __init__(self, labels: Labels, *, holding: bool = False) -> None:
        """Prepare the labels; a model that is `holding` answers nobody before its `release`."""
        self._turns = None if callable(labels) else itertools.cycle(labels)
        self._choose = labels if callable(labels) else None
        self._lock = threading.Lock()
        self._released = threading.Event()
        if not holding:
            self._released.set()
        self.prompts: list[str] = []
        self.cancelled = 0
        self.waiting = 0  # calls that have not been answered
        self.waiting_async = 0

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.prompts)

    def release(self) -> None:
        """Answer the calls that wait, and later ones at once."""
        self._released.set()

    def ask(self, prompt: str) -> str:
        """Return the label for a prompt, from a sync client."""
        with self._counted(prompt):
            self._released.wait(_PATIENCE_S)
            return self._label(prompt)

    async def aask(self, prompt: str) -> str:
        """Return the label for a prompt, from an async client."""
        with self._counted(prompt):
            self.waiting_async += 1
            try:
                while not self._released.is_set():  # noqa: ASYNC110 - an asyncio.Event belongs to one loop
                    await asyncio.sleep(_GLANCE_S)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.waiting_async -= 1
            return self._label(prompt)

    @contextmanager
    def _counted(self, prompt: str) -> Iterator[None]:
        with self._lock:
            self.prompts.append(prompt)
            self.waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self.waiting -= 1

    def _label(self, prompt: str) -> str:
        if self._choose is not None:
            return self._choose(prompt)
        with self._lock:
            label = next(self._turns or iter(()))
        if isinstance(label, Exception):
            raise label
        return label
