"""What `judgeharness run` does: the judges one after the other, every answer a row of one log, continued if cut off."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

import typer

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import (
    BatchesOpenError,
    CaseError,
    ClusterError,
    JudgeHarnessError,
    LogStorageError,
    PlanError,
    UsageError,
)
from judgeharness_integrations._version import __version__
from judgeharness_integrations.analysis.certifying.cascade import Cascade, asked_after
from judgeharness_integrations.analysis.certifying.certificate import HeldCertificate, held_text
from judgeharness_integrations.analysis.document import calibration_record
from judgeharness_integrations.analysis.gates.gate import GateReport, Gates
from judgeharness_integrations.analysis.replay.report import JudgeReplay
from judgeharness_integrations.analysis.runs.building import replay_at_stop
from judgeharness_integrations.judging.candidates import asked_candidate, count_candidates
from judgeharness_integrations.judging.cascading import Until, goes_on
from judgeharness_integrations.judging.cases import AnswerCase, CaseFile
from judgeharness_integrations.judging.config import (
    Config,
    SendableJudge,
    build_calibration,
    build_cascade,
    build_cases,
    build_certificate,
    build_executor,
    build_harness_options,
    build_judge,
    cases_digest,
    load_config,
)
from judgeharness_integrations.judging.execution.observing import default_observers
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.plan import plan_cases
from judgeharness_integrations.redacting import knowing, redacted
from judgeharness_integrations.reporting.measured import together_sections
from judgeharness_integrations.reporting.runsection import ended_section
from judgeharness_integrations.reporting.terminal import console, show_section
from judgeharness_integrations.verdictlog import SqlLog, write_log
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, calibration_run, counted, safe_text
from judgeharness_integrations.verdictlog.runfolder import BY_GATE, RESULTS, SUMMARY, VERDICTS, marked
from judgeharness_integrations.verdictlog.sql.runs import ORDER_SEED, RunRecord

from ._asking import (
    Asking,
    Before,
    agree,
    asked_tiers,
    check_measurable,
    check_run,
    held_notes,
    judge_model,
    order_notes,
    order_seed,
    plan_notes,
    untils,
    usage_before,
)
from ._command import BATCHES_OPEN, NOT_GRADED, OK, stop_code, stop_word, stoppable, terminable, undisturbed
from ._output import print_json, summary_file, told, without_replay_advice
from ._replay import gate_exit, gates_of, tell_gates
from ._run_options import RunRequest
from .run_place import (
    RunPlace,
    Spending,
    batch_entries,
    cancel_advice,
    check_unchanged,
    noting_spent,
    open_cost,
    run_parts,
)
from .summary import JudgeTally, asked_places, keep_queue, summary_document, together, under_cascade

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.usage import Price
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
            check_unchanged(before.record, parts, asked="" if log is None else log.open_batches(before.record.run))
        if log is not None and before.run is not None and before.calls < sum(one.plan.total for one in setup.tallies):
            _refuse_open_batches(log, before.run, engine=request.engine or config.execution.engine)
        if request.until:
            parts[ORDER_SEED] = order_seed(config, parts, log)
        setup.harness.budget = budget = spending.budget(before.usage, spent=before.spent)
        for tally in setup.tallies:
            budget.check_price(tally.model_name)
        notes = [*_left_open(place, log, request), *(order_notes(parts, log) if request.until else ())]
        _confirm(setup, before, spending, request, log=log, notes=notes)
        setup = _counted(setup)
        log = stack.enter_context(place.open()) if log is None else log
        setup.harness.run = run = before.run or os.urandom(6).hex()
        until = {}
        if request.until:
            until = untils(gates, setup.judges, setup.cases, seed=parts[ORDER_SEED], log=log, run=run)
        job = RunJob(
            request=request, setup=setup, place=place, log=log, prices=spending.prices, gates=gates, until=until
        )
        with log.claim(run):
            _note_beginning(job, parts, is_new=before.record is None)
            return _carry_out(job)


def _run_before(place: RunPlace, log: SqlLog | None, request: RunRequest) -> Before:
    """Return what the log holds of the run that is to go on; also of one whose rows alone were imported."""
    if log is None or request.new_run:
        return Before(run=request.run)
    run, record = place.run_of(log, request.run)
    usage = () if run is None else (*log.usage(run), *log.usage(calibration_run(run)))
    return Before(run=run, record=record, usage=usage)


def _left_open(place: RunPlace, log: SqlLog | None, request: RunRequest) -> Iterator[str]:
    """Yield a note about batches of the run that stands in the folder, where another one begins."""
    with suppress(UsageError):  # it is not in this log
        if log is not None and request.new_run and (run := place.run_of(log, None)[0]) is not None:
            held = log.open_batches(run)
            yield from [f"{cancel_advice(run, held)}; its provider bills them all the same"] if held else []


def _confirm(
    setup: RunSetup,
    before: Before,
    spending: Spending,
    request: RunRequest,
    *,
    log: SqlLog | None,
    notes: Iterable[str],
) -> None:
    """Show the plan and what it costs at most, and ask whether to go on."""
    plans = {tally.judge.name: tally.plan for tally in setup.tallies}
    tiers = asked_tiers(setup.config, request.engine)
    judges = [
        Asking(
            judge=tally.judge.name,
            model=tally.model_name,
            plan=tally.plan,
            answered=sum(used.calls for used in before.usage if used.judge == tally.judge.name),
            before=usage_before(log, tally.judge.name, tally.model_name, before.usage),
            tier=tiers.get(tally.judge.name),
        )
        for tally in setup.tallies
    ]
    harness, held = setup.harness, list[str]()
    for one in setup.tallies:
        for given in (harness.certificate_for(one.judge, one.model), harness.design_for(one.judge, one.model).passport):
            held += held_notes(one.judge, given)
    agree(
        judges,
        setup.config,
        setup.cases,
        prices=spending.prices,
        max_calls=spending.planned,
        yes=request.yes,
        stderr=request.as_json,
        budget=spending.shown,
        notes=[*plan_notes(before, plans, setup.judges), *held, *notes],
        left=max(sum(plan.total for plan in plans.values()) - before.calls, 0),
        at_most=log is not None and setup.harness.reuse,
    )


@dataclass(frozen=True, kw_only=True)
class RunSetup:
    """What a configuration asks: whom, about what, measured how."""

    config: Config
    harness: JudgeHarness
    judges: Sequence[Judge]
    cases: list[AnswerCase] | CaseFile
    tallies: Sequence[JudgeTally]
    cascade: Cascade | None = None


def _set_up(config: Config, request: RunRequest) -> RunSetup:
    """Build all that a configuration names and plan every case: what cannot be asked is known before the first call."""
    cases = build_cases(config)
    options = build_harness_options(config) | build_calibration(config)
    if config.cascade is None:
        options |= build_certificate(config)
    began = datetime.now(UTC)
    options["clock"] = lambda: began  # whatever expires on the way held for the whole run
    options["reuse"] = config.reuse and not request.fresh
    engine = request.engine or config.execution.engine
    if engine == "batch" and request.until:
        from judgeharness_integrations.judging.execution.batch_engine.executor import ONE_BY_ONE  # noqa: PLC0415

        raise PlanError(ONE_BY_ONE)
    batches = {"wait": request.wait, "cancel": request.cancel, "tell": partial(typer.echo, err=True)}
    executor = build_executor(config, options, engine=engine, **batches)
    harness = JudgeHarness(**options, executor=executor)
    cascade = build_cascade(config, harness.design.rule.name)
    places = asked_places(config, cascade)
    judges: list[Judge] = [build_judge(config, place) for place in places]
    if engine == "ray":
        judges = [SendableJudge(judge, config, place) for judge, place in zip(judges, places, strict=True)]
    if cascade is not None:
        asked = [(judge, judge_model(judge, config.judges[place])) for judge, place in zip(judges, places, strict=True)]
        harness = under_cascade(harness, cascade, asked, request)
    tallies = [
        JudgeTally(
            judge=judge,
            model=judge_model(judge, one),
            plan=harness.plan(judge, cases),
            planned=partial(_planned, harness, judge, cases),
        )
        for judge, one in zip(judges, (config.judges[place] for place in places), strict=True)
    ]
    return RunSetup(config=config, harness=harness, judges=judges, cases=cases, tallies=tallies, cascade=cascade)


def _counted(setup: RunSetup) -> RunSetup:
    """Count the judges among the candidates of the labels they are calibrated on, as `judgeharness calibrate` does."""
    labels, design = setup.harness.calibration_set, setup.harness.design_for
    if labels is None:
        return setup
    looks = [asked_candidate(one.judge, design(one.judge), one.model) for one in setup.tallies]
    known = count_candidates(setup.config, labels, looks)
    return replace(setup, harness=setup.harness.with_labels(known))


def _planned(harness: JudgeHarness, judge: Judge, cases: Iterable[AnswerCase]) -> Iterator[tuple[str, int]]:
    design = harness.design_for(judge)
    plans = plan_cases(
        cases,
        judge,
        perturbations=harness.perturbations,
        repetitions=design.repetitions,
        rule=design.rule,
        on_unfit=harness.on_unfit,
        unique=isinstance(cases, CaseFile),  # it was checked: no id need be remembered
    )
    return ((plan.case_id, plan.samples) for plan in plans)


_LONGEST = 2000


@dataclass(frozen=True, kw_only=True)
class RunJob:
    """A run under way: everything it needs once it may ask."""

    request: RunRequest
    setup: RunSetup
    place: RunPlace
    log: SqlLog
    prices: Mapping[str, Price]
    gates: Gates
    until: Mapping[str, Until]

    @property
    def run(self) -> str:
        """The run's id."""
        return str(self.setup.harness.run)

    @property
    def certificates(self) -> dict[str, HeldCertificate]:
        """Judge -> the certificate its decisions stand under; none without one."""
        certificate_for = self.setup.harness.certificate_for
        held = {tally.judge.name: certificate_for(tally.judge, tally.model) for tally in self.setup.tallies}
        return {judge: one for judge, one in held.items() if one is not None}


def _carry_out(job: RunJob) -> int:
    """Ask what is not answered yet, write everything down, and return the exit code."""
    (job.place.folder / SUMMARY).unlink(missing_ok=True)
    job.setup.harness.log = job.log
    stopped = _ask_all(job)
    with undisturbed():
        if isinstance(stopped, LogStorageError):  # nothing can be noted in a log that cannot be written
            raise stopped
        try:
            return _write_down(job, stopped)
        except BrokenPipeError:  # nobody reads on, as with `| head`: the files are written before anything is shown
            raise
        except OSError as error:
            file, reason = error.filename or job.place.folder, error.strerror or error
            raise UsageError(
                f"{file}: {reason}: make room, or make it writable. What was answered is kept: {_where(job)}; the "
                "same command goes on from there."
            ) from error


def _ask_all(job: RunJob) -> BaseException | None:
    """Ask every judge; return what ended that early: what was answered is summed up all the same."""
    path, budget = job.place.folder / RESULTS, job.setup.harness.budget
    with (
        open(path, "w", encoding="utf-8", errors=LONE_SURROGATES, opener=owner_only) as results,
        stoppable(budget, JudgeHarnessError, OSError) as stop,
        noting_spent(job.log, job.run, budget),
    ):
        left: set[str] | None = None
        left_open = []
        for tally in job.setup.tallies:
            job.setup.harness.observers = default_observers(calls=tally.plan.total) or None
            try:
                left = _ask(job, tally, results, left)
            except BatchesOpenError as error:  # the next judge's can be on their way meanwhile, unless it is asked what
                left_open.append(str(error))  # this one leaves
                if job.setup.config.cascade is not None:
                    break
        if left_open:
            raise BatchesOpenError(" ".join(left_open))
        if job.setup.config.cascade is not None and left is not None:
            keep_queue(job.setup.config, job.setup.cases, left, job.place.folder)
    return stop.by


def _write_down(job: RunJob, stopped: BaseException | None) -> int:
    try:
        document = summary_document(
            job.setup.config, job.setup.harness, job.setup.tallies, job.log, stopped=stopped, prices=job.prices
        )
    except CaseError as error:  # which cases were planned cannot be read any more
        _export(job, state="failed")
        raise UsageError(
            f"{error} What was answered is kept: {_where(job)}. With the cases as they were the same command goes "
            "on; --new-run asks about those that stand there now, and takes over every answer that still fits."
        ) from error
    _export(job, state=document["state"], ended_by=BY_GATE if job.until and not stopped else document["state"])
    document |= together(
        job.setup.config,
        job.setup.cascade,
        job.log.rows(run=job.run),
        design=job.setup.harness.design,
        prices=job.prices,
    )
    if job.until:  # known before the report is read, which compares no cases of such a run
        document["gates"] = GateReport(checks=(), sequential=job.gates.about, stopped=True).to_dict()
        _intervals_at_stop(document, None)
    _write(document, job)
    gates, problem = check_run(
        job.place.folder,
        document,
        rule=job.setup.harness.design.rule,
        gates=job.gates,
        until=job.until,
        summary=summary_file() if job.request.step_summary else None,
    )
    if gates is not None:
        document["gates"] = gates.to_dict()
        if job.until:
            _intervals_at_stop(document, gates)
        _write(document, job)
    _print(document, job, gates)
    code = _exit_code(document, job, stopped) or gate_exit(gates)
    if problem is not None and code == OK:
        raise UsageError(problem)
    if problem is not None:
        typer.echo(f"error: {safe_text(problem, _LONGEST)}", err=True)
    return code


def _intervals_at_stop(document: Mapping[str, Any], gates: GateReport | None) -> None:
    """Give accuracies the number and interval of the gate on them, which hold at every look; else no interval."""
    for judge in document["judges"]:
        for entry in judge["criteria"]:
            entry["accuracy_95"] = None
            if gates is None:
                continue
            found, sentence = replay_at_stop(JudgeReplay.from_dict(entry), gates)
            if found.accuracy_ends is not None:
                entry |= {"accuracy": found.accuracy, "correct": found.correct, "decided_with_gold": found.labelled}
                entry["accuracy_95"] = list(found.accuracy_ends)
            if sentence:
                judge["alerts"].append(sentence)


def _export(job: RunJob, *, state: str, ended_by: str = "") -> None:
    """Note how the run ended, and write its rows to a file; a judge that was not asked about all cases has them say so.

    Later judges of a cascade are asked about what is left to them.
    """
    tallies = job.setup.tallies if job.setup.cascade is None else job.setup.tallies[:1]
    planned = {tally.judge.name: tally.plan.cases for tally in tallies}
    spent = None if job.setup.harness.budget is None else job.setup.harness.budget.spent
    job.log.note(job.run, state=state, attempts_spent=spent)
    write_log(marked(job.log.rows(run=job.run), planned, ended_by=ended_by or state), job.place.folder / VERDICTS)


def _refuse_open_batches(log: SqlLog, run: str, *, engine: str) -> None:
    if engine != "batch":
        instead = (
            "collect them with --engine batch, cancel them with --engine batch --cancel, or ask anew with --new-run"
        )
        log.refuse_open_batches(run, instead=instead)


def _where(job: RunJob) -> str:
    return f"{counted(sum(used.rows for used in job.log.usage(job.run)), 'row')} in {job.log.name}"


def _note_beginning(job: RunJob, parts: Mapping[str, Any], *, is_new: bool) -> None:
    """Note the run in its log and in its folder, before anything is asked."""
    setup, now = job.setup, datetime.now(UTC).isoformat(timespec="seconds")
    facts: dict[str, Any] = {
        "state": "running",
        "config": redacted(setup.config.model_dump(mode="json", exclude_none=True)),
        "planned_cases": sum(tally.plan.cases for tally in setup.tallies),
        "planned_calls": sum(tally.plan.calls for tally in setup.tallies),
        "prices": {name: price.to_dict() for name, price in job.prices.items()} or None,
        "version": __version__,
        "parts": parts,
    }
    if is_new:
        job.log.begin(RunRecord(run=job.run, created_at=now, updated_at=now, **facts))
    else:
        job.log.note(job.run, **facts)
    job.place.mark(
        job.run,
        planned_cases={tally.judge.name: tally.plan.cases for tally in setup.tallies},
        start=setup.config.resolve("."),
        passport=calibration_record(setup.harness.passport),
        **_standing_under(job),
    )


def _standing_under(job: RunJob) -> dict[str, Any]:
    """Return what decisions stand under: one certificate, or those of a cascade."""
    if job.setup.cascade is not None:
        return {"certificate": None, "cascade": job.setup.cascade.to_dict()}
    return {"certificate": next((calibration_record(given) for given, _ in job.certificates.values()), None)}


def _write(document: Mapping[str, Any], job: RunJob) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    path = job.place.folder / SUMMARY
    with open(path, "w", encoding="utf-8", errors=LONE_SURROGATES, opener=owner_only) as file:
        file.write(text + "\n")


def _print(document: Mapping[str, Any], job: RunJob, gates: GateReport | None) -> None:
    if job.request.as_json:
        print_json(document)
    else:
        beside = {tally.judge.name: tally.beside(job.certificates.get(tally.judge.name)) for tally in job.setup.tallies}
        held = {judge: held_text(*one) for judge, one in beside.items() if one is not None}
        screen = console()
        screen.print()
        show_section(ended_section(document, job.place.folder, log=job.log.name, certificates=held), screen)
        for section in together_sections(document):
            show_section(section, screen)
    if gates is not None:
        tell_gates(gates, stderr=job.request.as_json)


def _ask(job: RunJob, tally: JudgeTally, results: TextIO, left: set[str] | None) -> set[str] | None:
    """Ask a judge about the cases that are left, all of them where that is None; of a cascade return what it leaves."""
    until, cascade = job.until.get(tally.judge.name), job.setup.cascade
    cases: Iterable[AnswerCase] = job.setup.cases if until is None else until
    if left is not None:
        tally.keep_to(left, stopped=False)
        cases = [case for case in job.setup.cases if case.case_id in left]
    going = set[str]()
    with without_replay_advice():
        for result in job.setup.harness.evaluate_many(tally.judge, cases, tally.model):
            if until is not None:
                until.add(result)
            if cascade is not None and goes_on(result, cascade.criterion):
                going.add(result.case_id)
                if tally is job.setup.tallies[-1]:
                    result = asked_after(result, (), waits=True)  # noqa: PLW2901 - the same measurement, at its end
            document = result.to_dict()
            tally.add(result, document)
            results.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")
            results.flush()
    if until is not None:
        tally.keep_to(until.opened)
        typer.echo(f"{safe_text(tally.judge.name, 60)}: {until.ending}", err=True)
    return None if cascade is None else going


def _exit_code(document: Mapping[str, Any], job: RunJob, stopped: BaseException | None) -> int:
    """Say on standard error how the run ended and why samples failed, and return the exit code."""
    missing, state = document["not_graded_cases"], document["state"]
    if isinstance(stopped, OSError):
        raise stopped
    if state == "failed":
        kind = ClusterError if isinstance(stopped, ClusterError) else UsageError
        raise kind(f"{document['error']} What was answered is kept: {_where(job)}.")
    if isinstance(stopped, BatchesOpenError):
        cost = open_cost(batch_entries(job.log, job.run, job.prices))
        typer.echo(f"{safe_text(str(stopped), _LONGEST)} {cost}".rstrip(), err=True)
    elif state == "interrupted":
        typer.echo(f"{stop_word(stopped)}: {_where(job)}; the same command goes on from there.", err=True)
    elif missing:
        typer.echo(_missing_text(document, job), err=True)
    for judge in document["judges"]:
        for line in told(judge["judge"], judge["failures"]):
            typer.echo(line, err=True)
    if isinstance(stopped, BatchesOpenError):
        return BATCHES_OPEN
    if state == "interrupted":
        return stop_code(stopped)
    return NOT_GRADED if missing or state == "budget_exhausted" else OK


def _missing_text(document: Mapping[str, Any], job: RunJob) -> str:
    """Return how many cases ended without a grade, why, and what to do about it."""
    missing, unasked = document["not_graded_cases"], document["not_asked_cases"]
    what = f"{missing} of {document['judged_cases'] + unasked} cases ended not_graded"
    what += f", {unasked} of them never asked" if unasked else ""
    if down := [tally.ended for tally in job.setup.tallies if tally.ended]:
        return f"{what}: {safe_text('; '.join(down), _LONGEST)}; the same command goes on from there."
    if document["state"] == "budget_exhausted":
        reason = job.setup.harness.budget.reason if job.setup.harness.budget is not None else None
        larger = (
            "" if reason and "cannot be kept" in reason else "; with a larger one, the same command goes on from there"
        )
        return f"{what}: {reason or 'the budget is spent'}{larger}."
    again = "; --new-run asks failed calls again and takes over the other answers"
    failed = any(judge["failures"] for judge in document["judges"])
    return f"{what}: too few valid answers (see {job.place.folder / SUMMARY}){again if failed else ''}."
