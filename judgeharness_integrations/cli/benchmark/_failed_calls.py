"""Calls that failed, as the commands that rank and curate tell of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.results.rows import Mode
from judgeharness_integrations.benchmark.verdicts import Results
from judgeharness_integrations.cli._printing import console, safe
from judgeharness_integrations.cli.benchmark._columns import counted
from judgeharness_integrations.ranking.correctness.policy import Failures

__all__ = ["check_answered", "failed_notes", "print_failed"]

_LONGEST = 600
_AGAIN = "judgeharness benchmark judge asks again"


def _policy(failures: Failures) -> str:
    """Return what a failed, an unread and an undecided answer is."""
    if failures == "missing":
        return "failed calls, unparsed and refused answers are missing; undecided answers are wrong"
    return "failed calls are missing; unparsed, refused and undecided answers are wrong"


def failed_notes(results: Results, mode: Mode, judges: Sequence[str] = ()) -> Iterator[str]:
    """Yield a sentence for each judge, of some where any are named, whose calls failed: what that means, what to do."""
    failed: dict[str, int] = {}
    for judge, _ in results.failed.get(mode, ()):
        failed[judge] = failed.get(judge, 0) + 1
    answered = _answered(results, mode)
    for judge, count in sorted(failed.items()):
        if judges and judge not in judges:
            continue
        if judge in answered:
            yield f"{judge}: calls about {counted(count, 'pair')} failed and are missing; {_AGAIN}"
        else:
            yield f"{judge} is left out: none of its calls, about {counted(count, 'pair')}, was answered; {_AGAIN}"


def print_failed(
    results: Sequence[Results], mode: Mode, *, failures: Failures, judges: Sequence[str] = (), stderr: bool = False
) -> None:
    """Print whose calls failed, in one benchmark or several, and what a failed call is; nothing where none did."""
    lines = [(one.folder, line) for one in results for line in failed_notes(one, mode, judges)]
    screen = console(stderr=stderr)
    for where, line in lines:
        screen.print(safe(f"- {where}: {line}" if len(results) > 1 else f"- {line}", _LONGEST), soft_wrap=True)
    if lines:
        screen.print(f"- {_policy(failures)}", soft_wrap=True)


def check_answered(results: Results, mode: Mode, judges: Sequence[str]) -> None:
    """Refuse judges that were named and never answered.

    Raises:
        UsageError: no call of a judge was answered.

    """
    silent = {judge for judge, _ in results.failed.get(mode, ())} - _answered(results, mode)
    for judge in judges:
        if judge in silent:
            raise UsageError(f"no call of {judge} was answered: ask it again with judgeharness benchmark judge.")


def _answered(results: Results, mode: Mode) -> set[str]:
    return {row.judge for row in results.rows[mode]}
