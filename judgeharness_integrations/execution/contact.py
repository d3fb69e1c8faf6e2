"""Whether a judge can be reached: a judge that is down is not asked thousands of times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeharness_integrations.execution.answering import Rows
    from judgeharness_integrations.plan import Plan

__all__ = ["Contact"]

_ENOUGH = 3  # calls that fail for good before any answer
_FEW = 12  # calls that may begin at once, whether or not anybody answers


@dataclass(kw_only=True)
class Contact:
    """What is known of whether a judge answers in a run; it is lost for good only before the first answer.

    Args:
        alone: the first call ends before another one begins.
        made: it has answered; a refusal, or an answer nobody can read, is one, too.
        lost: why it is asked nothing more, as a sentence.
        cases: those whose calls showed that it is down.

    """

    alone: bool = False
    made: bool = False
    lost: str | None = None
    cases: set[str] = field(default_factory=set)
    _failed: int = field(default=0, init=False)

    @classmethod
    def of(cls, plan: Plan | None) -> Contact:
        """Return the contact of a run: many calls about several cases, or nobody knows how many, begin with one."""
        return cls(alone=plan is None or (plan.cases > 1 and plan.calls > _FEW))

    @property
    def room(self) -> float:
        """Calls that may be under way before the first answer: after a failure no more than are needed to be sure."""
        if self._failed:
            return _ENOUGH - self._failed
        return 1 if self.alone else math.inf

    def answered(self) -> None:
        """Note an answer."""
        self.made = True

    def failed(self, rows: Rows, remedy: str | None) -> None:
        """Note a failed call; `remedy` says what mends its error, None for one that may heal by itself."""
        if self.made or remedy is None:
            self.alone = False
            return
        self._failed += 1
        self.cases.add(rows[0].case_id)
        if self._failed == _ENOUGH:
            error = " ".join((rows[0].error or "").split()).rstrip(".")
            self.lost = (
                f"judge {rows[0].judge!r} is down: no call was answered, and {_ENOUGH} failed with {error}; {remedy}"
            )
