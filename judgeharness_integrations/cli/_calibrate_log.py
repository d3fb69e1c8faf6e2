"""What `judgeharness calibrate --log` does: the decisions of a rule about an existing log against its gold column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.copies import copies_together
from judgeharness_integrations.aggregation.grouping import CLUSTER, by_case, by_criterion, cluster_of, is_numeric
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.calibration import (
    CalibrationReport,
    CalibrationSet,
    CriterionCalibration,
    Judged,
    LabelledItem,
    measure_calibration,
)
from judgeharness_integrations.calibration.candidates import candidate_of_items
from judgeharness_integrations.calibration.controls import longer_of
from judgeharness_integrations.calibration.designs import design_of_rows
from judgeharness_integrations.calibration.facts import facts_of_decisions
from judgeharness_integrations.calibration.joining import joined, read_gold
from judgeharness_integrations.calibration.measure import stratified
from judgeharness_integrations.calibration.population import Population, column_text, population_of
from judgeharness_integrations.calibration.selection import selection_of_items, withhold
from judgeharness_integrations.cases import case_id_of
from judgeharness_integrations.cli._calibration_output import EXPLORATORY, Request, deliver, refuse_same
from judgeharness_integrations.cli._candidates import study_of
from judgeharness_integrations.cli._failures import without_replay_advice
from judgeharness_integrations.cli._reading import rows_of_log, stop_notes
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.cli.exits import OK
from judgeharness_integrations.replay import case_consistency, case_decisions, rows_of_judges
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.runs.folder import noted_of_run
from judgeharness_integrations.reporting.statetext import never_asked
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.columns import check_columns

__all__ = ["calibrate_log", "decided_items", "labelled_rows", "rows_of_one"]


def calibrate_log(log: Path, rule: str | None, request: Request) -> int:
    """Measure a rule's decisions about an existing log against its gold column, and return the exit code."""
    if rule is None:
        raise UsageError("--log needs --rule: which rule's decisions are to be measured?")
    check_drawable(request.plot)
    if request.out is not None:
        check_file(request.out)
        refuse_same("--out", request.out, log, request.labels)
    chosen = rule_of(rule)
    study = study_of(request, request.labels or log, log, request.labels, request.out)
    with without_replay_advice():
        judge, answered = rows_of_one(log, request.judge, request.run)
        labelled, rows, notes = labelled_rows(answered, log, request)
        _check_column(rows, request.by)
        everything = decided_items(rows, chosen)
        clusters = {case: cluster_of(case, mine) for (_, case), mine in by_case(rows).items()}
        rows = _of_part(rows, study.labels(labelled, clusters))
        items = _labelled(decided_items(rows, chosen))
        criteria = _criteria(rows, chosen, request)  # which refuses what cannot be compared
    count = study.count(labelled.golds()[0], candidate_of_items(judge, chosen.name, _labelled(everything)))
    if count > 1:
        criteria = _criteria(rows, chosen, request, candidates=count)
    report = CalibrationReport(
        name=labelled.name,
        judge=judge,
        source=labelled.source,
        consensus=labelled.consensus,
        excluded_ties=labelled.golds()[1],
        criteria={
            name: withhold(one, selection_of_items(everything, name, clusters)) for name, one in criteria.items()
        },
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        parts=None,
        items=items,
        design=design_of_rows(rows, chosen.name),
        candidates=count,
        population=_population(rows, chosen, request.by),
    )
    if request.as_json:
        for note in notes:
            typer.echo(safe_text(note), err=True)
    deliver(study.told(report), request, f"rule: {chosen.name}", EXPLORATORY, *map(safe_text, notes))
    return OK


def _of_part(rows: Sequence[VerdictRow], part: CalibrationSet) -> list[VerdictRow]:
    """Return the rows with the labels of one part of a label set alone."""
    kept = {case_id_of(case) for case in part.cases}
    mine = [row if row.case_id in kept else replace(row, gold=None) for row in rows]
    if all(row.gold is None for row in mine):
        raise UsageError("no case of the log is in this part of the labels: give another --holdout, or label more.")
    return mine


def _labelled(items: Sequence[LabelledItem]) -> tuple[LabelledItem, ...]:
    return tuple(item for item in items if item.gold is not None)


def labelled_rows(
    rows: Sequence[VerdictRow], log: Path, request: Request, *, cluster: str = CLUSTER
) -> tuple[CalibrationSet, Sequence[VerdictRow], tuple[str, ...]]:
    """Return the labels, the rows with them, and what is to be said: of a file of labels, of the run, of its cases."""
    check_columns(None if cluster == CLUSTER else cluster, {name for row in rows for name in row.attributes})
    said = (*stop_notes(log, request.run), *_never_asked(rows, log, request.run))
    rows, copied = copies_together(rows, cluster)
    said += tuple(copied)
    if request.labels is None:
        if all(row.gold is None for row in rows):
            raise UsageError(f"{log}: no row carries a gold label: give the labels as --labels FILE (case_id, gold).")
        # through the label set, so that its source is checked the same way
        name = request.name or log.name.split(".")[0]
        return CalibrationSet.from_rows(rows, name=name, source=request.declared_source), rows, said
    labels = read_gold(request.labels, name=request.name, source=request.declared_source)
    found = joined(rows, labels)
    return labels, found.rows, (*found.notes(str(request.labels)), *said)


def _never_asked(rows: Sequence[VerdictRow], log: Path, run: str | None) -> Iterator[str]:
    """Yield that a run was cut off, whose cases stand for the others in random order alone."""
    planned = noted_of_run(log, run)[0].get(rows[0].judge, 0)
    if (never := planned - len({row.case_id for row in rows})) > 0:
        yield f"{never_asked(never, planned)}: those that were speak for them only if cases came in random order"


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


def _check_column(rows: Sequence[VerdictRow], column: str | None) -> None:
    known = {name for row in rows for name in row.attributes}
    check_columns(column, known)


def _population(rows: Sequence[VerdictRow], rule: Rule, column: str | None) -> Population:
    decided = {
        name: [case for case in case_decisions(group, rule) if case.gold is not None]
        for name, group in by_criterion(rows).items()
    }
    return population_of(facts_of_decisions(decided, column=column), column=column)


def _criteria(
    rows: Sequence[VerdictRow], rule: Rule, request: Request, *, candidates: int = 1
) -> dict[str, CriterionCalibration]:
    found: dict[str, CriterionCalibration] = {}
    for name, group in by_criterion(rows).items():
        items = _judged(group, rule)
        if not items:
            continue
        found[name] = measure_calibration(items, criterion=name, positive=request.positive, candidates=candidates)
        if request.by is not None:
            cases = (case for case in case_decisions(group, rule) if case.gold is not None)
            strata = [column_text(case.rows, request.by) for case in cases]
            found[name] = stratified(found[name], items, strata, request.by, candidates=candidates)
    return found


def _judged(rows: Sequence[VerdictRow], rule: Rule) -> list[Judged]:
    numeric = bool(is_numeric(rows))
    return [
        Judged(
            gold=case.gold,
            verdict=case.decision.verdict,
            status=case.decision.status,
            confidence=case_consistency(case, numeric=numeric),
            cluster=cluster_of(case.case_id, case.rows),
            longer=longer_of({}, case.rows[0].attributes),
            scored=numeric,
        )
        for case in case_decisions(rows, rule)
        if case.gold is not None
    ]
