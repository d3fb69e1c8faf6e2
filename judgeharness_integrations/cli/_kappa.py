"""What `judgeharness agreement kappa` does."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from judgeharness_integrations.analysis.agreement.bootstrap import Bootstrap
from judgeharness_integrations.analysis.agreement.kappa import COEFFICIENTS
from judgeharness_integrations.analysis.agreement.kappatable import (
    AgreementTable,
    agreement_table,
)
from judgeharness_integrations.analysis.agreement.panel import Panel
from judgeharness_integrations.analysis.agreement.ratings import Weights
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._shared_options import one_of
from judgeharness_integrations.cli.agreement import panel_of
from judgeharness_integrations.cli.kappa import KappaRequest
from judgeharness_integrations.reporting.agreement import agreement_section
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.terminal import console, safe, show_section

_WEIGHTS: tuple[Weights, ...] = get_args(Weights)


def kappa_of_logs(request: KappaRequest) -> None:
    """Read labels, measure who agrees with whom and print it."""
    coefficient = one_of("coefficient", request.coefficient, COEFFICIENTS)
    weights = None if request.weights is None else one_of("weights", request.weights, _WEIGHTS)
    check_drawable(request.plot)
    panel = panel_of(request)
    humans, candidates = _chosen(panel, request)
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


def _chosen(panel: Panel, request: KappaRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return who is compared with each other, and the candidates beside them."""
    if not request.raters:
        candidates = panel.select(request.candidates, what="candidate")
        return tuple(name for name in panel.raters if name not in candidates), candidates
    return panel.roles(humans=request.raters, candidates=request.candidates, what="rater")


def _draw(table: AgreementTable, folder: Path) -> list[Path]:
    from judgeharness_integrations.reporting.agreementfigures import draw_kappa  # noqa: PLC0415 - matplotlib, for plots alone

    return draw_kappa(table, folder)
