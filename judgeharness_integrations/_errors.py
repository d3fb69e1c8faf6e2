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
├── ClusterError              a cluster cannot be reached, or was lost (exit code 3)
├── BatchesOpenError          batches at a provider are not answered yet; the same call goes on (exit code 4)
├── RunBusyError              another process writes the run
├── BudgetError               the plan needs more calls than `max_calls` allows (exit code 2)
├── JudgeDownError            a judge answers nothing, by errors that no waiting heals (exit code 3)
├── AmbiguousResultError      a single verdict was read from a result with several criteria
├── NotGradedError            a judge gave no verdict where one was needed; its results are on the error
└── UnsupportedEvaluatorError an evaluator that cannot be harnessed, with the reason

One failure of a judge is not here: an answer that failed is a row of the verdict log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AmbiguousResultError",
    "BatchesOpenError",
    "BudgetError",
    "CaseError",
    "ClusterError",
    "ConfigError",
    "JudgeDownError",
    "JudgeHarnessError",
    "LogFormatError",
    "LogStorageError",
    "NotGradedError",
    "NotInstalledError",
    "PlanError",
    "RunBusyError",
    "UnknownNameError",
    "UnsupportedEvaluatorError",
    "UsageError",
]


class JudgeHarnessError(Exception):
    """Base of every error of this package; its text is one sentence that says what to do, without secrets."""

    def __str__(self) -> str:
        """Return the sentence; what it quotes of a model, a server or a file may have held a key."""
        from .redacting import without_secrets  # noqa: PLC0415 - only mistakes pay for it

        return without_secrets(super().__str__())

    def __repr__(self) -> str:
        """Return the name and the sentence, which loggers and test runners show in this way."""
        return f"{type(self).__name__}({str(self)!r})"


class UsageError(JudgeHarnessError):
    """A call or a command was given something it cannot use."""


class UnknownNameError(UsageError):
    """No such rule, perturbation, judge or key, which `name` is; the nearest known one is offered."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Say what was asked for and what is nearest to it."""
        self.name = name
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
        super().__init__(f"{what} is not installed: {self.command(extra)} in the source folder of judgeharness")

    @staticmethod
    def command(extra: str) -> str:
        """Return what installs an extra of this package: from its source, for no package index has it."""
        return f"pip install '.[{extra}]'"


class LogStorageError(JudgeHarnessError):
    """A verdict log's database cannot be opened, read or written; what was committed is kept."""


class BatchesOpenError(JudgeHarnessError):
    """Batches of a run are open, or were cancelled; what was answered is kept, and the same call goes on from there."""


class ClusterError(JudgeHarnessError):
    """The cluster that asks judges cannot be reached, or was lost; what was answered is kept."""


class RunBusyError(JudgeHarnessError):
    """Another process writes the run."""


class BudgetError(JudgeHarnessError):
    """The plan needs more judge calls than `max_calls` allows; nothing was asked."""


class JudgeDownError(JudgeHarnessError):
    """A judge answers nothing, by errors that no waiting heals: a wrong key, model or address."""


class AmbiguousResultError(JudgeHarnessError):
    """A single verdict was read from a result that holds several criteria."""


class NotGradedError(JudgeHarnessError):
    """A judge gave no verdict where one was needed: the measurement failed, not what was judged.

    An evaluator under a harness raises it where all samples of a case failed with errors, a pytest check where too few
    answers were valid. `result` is the first `HarnessResult` without a verdict; `results` are those of everything that
    was asked, in order, the good ones of a batch among them.
    """

    result: Any  # HarnessResult, whose module imports this one
    results: tuple[Any, ...]

    def __init__(self, message: str, result: Any = None, results: Iterable[Any] | None = None) -> None:
        """Keep the measurements; they may be left out, as where the error is unpickled."""
        super().__init__(message)
        self.result = result
        self.results = tuple(results) if results is not None else () if result is None else (result,)


class UnsupportedEvaluatorError(JudgeHarnessError):
    """An evaluator that cannot be harnessed."""
