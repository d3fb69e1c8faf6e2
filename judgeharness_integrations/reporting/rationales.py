"""Which of the judge's reasons to show."""

from __future__ import annotations

from collections.abc import Iterable

from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

__all__ = ["dissent", "rationale", "shown_order"]


def _reasoned(result: HarnessResult, criterion: str, verdicts: Iterable[Verdict]) -> VerdictRow | None:
    """Return a row with reasons for the first of the verdicts that has one, unswapped rows first."""
    rows = [row for row in result.rows if row.criterion == criterion and (row.reasoning or row.raw)]
    for verdict in verdicts:
        matching = [row for row in rows if row.verdict == verdict]
        if matching:
            return min(matching, key=lambda row: row.swapped)
    return None


def _side(measured: CriterionResult) -> tuple[list[Verdict], list[Verdict]]:
    """Return the verdicts of the decision's side, strongest first, and those against it."""
    by_count = list(measured.sample_distribution)
    if measured.numeric:
        scores = [float(v) for v in by_count if isinstance(v, (int, float))]
        center = (
            measured.verdict
            if isinstance(measured.verdict, (int, float))
            else (sum(scores) / len(scores) if scores else 0)
        )
        near = sorted(by_count, key=lambda v: abs(float(v) - float(center)))  # type: ignore[arg-type]
        limit = measured.tolerance or 0.0
        return near, [v for v in reversed(near) if abs(float(v) - float(center)) > limit]  # type: ignore[arg-type]
    mine = [v for v in by_count if v == measured.verdict]
    return mine or by_count[:1], [v for v in by_count if v not in (mine or by_count[:1])]


def rationale(result: HarnessResult, criterion: str) -> VerdictRow | None:
    """Return a sample that gives reasons for the decision (for the leading verdict when there is none)."""
    return _reasoned(result, criterion, _side(result.criteria[criterion])[0])


def dissent(result: HarnessResult, criterion: str) -> VerdictRow | None:
    """Return a sample that gives reasons for the strongest verdict against the decision."""
    return _reasoned(result, criterion, _side(result.criteria[criterion])[1])


def shown_order(row: VerdictRow) -> str:
    """Return a note for a rationale whose letters name the texts in swapped order."""
    return " (shown in swapped order)" if row.swapped else ""
