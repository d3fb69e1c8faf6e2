"""What `judgeharness calibrate --log` does: the decisions of a rule about an existing log against its gold column."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion, is_numeric
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.calibration import (
    CalibrationReport,
    CalibrationSet,
    CriterionCalibration,
    Judged,
    LabelledItem,
    measure_calibration,
)
from judgeharness_integrations.calibration.designs import design_of_rows
from judgeharness_integrations.calibration.joining import joined, read_gold
from judgeharness_integrations.cli._calibration_output import EXPLORATORY, Request, deliver, refuse_same
from judgeharness_integrations.cli._failures import without_replay_advice
from judgeharness_integrations.cli._reading import rows_of_log
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.replay import case_consistency, case_decisions, rows_of_judges
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog import VerdictRow

__all__ = ["calibrate_log", "decided_items", "rows_of_one"]


def calibrate_log(log: Path, rule: str | None, request: Request) -> None:
    """Measure a rule's decisions about an existing log against its gold column."""
    if rule is None:
        raise UsageError("--log needs --rule: which rule's decisions are to be measured?")
    check_drawable(request.plot)
    if request.out is not None:
        check_file(request.out)
        refuse_same("--out", request.out, log, request.labels)
    chosen = rule_of(rule)
    with without_replay_advice():
        judge, answered = rows_of_one(log, request.judge, request.run)
        labelled, rows, notes = _labelled(answered, log, request)
        criteria = _criteria(rows, chosen, request.positive)
    report = CalibrationReport(
        name=labelled.name,
        judge=judge,
        source=labelled.source,
        consensus=labelled.consensus,
        excluded_ties=labelled.golds()[1],
        criteria=criteria,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        parts=None,
        items=tuple(item for item in decided_items(rows, chosen) if item.gold is not None),
        design=design_of_rows(rows, chosen.name),
    )
    if request.as_json:
        for note in notes:
            typer.echo(safe_text(note), err=True)
    deliver(report, request, f"rule: {chosen.name}", EXPLORATORY, *map(safe_text, notes))


def _labelled(
    rows: Sequence[VerdictRow], log: Path, request: Request
) -> tuple[CalibrationSet, Sequence[VerdictRow], tuple[str, ...]]:
    """Return the labels, the rows with them, and what is to be said: of a file, where one is given, or of the log."""
    if request.labels is None:
        if all(row.gold is None for row in rows):
            raise UsageError(f"{log}: no row carries a gold label: give the labels as --labels FILE (case_id, gold).")
        # through the label set, so that its source is checked the same way
        name = request.name or log.name.split(".")[0]
        return CalibrationSet.from_rows(rows, name=name, source=request.source), rows, ()
    labels = read_gold(request.labels, name=request.name, source=request.source)
    found = joined(rows, labels)
    return labels, found.rows, found.notes(str(request.labels))


def rows_of_one(log: Path, judge: str | None, run: str | None) -> tuple[str, list[VerdictRow]]:
    """Return the judge and its rows, of one run where one is named; a log of several judges needs a name."""
    groups = rows_of_judges(rows_of_log(log, run=run), None if judge is None else [judge])
    if len(groups) > 1:
        raise UsageError(f"{log} holds {len(groups)} judges: choose one with --judge.")
    return next(iter(groups.items()))


def decided_items(rows: Sequence[VerdictRow], rule: Rule) -> list[LabelledItem]:
    """Return what a rule decides about each case and criterion of one judge, with the gold label where there is one."""
    return [
        LabelledItem(
            case_id=case.case_id,
            criterion=criterion,
            gold=case.gold,
            verdict=case.decision.verdict,
            status=case.decision.status,
        )
        for criterion, group in by_criterion(rows).items()
        for case in case_decisions(group, rule)
    ]


def _criteria(rows: Sequence[VerdictRow], rule: Rule, positive: str | None) -> dict[str, CriterionCalibration]:
    judged = {name: _judged(group, rule) for name, group in by_criterion(rows).items()}
    return {
        name: measure_calibration(items, criterion=name, positive=positive) for name, items in judged.items() if items
    }


def _judged(rows: Sequence[VerdictRow], rule: Rule) -> list[Judged]:
    numeric = bool(is_numeric(rows))
    return [
        Judged(
            gold=case.gold,
            verdict=case.decision.verdict,
            status=case.decision.status,
            confidence=case_consistency(case, numeric=numeric),
            cluster=case.case_id,  # a case that stands in several runs is one case
        )
        for case in case_decisions(rows, rule)
        if case.gold is not None
    ]
