"""What a session may spend, also when the workers of pytest-xdist share it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.pricetable import prices_of

if TYPE_CHECKING:
    from judgeharness_integrations.config.schema import Config

__all__ = ["SharedBudget", "calls_allowed", "check_shareable", "session_budget"]


@dataclass(kw_only=True)
class SharedBudget(Budget):
    """A budget of calls whose count stands in a file that processes share; `max_calls` is for all, `spent` is ours."""

    counted_in: Path = Path()

    def take(self) -> None:
        """Take one attempt of those left to all processes.

        Raises:
            BudgetExhausted: there is none left.

        """
        from filelock import FileLock  # noqa: PLC0415 - loaded at first use

        with self._lock, FileLock(f"{self.counted_in}.lock"):
            mine, self.spent = self.spent, int(self.counted_in.read_text(encoding="ascii"))
            try:
                super().take()
                self.counted_in.write_text(str(self.spent), encoding="ascii")
                mine += 1
            finally:
                self.spent = mine

    def give_back(self) -> None:
        """Say that an attempt that was taken was not made."""
        from filelock import FileLock  # noqa: PLC0415 - loaded at first use

        with self._lock, FileLock(f"{self.counted_in}.lock"):
            super().give_back()
            left = int(self.counted_in.read_text(encoding="ascii")) - 1
            self.counted_in.write_text(str(left), encoding="ascii")


def calls_allowed(file: Config, max_calls: int | None) -> int | None:
    """Return how many attempts a session may make: the option's, else those of the file's budget; None: no limit."""
    return file.execution.budget.calls if max_calls is None else max_calls


def session_budget(file: Config, max_calls: int | None, *, counted_in: str | None) -> Budget:
    """Return the budget of this process; `counted_in` is the file in which workers count together."""
    limits = file.execution.budget
    options: dict[str, Any] = {
        "max_calls": calls_allowed(file, max_calls),
        "max_tokens": limits.tokens,
        "max_cost": limits.cost,
        "prices": prices_of(file) or None,
        "named": {"max_calls": "judgeharness_max_calls" if max_calls is not None else "execution.budget.calls"},
    }
    if counted_in is None:
        return Budget(**options)
    if not Path(counted_in).exists():
        raise UsageError("a limit of calls is counted in a file, which this worker cannot see: leave the limit out.")
    return SharedBudget(**options, counted_in=Path(counted_in))


def check_shareable(file: Config) -> None:
    """Refuse limits that workers cannot count together.

    Raises:
        UsageError: tokens or money are limited.

    """
    limits = file.execution.budget
    if limits.tokens is not None or limits.cost is not None:
        raise UsageError(
            f"{file.path}: workers of pytest-xdist share a limit of calls alone: limit execution.budget.calls instead "
            "of tokens and cost, or give -n0."
        )
