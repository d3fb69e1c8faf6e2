"""A run under way: asking, and what is left behind however it ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import typer

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import CaseError, ClusterError, JudgeHarnessError, LogStorageError, UsageError
from judgeharness_integrations.analysis.certifying.wording import held_text
from judgeharness_integrations.analysis.document import calibration_record
from judgeharness_integrations.analysis.gates.report import GateReport
from judgeharness_integrations.cli._failures import told, without_replay_advice
from judgeharness_integrations.cli._gates import gate_exit
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._run_until import check_run
from judgeharness_integrations.cli.exits import (
    NOT_GRADED,
    OK,
    stop_code,
    stop_word,
    stoppable,
    undisturbed,
)
from judgeharness_integrations.cli.run_place import RunPlace, noting_spent
from judgeharness_integrations.cli.summary import JudgeTally, summary_document
from judgeharness_integrations.judging.config import Config
from judgeharness_integrations.judging.execution.observing import default_observers
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.reporting.gates import gates_section
from judgeharness_integrations.reporting.runending import ended_section
from judgeharness_integrations.reporting.terminal import console, show_section
from judgeharness_integrations.verdictlog import write_log
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.plain import counted, safe_text
from judgeharness_integrations.verdictlog.runfolder import RESULTS, SUMMARY, VERDICTS
from judgeharness_integrations.verdictlog.sql.runs import RunRecord

if TYPE_CHECKING:
    from pathlib import Path

    from judgeharness_integrations.analysis.certifying.certificate import HeldCertificate
    from judgeharness_integrations.analysis.gates.gate import Gates
    from judgeharness_integrations.analysis.usage import Price
    from judgeharness_integrations.judging.cases import AnswerCase
    from judgeharness_integrations.judging.until import Until
    from judgeharness_integrations.verdictlog import SqlLog


_LONGEST = 2000


@dataclass(frozen=True, kw_only=True)
class RunJob:
    """Everything a run needs once it may ask; `facts` and `parts` go to its record."""

    config: Config
    harness: JudgeHarness
    cases: Iterable[AnswerCase]
    tallies: Sequence[JudgeTally]
    place: RunPlace
    log: SqlLog
    prices: Mapping[str, Price]
    facts: Mapping[str, Any]
    parts: Mapping[str, Any]
    is_new: bool
    as_json: bool
    gates: Gates
    until: Mapping[str, Until]
    step_summary: Path | None

    @property
    def run(self) -> str:
        """The run's id."""
        return str(self.harness.run)

    @property
    def certificates(self) -> dict[str, HeldCertificate]:
        """Judge -> the certificate its decisions stand under; none without one."""
        held = {tally.judge.name: self.harness.certificate_for(tally.judge, tally.model) for tally in self.tallies}
        return {judge: one for judge, one in held.items() if one is not None}


def run_job(job: RunJob) -> int:
    """Ask what is not answered yet, write everything down, and return the exit code."""
    _note_beginning(job)
    (job.place.folder / SUMMARY).unlink(missing_ok=True)
    job.harness.log = job.log
    stopped = _ask_all(job)
    with undisturbed():
        if isinstance(stopped, LogStorageError):  # nothing can be noted in a log that cannot be written
            raise stopped
        try:
            return _write_down(job, stopped)
        except OSError as error:
            file, reason = error.filename or job.place.folder, error.strerror or error
            raise UsageError(
                f"{file}: {reason}: make room, or make it writable. What was answered is kept: {_where(job)}; the "
                "same command goes on from there."
            ) from error


def _ask_all(job: RunJob) -> BaseException | None:
    """Ask every judge; return what ended that early: what was answered is summed up all the same."""
    path, budget = job.place.folder / RESULTS, job.harness.budget
    with (
        open(path, "w", encoding="utf-8", errors=LONE_SURROGATES, opener=owner_only) as results,
        stoppable(budget, JudgeHarnessError, OSError) as stop,
        noting_spent(job.log, job.run, budget),
    ):
        for tally in job.tallies:
            job.harness.observers = default_observers(calls=tally.plan.total) or None
            _ask(job, tally, results)
    return stop.by


def _write_down(job: RunJob, stopped: BaseException | None) -> int:
    try:
        document = summary_document(job.config, job.harness, job.tallies, job.log, stopped=stopped, prices=job.prices)
    except CaseError as error:  # which cases were planned cannot be read any more
        _export(job, state="failed")
        raise UsageError(
            f"{error} What was answered is kept: {_where(job)}. With the cases as they were the same command goes "
            "on; --new-run asks about those that stand there now, and takes over every answer that still fits."
        ) from error
    _export(job, state=document["state"])
    if job.until:  # known before the report is read, which compares no cases of such a run
        document["gates"] = GateReport(checks=(), sequential=job.gates.about, stopped=True).to_dict()
    _write(document, job)
    gates, problem = check_run(
        job.place.folder,
        document,
        rule=job.harness.design.rule,
        gates=job.gates,
        until=job.until,
        summary=job.step_summary,
    )
    if gates is not None:
        document["gates"] = gates.to_dict()
        _write(document, job)
    _print(document, job, gates)
    code = _exit_code(document, job, stopped) or gate_exit(gates)
    if problem is not None and code == OK:
        raise UsageError(problem)
    if problem is not None:
        typer.echo(f"error: {safe_text(problem, _LONGEST)}", err=True)
    return code


def _export(job: RunJob, *, state: str) -> None:
    """Note how the run ended, and write its rows to a file."""
    spent = None if job.harness.budget is None else job.harness.budget.spent
    job.log.note(job.run, state=state, attempts_spent=spent)
    write_log(job.log.rows(run=job.run), job.place.folder / VERDICTS)


def _where(job: RunJob) -> str:
    return f"{counted(sum(used.rows for used in job.log.usage(job.run)), 'row')} in {job.log.name}"


def _note_beginning(job: RunJob) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if job.is_new:
        record = RunRecord(run=job.run, created_at=now, updated_at=now, parts=job.parts, **job.facts)
        job.log.begin(record)
    else:
        job.log.note(job.run, parts=job.parts, **job.facts)
    planned = {tally.judge.name: tally.plan.cases for tally in job.tallies}
    certificate = next((calibration_record(given) for given, _ in job.certificates.values()), None)
    job.place.mark(
        job.run,
        planned_cases=planned,
        start=job.config.resolve("."),
        certificate=certificate,
    )


def _write(document: Mapping[str, Any], job: RunJob) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    path = job.place.folder / SUMMARY
    with open(path, "w", encoding="utf-8", errors=LONE_SURROGATES, opener=owner_only) as file:
        file.write(text + "\n")


def _print(document: Mapping[str, Any], job: RunJob, gates: GateReport | None) -> None:
    if job.as_json:
        print_json(document)
    else:
        beside = {tally.judge.name: tally.beside(job.certificates.get(tally.judge.name)) for tally in job.tallies}
        held = {judge: held_text(*one) for judge, one in beside.items() if one is not None}
        screen = console()
        screen.print()
        show_section(ended_section(document, job.place.folder, log=job.log.name, certificates=held), screen)
    if gates is not None:
        show_section(gates_section(gates), console(stderr=job.as_json))


def _ask(job: RunJob, tally: JudgeTally, results: TextIO) -> None:
    until = job.until.get(tally.judge.name)
    with without_replay_advice():
        for result in job.harness.evaluate_many(tally.judge, job.cases if until is None else until, tally.model):
            if until is not None:
                until.add(result)
            document = result.to_dict()
            tally.add(result, document)
            results.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")
            results.flush()
    if until is not None:
        tally.keep_to(until.opened)
        typer.echo(f"{safe_text(tally.judge.name, 60)}: {until.ending}", err=True)


def _exit_code(document: Mapping[str, Any], job: RunJob, stopped: BaseException | None) -> int:
    """Say on standard error how the run ended and why samples failed, and return the exit code."""
    missing, state = document["not_graded_cases"], document["state"]
    if isinstance(stopped, OSError):
        raise stopped
    if state == "failed":
        kind = ClusterError if isinstance(stopped, ClusterError) else UsageError
        raise kind(f"{document['error']} What was answered is kept: {_where(job)}.")
    if state == "interrupted":
        typer.echo(f"{stop_word(stopped)}: {_where(job)}; the same command goes on from there.", err=True)
    elif missing:
        typer.echo(_missing_text(document, job), err=True)
    for judge in document["judges"]:
        for line in told(judge["judge"], judge["failures"]):
            typer.echo(line, err=True)
    if state == "interrupted":
        return stop_code(stopped)
    return NOT_GRADED if missing or state == "budget_exhausted" else OK


def _missing_text(document: Mapping[str, Any], job: RunJob) -> str:
    """Return how many cases ended without a grade, why, and what to do about it."""
    missing, unasked = document["not_graded_cases"], document["not_asked_cases"]
    what = f"{missing} of {document['judged_cases'] + unasked} cases ended not_graded"
    what += f", {unasked} of them never asked" if unasked else ""
    if down := [tally.ended for tally in job.tallies if tally.ended]:
        return f"{what}: {safe_text('; '.join(down), _LONGEST)}; the same command goes on from there."
    if document["state"] == "budget_exhausted":
        reason = job.harness.budget.reason if job.harness.budget is not None else None
        larger = (
            "" if reason and "cannot be kept" in reason else "; with a larger one, the same command goes on from there"
        )
        return f"{what}: {reason or 'the budget is spent'}{larger}."
    again = "; --new-run asks failed calls again and takes over the other answers"
    failed = any(judge["failures"] for judge in document["judges"])
    return f"{what}: too few valid answers (see {job.place.folder / SUMMARY}){again if failed else ''}."
