"""How sure a decision is: by the consistency of its samples, by its margin, or by a column of its rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.cases import CaseDecision, case_consistency
from judgeharness_integrations.analysis.aggregation.deciding import samples_planned
from judgeharness_integrations.verdictlog.row import VerdictRow

COLUMN: Final = "column:"
SCORES: Final = ("consistency", "margin")


def check_score(score: str, rows: Sequence[VerdictRow], *, numeric: bool) -> None:
    """Refuse a score that is none, or that the rows of a criterion do not have.

    Raises:
        UsageError: saying which scores there are.

    """
    if score.startswith(COLUMN):
        column = score.removeprefix(COLUMN)
        known = {name for row in rows for name in row.attributes}
        if column not in known:
            raise UnknownNameError("column", column, known)
    elif score not in SCORES:
        raise UsageError(f"a score is consistency, margin or column:NAME, not {score!r:.60}.")
    elif numeric and score == "margin":
        raise UsageError("verdicts that are numbers have no margin: use the score consistency, or column:NAME.")


def check_numbers(score: str, cases: Iterable[CaseDecision]) -> None:
    """Refuse a column that says something else than a number of a case: nobody could tell how sure that is.

    Raises:
        UsageError: naming the first such case.

    """
    column = score.removeprefix(COLUMN)
    for case in cases if score.startswith(COLUMN) else ():
        for value in (row.attributes[column] for row in case.rows if column in row.attributes):
            if _number(value) is None:
                raise UsageError(
                    f"case {case.case_id!r:.80} says {str(value)!r:.40} in column {column!r:.60}, which tells nobody "
                    "how sure its decision is: give finite numbers, or leave the cell empty."
                )


def counted_samples(case: CaseDecision, score: str) -> int:
    """Return on how many samples the score of a decision stands, those that early stopping spared included.

    Failed ones are none, except of the margin, which they lower: a judge that fails where it is in doubt agrees with
    itself on what is left.
    """
    failed = 0 if score == "margin" else sum(row.verdict is None for row in case.rows)
    return (samples_planned(case.rows) or len(case.rows)) - failed


def sureness(case: CaseDecision, score: str, *, numeric: bool, tolerance: float) -> float | None:
    """Return how sure a decision is, higher being surer; None where the case does not say.

    Args:
        case: the decision and its rows.
        score: `consistency` (`replay.case_consistency`); `margin`: by how many votes the most frequent label
            leads the next one, as a share of all votes, failures included; `column:NAME`: the mean of a numeric column
            of the rows.
        numeric: whether verdicts are numbers.
        tolerance: how far two scores agree, for their consistency.

    """
    if score.startswith(COLUMN):
        return _mean(case.rows, score.removeprefix(COLUMN))
    if score == "margin":
        votes = Counter(row.verdict for row in case.rows if row.verdict is not None).most_common(2)
        lead = [count for _, count in votes] + [0, 0]
        return (lead[0] - lead[1]) / len(case.rows) if case.rows else None
    return case_consistency(case, numeric=numeric, tolerance=tolerance)


def _mean(rows: Sequence[VerdictRow], column: str) -> float | None:
    found = [value for row in rows if (value := _number(row.attributes.get(column))) is not None]
    return math.fsum(found) / len(found) if found else None


def _number(value: str | float | None) -> float | None:
    try:
        number = math.nan if value is None else float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
