"""What `judgeharness agreement alt-test` does."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.reporting.figures import check_drawable

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.alttest.report import AltTestReport
    from judgeharness_integrations.agreement.panels.panel import Panel

__all__ = ["Input", "epsilons_of", "run_alt_test"]

_MOST_STEPS = 1000


@dataclass(frozen=True)
class Input:
    """The files of a panel and how to read them."""

    logs: Sequence[Path]
    criterion: str | None = None
    labels: bool = False
    cluster: str | None = None
    item: str | None = None
    rater: str | None = None
    columns: Sequence[str] | None = None

    def read(self) -> Panel:
        """Return the panel."""
        from judgeharness_integrations.agreement import Columns, read_panel  # noqa: PLC0415 - brings numpy

        named = [name.strip() for given in self.columns or () for name in given.split(",")]
        columns = Columns(item=self.item, rater=self.rater, labels=tuple(name for name in named if name))
        enabled = gc.isenabled()
        gc.disable()  # the rows of a log hold no cycles to search for
        try:
            return read_panel(
                *self.logs, criterion=self.criterion, labels=self.labels, cluster=self.cluster, columns=columns
            )
        finally:
            if enabled:
                gc.enable()


def epsilons_of(texts: Sequence[str]) -> list[float]:
    """Return the epsilons of numbers, comma lists and inclusive ranges `low:high:step`, in exact decimals and order.

    Raises:
        UsageError: a text is none of them.

    """
    return sorted({float(value) for text in texts for part in text.split(",") for value in _steps(part.strip())})


def _steps(text: str) -> Iterator[Decimal]:
    try:
        numbers = [Decimal(part) for part in text.split(":")]
    except InvalidOperation:
        numbers = []
    if len(numbers) not in (1, 3) or not all(number.is_finite() for number in numbers):
        raise UsageError(f"--epsilon is a number such as 0.2 or a range such as 0:0.3:0.05, not {text!r:.40}.")
    if len(numbers) == 1:
        yield numbers[0]
        return
    low, high, step = numbers
    if step <= 0 or high < low or (high - low) / step > _MOST_STEPS:
        raise UsageError(f"--epsilon {text!r:.40} is no range: write low:high:step with low <= high and step > 0.")
    for number in range(int((high - low) / step) + 1):
        yield low + number * step


def run_alt_test(
    source: Input,
    *,
    humans: Sequence[str],
    candidates: Sequence[str],
    scores: Sequence[str] | None = None,
    epsilons: Sequence[str] = ("0.2",),
    multiplicative: bool = False,
    q: float = 0.05,
    min_instances: int = 30,
    panel_description: str = "unknown",
    plot: Path | None = None,
    as_json: bool = False,
) -> None:
    """Read the panel, test every candidate and print the report."""
    steps = epsilons_of(epsilons)
    check_drawable(plot)
    from judgeharness_integrations.agreement.alttest.testing import alt_test  # noqa: PLC0415 - brings scipy

    report = alt_test(
        source.read(),
        humans=humans,
        candidates=candidates,
        scores=[name.strip() for given in scores or () for name in given.split(",")] or None,
        epsilons=steps,
        multiplicative=multiplicative,
        q=q,
        min_instances=min_instances,
        panel_description=panel_description,
    )
    if plot is not None:
        from judgeharness_integrations.agreement.plots import draw_alt_test  # noqa: PLC0415 - brings matplotlib

        draw_alt_test(report, plot)
    if as_json:
        print_json(report.to_dict())
        return
    _print(report, source.logs, plot)


def _print(report: AltTestReport, logs: Sequence[Path], plot: Path | None) -> None:
    from judgeharness_integrations.cli._alttest_tables import alt_test_tables  # noqa: PLC0415 - JSON needs no tables
    from judgeharness_integrations.cli._printing import console, safe  # noqa: PLC0415

    screen = console()
    screen.print(safe(f"alternative annotator test of {', '.join(map(str, logs))}", 200))
    for part in alt_test_tables(report):
        screen.print(part)
    if plot is not None:
        screen.print(safe(f"\nplots: {plot}", 200))
