"""A case whose every sample failed: the judge is down, and an evaluator that measures it says so by raising."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from judgeharness_integrations._errors import NotGradedError, UsageError
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["OnNotGraded", "all_failed", "check_on_not_graded", "raise_where_all_failed"]

OnNotGraded: TypeAlias = Literal["raise", "report"]
_LONGEST_QUOTE = 200  # characters
_ADVICE = (
    "check the judge's key, address and model (result.rows of this error hold what each said), or say "
    "on_not_graded='report' to get such a case without a verdict."
)


def check_on_not_graded(choice: object) -> None:
    """Raise a UsageError for what is neither `raise` nor `report`."""
    if choice not in ("raise", "report"):
        raise UsageError(f"on_not_graded is 'raise' or 'report', not {choice!r}.")


def all_failed(result: HarnessResult) -> bool:
    """Whether every sample that was asked failed with an error; a spent budget and an interruption are no such failure.

    An answer that was refused or could not be read is an answer: the judge can be reached.
    """
    if result.state in ("budget_exhausted", "interrupted"):
        return False
    return bool(result.rows) and all(row.outcome == "error" for row in result.rows)


def raise_where_all_failed(results: Sequence[HarnessResult], *, private: bool = False) -> None:
    """Raise for the cases whose samples all failed: the kinds of errors, their counts and what the first one said.

    Args:
        results: every case that was asked, in order.
        private: whether nothing is quoted: LangSmith notes what is raised.

    Raises:
        NotGradedError: there is such a case; it holds all the results.

    """
    failed = [result for result in results if all_failed(result)]
    if not failed:
        return
    rows = [row for result in failed for row in _samples(result)]
    kinds = Counter(row.error_kind or "unnamed error" for row in rows)
    told = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    which = f" of {len(failed)} of {len(results)} cases" if len(results) > 1 else ""
    samples = f"all {len(rows)} samples{which}" if len(rows) > 1 else "the only sample"
    said = "" if private else _first_words(rows)
    raise NotGradedError(f"not graded: {samples} failed ({told}){said}: {_ADVICE}", failed[0], results)


def _first_words(rows: Sequence[VerdictRow]) -> str:
    """Return what the first error said; rows hold it without secrets, and not at all where texts are not kept."""
    texts = ((row.error or "").partition(":")[2].strip() for row in rows)
    first = next(filter(None, texts), None)
    return "" if first is None else f', the first with "{safe_text(first, _LONGEST_QUOTE)}"'


def _samples(result: HarnessResult) -> list[VerdictRow]:
    """Return one row a sample: a call that failed has one for each criterion."""
    return list({(row.perturbation, row.repetition): row for row in result.rows}.values())
