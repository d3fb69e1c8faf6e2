"""What `judgeharness run` does: the judges one after the other, every answer a row of one log, continued if cut off."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._version import __version__
from judgeharness_integrations.cli._asking import Asking, agree, judge_model, usage_before
from judgeharness_integrations.cli._gates import gates_of
from judgeharness_integrations.cli._output import summary_file
from judgeharness_integrations.cli._run_options import RunRequest
from judgeharness_integrations.cli._run_until import (
    Before,
    certificate_notes,
    check_measurable,
    order_notes,
    order_seed,
    plan_notes,
    untils,
)
from judgeharness_integrations.cli.exits import terminable
from judgeharness_integrations.cli.run_job import RunJob, run_job
from judgeharness_integrations.cli.run_place import RunPlace, Spending, check_unchanged, run_parts
from judgeharness_integrations.cli.summary import JudgeTally
from judgeharness_integrations.judging.calibrating import calibration_run
from judgeharness_integrations.judging.candidates import asked_candidate, counted
from judgeharness_integrations.judging.cases import CaseFile
from judgeharness_integrations.judging.config import (
    Config,
    SendableJudge,
    build_calibration,
    build_cases,
    build_certificate,
    build_executor,
    build_harness_options,
    build_judge,
    cases_digest,
    load_config,
)
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.plan import plan_cases
from judgeharness_integrations.redacting import knowing, redacted
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.sql.runs import ORDER_SEED

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.gates.gate import Gates
    from judgeharness_integrations.judging.cases import AnswerCase
    from judgeharness_integrations.judging.judge import Judge


DEFAULT_OUT = "judgeharness-out"


@terminable()
def run_config(request: RunRequest) -> int:
    """Run a configuration, or go on with it, and return the exit code.

    130 after SIGINT, 143 after SIGTERM, both with a summary; a run that was cut off in any way goes on next time.
    """
    config = load_config(request.config)
    with knowing(config.model_dump()):
        return _run(config, request)


def _run(config: Config, request: RunRequest) -> int:
    gates = gates_of(request.gates, config.gates.asked(), until=request.until)
    place = RunPlace.of(config, out=request.out, log=request.log, default=DEFAULT_OUT)
    place.check(overwrite=request.overwrite)
    spending = Spending.of(config, request.limits)
    setup = _set_up(config, request)
    if request.until:
        check_measurable(gates, setup.harness, setup.judges, setup.cases)
    with ExitStack() as stack:
        stack.enter_context(place.held())  # before it is read which run stands there
        log = stack.enter_context(place.open()) if place.holds_run or place.log is not None else None
        before = _run_before(place, log, request)
        parts = run_parts(config, setup.harness, setup.judges, cases=cases_digest(setup.cases))
        if before.record is not None:
            kept = {name: one for name, one in before.record.parts.items() if name == ORDER_SEED}
            parts |= kept
            check_unchanged(before.record.run, before.record.parts, parts)
        if request.until:
            parts[ORDER_SEED] = order_seed(config, parts, log)
        setup.harness.budget = budget = spending.budget(before.usage, spent=before.spent)
        for tally in setup.tallies:
            budget.check_price(tally.model_name)
        _confirm(setup, before, spending, request, log=log, order=order_notes(parts, log) if request.until else ())
        setup = _counted(setup)
        log = stack.enter_context(place.open()) if log is None else log
        job = _begin(setup, place, log, before, request=request, parts=parts, spending=spending, gates=gates)
        with log.claim(str(setup.harness.run)):
            return run_job(job)


def _run_before(place: RunPlace, log: SqlLog | None, request: RunRequest) -> Before:
    """Return what the log holds of the run that is to go on; also of one whose rows alone were imported."""
    if log is None or request.new_run:
        return Before(run=request.run)
    run, record = place.run_of(log, request.run)
    usage = () if run is None else (*log.usage(run), *log.usage(calibration_run(run)))
    return Before(run=run, record=record, usage=usage)


def _confirm(
    setup: _Setup,
    before: Before,
    spending: Spending,
    request: RunRequest,
    *,
    log: SqlLog | None,
    order: Iterable[str],
) -> None:
    """Show the plan and what it costs at most, and ask whether to go on."""
    plans = {tally.judge.name: tally.plan for tally in setup.tallies}
    judges = [
        Asking(
            judge=tally.judge.name,
            model=tally.model_name,
            plan=tally.plan,
            answered=sum(used.calls for used in before.usage if used.judge == tally.judge.name),
            before=usage_before(log, tally.judge.name, tally.model_name, before.usage),
        )
        for tally in setup.tallies
    ]
    held = {tally.judge.name: setup.harness.certificate_for(tally.judge, tally.model) for tally in setup.tallies}
    agree(
        judges,
        setup.config,
        setup.cases,
        prices=spending.prices,
        max_calls=spending.planned,
        yes=request.yes,
        stderr=request.as_json,
        budget=spending.shown,
        notes=[*plan_notes(before, plans, setup.judges), *certificate_notes(setup.judges, held), *order],
        left=max(sum(plan.total for plan in plans.values()) - before.calls, 0),
        at_most=log is not None and setup.harness.reuse,
    )


@dataclass(frozen=True, kw_only=True)
class _Setup:
    """What a configuration asks: whom, about what, measured how."""

    config: Config
    harness: JudgeHarness
    judges: Sequence[Judge]
    cases: list[AnswerCase] | CaseFile
    tallies: Sequence[JudgeTally]


def _set_up(config: Config, request: RunRequest) -> _Setup:
    """Build all that a configuration names and plan every case: what cannot be asked is known before the first call."""
    cases = build_cases(config)
    judges: list[Judge] = [build_judge(config, place) for place in range(len(config.judges))]
    options = build_harness_options(config) | build_calibration(config) | build_certificate(config)
    began = datetime.now(UTC)
    options["clock"] = lambda: began  # whatever expires on the way held for the whole run
    options["reuse"] = config.reuse and not request.fresh
    if (executor := build_executor(config, options, engine=request.engine)) is not None:
        judges = [SendableJudge(judge, config, place) for place, judge in enumerate(judges)]
    harness = JudgeHarness(**options, executor=executor)
    tallies = [
        JudgeTally(
            judge=judge,
            model=judge_model(judge, one),
            plan=harness.plan(judge, cases),
            planned=partial(_planned, harness, judge, cases),
        )
        for judge, one in zip(judges, config.judges, strict=True)
    ]
    return _Setup(config=config, harness=harness, judges=judges, cases=cases, tallies=tallies)


def _counted(setup: _Setup) -> _Setup:
    """Count the judges among the candidates of the labels they are calibrated on, as `judgeharness calibrate` does."""
    labels, design = setup.harness.calibration_set, setup.harness.design_for
    if labels is None:
        return setup
    looks = [asked_candidate(one.judge, design(one.judge), one.model) for one in setup.tallies]
    known = counted(setup.config, labels, looks)
    return replace(setup, harness=setup.harness.with_labels(known))


def _planned(harness: JudgeHarness, judge: Judge, cases: Iterable[AnswerCase]) -> Iterator[tuple[str, int]]:
    plans = plan_cases(
        cases,
        judge,
        perturbations=harness.perturbations,
        repetitions=harness.design.repetitions,
        rule=harness.design.rule,
        on_unfit=harness.on_unfit,
        unique=isinstance(cases, CaseFile),  # it was checked: no id need be remembered
    )
    return ((plan.case_id, plan.samples) for plan in plans)


def _begin(
    setup: _Setup,
    place: RunPlace,
    log: SqlLog,
    before: Before,
    *,
    request: RunRequest,
    parts: dict[str, Any],
    spending: Spending,
    gates: Gates,
) -> RunJob:
    """Note the run in its log and in its folder, before anything is asked."""
    run = before.run or os.urandom(6).hex()
    facts: dict[str, Any] = {
        "state": "running",
        "config": redacted(setup.config.model_dump(mode="json", exclude_none=True)),
        "planned_cases": sum(tally.plan.cases for tally in setup.tallies),
        "planned_calls": sum(tally.plan.calls for tally in setup.tallies),
        "prices": {name: price.to_dict() for name, price in spending.prices.items()} or None,
        "version": __version__,
    }
    setup.harness.run = run
    return RunJob(
        config=setup.config,
        harness=setup.harness,
        cases=setup.cases,
        tallies=setup.tallies,
        place=place,
        log=log,
        prices=spending.prices,
        facts=facts,
        parts=parts,
        is_new=before.record is None,
        as_json=request.as_json,
        gates=gates,
        until=untils(gates, setup.judges, setup.cases, seed=parts[ORDER_SEED], log=log, run=run)
        if request.until
        else {},
        step_summary=summary_file() if request.step_summary else None,
    )
