"""What `judgeharness agreement alt-test` and `kappa` do, and the panel of annotators they read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.agreement.bootstrap import Bootstrap
from judgeharness_integrations.analysis.agreement.kappa import COEFFICIENTS
from judgeharness_integrations.analysis.agreement.kappatable import AgreementTable, agreement_table
from judgeharness_integrations.analysis.agreement.panel import Panel
from judgeharness_integrations.analysis.agreement.ratings import Weights
from judgeharness_integrations.cli._judge_options import AltTestRequest, KappaRequest
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._reading import without_garbage_collection
from judgeharness_integrations.cli._shared_options import one_of
from judgeharness_integrations.reporting.agreement import agreement_section
from judgeharness_integrations.reporting.annotators import alt_test_section
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.terminal import console, safe, show_section

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.agreement.panel import Panel


_MOST_STEPS = 1000


def panel_of(request: AltTestRequest | KappaRequest) -> Panel:
    """Return the panel that the logs of a request hold."""
    from judgeharness_integrations.analysis.agreement import Columns, read_panel  # noqa: PLC0415 - brings numpy

    named = [name.strip() for given in request.columns for name in given.split(",")]
    columns = Columns(item=request.item, rater=request.rater, labels=tuple(name for name in named if name))
    with without_garbage_collection():
        return read_panel(
            *request.logs, criterion=request.criterion, labels=request.labels, cluster=request.cluster, columns=columns
        )


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
    for place in range(int((high - low) / step) + 1):
        yield low + place * step


def run_alt_test(request: AltTestRequest) -> None:
    """Read the panel, test every candidate and print the report."""
    steps = epsilons_of(request.epsilons)
    check_drawable(request.plot)
    from judgeharness_integrations.analysis.agreement.alttest import alt_test  # noqa: PLC0415 - brings scipy

    report = alt_test(
        panel_of(request),
        humans=request.humans,
        candidates=request.candidates,
        scores=[name.strip() for given in request.scores for name in given.split(",")] or None,
        epsilons=steps,
        multiplicative=request.multiplicative,
        q=request.q,
        min_instances=request.min_instances,
        panel_description=request.panel_description,
    )
    if request.plot is not None:
        from judgeharness_integrations.reporting.agreementfigures import draw_alt_test  # noqa: PLC0415 - brings matplotlib

        draw_alt_test(report, request.plot)
    if request.as_json:
        print_json(report.to_dict())
        return
    screen = console()
    show_section(alt_test_section(report, source=", ".join(map(str, request.logs))), screen)
    if request.plot is not None:
        screen.print(safe(f"\nplots: {request.plot}", 200))


_WEIGHTS: tuple[Weights, ...] = get_args(Weights)


def kappa_of_logs(request: KappaRequest) -> None:
    """Read labels, measure who agrees with whom and print it."""
    coefficient = one_of("coefficient", request.coefficient, COEFFICIENTS)
    weights = None if request.weights is None else one_of("weights", request.weights, _WEIGHTS)
    check_drawable(request.plot)
    panel = panel_of(request)
    humans, candidates = _compared(panel, request)
    table = agreement_table(
        panel,
        humans=humans,
        candidates=candidates,
        coefficient=coefficient,
        weights=weights,
        order=tuple(name.strip() for name in request.order.split(",")) if request.order else (),
        bootstrap=Bootstrap(replicates=request.resamples, seed=request.seed),
    )
    drawn = [] if request.plot is None else _draw(table, request.plot)
    if request.as_json:
        print_json(table.to_dict())
        return
    screen = console()
    section = agreement_section(table, source=", ".join(map(str, request.logs)), pairs=request.pairs)
    show_section(section, screen)
    for path in drawn:
        screen.print(safe(f"drawn: {path}", 400), soft_wrap=True)


def _compared(panel: Panel, request: KappaRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return who is compared with each other, and the candidates beside them."""
    if not request.raters:
        candidates = panel.select(request.candidates, what="candidate")
        return tuple(name for name in panel.raters if name not in candidates), candidates
    return panel.roles(humans=request.raters, candidates=request.candidates, what="rater")


def _draw(table: AgreementTable, folder: Path) -> list[Path]:
    from judgeharness_integrations.reporting.agreementfigures import draw_kappa  # noqa: PLC0415 - matplotlib, for plots alone

    return draw_kappa(table, folder)
