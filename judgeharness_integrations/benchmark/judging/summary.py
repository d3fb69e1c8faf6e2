"""What judges said about the pairs they were asked about: shares that are right, failures, and what it took."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self, TypeAlias

from pydantic import Field

from judgeharness_integrations.aggregation.statistics import wilson
from judgeharness_integrations.benchmark.records import Record

__all__ = ["FailureKind", "JudgeDocument", "JudgeSummary", "Mode", "Orders", "RightShare", "Took"]

Mode: TypeAlias = Literal["pairwise", "pointwise"]
Orders: TypeAlias = Literal["both", "one"]


class RightShare(Record):
    """Pairs a judge was right about, of those it answered about in full, with Wilson's 95 % interval; None of none."""

    right: int = Field(ge=0, description="Pairs it was right about; undecided, refused and unparsed ones are not.")
    of: int = Field(ge=0, description="Pairs about which every call was answered; failed calls are no answers.")
    low: float | None = Field(description="Lower end of the interval of the share.")
    high: float | None = Field(description="Upper end of the interval of the share.")

    @classmethod
    def over(cls, hits: Iterable[bool]) -> Self:
        """Return the share of hits."""
        found = list(hits)
        interval = wilson(sum(found), len(found))
        low, high = (None, None) if interval is None else interval
        return cls(right=sum(found), of=len(found), low=low, high=high)

    @property
    def share(self) -> float | None:
        """The share; None of none."""
        return self.right / self.of if self.of else None


class FailureKind(Record):
    """Calls that failed in one way."""

    outcome: str = Field(description="unparsed, refused or error.")
    error: str | None = Field(description="What was raised, where something was.")
    count: int = Field(ge=1, description="Calls.")


class Took(Record):
    """What the answers of a judge took, over all its calls in a mode; None: not all of them say."""

    calls: int = Field(ge=0, description="Calls that were made.")
    attempts: int | None = Field(description="Attempts at them, retries included.")
    input_tokens: int | None = Field(description="Tokens read.")
    output_tokens: int | None = Field(description="Tokens written.")
    cost: float | None = Field(description="Money, by the prices given; None without them.")
    cost_remarks: tuple[str, ...] = Field(
        default=(), description="Why the cost is not known, where it is the most it can be, whose prices it is by."
    )


class JudgeSummary(Record):
    """One judge in one mode, about the pairs it was to be asked about this time."""

    judge: str = Field(description="Its name.")
    mode: Mode = Field(description="Both conversations of a pair at once, or each by itself.")
    pairs: int = Field(ge=0, description="Pairs it is to be asked about.")
    planned_calls: int = Field(ge=0, description="Calls that takes.")
    unanswered_calls: int = Field(ge=0, description="Calls among them that failed, or were not made.")
    verdict: RightShare = Field(description="Right about which conversation is the better one.")
    turn: RightShare = Field(description="Right about the turn of the flaw.")
    type: RightShare = Field(description="Right about its type.")
    joint: RightShare = Field(description="Right about all three.")
    failures: tuple[FailureKind, ...] = Field(description="Calls without a usable answer, most frequent kind first.")
    took: Took = Field(description="What its answers took.")


class JudgeDocument(Record):
    """What one go of asking judges came to."""

    schema_: Literal["judgeharness.benchmark_judge/1"] = Field(
        default="judgeharness.benchmark_judge/1", alias="schema", description="Name and version of this format."
    )
    state: Literal["complete", "budget_exhausted", "interrupted", "judge_down"] = Field(description="How it ended.")
    budget_reason: str | None = Field(description="Why nothing more may be spent, where that ended it.")
    pairs: int = Field(ge=0, description="Pairs that could be judged, those outside the sample too.")
    states: tuple[str, ...] = Field(description="States of the pairs that could be.")
    sample: str | None = Field(description="File of the sample they were limited to.")
    fraction: float = Field(description="Share of them each judge is asked about.")
    seed: int = Field(description="Seed of that choice.")
    orders: Orders = Field(description="Whether pairs are shown in both orders.")
    repetitions: int = Field(ge=1, description="Times each is asked.")
    documents: bool = Field(description="Whether judges are shown the reference text.")
    rules: dict[str, str] = Field(description="Mode -> the rule its answers are folded by.")
    informal: bool = Field(description="Whether pairs were shown in one order only.")
    planned_calls: int = Field(ge=0, description="Calls planned.")
    whole_calls: int = Field(ge=0, description="Calls that asking every judge about every pair would take.")
    judges: tuple[JudgeSummary, ...] = Field(description="The judges, mode by mode.")

    @property
    def unanswered(self) -> int:
        """Calls that failed, or were not made."""
        return sum(one.unanswered_calls for one in self.judges)
