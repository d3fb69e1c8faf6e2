"""What keeps the calls of one judge model within its limits; a process has one, a cluster may have another."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from judgeharness_integrations.execution.aimd import Admission
from judgeharness_integrations.execution.rates import Rates

__all__ = ["Limits"]


class Limits(Protocol):
    """Slots for calls, and within them admission of each attempt.

    A call holds its slot from `acquire` to `release`, however often it is tried; every attempt begins with `admit`
    and ends with exactly one of `answered`, `refused` and `failed`.
    """

    def run(self, max_concurrency: int, *, rates: Rates | None = None) -> AbstractContextManager[None]:
        """Declare a run of up to `max_concurrency` calls at a time and its rates."""
        ...

    def hold(self) -> None:
        """Say that what the current task calls from now on is covered by the slots this task acquires."""
        ...

    async def acquire(self) -> None:
        """Wait for a slot."""
        ...

    def release(self) -> None:
        """Give the slot back."""
        ...

    def admit_at_once(self) -> Admission | None:
        """Let an attempt through that need not wait for anything; None where it has to wait in `admit`."""
        ...

    async def admit(self) -> Admission:
        """Wait until an attempt may be made."""
        ...

    def answered(self, admission: Admission, tokens: int | None) -> None:
        """Say that an attempt was answered; `tokens`: read and written, None when not reported."""
        ...

    def refused(self, admission: Admission, retry_after_s: float | None) -> None:
        """Say that the server had too much to do; everybody waits `retry_after_s` seconds if it asked for that."""
        ...

    def failed(self, admission: Admission) -> None:
        """Say that an attempt ended in any other way."""
        ...
