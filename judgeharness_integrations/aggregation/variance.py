"""Where the spread of verdicts comes from: cases, perturbations within a case, repetitions within a perturbation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number

__all__ = ["VarianceSplit", "variance_split"]


@dataclass(frozen=True, kw_only=True)
class VarianceSplit:
    """Variance components of one criterion, in squared units of the score (or of the 0/1 indicator).

    None means not estimable: one case only, one perturbation a case, one repetition. Components that came out
    negative are 0 and named in `clipped`.
    """

    between_cases: float | None
    between_perturbations: float | None
    between_repetitions: float | None
    clipped: tuple[str, ...] = ()

    @property
    def reliability(self) -> float | None:
        """ICC(1) of a single sample: the share of the variance that lies between cases."""
        parts = (self.between_cases, self.between_perturbations or 0.0, self.between_repetitions or 0.0)
        if parts[0] is None or not (total := sum(part for part in parts if part is not None)):
            return None
        return parts[0] / total


def _spread(values: Sequence[float]) -> float:
    center = sum(values) / len(values)
    return sum((value - center) ** 2 for value in values)


def _numbers(rows: Iterable[VerdictRow], positive: Verdict) -> dict[str, dict[str, list[float]]]:
    table: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.verdict is not None:
            value = float(row.verdict) if is_number(row.verdict) else float(row.verdict == positive)  # type: ignore[arg-type]
            table.setdefault(row.case_id, {}).setdefault(row.perturbation, []).append(value)
    return table


def variance_split(rows: Iterable[VerdictRow], *, positive: Verdict = "PASS") -> VarianceSplit:
    """Split the variance of one judge and criterion by nested ANOVA with moments (unbalanced sizes allowed).

    Labels enter as the indicator of `positive`. Source: Searle, Casella, McCulloch, Variance Components, ch. 3.
    """
    table = _numbers(rows, positive)
    cells = [cell for case in table.values() for cell in case.values()]
    cases = [[value for cell in case.values() for value in cell] for case in table.values()]
    everything = [value for case in cases for value in case]
    total, n_cells, n_cases = len(everything), len(cells), len(cases)
    within = sum(map(_spread, cells)) / (total - n_cells) if total > n_cells else None
    squares = {
        "cells": sum(len(cell) ** 2 for cell in cells) / max(total, 1),
        "cases": sum(len(case) ** 2 for case in cases) / max(total, 1),
        "nested": sum(
            sum(len(cell) ** 2 for cell in case.values()) / sum(map(len, case.values())) for case in table.values()
        ),
    }
    between_perturbations: float | None = None
    if n_cells > n_cases and within is not None:
        mean_square = (sum(map(_spread, cases)) - sum(map(_spread, cells))) / (n_cells - n_cases)
        between_perturbations = (mean_square - within) * (n_cells - n_cases) / (total - squares["nested"])
    between_cases: float | None = None
    if n_cases > 1 and within is not None:
        mean_square = (_spread(everything) - sum(map(_spread, cases))) / (n_cases - 1)
        lower = within + (between_perturbations or 0.0) * (squares["nested"] - squares["cells"]) / (n_cases - 1)
        between_cases = (mean_square - lower) * (n_cases - 1) / (total - squares["cases"])
    return _clipped(between_cases, between_perturbations, within)


def _clipped(cases: float | None, perturbations: float | None, repetitions: float | None) -> VarianceSplit:
    parts = {"cases": cases, "perturbations": perturbations, "repetitions": repetitions}
    return VarianceSplit(
        between_cases=None if cases is None else max(0.0, cases),
        between_perturbations=None if perturbations is None else max(0.0, perturbations),
        between_repetitions=repetitions,
        clipped=tuple(name for name, value in parts.items() if value is not None and value < 0),
    )
