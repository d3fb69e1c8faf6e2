"""`judgeharness corrected-rate LOG`: decisions of a rule on all cases, and gold in the log or a saved calibration."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.calibration import CalibrationReport, CriterionCalibration, Judged, measure_calibration
from judgeharness_integrations.calibration.corrected import CorrectedRate, corrected_rate, corrected_rate_of_counts
from judgeharness_integrations.calibration.designs import design_changes, design_of_rows
from judgeharness_integrations.calibration.joining import joined, read_gold
from judgeharness_integrations.calibration.words import in_graded_words
from judgeharness_integrations.cli._corrected_request import Origin, Request
from judgeharness_integrations.cli._failures import without_replay_advice
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.replay import CaseDecision, case_decisions, rows_about, rows_of_judges
from judgeharness_integrations.verdictlog import VerdictRow, read_log
from judgeharness_integrations.verdictlog.row import is_number, verdict_text

__all__ = ["of_log"]


def of_log(request: Request, log: Path, rule: str) -> tuple[CorrectedRate, Origin]:
    """Return the corrected rate of a log under a rule, and where it comes from."""
    chosen = rule_of(rule)
    with without_replay_advice():
        judge, criterion, rows = _rows(request, log)
        rows, notes = _with_labels(rows, request)
        cases = list(case_decisions(rows, chosen))
    if any(is_number(case.decision.verdict) for case in cases):
        raise UsageError("the rule decides on scores, which have no rate: give it a threshold, as median(pass_at=7).")
    origin = Origin(judge=judge, criterion=criterion, rule=chosen.name, rule_fixed="after", notes=notes)
    if request.calibration is None:
        return _with_gold(cases, request, criterion, log), origin
    return _with_calibration(cases, request, request.calibration, origin)


def _with_labels(rows: list[VerdictRow], request: Request) -> tuple[list[VerdictRow], tuple[str, ...]]:
    """Return the rows with the labels of a file, where one is given, and what is to be said about them."""
    if request.gold is None:
        return rows, ()
    if request.calibration is not None:
        raise UsageError("labels come from --gold or from --calibration: leave out one of them.")
    found = joined(rows, read_gold(request.gold), texts=request.labels)
    return list(found.rows), found.notes(str(request.gold))


def _rows(request: Request, log: Path) -> tuple[str, str, list[VerdictRow]]:
    """Return the judge, the criterion and its rows; several need a name."""
    criteria = None if request.criterion is None else [request.criterion]
    rows = rows_about(read_log(log, labels=request.labels), criteria)
    groups = rows_of_judges(rows, None if request.judge is None else [request.judge])
    if len(groups) > 1:
        raise UsageError(f"{log} holds {len(groups)} judges: choose one with --judge.")
    judge, mine = next(iter(groups.items()))
    by_name = by_criterion(mine)
    if len(by_name) > 1:
        raise UsageError(f"{log} holds {len(by_name)} criteria: choose one with --criterion.")
    criterion, rows = next(iter(by_name.items()))
    return judge, criterion, rows


def _with_gold(cases: Sequence[CaseDecision], request: Request, criterion: str, log: Path) -> CorrectedRate:
    labelled = [
        (place, Judged(gold=case.gold, verdict=case.decision.verdict, status=case.decision.status))
        for place, case in enumerate(cases)
        if case.gold is not None
    ]
    if not labelled:
        raise UsageError(
            f"{log}: no row carries a gold label: give labels as --gold FILE (case_id, gold), or --calibration FILE."
        )
    items = in_graded_words([item for _, item in labelled])
    positive = measure_calibration(items, criterion=criterion, positive=request.positive).positive
    if positive is None:
        raise UsageError("the labels are not PASS and FAIL: name the label whose rate is asked for with --positive.")
    labels: list[bool | None] = [None] * len(cases)
    for (place, _), item in zip(labelled, items, strict=True):
        labels[place] = item.gold == positive
    return corrected_rate(
        judged=_judged(cases, positive),
        labels=labels,
        clusters=_clusters(cases, request.cluster),
        labels_are=request.labels_are,
        positive=positive,
        undecided=_undecided(cases),
    )


def _with_calibration(
    cases: Sequence[CaseDecision], request: Request, path: Path, origin: Origin
) -> tuple[CorrectedRate, Origin]:
    if request.cluster is not None:
        raise UsageError("--cluster goes with gold labels in LOG: a saved calibration holds counts only.")
    report = CalibrationReport.load(path)
    measured = _measured(report, origin.criterion or "", path)
    positive = measured.positive
    if positive is None:
        why = "measures scores" if measured.errors is not None else "has no positive label"
        raise UsageError(f"{path} {why}: calibrate with --positive and a rule that decides on labels.")
    if request.positive not in (None, positive):
        raise UsageError(f"{path} is about the rate of {positive!r}, not of {request.positive!r:.60}.")
    _check_rule(report, origin, path)
    _check_words(cases, measured, positive, path)
    yes, no = (_errors(measured, positive, true=true) for true in (True, False))
    judged = _judged(cases, positive)
    corrected = corrected_rate_of_counts(
        judged_passes=sum(judged),
        judged_total=len(judged),
        sensitivity=yes,
        specificity=no,
        labels_are=request.labels_are,
        positive=positive,
        undecided=_undecided(cases),
    )
    notes = tuple(_comparable(report, origin, cases))
    return corrected, replace(origin, calibration=report.name, notes=notes)


def _measured(report: CalibrationReport, criterion: str, path: Path) -> CriterionCalibration:
    if criterion in report.criteria:
        return report.criteria[criterion]
    raise UnknownNameError(f"criterion of {path}", criterion, report.criteria)


def _check_rule(report: CalibrationReport, origin: Origin, path: Path) -> None:
    """Refuse the errors of another rule."""
    before = report.known_design.get("rule", origin.rule)
    if before != origin.rule:
        raise UsageError(
            f"{path} was measured with rule {before}, whose errors are not those of {origin.rule}: give --rule "
            f"{before!r}, or calibrate this rule."
        )


def _check_words(cases: Sequence[CaseDecision], measured: CriterionCalibration, positive: str, path: Path) -> None:
    """Refuse decisions that are in other words than the calibration's."""
    used = {verdict_text(case.decision.verdict) for case in cases if case.decision.status == "decided"}
    known = {positive, *measured.confusion, *(label for row in measured.confusion.values() for label in row)}
    if used and used.isdisjoint(known):
        words = ", ".join(sorted(used))
        raise UsageError(f"{path} is about {positive!r}, but the decisions are {words:.80}: they cannot be compared.")


def _errors(measured: CriterionCalibration, positive: str, *, true: bool) -> tuple[int, int]:
    """Return how many positive (other) labelled items were judged positive (not so), and how many there are."""
    rows = [row for gold, row in measured.confusion.items() if (gold == positive) == true]
    total, said = sum(sum(row.values()) for row in rows), sum(row.get(positive, 0) for row in rows)
    return said if true else total - said, total


def _comparable(report: CalibrationReport, origin: Origin, cases: Sequence[CaseDecision]) -> Iterator[str]:
    """Say what may differ between the configuration that was calibrated and the one behind the log."""
    known = "no fingerprint either" if report.fingerprint is None else f"the fingerprint {report.fingerprint}"
    yield (
        f"a log has no fingerprint, the calibration on {report.name} has {known}: whether judge and prompt are "
        "the same cannot be compared"
    )
    design = report.known_design
    yield from design_changes(design, design_of_rows([row for case in cases for row in case.rows], origin.rule or ""))
    if unknown := [name for name in ("rule", "perturbations", "repetitions") if name not in design]:
        yield f"the calibration does not say its {', '.join(unknown)}: they may be others"
    if report.judge != origin.judge:
        yield f"the calibration is of judge {report.judge!r}, the log of {origin.judge!r}"
    if not report.calibrated:
        yield f"the labels are those of {report.source.removeprefix('model:')}, not people's: so is the corrected rate"
    if same := len({case.case_id for case in cases} & {item.case_id for item in report.items}):
        yield f"{same} cases of the log are among those it was calibrated on: the intervals take them for others"
    if labelled := sum(case.gold is not None for case in cases):
        yield f"{labelled} gold labels in the log were not used"


def _judged(cases: Sequence[CaseDecision], positive: str) -> list[bool]:
    return [case.decision.status == "decided" and case.decision.verdict == positive for case in cases]


def _undecided(cases: Sequence[CaseDecision]) -> int:
    return sum(case.decision.status != "decided" for case in cases)


def _clusters(cases: Sequence[CaseDecision], column: str | None) -> list[Hashable]:
    """Return the case of each item, or what stands in a column; an item without it stands alone."""
    if column is None:
        return [case.case_id for case in cases]
    known = {name for case in cases for name in case.rows[0].attributes}
    if column not in known:
        raise UnknownNameError("column", column, known)
    return [case.rows[0].attributes.get(column, ("", place)) for place, case in enumerate(cases)]
