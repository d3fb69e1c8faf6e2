"""One row of the verdict log: one answer of one judge to one probe about one criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = [
    "ABSTAIN",
    "EVERY_CRITERION",
    "FIRST_ROW_ONLY",
    "OUTCOMES",
    "TOKENS",
    "Label",
    "Outcome",
    "RowKey",
    "Verdict",
    "VerdictRow",
    "is_number",
    "verdict_from_json",
    "verdict_text",
    "verdict_to_json",
]

Label: TypeAlias = str
Verdict: TypeAlias = str | int | float | frozenset[str]
Outcome: TypeAlias = Literal["ok", "unparsed", "refused", "error"]
RowKey: TypeAlias = "tuple[str, str, str, str, str, int]"

OUTCOMES: tuple[Outcome, ...] = ("ok", "unparsed", "refused", "error")
ABSTAIN = "ABSTAIN"
EVERY_CRITERION = "*"  # the criterion of a call that failed before its criteria were known
TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens")
FIRST_ROW_ONLY = ("raw", *TOKENS, "latency_s", "attempts")  # of the rows of one call
LARGEST_SCORE = 1e100  # no scale reaches it, and sums and squares of scores below it stay finite


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """One answer, in the canonical frame: already mapped back through the perturbation's inverse.

    `verdict` is None exactly when `outcome` is not `ok`. `call_id` joins the rows of one judge call;
    tokens, latency (seconds), attempts and raw text stand on the first of them, so that sums are right.
    `input_tokens` are all tokens read; `cached_input_tokens` and `cache_write_tokens` are those of them that the
    provider read from its prompt cache or wrote to it. `service_tier` is the tier that served the call and
    `finish_reason` how the answer ended, both in the provider's word.
    `probe_hash` identifies what was asked of whom: judge, shown content, perturbation and repetition.
    """

    case_id: str
    verdict: Verdict | None
    run: str = ""
    judge: str = "judge"
    criterion: str = "verdict"
    perturbation: str = "none"
    repetition: int = 0
    swapped: bool = False
    outcome: Outcome = "ok"
    gold: Verdict | None = None
    call_id: str | None = None
    reasoning: str | None = None
    raw: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    service_tier: str | None = None
    finish_reason: str | None = None
    latency_s: float | None = None
    attempts: int | None = None
    error: str | None = None
    asked_at: str | None = None
    probe_hash: str | None = None
    attributes: Mapping[str, str | float] = field(default_factory=dict)

    @property
    def key(self) -> RowKey:
        """What identifies the row: run, case, judge, criterion, perturbation, repetition."""
        return (self.run, self.case_id, self.judge, self.criterion, self.perturbation, self.repetition)

    @property
    def ok(self) -> bool:
        """Whether the row holds a verdict."""
        return self.verdict is not None

    @property
    def error_kind(self) -> str | None:
        """What kind of error the call failed with (`TimeoutError`), without what it said."""
        return None if self.error is None else self.error.partition(":")[0]


def is_number(verdict: object) -> bool:
    """Whether a verdict is a finite number of at most 1e100 in size (a bool is not)."""
    return isinstance(verdict, (int, float)) and not isinstance(verdict, bool) and abs(verdict) <= LARGEST_SCORE


def verdict_text(verdict: Verdict | None) -> str:
    """Render a verdict for people: whole numbers without a point, sets in braces."""
    if verdict is None:
        return "-"
    if isinstance(verdict, frozenset):
        return "{" + ", ".join(sorted(verdict)) + "}"
    return f"{verdict:.12g}" if isinstance(verdict, float) else str(verdict)


def verdict_to_json(verdict: Verdict | None) -> str | float | list[str] | None:
    """Return a verdict as JSON keeps it: a set becomes a sorted list."""
    return sorted(verdict) if isinstance(verdict, frozenset) else verdict


def verdict_from_json(value: object) -> Verdict | None:
    """Return the verdict a JSON value stands for; a list of texts is a set of labels.

    Raises:
        ValueError: the value cannot be a verdict (NaN, infinite, a nested list, an object).

    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "PASS" if value else "FAIL"
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, (int, float)):
        if not is_number(value):
            msg = f"a score must be a finite number of at most 1e100 in size, not {value!r:.40}"
            raise ValueError(msg)
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        if not all(isinstance(label, str) and label for label in value):
            msg = "a set of labels must hold non-empty texts only"
            raise ValueError(msg)
        return frozenset(value)
    msg = f"a verdict is a label, a number or a list of labels, not {type(value).__name__}"
    raise ValueError(msg)
