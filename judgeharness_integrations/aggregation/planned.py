"""What rows tell about samples that were planned for their case: only those of early stopping tell anything."""

from __future__ import annotations

from collections.abc import Iterable

from judgeharness_integrations.verdictlog.row import VerdictRow, is_number

__all__ = ["PLANNED_SAMPLES", "samples_planned"]

PLANNED_SAMPLES = "planned_samples"  # attribute of the rows of a case that early stopping may have cut short


def samples_planned(rows: Iterable[VerdictRow]) -> int:
    """Return how many samples the rows of one case say were planned for it with early stopping; 0 where none does.

    Such a sample has no fixed size, whether or not it was cut short: rates that compare what was asked early with
    what was asked late are those of the cases that went on, the divided ones.
    """
    most = 0
    for row in rows:
        if PLANNED_SAMPLES in row.attributes:
            most = max(most, _whole(row.attributes[PLANNED_SAMPLES]))
    return most


def _whole(value: str | float) -> int:
    """Return a whole number, which a CSV file holds as text; 0 for what is none."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else 0
    return int(value) if is_number(value) else 0
