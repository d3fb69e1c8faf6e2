"""A case some of whose probes were asked: its answers so far and what may be asked next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeharness_integrations.execution.answering import Rows
    from judgeharness_integrations.execution.observing import Span
    from judgeharness_integrations.execution.preparing import Pending
    from judgeharness_integrations.execution.stopping import Stopping
    from judgeharness_integrations.plan import CasePlan
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["OpenCase", "Slot"]

Slot = tuple[str, int]  # perturbation, repetition


@dataclass(slots=True)
class OpenCase:
    """One case of a run: `pending` are its probes in plan order, with `stopping` asked no further than needed."""

    plan: CasePlan
    span: Span | None
    pending: Sequence[Pending]
    stopping: Stopping | None = None
    rows: list[VerdictRow] = field(default_factory=list)
    answered: int = 0
    rewrites: int = 0
    _released: int = 0
    _settled: bool = False

    @property
    def holds_back(self) -> bool:
        """Whether it has probes that wait for answers to earlier ones."""
        return self._released < len(self.pending) and not self._settled

    @property
    def finished(self) -> bool:
        """Whether every probe that was handed out is answered, and no other is needed."""
        return self.answered == self._released and not self.holds_back

    def known(self, rows: Mapping[Slot, Rows], *, stored: bool) -> None:
        """Give answers that need not be asked for again; `stored`: they are in the log as rows of this run."""
        for pending in self.pending:
            if pending.known is None and (found := rows.get(pending.slot)) is not None:
                pending.known, pending.stored = found, stored

    def known_left(self) -> list[Pending]:
        """Return the probes whose rows are known and were not taken yet, in plan order."""
        return [pending for pending in self.unanswered() if pending.known is not None]

    def unanswered(self) -> list[Pending]:
        """Return the probes without an answer, in plan order."""
        taken = {(row.perturbation, row.repetition) for row in self.rows}
        return [pending for pending in self.pending if pending.slot not in taken]

    @property
    def complete(self) -> bool:
        """Whether every probe is answered, or no other is needed."""
        if self.answered == len(self.pending):
            return True
        return self.stopping is not None and self._needed(self.stopping) == 0

    def _needed(self, stopping: Stopping) -> int:
        return stopping.needed(self.in_plan_order(), [pending.perturbation.swaps for pending in self.unanswered()])

    def add(self, rows: Rows) -> None:
        """Take the rows of one call."""
        self.rows.extend(rows)
        self.answered += 1

    def released(self) -> list[Pending]:
        """Return the probes that may be asked now, which from then on count as handed out."""
        first = self._released
        if self.stopping is None:
            self._released = len(self.pending)
        elif self.answered == first:  # decided in plan order, so never while answers are on their way
            needed = self._needed(self.stopping)
            self._settled = needed == 0
            self._released = min(first + needed, len(self.pending))
        return list(self.pending[first : self._released])

    def in_plan_order(self) -> list[VerdictRow]:
        """Return the rows so far, perturbation by perturbation and repetition by repetition."""
        order = {perturbation.name: place for place, perturbation in enumerate(self.plan.perturbations)}
        return sorted(self.rows, key=lambda row: (order[row.perturbation], row.repetition))
