"""What gates said, as a table and a sentence each."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from judgeharness_integrations.analysis.gates.report import GateReport
from judgeharness_integrations.reporting.terminal import safe, table
from judgeharness_integrations.verdictlog.plain import safe_text

__all__ = ["print_gates"]

_WORDS = {"passed": "passed", "failed": "FAILED", "not_measured": "NOT MEASURED"}


def print_gates(gates: GateReport, screen: Console, *, of_run: bool = False) -> None:
    """Print every check with its sentence; `of_run`: what the run said at its end, nothing was checked now."""
    what = "gates of the run, as they were at its end," if of_run else "gates,"
    title = f"{what} {gates.basis}"
    rows: list[list[str | Text]] = [
        [safe(check.gate), safe(check.about, 120), _WORDS[check.status]] for check in gates.checks
    ]
    screen.print(table(title, ("gate", "of", "status"), rows, texts=3))
    for check in gates.checks:
        where = f" ({check.about})" if len(gates.checks) > 1 else ""
        screen.print(Text(safe_text(f"{check.gate}{where}: {check.reason}", 600)))
    if gates.price:
        screen.print(Text(gates.price))
    failed = sum(check.status != "passed" for check in gates.checks)
    screen.print("every gate passed" if gates.passed else f"{failed} of {len(gates.checks)} gate checks did not pass")
