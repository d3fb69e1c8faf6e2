"""What `judgeharness calibrate` and `certify` do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._asking import Asking, agree, asked_tiers, judge_model
from judgeharness_integrations.cli._command import NOT_GRADED, OK, names_in, part_of, terminable
from judgeharness_integrations.cli._following import Following, after_calibrating
from judgeharness_integrations.cli._label_options import CalibrateRequest
from judgeharness_integrations.cli._output import check_file, failures, told, without_replay_advice
from judgeharness_integrations.cli.calibrate_check import check_config, check_log, check_of
from judgeharness_integrations.cli.calibrate_log import (
    Request,
    calibrate_log,
    deliver,
    place_of,
    refuse_of_log,
)
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.candidates import asked_candidate, study_of
from judgeharness_integrations.judging.config import Config, build_harness_options, build_judge, load_config
from judgeharness_integrations.judging.execution.observing import Span, default_observers
from judgeharness_integrations.judging.execution.preparing import clusters_of_cases
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.tiers import prices_of
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.encoding import check_columns


def calibrate_or_check(request: CalibrateRequest) -> int:
    """Calibrate or look for drift, by asking or on a log, and return the exit code."""
    after = after_calibrating(request) if request.check is None else Following()
    asked = part_of(request, Request, by=", ".join(names_in(request.by)) or None, following=after)
    config, log, rule, check = request.config, request.log, request.rule, request.check
    if log is not None:
        _refuse_both(check and config, check and request.labels, request.max_calls)
    checking = {name: getattr(request, name) for name in ("anchors", "margin", "alpha", "history")}
    checking["strict"] = request.strict or None
    if check is not None or any(value is not None for value in checking.values()):
        wanted = check_of(check, asked, read=(config, request.labels, log), **checking)
        if log is not None:
            return check_log(log, rule, wanted)
        return check_config(config, wanted, rule=rule, max_calls=request.max_calls, yes=request.yes)
    if log is not None:
        return calibrate_log(log, rule, asked, config=config)
    return calibrate_config(config, asked, rule=rule, max_calls=request.max_calls, yes=request.yes)


def _refuse_both(config: Path | None, labels: Path | None, max_calls: int | None) -> None:
    """Refuse a log together with what only asking needs."""
    unread = {"CONFIG": config, "--labels": labels, "--max-calls": max_calls}
    given = [name for name, value in unread.items() if value is not None]
    if given:
        raise UsageError(f"--log measures what was already answered: leave out {', '.join(given)}.")


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


@terminable()
def calibrate_config(path: Path | None, request: Request, *, rule: str | None, max_calls: int | None, yes: bool) -> int:
    """Ask one judge of a configuration about labelled cases, save the calibration, return the exit code."""
    if path is None or request.labels is None or (request.out is None and request.holdout is None):
        raise UsageError("give CONFIG with --labels FILE and --out FILE, or --log LOG with --rule RULE.")
    refuse_of_log(rule, request.run)
    config = load_config(path)
    if request.out is not None:
        check_file(request.out)
        refuse_same("--out", request.out, path, request.labels)
    check_drawable(request.plot)
    place = place_of(config, request.judge)
    everything = CalibrationSet.from_file(
        request.labels, name=request.name, source=request.declared_source, positive=request.positive, by=request.by
    )
    check_columns(everything.by, {name for case in everything.cases for name in dict(getattr(case, "attributes", {}))})
    study = study_of(request, path, request.out)
    clusters = clusters_of_cases(everything.cases)
    labelled = study.labels(everything, clusters.by_case())
    judge = build_judge(config, place)
    limit = config.execution.max_calls if max_calls is None else max_calls
    count = _NotGraded()
    options = build_harness_options(config) | {"observers": (*default_observers(), count), "max_calls": limit}
    harness = JudgeHarness(**options)
    plan = harness.plan(judge, labelled.cases)
    tier = asked_tiers(config, engine="local").get(judge.name)
    agree(
        [Asking(judge=judge.name, model=config.judges[place].model, plan=plan, tier=tier)],
        config,
        labelled.cases,
        prices=prices_of(config),
        max_calls=limit,
        yes=yes,
        stderr=True,
        remarks=clusters.copied,
    )
    model = judge_model(judge, config.judges[place])
    candidate = asked_candidate(judge, harness.design_for(judge), model)
    labelled = replace(labelled, candidates=study.count(everything.golds()[0], candidate))
    try:
        with without_replay_advice():
            report = harness.calibrate(judge, labelled, model)
    except KeyboardInterrupt:  # which typer would end the command for without a word
        raise typer.Abort from None
    deliver(study.told(report), request)
    return _exit_code(count, judge.name, config)


def _exit_code(count: _NotGraded, judge: str, config: Config) -> int:
    """Say on standard error why cases and samples failed, and return the exit code."""
    if count.cases:
        what = f"{count.cases} of {count.all} cases ended not_graded: too few valid answers."
        typer.echo(what, err=True)
    for line in told(judge, failures(count.failed, config.model_dump())):
        typer.echo(line, err=True)
    return NOT_GRADED if count.cases else OK
