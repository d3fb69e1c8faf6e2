"""A calibration and the log it is held against: does it hold for these decisions, and are the cases like its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from judgeharness_integrations.analysis.aggregation.cases import case_decisions
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.calibration.facts import facts_of_decisions
from judgeharness_integrations.analysis.calibration.population import population_of
from judgeharness_integrations.analysis.calibration.saved import (
    CalibrationReport,
    CalibrationState,
    SavedMeasurement,
)
from judgeharness_integrations.analysis.calibration.transport import ShiftTest, shift_test, transported
from judgeharness_integrations.analysis.design import design_changes, design_of_rows
from judgeharness_integrations.verdictlog.row import VerdictRow

_UNKNOWN = "a log does not say which configuration answered: whether judge and prompt are the same is not known"


@dataclass(frozen=True, kw_only=True)
class ReplayAnchor:
    """A calibration beside a replay of one judge: whether it holds, and whether cases are like the labelled ones."""

    judge: str
    source: str
    state: CalibrationState
    shift: ShiftTest | None

    def lines(self) -> tuple[str, ...]:
        """Return what is to be said of it."""
        told = f"{self.judge}: the calibration on {self.source} is {self.state}"
        asked = self.shift is not None and not self.shift.shifted
        return (told, f"{self.judge}: {self.shift.sentence}") if asked and self.shift is not None else (told,)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        shift = None if self.shift is None else self.shift.to_dict()
        return {"judge": self.judge, "source": self.source, **asdict(self.state), "shift": shift}


def replay_state(
    report: SavedMeasurement, rows: Sequence[VerdictRow], rule: Rule, held: CalibrationState | None = None
) -> CalibrationState:
    """Return whether a measurement on labels holds for a rule's decisions about the rows of one judge, case by case.

    Args:
        report: the calibration or certificate.
        rows: of one judge.
        rule: what decides.
        held: whether it held for the run the rows are of; None where nobody knows.

    """
    judge = rows[0].judge
    changes = design_changes(report.known_design, design_of_rows(rows, rule.name))
    if report.judge != judge:
        changes = (f"judge {report.judge} before, {judge} now", *changes)
    if changes:
        return CalibrationState(status="expired", reason="; ".join(changes))
    return CalibrationState(status="unverifiable", reason=_UNKNOWN) if held is None else held


def replay_anchor(
    report: CalibrationReport,
    rows: Sequence[VerdictRow],
    rule: Rule,
    *,
    held: CalibrationState | None = None,
    min_valid: int | None = None,
) -> ReplayAnchor:
    """Return what a calibration is worth for a rule's decisions about the rows of one judge; see `replay_state`."""
    state, shift = replay_state(report, rows, rule, held), None
    if state.status != "expired":
        labelled = report.population
        column, columns = (None, None) if labelled is None else (labelled.column, labelled.columns)
        decided = {
            name: case_decisions(group, rule, min_valid=min_valid)
            for name, group in by_criterion(rows).items()
            if name in report.criteria
        }
        facts = facts_of_decisions(decided, column=column)
        shift = shift_test(labelled, population_of(facts, column=column, columns=columns))
        state = transported(state, shift)
    return ReplayAnchor(judge=rows[0].judge, source=report.name, state=state, shift=shift)
