"""Judges together and judges' scores as tables: what a panel is worth, how far apart scores put the two answers."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from judgeharness_integrations.cli._agreement_printing import Row, limits, number, titled
from judgeharness_integrations.cli._printing import percent, safe
from judgeharness_integrations.ranking.portfolio import Portfolio
from judgeharness_integrations.ranking.report import RankReport
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["panel_notes", "panel_table", "score_gap_notes", "score_gap_table"]


def panel_table(report: RankReport) -> RenderableType:
    """Return how independently judges err, and what their majority reaches, a row a panel."""
    every = len(report.panels[-1].judges)
    pairs = {one.pairs for one in report.panels}
    same = len(pairs) == 1  # so many stand in the title, and in no column
    rows: list[Row] = [
        [
            f"all {every}" if len(one.judges) == every else f"best {len(one.judges)}",
            *([] if same else [str(one.pairs)]),
            number(one.correlation, 2),
            limits(one.correlation_ci95, 2),
            number(one.effective, 1),
            percent(one.majority),
            limits(None if one.majority_ci95 is None else _percents(one.majority_ci95), 1),
            percent(one.independent),
            percent(one.best),
        ]
        for one in report.panels
    ]
    told = ("phi", "95 %", "worth", "majority", "95 %", "if inde-\npendent", "best\nalone")
    of = f"{next(iter(pairs))} pairs" if same else "pairs"
    return titled(
        f"several judges together, in per cent of {of}", ("judges", *(() if same else ("pairs",)), *told), rows
    )


def _percents(ends: tuple[float, float]) -> tuple[float, float]:
    return 100 * ends[0], 100 * ends[1]


def panel_notes(report: RankReport) -> Iterator[str]:
    """Yield what the numbers of panels mean, what is missing, and why."""
    best = "; the best are chosen by these pairs, which flatters them" if len(report.panels) > 1 else ""
    yield (
        "phi: mean correlation of the errors of two judges; worth: as many independent judges; majority: more than "
        f"half are right{best}"
    )
    for one in report.panels:
        if one.reason:
            yield f"{len(one.judges)} judges together: {one.reason}"
        if one.left_out and one.pairs:
            yield f"{len(one.judges)} judges together: {one.left_out} more pairs were not asked of every one of them"
    alike = sorted({name for one in report.panels for name in one.alike})
    if alike:
        names = ", ".join(map(safe_text, alike))
        yield f"without phi, since they are right, or wrong, in too few pairs: {names}"


def score_gap_table(made: Portfolio) -> RenderableType:
    """Return how far apart scores put the better and the worse answer, a row a judge and criterion."""
    rows: list[Row] = [
        [
            safe(one.judge, 40),
            safe(one.criterion, 30),
            str(one.pairs),
            number(one.mean, 2),
            limits(one.ci95, 2),
            percent(one.right / one.pairs if one.pairs else None),
            percent(one.ties / one.pairs if one.pairs else None),
            str(one.unscored),
        ]
        for one in made.score_gaps
    ]
    columns = ("judge", "criterion", "pairs", "gap", "95 %", "gap > 0", "ties", "un-\nscored")
    return titled("scores of single answers: the better minus the worse, in points", columns, rows, texts=2)


def score_gap_notes(made: Portfolio) -> Iterator[str]:
    """Yield what the numbers of gaps mean, and why one is missing."""
    yield "gap: mean over pairs, and its interval; gap > 0, ties: per cent of pairs; unscored: lack a score of a side"
    for one in made.score_gaps:
        if not one.pairs:
            yield f"{safe_text(one.judge)} scored both answers of no pair: no gap"
