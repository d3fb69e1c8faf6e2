"""Every error a caller can meet.

JudgeHarnessError
├── UsageError                a call or a command was given something it cannot use (exit code 2)
│   ├── UnknownNameError      no rule, perturbation, judge or key of that name; the nearest is named
│   ├── ConfigError           a configuration file cannot be read or holds a wrong value
│   ├── LogFormatError        a verdict log cannot be read; file and line are named
│   ├── CaseError             a case, case file or label set cannot be used
│   ├── PlanError             perturbations, repetitions, rule and case do not fit together
│   └── NotInstalledError     an optional framework is missing; the pip line is named
├── LogStorageError           a verdict log's database cannot be opened, read or written
├── RunBusyError              another process writes the run
├── BudgetError               the plan needs more calls than `max_calls` allows (exit code 2)
├── AmbiguousResultError      a single verdict was read from a result with several criteria
└── UnsupportedEvaluatorError an evaluator that cannot be harnessed, with the reason

Failures of a judge are not here: an answer that failed is a row of the verdict log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AmbiguousResultError",
    "BudgetError",
    "CaseError",
    "ConfigError",
    "JudgeHarnessError",
    "LogFormatError",
    "LogStorageError",
    "NotInstalledError",
    "PlanError",
    "RunBusyError",
    "UnknownNameError",
    "UnsupportedEvaluatorError",
    "UsageError",
]


class JudgeHarnessError(Exception):
    """Base of every error of this package; its text is one sentence that says what to do."""


class UsageError(JudgeHarnessError):
    """A call or a command was given something it cannot use."""


class UnknownNameError(UsageError):
    """No such rule, perturbation, judge or key; the nearest known name is offered."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Say what was asked for and what is nearest to it."""
        from difflib import get_close_matches  # noqa: PLC0415 - only mistakes pay for the import

        names = sorted(known)
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}."
        super().__init__(f"unknown {kind} {name!r}: {hint}")


class ConfigError(UsageError):
    """A configuration file cannot be read or holds a wrong value."""


class LogFormatError(UsageError):
    """A verdict log cannot be read."""

    @classmethod
    def at(cls, source: str, line: int, problem: str) -> LogFormatError:
        """Build the error of one line of a file."""
        return cls(f"{source}, line {line}: {problem}")


class CaseError(UsageError):
    """A case, case file or label set cannot be used."""


class PlanError(UsageError):
    """Perturbations, repetitions, rule and case do not fit together."""


class NotInstalledError(UsageError):
    """An optional framework is missing."""

    def __init__(self, what: str, extra: str) -> None:
        """Name what is missing and the exact pip line that brings it."""
        super().__init__(f"{what} is not installed: pip install 'judgeharness-integrations[{extra}]'")


class LogStorageError(JudgeHarnessError):
    """A verdict log's database cannot be opened, read or written; what was committed is kept."""


class RunBusyError(JudgeHarnessError):
    """Another process writes the run."""


class BudgetError(JudgeHarnessError):
    """The plan needs more judge calls than `max_calls` allows; nothing was asked."""


class AmbiguousResultError(JudgeHarnessError):
    """A single verdict was read from a result that holds several criteria."""


class UnsupportedEvaluatorError(JudgeHarnessError):
    """An evaluator that cannot be harnessed."""
