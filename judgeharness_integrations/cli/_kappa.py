"""What `judgeharness agreement kappa` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap
from judgeharness_integrations.agreement.kappa.pairs import COEFFICIENTS
from judgeharness_integrations.agreement.kappa.ratings import Weights
from judgeharness_integrations.agreement.kappa.table import AgreementTable
from judgeharness_integrations.agreement.kappa.tabulating import agreement_table
from judgeharness_integrations.agreement.panels.panel import Panel
from judgeharness_integrations.cli._alttest import Input
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.reporting.figures import check_drawable

__all__ = ["KappaRequest", "kappa_of_logs"]

_Name = TypeVar("_Name", bound=str)
_WEIGHTS: tuple[Weights, ...] = get_args(Weights)


@dataclass(frozen=True, kw_only=True)
class KappaRequest:
    """Who is compared, and how."""

    raters: Sequence[str] = ()
    candidates: Sequence[str] = ()
    coefficient: str = "cohen"
    weights: str | None = None
    order: Sequence[str] = ()
    bootstrap: Bootstrap
    pairs: bool = False
    plot: Path | None = None
    as_json: bool = False


def kappa_of_logs(source: Input, request: KappaRequest) -> None:
    """Read labels, measure who agrees with whom and print it."""
    coefficient = _one_of("coefficient", request.coefficient, COEFFICIENTS)
    weights = None if request.weights is None else _one_of("weights", request.weights, _WEIGHTS)
    check_drawable(request.plot)
    panel = source.read()
    humans, candidates = _chosen(panel, request)
    table = agreement_table(
        panel,
        humans=humans,
        candidates=candidates,
        coefficient=coefficient,
        weights=weights,
        order=request.order,
        bootstrap=request.bootstrap,
    )
    drawn = [] if request.plot is None else _draw(table, request.plot)
    if request.as_json:
        print_json(table.to_dict())
        return
    _print(table, ", ".join(map(str, source.logs)), drawn, pairs=request.pairs)


def _one_of(kind: str, name: str, known: Sequence[_Name]) -> _Name:
    for candidate in known:
        if candidate == name:
            return candidate
    raise UnknownNameError(kind, name, known)


def _chosen(panel: Panel, request: KappaRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return who is compared with each other, and the candidates beside them."""
    if not request.raters:
        candidates = panel.select(request.candidates, what="candidate")
        return tuple(name for name in panel.raters if name not in candidates), candidates
    return panel.roles(humans=request.raters, candidates=request.candidates, what="rater")


def _draw(table: AgreementTable, folder: Path) -> list[Path]:
    from judgeharness_integrations.agreement.plots import draw_kappa  # noqa: PLC0415 - matplotlib, for plots alone

    return draw_kappa(table, folder)


def _print(table: AgreementTable, source: str, drawn: Sequence[Path], *, pairs: bool) -> None:
    from judgeharness_integrations.cli._kappa_tables import kappa_tables  # noqa: PLC0415 - JSON needs no tables
    from judgeharness_integrations.cli._printing import console, safe  # noqa: PLC0415

    screen = console()
    screen.print(safe(f"agreement in {source}", 200))
    for part in kappa_tables(table, width=screen.width, listed=pairs):
        screen.print(part)
    for path in drawn:
        screen.print(safe(f"drawn: {path}", 400), soft_wrap=True)
