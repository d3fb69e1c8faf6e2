"""What a calibration looks like, as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.reporting.figures import legend_below, new_figure, plain_name, save_figure, series_style

if TYPE_CHECKING:
    from judgeharness_integrations.calibration.report import CalibrationReport

__all__ = ["draw_risk_coverage"]


def draw_risk_coverage(report: CalibrationReport, folder: Path) -> list[Path]:
    """Draw accuracy against coverage, a line and its 95 % interval for each criterion, and return the files.

    Raises:
        NotInstalledError: matplotlib is not installed.
        UsageError: no decision of the report has a confidence to order it by.

    """
    curves = {name: one.risk_coverage for name, one in report.criteria.items() if one.risk_coverage is not None}
    if not curves:
        raise UsageError("there is no risk-coverage curve to draw: no decision was made from several samples.")
    figure, (axes,) = new_figure(1, width=5.6, height=4.2)
    for place, (name, curve) in enumerate(curves.items()):
        style = series_style(place)
        coverage = [point.coverage for point in curve.points]
        low, high = [point.low for point in curve.points], [point.high for point in curve.points]
        axes.fill_between(coverage, low, high, color=style["color"], alpha=0.15, linewidth=0)
        accuracy = [point.accuracy for point in curve.points]
        axes.plot(coverage, accuracy, label=plain_name(f"{name} ({curve.n} labelled)", 60), **style)
    axes.set(xlabel="coverage: share of all labelled items that is decided", ylabel="accuracy of what is decided")
    axes.set(xlim=(0, 1.02), ylim=(None, 1.005))
    axes.set_title(plain_name(f"risk and coverage: {report.judge}", 60), loc="left")
    legend_below(figure, axes)
    return save_figure(figure, folder, "risk_coverage")
