"""How many calls a run may still make."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

__all__ = ["Budget", "BudgetExhausted"]


class BudgetExhausted(Exception):  # noqa: N818 - a signal inside the executor, not an error a caller meets
    """The run has made all the calls it may make."""


@dataclass(kw_only=True)
class Budget:
    """Counts attempts, retries and rewrites included, against `max_calls` (None: no limit), in any thread."""

    max_calls: int | None = None
    spent: int = 0
    exhausted: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def take(self) -> None:
        """Take one attempt.

        Raises:
            BudgetExhausted: there is none left.

        """
        with self._lock:
            self.exhausted = self.exhausted or (self.max_calls is not None and self.spent >= self.max_calls)
            if self.exhausted:
                raise BudgetExhausted
            self.spent += 1
