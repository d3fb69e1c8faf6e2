"""What a log knows of a run besides its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from judgeharness_integrations._errors import UnknownNameError

__all__ = ["ORDER_SEED", "RUN_STATES", "RunRecord", "RunState", "check_state"]

RunState: TypeAlias = Literal["running", "complete", "budget_exhausted", "interrupted", "judge_down", "failed"]
ORDER_SEED: Final = "order_seed"  # among the parts: whoever continues a run that is watched asks in the same order
RUN_STATES: tuple[RunState, ...] = get_args(RunState)


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run of a log. Times are ISO 8601 in UTC; what is not known is None.

    `config` (no secrets in it) and `parts` (what the answers depend on) are JSON objects, and so is `prices`.
    """

    run: str
    state: RunState
    created_at: str
    updated_at: str
    version: str
    config: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    planned_cases: int | None = None
    planned_calls: int | None = None
    prices: Any = None
    attempts_spent: int | None = None

    @property
    def until(self) -> bool:
        """Whether it asks until its gates are settled: its cases may be as many as its answers asked for."""
        return ORDER_SEED in self.parts

    @property
    def cases_a_judge(self) -> int | None:
        """How many cases each of its judges was to be asked about; None where that was not noted."""
        judges = len(self.config.get("judges", ()))
        return None if not judges or self.planned_cases is None else self.planned_cases // judges

    @property
    def cases_digest(self) -> str | None:
        """The digest of the content of its cases, in their order; None where it was not noted."""
        found = self.parts.get("cases", {}).get("content")
        return None if found is None else str(found)

    def __post_init__(self) -> None:
        """Refuse a state that does not exist."""
        check_state(self.state)


def check_state(state: str) -> None:
    """Raise an UnknownNameError unless runs can be in this state."""
    if state not in RUN_STATES:
        raise UnknownNameError("run state", state, RUN_STATES)
