"""Labels by rater and item, {annotator: {item: label}}, -> rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.agreement.panels.lists import Lists, is_missing
from judgeharness_integrations.verdictlog.row import VerdictRow, is_number, verdict_from_json, verdict_text

__all__ = ["annotation_rows"]


def annotation_rows(
    cells: Iterable[tuple[str, str, object]], *, labels: bool = False
) -> tuple[list[VerdictRow], tuple[str, ...]]:
    """Return a row for every (rater, item, label), and the labels vectors of 0 and 1 stand for.

    Cells without a label (None, NaN) are left out.

    Raises:
        LogFormatError: a label is none.

    """
    said = [(rater, item, None if is_missing(label) else label) for rater, item, label in cells]
    lists = Lists(label for _, _, label in said)
    repeated: Counter[tuple[str, str]] = Counter()
    rows: list[VerdictRow] = []
    for rater, item, label in said:
        try:
            verdict = verdict_from_json(lists.labels_of(label) if isinstance(label, list) else label)
        except ValueError as error:
            raise LogFormatError(f"item {item!r} of {rater!r}: {error}.") from error
        if verdict is None:
            continue
        text = verdict_text(verdict) if labels and is_number(verdict) else verdict
        rows.append(VerdictRow(case_id=item, judge=rater, verdict=text, repetition=repeated[rater, item]))
        repeated[rater, item] += 1
    return rows, lists.labels
