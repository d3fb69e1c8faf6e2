"""What `judgeharness calibrate` does: a judge asked about labelled cases, or the decisions of an existing log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.calibration import CalibrationReport, CalibrationSet, Judged, measure_calibration
from judgeharness_integrations.cli._asking import check_cost, confirm, judge_model, print_plans
from judgeharness_integrations.cli._failures import failures, told, without_replay_advice
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.cli.exits import NOT_GRADED, OK
from judgeharness_integrations.config import Config, build_harness_options, build_judge, load_config
from judgeharness_integrations.execution.observing import Span, default_observers
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.replay import case_decisions, rows_of_judges
from judgeharness_integrations.reporting import calibration_text
from judgeharness_integrations.verdictlog import VerdictRow, read_log

__all__ = ["Request", "calibrate_config", "calibrate_log", "refuse_both"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What both ways of calibrating are asked for."""

    labels: Path | None
    out: Path | None
    judge: str | None
    name: str | None
    source: str
    positive: str | None
    as_json: bool


class _NotGraded:
    """An observer that counts the cases that ended without a verdict, and keeps the samples that failed."""

    def __init__(self) -> None:
        self.cases = self.all = 0
        self.failed: list[VerdictRow] = []

    def begin(self, span: Span) -> None:
        """Nothing happens at a span's start."""

    def end(self, span: Span) -> None:
        """Count a case that ended not graded."""
        result = span.outcome.get("result")
        if span.kind == "case" and result is not None:
            self.all += 1
            self.cases += any(measured.status == "not_graded" for measured in result.criteria.values())
            self.failed += [row for row in result.rows if not row.ok]


def refuse_both(config: Path | None, labels: Path | None, max_calls: int | None) -> None:
    """Refuse a log together with what only asking needs."""
    given = [
        name
        for name, value in (("CONFIG", config), ("--labels", labels), ("--max-calls", max_calls))
        if value is not None
    ]
    if given:
        raise UsageError(f"--log measures what was already answered: leave out {', '.join(given)}.")


def calibrate_config(path: Path | None, request: Request, *, rule: str | None, max_calls: int | None, yes: bool) -> int:
    """Ask one judge of a configuration about labelled cases, save the calibration, return the exit code."""
    if path is None or request.labels is None or request.out is None:
        raise UsageError("give CONFIG with --labels FILE and --out FILE, or --log LOG with --rule RULE.")
    if rule is not None:
        raise UsageError("--rule goes with --log: with CONFIG the rule is its harness.aggregation_rule.")
    config = load_config(path)
    check_file(request.out)
    place = _place(config, request.judge)
    labelled = CalibrationSet.from_file(
        request.labels, name=request.name, source=request.source, positive=request.positive
    )
    judge = build_judge(config, place)
    limit = config.execution.max_calls if max_calls is None else max_calls
    count = _NotGraded()
    options = build_harness_options(config) | {"observers": (*default_observers(), count), "max_calls": limit}
    harness = JudgeHarness(**options)
    plan = harness.plan(judge, labelled.cases)
    print_plans({judge.name: plan}, config, max_calls=limit, stderr=request.as_json)
    check_cost(plan.total, limit)
    confirm(plan.total, yes=yes)
    with without_replay_advice():
        report = harness.calibrate(judge, labelled, judge_model(judge, config.judges[place]))
    _deliver(report, request)
    return _ended(count, judge.name, config)


def _ended(count: _NotGraded, judge: str, config: Config) -> int:
    """Say on standard error why cases and samples failed, and return the exit code."""
    if count.cases:
        what = f"{count.cases} of {count.all} cases ended not_graded: too few valid answers."
        typer.echo(what, err=True)
    for line in told(judge, failures(count.failed, config.model_dump())):
        typer.echo(line, err=True)
    return NOT_GRADED if count.cases else OK


def _place(config: Config, name: str | None) -> int:
    names = [judge.name for judge in config.judges]
    if name is None and len(names) > 1:
        raise ConfigError(f"the configuration has {len(names)} judges: choose one with --judge.")
    if name is not None and name not in names:
        raise UnknownNameError("judge", name, names)
    return 0 if name is None else names.index(name)


def calibrate_log(log: Path, rule: str | None, request: Request) -> None:
    """Measure a rule's decisions about an existing log against its gold column."""
    if rule is None:
        raise UsageError("--log needs --rule: which rule's decisions are to be measured?")
    if request.out is not None:
        check_file(request.out)
    chosen = rule_of(rule)
    with without_replay_advice():
        rows_of_all = read_log(log)
    groups = rows_of_judges(rows_of_all, None if request.judge is None else [request.judge])
    if len(groups) > 1:
        raise UsageError(f"{log} holds {len(groups)} judges: choose one with --judge.")
    judge, rows = next(iter(groups.items()))
    with without_replay_advice():
        judged = {name: _judged(group, chosen) for name, group in by_criterion(rows).items()}
    criteria = {
        name: measure_calibration(items, criterion=name, positive=request.positive)
        for name, items in judged.items()
        if items
    }
    if not criteria:
        raise UsageError(f"{log}: no row carries a gold label, so there is nothing to compare with.")
    # through the label set, so that its source is checked the same way
    labelled = CalibrationSet.from_rows(rows, name=request.name or log.name.split(".")[0], source=request.source)
    report = CalibrationReport(
        name=labelled.name,
        judge=judge,
        source=labelled.source,
        consensus=labelled.consensus,
        excluded_ties=0,
        criteria=criteria,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        parts=None,
    )
    _deliver(report, request, f"rule: {chosen.name}", "rule chosen after the samples: exploratory")


def _judged(rows: list[VerdictRow], rule: Any) -> list[Judged]:
    return [
        Judged(gold=case.gold, verdict=case.decision.verdict, status=case.decision.status)
        for case in case_decisions(rows, rule)
        if case.gold is not None
    ]


def _deliver(report: CalibrationReport, request: Request, *notes: str) -> None:
    """Print the report and save it: what was paid for is kept even when one of the two fails."""
    try:
        _print(report, request, *notes)
    finally:
        if request.out is not None:
            _save(report, request.out, request)


def _save(report: CalibrationReport, out: Path, request: Request) -> None:
    try:
        report.save(out)
    except OSError as error:
        if not request.as_json:
            print_json(report.to_dict())
        reason = error.strerror or error
        raise ConfigError(
            f"the calibration is printed above as JSON, but {out} cannot be written ({reason})."
        ) from error
    if not request.as_json:
        console().print(Text(f"saved to {out}"), soft_wrap=True)


def _print(report: CalibrationReport, request: Request, *notes: str) -> None:
    if request.as_json:
        print_json(report.to_dict())
        return
    screen = console()
    for line in (*notes, *calibration_text(report)):
        screen.print(Text(line), soft_wrap=True)
