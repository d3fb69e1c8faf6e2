"""What a case came to - decided, abstained or not graded, never collapsed - and the table from before to after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judgeharness_integrations.aggregation.decision import Status
from judgeharness_integrations.aggregation.statistics import within
from judgeharness_integrations.result import CriterionResult
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

__all__ = ["NOT_GRADED", "State", "Transition", "flipped", "state_of", "transitions"]

NOT_GRADED = "not graded"


@dataclass(frozen=True, slots=True)
class State:
    """A status with its verdict: `ABSTAIN` when abstained, None when not graded."""

    status: Status
    verdict: Verdict | None

    def __str__(self) -> str:
        """Return the verdict, or that it is not graded."""
        return NOT_GRADED if self.verdict is None else verdict_text(self.verdict)


@dataclass(frozen=True, kw_only=True)
class Transition:
    """How many cases went from one state to another. Of scores, `before` and `after` are statuses or directions."""

    before: str
    after: str
    count: int


def state_of(measured: CriterionResult) -> State:
    """Return what a criterion of a case came to."""
    return State(measured.status, measured.verdict)


def flipped(before: State, after: State, tolerance: float | None) -> bool:
    """Whether a decision became another one; scores do where they moved by more than the tolerance."""
    if before.status != after.status:
        return True
    if tolerance is None or not isinstance(before.verdict, (int, float)) or not isinstance(after.verdict, (int, float)):
        return before.verdict != after.verdict
    return not within(before.verdict, after.verdict, tolerance)


def transitions(states: Sequence[tuple[State, State]], *, numeric: bool) -> tuple[Transition, ...]:
    """Return the whole table, most frequent first; every case is in it once."""
    pairs: Iterable[tuple[str, str]] = (
        _directed(*pair) if numeric else (str(pair[0]), str(pair[1])) for pair in states
    )
    counts = sorted(Counter(pairs).items(), key=lambda item: (-item[1], item[0]))
    return tuple(Transition(before=before, after=after, count=count) for (before, after), count in counts)


def _directed(before: State, after: State) -> tuple[str, str]:
    """Return a pair of scores as its direction, anything else as statuses."""
    if not isinstance(before.verdict, (int, float)) or not isinstance(after.verdict, (int, float)):
        return (_status(before), _status(after))
    if before.verdict == after.verdict:
        return "score", "same score"
    return "score", "higher score" if after.verdict > before.verdict else "lower score"


def _status(state: State) -> str:
    return "score" if state.status == "decided" else str(state)
