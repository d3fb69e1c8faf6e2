"""What `judgeharness selftest` does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console, percent, table
from judgeharness_integrations.cli.exits import GATE_FAILED, OK
from judgeharness_integrations.testing.selftest import CheckFound, SelftestReport, run_selftest

__all__ = ["show_selftest"]

_KINDS = {
    "coverage": ("coverage of nominal 95 % intervals", "mean coverage %"),
    "size": ("rejections of true hypotheses at nominal 5 %", "mean rejected %"),
}


def show_selftest(*, full: bool, only: Sequence[str], seed: int, as_json: bool) -> int:
    """Run the self-test, print what it found and return the exit code."""
    report = run_selftest(full=full, only=only, seed=seed, progress=_progress())
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report)
    return OK if report.passed else GATE_FAILED


def _progress() -> Callable[[str], None] | None:
    """Return what shows one line that is written over, None where nobody watches."""
    if not sys.stderr.isatty():
        return None

    def show(line: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{line[:100]}\r")
        sys.stderr.flush()

    return show


def _print(report: SelftestReport) -> None:
    screen = console()
    how = (
        f"{report.replicates} replicates a point" if report.full else f"at most {report.replicates} replicates a point"
    )
    screen.print(f"self-test, {'full' if report.full else 'fast'} version: {how}, seed {report.seed}")
    for kind, (title, mean) in _KINDS.items():
        found = [check for check in report.checks if check.kind == kind]
        if found:
            columns = ("name", "worst point", "verdict", "points", mean, "worst %", "replicates")
            screen.print(table(title, columns, map(_cells, found), texts=3))
    screen.print()
    for line in _deviations(report.checks):
        screen.print(line, soft_wrap=True)
    misses = sum(check.verdict == "miss" for check in report.checks)
    screen.print(f"{len(report.checks)} checks, {misses} of them miss", soft_wrap=True)


def _cells(check: CheckFound) -> tuple[str, ...]:
    worst = check.worst
    numbers = (str(len(check.points)), percent(check.mean), percent(worst.rate), str(worst.replicates))
    return check.name, str(worst), check.verdict, *numbers


def _deviations(checks: Sequence[CheckFound]) -> Iterator[str]:
    for check in checks:
        undefined = sum(point.undefined for point in check.points)
        parts = [part for part in (check.reason, check.note) if part]
        if undefined:
            tried = sum(point.replicates for point in check.points)
            parts.append(f"{undefined} of {tried} replicates gave none")
        if parts:
            yield f"{check.name}: {'; '.join(parts)}"
