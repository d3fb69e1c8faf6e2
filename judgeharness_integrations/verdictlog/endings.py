"""How an answer ended, by the word its provider gives for it: a verdict counts only when the answer ended by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CutOff", "Ending", "ending_of"]

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
