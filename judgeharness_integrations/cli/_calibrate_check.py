"""What `judgeharness calibrate --check` does: the anchors of a saved calibration are decided again and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import BudgetError, ConfigError, UsageError
from judgeharness_integrations.calibration import CalibrationReport, CalibrationSet, LabelledItem
from judgeharness_integrations.calibration.anchors import DEFAULT_ANCHORS, Place, anchor_items
from judgeharness_integrations.calibration.changes import same_label
from judgeharness_integrations.calibration.designs import design_of_rows
from judgeharness_integrations.calibration.drift import DEFAULT_ALPHA, DEFAULT_MARGIN, DriftReport, check_levels, drift
from judgeharness_integrations.calibration.history import append_history, history_line, past_days, read_history
from judgeharness_integrations.calibration.words import ONLY_CRITERION
from judgeharness_integrations.cases import Case, case_id_of
from judgeharness_integrations.cli._asking import check_cost, confirm, judge_model, print_plans
from judgeharness_integrations.cli._calibrate import place_of, refuse_of_log
from judgeharness_integrations.cli._calibrate_log import Folding, items_of, rows_of_one
from judgeharness_integrations.cli._calibration_output import Request
from judgeharness_integrations.cli._drift_output import print_drift
from judgeharness_integrations.cli._failures import failures, told, without_replay_advice
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._plan_money import Asking, money_notes
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.cli._stopping import terminable
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.cli.exits import GATE_FAILED, NOT_GRADED, OK
from judgeharness_integrations.config import Config, build_harness_options, build_judge, load_config
from judgeharness_integrations.execution.observing import default_observers
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.pricetable import prices_of
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.running import fingerprint_parts

__all__ = ["Check", "check_config", "check_log", "check_of"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a check is asked for."""

    old: CalibrationReport
    request: Request
    history: Path
    anchors: int = DEFAULT_ANCHORS
    margin: float = DEFAULT_MARGIN
    alpha: float = DEFAULT_ALPHA
    strict: bool = False


def check_of(path: Path | None, request: Request, *, read: Sequence[Path | None] = (), **options: Any) -> Check:
    """Return what is to be checked; refuse what does not go together.

    Args:
        path: the saved calibration.
        request: what calibrating is asked for.
        read: the other files, which are no history.
        options: further fields of `Check`, None for what was not given.

    """
    given = {name: value for name, value in options.items() if value is not None}
    if path is None:
        names = ", ".join(f"--{name}" for name in given)
        raise UsageError(f"{names} goes with --check OLD.json, the calibration to compare with.")
    calibrating = {"--out": request.out, "--name": request.name, "--positive": request.positive, "--by": request.by}
    if extra := [name for name, value in calibrating.items() if value is not None]:
        raise UsageError(f"--check compares with a calibration and saves none: leave out {', '.join(extra)}.")
    defaults: dict[str, Any] = {"history": path.with_suffix(".history.jsonl")}
    check = Check(old=CalibrationReport.load(path), request=request, **(defaults | given))
    check_levels(margin=check.margin, alpha=check.alpha)
    try:
        check_file(check.history)
    except ConfigError as error:
        raise ConfigError(str(error).replace("--out", "--history")) from error
    _check_history(check.history, path, *read)
    return check


def _check_history(history: Path, *read: Path | None) -> None:
    """Refuse, before anything is asked, a file that holds something else."""
    refuse_same("--history", history, *read)
    known = read_history(history)
    if known.unreadable and not known.checks:
        raise ConfigError(f"{history} is no history of checks: give another --history.")


def check_log(log: Path, rule: str | None, check: Check) -> int:
    """Compare what a rule decides about a log with the calibration; nothing is asked."""
    if rule is None:
        raise UsageError("--log needs --rule: which rule's decisions are to be compared?")
    chosen = rule_of(rule)
    before = check.old.known_design.get("rule", chosen.name)
    if before != chosen.name:
        raise UsageError(
            f"the calibration {check.old.name!r} was measured with rule {before}: give --rule {before!r}, as "
            "what another rule decides is no drift of the judge."
        )
    with without_replay_advice():
        judge, rows = rows_of_one(log, check.request.judge, check.request.run)
        items = items_of(Folding(rule=chosen).decisions(rows))
    report = _drift(check, items, None, design_of_rows(rows, chosen.name))
    _tell(report, check, judge, "nothing was asked", f"rule: {chosen.name}")
    return _code(report, check)


@terminable()
def check_config(path: Path | None, check: Check, *, rule: str | None, max_calls: int | None, yes: bool) -> int:
    """Ask the judge of a configuration about the anchors again, compare, and return the exit code."""
    request = check.request
    if path is None or request.labels is None:
        raise UsageError("give CONFIG with --labels FILE and --check OLD.json, or --log LOG with --rule RULE.")
    refuse_of_log(rule, request.run)
    config = load_config(path)
    place = place_of(config, request.judge or _same_judge(config, check.old))
    labels = CalibrationSet.from_file(request.labels)
    wanted = anchor_items(check.old.items, check.anchors)
    golds = _golds(labels, wanted)
    cases = _cases(labels, wanted, golds)
    if not cases:  # `drift` says why
        _drift(check, _unasked(golds))
    judge = build_judge(config, place)
    model = judge_model(judge, config.judges[place])
    limit = config.execution.max_calls if max_calls is None else max_calls
    options = build_harness_options(config) | {"observers": default_observers() or None, "max_calls": limit}
    harness = JudgeHarness(**options)
    plan = harness.plan(judge, cases)
    asked = Asking(judge=judge.name, model=config.judges[place].model, plan=plan)
    notes = money_notes([asked], prices_of(config), cases)
    print_plans({judge.name: plan}, config, max_calls=limit, stderr=request.as_json, notes=notes)
    check_cost(plan.total, limit)
    confirm(plan.total, yes=yes)
    results = _asked(harness, judge, cases, model)
    failed = [row for result in results for row in result.rows if not row.ok]
    for line in told(judge.name, failures(failed, config.model_dump())):
        typer.echo(line, err=True)
    if not any(row.outcome != "error" for result in results for row in result.rows):
        typer.echo("no anchor could be judged, so nothing can be said about drift.", err=True)
        return NOT_GRADED
    design = harness.design_for(judge)
    report = _drift(check, _items(results, golds), fingerprint_parts(judge, design, model), design.parts())
    _tell(report, check, judge.name, str(plan))
    return _code(report, check)


def _asked(harness: JudgeHarness, judge: Judge, cases: Sequence[Case], model: str | None) -> list[HarnessResult]:
    try:
        with without_replay_advice():
            results = list(harness.evaluate_many(judge, cases, model))
    except KeyboardInterrupt:  # which typer would end the command for without a word
        raise typer.Abort from None
    if any(result.state != "complete" for result in results):
        raise BudgetError("the calls allowed ended before all anchors were judged: raise max_calls.")
    return results


def _same_judge(config: Config, old: CalibrationReport) -> str | None:
    """Return the name of the judge that was calibrated, where the configuration still has it."""
    return old.judge if old.judge in [judge.name for judge in config.judges] else None


def _golds(labels: CalibrationSet, wanted: Mapping[Place, LabelledItem]) -> dict[Place, Any]:
    """Return the gold labels that the file holds for anchors; one without a criterion is of a case's only one."""
    known, _ = labels.golds()
    found = {(case_id, name): known.get(case_id, {}) for case_id, name in wanted}
    golds = {place: mine.get(place[1], mine.get(ONLY_CRITERION)) for place, mine in found.items()}
    return {place: gold for place, gold in golds.items() if gold is not None}


def _unasked(golds: Mapping[Place, Any]) -> list[LabelledItem]:
    return [
        LabelledItem(case_id=case_id, criterion=name, gold=gold, verdict=None, status="not_graded")
        for (case_id, name), gold in golds.items()
    ]


def _cases(labels: CalibrationSet, wanted: Mapping[Place, LabelledItem], golds: Mapping[Place, Any]) -> list[Case]:
    """Return the cases of anchors that can be compared: they are in the file, under the gold label of then."""
    usable = {item.case_id for item in _unasked(golds) if same_label(wanted[item.case_id, item.criterion], item)}
    return [case for case in labels.cases if case_id_of(case) in usable]


def _items(results: Sequence[HarnessResult], golds: Mapping[Place, Any]) -> list[LabelledItem]:
    """Return what was decided about every anchor in the file; a criterion without an answer is not graded."""
    by_case = {result.case_id: result for result in results}
    items = []
    for item in _unasked(golds):
        result = by_case.get(item.case_id)
        measured = None if result is None else result.criteria.get(item.criterion)
        items.append(
            item
            if measured is None
            else LabelledItem(
                case_id=item.case_id,
                criterion=item.criterion,
                gold=item.gold,
                verdict=measured.verdict,
                status=measured.status,
            )
        )
    return items


def _drift(
    check: Check,
    items: Iterable[LabelledItem],
    parts: Mapping[str, Any] | None = None,
    design: Mapping[str, Any] | None = None,
) -> DriftReport:
    levels: dict[str, Any] = {"anchors": check.anchors, "margin": check.margin, "alpha": check.alpha}
    past = past_days(read_history(check.history), check.old)
    return drift(check.old, items, parts=parts, design=design, past=past, **levels)


def _tell(report: DriftReport, check: Check, judge: str, cost: str, *notes: str) -> None:
    """Keep the check in the history, and print it with the checks before."""
    if "rule" not in check.old.known_design:
        notes = (*notes, "the calibration does not say its rule: it may be another")
    line = history_line(report, judge=judge, checked_at=datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        append_history(check.history, line)
    finally:  # what was paid for is told all the same
        if check.request.as_json:
            print_json(report.to_dict() | {"judge_now": judge, "cost": cost, "history": str(check.history)})
        else:
            print_drift(
                report, judge=judge, notes=(cost, *notes), history=read_history(check.history), path=check.history
            )


def _code(report: DriftReport, check: Check) -> int:
    if report.answer == "drifted" or (check.strict and report.answer == "inconclusive"):
        return GATE_FAILED
    return NOT_GRADED if any(one.not_graded_now for one in report.criteria.values()) else OK
