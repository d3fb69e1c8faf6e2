"""One row of the verdict log: one answer of one judge to one probe about one criterion."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, TypeAlias

__all__ = [
    "ABSTAIN",
    "EVERY_CRITERION",
    "EXCHANGED",
    "FIRST_ROW_ONLY",
    "OUTCOMES",
    "PROBE",
    "PROBE_PROPERTIES",
    "RETEST",
    "TOKENS",
    "CaseKey",
    "CutOff",
    "Ending",
    "Label",
    "ModelUsage",
    "Outcome",
    "ProbeName",
    "RowKey",
    "Side",
    "Verdict",
    "VerdictRow",
    "ending_of",
    "expected_level",
    "finite_number",
    "is_number",
    "is_probe",
    "most_probable",
    "plainness",
    "probabilities_from_json",
    "probe_name",
    "verdict_from_json",
    "verdict_text",
    "verdict_to_json",
    "voting",
]


Label: TypeAlias = str
Verdict: TypeAlias = str | int | float | frozenset[str]
Outcome: TypeAlias = Literal["ok", "unparsed", "refused", "error"]
RowKey: TypeAlias = "tuple[str, str, str, str, str, int]"
CaseKey: TypeAlias = "tuple[str, str, str]"
OUTCOMES: tuple[Outcome, ...] = ("ok", "unparsed", "refused", "error")
ABSTAIN = "ABSTAIN"
# what one of two answers is in the other order
EXCHANGED: Final[Mapping[Verdict, Literal["A", "B"]]] = {"A": "B", "B": "A"}
EVERY_CRITERION = "*"  # the criterion of a call that failed before its criteria were known
TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens")
FIRST_ROW_ONLY = ("raw", *TOKENS, "latency_s", "attempts")  # of the rows of one call
_FEWEST_OPTIONS = 2
_ROUNDED = 0.01  # by which a probability may be off, where a provider rounds
_LARGEST_GAP = 0.5  # of a sum of many of them: what says nothing about any option is no answer
LARGEST_SCORE = 1e100  # no scale reaches it, and sums and squares of scores below it stay finite


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """One answer, in the canonical frame: already mapped back through the perturbation's inverse.

    `verdict` is None exactly when `outcome` is not `ok`, with one exception: an answer that is for no label. Either its
    `probabilities` have no highest one, or it is the vote of a panel's member that abstained, which files write as
    `ABSTAIN`. Probabilities are of every label, or of the text of every level of a score, as the judge gave them.
    `call_id` joins the rows of one judge call; tokens, latency (seconds), attempts and raw text stand on the first of
    them, so that sums are right. `input_tokens` are all tokens read; `cached_input_tokens` and `cache_write_tokens` are
    those of them that the provider read from its prompt cache or wrote to it. `service_tier` is the tier that served
    the call and `finish_reason` how the answer ended, both in the provider's word.
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
    probabilities: Mapping[str, float] | None = None
    attributes: Mapping[str, str | float] = field(default_factory=dict)

    @property
    def key(self) -> RowKey:
        """What identifies the row: run, case, judge, criterion, perturbation, repetition."""
        return (self.run, self.case_id, self.judge, self.criterion, self.perturbation, self.repetition)

    @property
    def case_key(self) -> CaseKey:
        """The rows that are decided together: run, judge, case."""
        return (self.run, self.judge, self.case_id)

    @property
    def ok(self) -> bool:
        """Whether the row holds a verdict."""
        return self.verdict is not None

    @property
    def answered(self) -> bool:
        """Whether the judge answered: with a verdict, or with probabilities of which none is the highest."""
        return self.outcome == "ok"

    @property
    def abstains(self) -> bool:
        """Whether it is the vote of a panel's member that abstained: an answer without verdict and probabilities."""
        return self.verdict is None and self.outcome == "ok" and self.probabilities is None

    @property
    def error_kind(self) -> str | None:
        """What kind of error the call failed with (`TimeoutError`), without what it said."""
        return None if self.error is None else self.error.partition(":")[0]


def is_number(verdict: object) -> bool:
    """Whether a verdict is a finite number of at most 1e100 in size (a bool is not)."""
    return isinstance(verdict, (int, float)) and not isinstance(verdict, bool) and abs(verdict) <= LARGEST_SCORE


def finite_number(value: str | float | None) -> float | None:
    """Return a text or a number as a finite number, None where it is none."""
    try:
        number = math.nan if value is None else float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


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


def probabilities_from_json(value: object) -> dict[str, float] | None:
    """Return option -> probability as JSON or a client gave it; None for nothing.

    They are kept as given: rounded ones need not sum to 1 exactly, and an option may have none of it.

    Raises:
        ValueError: it is no mapping of two texts or more to probabilities that sum to 1, up to .01 each and .5 in all.

    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        msg = f"probabilities are an object of option and probability, not {type(value).__name__}"
        raise ValueError(msg)  # noqa: TRY004 - one kind of error for whatever a file holds
    if len(value) < _FEWEST_OPTIONS or not all(isinstance(name, str) and name for name in value):
        msg = "probabilities must name at least two options"
        raise ValueError(msg)
    if not all(is_number(share) and 0 <= share <= 1 for share in value.values()):
        msg = "a probability must be a number from 0 to 1"
        raise ValueError(msg)
    if abs(sum(value.values()) - 1) > min(_ROUNDED * len(value), _LARGEST_GAP):
        msg = f"the probabilities of all options must sum to 1, not {sum(value.values()):.4g}"
        raise ValueError(msg)
    return {name: float(share) for name, share in value.items()}


def most_probable(probabilities: Mapping[str, float]) -> str | None:
    """Return the label of the highest probability; of several, `TIE` where it is an option, else None."""
    highest = max(probabilities.values())
    leading = [label for label, share in probabilities.items() if share == highest]
    if len(leading) == 1:
        return leading[0]
    return "TIE" if "TIE" in probabilities else None


def expected_level(probabilities: Mapping[str, float]) -> float:
    """Return the expected level of a score; options are the texts of its levels.

    Raises:
        ValueError: an option is no number.

    """
    total = sum(probabilities.values())
    return sum(float(level) * share for level, share in probabilities.items()) / total


Side: TypeAlias = Literal["a", "b"]
PROBE = "probe:"
RETEST = "retest"  # the same question once more, which tells how far answers move by themselves
PROBE_PROPERTIES: tuple[str, ...] = (  # what reports say of the probes that come with the product, in this order
    "injection.direct_order",
    "injection.system_message",
    "injection.own_format",
    "injection.delimiter",
    "injection.role_play",
    "injection.encoded",
    "injection.non_english",
    "authority",
    "verbosity",
    "self_praise",
    "confident_tone",
    "chain_of_thought",
    "model_name",
    "sentinel.empty",
    "sentinel.off_topic",
    "sentinel.copy",
)
_BEGINS = re.compile(r"(?:^|\+)" + PROBE)  # somebody's own `subprobe:1` is none
_NAME = re.compile(r"probe:([a-z_]{1,40})(?:\.([a-z0-9_]{1,40}))?(?:\(([ab])\))?")


@dataclass(frozen=True, kw_only=True)
class ProbeName:
    """What the name of a probe says; `side` is the changed answer of a pair, in the frame of the case."""

    family: str
    variant: str | None = None
    side: Side | None = None

    @property
    def property(self) -> str:
        """The name without the side: `injection.direct_order`."""
        return self.family if self.variant is None else f"{self.family}.{self.variant}"

    def __str__(self) -> str:
        """Return the name as it stands in the log."""
        return PROBE + self.property + ("" if self.side is None else f"({self.side})")


@lru_cache(maxsize=4096)
def probe_name(perturbation: str) -> ProbeName | None:
    """Return what the probe in a row's perturbation is called; None where there is none."""
    for part in perturbation.split("+"):
        if (found := _NAME.fullmatch(part)) is not None:
            side: Side | None = "a" if found[3] == "a" else "b" if found[3] == "b" else None
            return ProbeName(family=found[1], variant=found[2], side=side)
    return None


def is_probe(perturbation: str) -> bool:
    """Whether a perturbation holds an adversarial probe, or is the retest: its rows do not vote."""
    return perturbation == RETEST or (PROBE in perturbation and _BEGINS.search(perturbation) is not None)


def voting(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return the rows that vote in a verdict: those of adversarial probes and of the retest do not."""
    return [row for row in rows if not is_probe(row.perturbation)]


def plainness(perturbation: str, repetition: int) -> tuple[bool, str, int]:
    """Return the rank of an answer among those to a case: the lowest is to its plainest question."""
    return perturbation != "none", perturbation, repetition


Ending: TypeAlias = Literal["complete", "cut_off", "refused"]
_MANY = 0.05  # of the answers: more than a few long ones
# As OpenAI, Anthropic, Gemini, Bedrock, Cohere, Ollama and the servers of open models say it, in lower case.
_COMPLETE = frozenset(
    {"stop", "end_turn", "stop_sequence", "stop_token", "eos", "eos_token", "complete", "completed", "end", "done"}
    | {"tool_calls", "tool_call", "tool_use", "function_call"}
)
_REFUSED = (
    *("refus", "content_filter", "content_block", "block", "safety", "recitation", "prohibited", "spii", "toxic"),
    *("guardrail", "model_armor", "jailbreak", "policy", "language"),
)


@lru_cache(maxsize=256)
def ending_of(finish_reason: str | None) -> Ending:
    """Return what a finish reason means, in upper or lower case; a provider that gives none says nothing against it.

    A word that is not known is no sign that the answer came to its own end: `cut_off`.
    """
    word = (finish_reason or "").strip().lower()
    if not word or word in _COMPLETE:
        return "complete"
    return "refused" if any(part in word for part in _REFUSED) else "cut_off"


@dataclass
class CutOff:
    """Counts answers that were cut off: `add` the rows of a judge, those of one call together."""

    answers: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Iterable[VerdictRow]) -> None:
        """Take in rows; a call about several criteria is one answer, one that failed is none."""
        ends = {
            (row.run, row.judge, row.call_id or row.key): None if row.ok else row.finish_reason
            for row in rows
            if row.outcome != "error"
        }
        self.answers += len(ends)
        self.reasons.update(reason for reason in ends.values() if reason and ending_of(reason) == "cut_off")

    @property
    def alert(self) -> str | None:
        """What to say first of a run that lost many answers so, and what to do; None where there were few."""
        lost = self.reasons.total()
        if not lost or lost < _MANY * self.answers:
            return None
        words = ", ".join(reason for reason, _ in self.reasons.most_common())
        return (
            f"{lost} of {self.answers} answers were cut off (finish reason {words}) and hold no verdict: "
            "let the judge's model write more output tokens"
        )


@dataclass(frozen=True, kw_only=True)
class ModelUsage:
    """What one judge used of one model and tier in a run. Sums that nothing was reported for are None.

    Rows that share a `call_id` are one call, a row without one is a call of its own. An answer is paid for when its
    call did not fail, or failed with replies that were billed, was not re-used and did not come from a cache; tokens
    are those of such answers alone.

    Args:
        judge: its name.
        model: as the rows name it.
        service_tier: that served, as the rows name it.
        rows: number of rows.
        cases: cases with a row.
        calls: calls with a row.
        reused_calls: calls that an earlier run paid for.
        made_calls: calls that were made: neither re-used nor given up before the first attempt.
        unreported_calls: answers paid for that reported no tokens.
        unpriced_calls: answers paid for that did not report both counts, so that their cost is not known.
        attempts: attempts of all calls.
        input_tokens: tokens read.
        output_tokens: tokens written.
        cached_input_tokens: tokens read from the provider's prompt cache, among `input_tokens`.
        cache_write_tokens: tokens written to that cache, among them as well.
        latency_s: sum over calls, in seconds.
        errors: rows of calls that failed.
        largest_input: the most tokens one call read.
        largest_output: the most tokens one call wrote.
        largest_cache_write: the most tokens one call wrote to the provider's prompt cache.
        least_cached_input: the fewest tokens one call read from that cache.

    """

    judge: str
    model: str | None
    service_tier: str | None = None
    rows: int
    cases: int
    calls: int
    reused_calls: int = 0
    made_calls: int = 0
    unreported_calls: int = 0
    unpriced_calls: int = 0
    attempts: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    latency_s: float | None = None
    errors: int = 0
    largest_input: int | None = None
    largest_output: int | None = None
    largest_cache_write: int | None = None
    least_cached_input: int | None = None
