"""Which of the judge's reasons to show."""

from __future__ import annotations

import math
from collections.abc import Sequence

from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

__all__ = ["dissent", "rationale", "shown_order"]


def _reasoned(result: HarnessResult, criterion: str, verdicts: Sequence[Verdict]) -> VerdictRow | None:
    """Return a row with reasons for the first of the verdicts that has one, unswapped rows first."""
    if not verdicts:
        return None
    rows = [row for row in result.rows if row.criterion == criterion and _is_text(row.reasoning or row.raw)]
    for verdict in verdicts:
        matching = [row for row in rows if row.verdict == verdict]
        if matching:
            return min(matching, key=lambda row: row.swapped)
    return None


def _is_text(reasons: str | None) -> bool:
    return bool(reasons) and not str(reasons).startswith("sha256:")  # kept as a hash


def _side(measured: CriterionResult) -> tuple[list[Verdict], list[Verdict]]:
    """Return the verdicts of the decision's side, strongest first, and those against it."""
    by_count = list(measured.sample_distribution)
    if measured.numeric:
        far = {verdict: abs(float(verdict) - _center(measured)) for verdict in by_count}  # type: ignore[arg-type]
        near = sorted(by_count, key=far.__getitem__)
        return near, [verdict for verdict in reversed(near) if far[verdict] > (measured.tolerance or 0.0)]
    mine = [verdict for verdict in by_count if verdict == measured.verdict] or by_count[:1]
    return mine, [verdict for verdict in by_count if verdict not in mine]


def _center(measured: CriterionResult) -> float:
    if isinstance(measured.verdict, (int, float)):
        return float(measured.verdict)
    counts = measured.sample_distribution.items()
    return math.fsum(float(score) * count for score, count in counts) / measured.valid  # type: ignore[arg-type]


def rationale(result: HarnessResult, criterion: str) -> VerdictRow | None:
    """Return a sample that gives reasons for the decision (for the leading verdict when there is none)."""
    return _reasoned(result, criterion, _side(result.criteria[criterion])[0])


def dissent(result: HarnessResult, criterion: str) -> VerdictRow | None:
    """Return a sample that gives reasons for the strongest verdict against the decision."""
    return _reasoned(result, criterion, _side(result.criteria[criterion])[1])


def shown_order(row: VerdictRow) -> str:
    """Return a note for a rationale whose letters name the texts in swapped order."""
    return " (shown in swapped order)" if row.swapped else ""
