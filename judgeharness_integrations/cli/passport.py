"""What `judgeharness passport` does: a judge of probabilities asked in every form, or its frozen states once more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.grouping import without_copies
from judgeharness_integrations.analysis.calibration.candidates import candidate_of_items
from judgeharness_integrations.analysis.calibration.saved import labelled_last_asked, last_asked
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.analysis.fingerprint import Fingerprint
from judgeharness_integrations.analysis.probability.measuring import Bars, passport_of_rows
from judgeharness_integrations.analysis.probability.passport import VOTES, Passport
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.candidates import asked_candidate, study_of
from judgeharness_integrations.judging.config import (
    Config,
    build_cases,
    build_harness_options,
    build_judge,
    cases_digest,
    load_config,
)
from judgeharness_integrations.judging.passport import PASSPORT_RULE, SINGLE_LABELS, PassportOffice, checked_passport
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.labelling.labellog import Annotators, annotators_beside
from judgeharness_integrations.redacting import knowing
from judgeharness_integrations.reporting.checks import canary_section, passport_section
from judgeharness_integrations.reporting.terminal import console, say, show_section
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow, voting

from ._asking import Asking, agree, judge_model
from ._command import GATE_FAILED, OK, part_of, terminable
from ._output import check_file, print_json, without_replay_advice
from ._run_options import RunLimits
from .calibrate_log import (
    ConfiguredLog,
    Folding,
    Others,
    Request,
    candidates_on,
    items_of,
    labelled_rows,
    place_of,
    print_and_save,
    refuse_unended,
    rows_of_one,
)
from .run_place import Spending

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.probability.forecasts import AnnotatorShares
    from judgeharness_integrations.judging.cases import AnswerCase
    from judgeharness_integrations.judging.judge import Judge

    from ._judge_options import PassportRequest

_RUNNING = ("max_concurrency", "timeout_s", "max_attempts", "requests_per_minute", "tokens_per_minute", "keep")
_WORDINGS = ("instructions", "rewriter")
_OF_RUNS = ("calibration", "certificate", "passport", "gates", "log", "reuse", "out")
_OF_RUNS_HARNESS = (
    *("perturbations", "repetitions", "aggregation_rule", "min_valid"),
    *("on_unfit", "seed", "tolerance", "curtail"),
)


@terminable()
def take_passport(request: PassportRequest) -> int:
    """Take a passport, or ask the states of one again; print, save and return the exit code.

    130 after SIGINT, 143 after SIGTERM: what was answered is kept, and the same command goes on from there.
    """
    if request.config is None and request.log is None:
        raise UsageError("give a configuration whose judge is to be asked, or --log with its answers.")
    if request.check is not None and request.out is not None:
        raise UsageError("--check adds its round to the passport it names: leave --out away.")
    if request.labels is not None and request.log is None:
        raise UsageError("--labels go with --log: with CONFIG the labels are those of its cases.")
    bars = Bars(agreement=request.agreement, delta=request.delta)
    if request.out is not None:
        check_file(request.out)
        refuse_same("--out", request.out, request.config, request.log, request.check)
    if request.log is not None:
        if request.check is not None:
            raise UsageError("--check asks the frozen states again, which no log can: give a configuration.")
        return _print_passport(_of_log(request.log, request, bars), request)
    config = load_config(request.config or Path())
    _say_unused(config)
    with knowing(config.model_dump()):
        return _check(config, request) if request.check is not None else _take(config, request, bars)


def _of_log(path: Path, request: PassportRequest, bars: Bars) -> Passport:
    with without_replay_advice():
        judge, rows, others = rows_of_one(path, request.judge, request.run, voting_only=False)
        parts = None if request.config is None else _parts_of(path, request.config, voting(rows))
        read = _Labelled(rows=rows, labels=Labels(name=request.name or path.name, consensus=SINGLE_LABELS), bars=bars)
        if request.labels is not None or any(row.gold is not None for row in rows):
            read = _labelled(path, request, bars, rows, others)
    asked = labelled_last_asked(read.rows) or last_asked(read.rows)
    return passport_of_rows(
        read.rows,
        read.labels,
        judge=judge,
        measured_at=asked or datetime.now(UTC).isoformat(timespec="seconds"),
        votes=VOTES if parts is None else parts["perturbations"],
        bars=read.bars,
        seed=request.seed,
        shares=read.shares,
        parts=parts,
    )


def _parts_of(path: Path, config: Path, rows: Sequence[VerdictRow]) -> Mapping[str, Any] | None:
    """Return the fingerprint of the configuration that rows were asked with; refuse another one."""
    configured = ConfiguredLog(config, rows)
    _say(*configured.check(path, Folding.of(PASSPORT_RULE, None).decisions(rows)))
    return None if configured.parts is None else dict(json.loads(json.dumps(configured.parts)))


@dataclass(frozen=True, kw_only=True)
class _Labelled:
    """The rows of a log with labels, where these come from, and what they have to show."""

    rows: Sequence[VerdictRow]
    labels: Labels
    bars: Bars
    shares: AnnotatorShares = field(default_factory=dict)


def _labelled(
    path: Path, request: PassportRequest, bars: Bars, rows: Sequence[VerdictRow], others: Others
) -> _Labelled:
    """Return the rows of a log with its labels, or those of a file, for which a candidate is counted."""
    asked = _asked(request)
    refuse_unended(path, rows, request.run, what="a passport")
    study = study_of(asked, asked.out, log=path)
    labelled, rows, notes = labelled_rows(rows, path, asked, copies=without_copies, read=annotators_beside(rows))
    _say(*notes)
    golds, _ = labelled.golds()
    items = items_of(Folding.of(PASSPORT_RULE, None).decisions(voting(rows)))
    told = f"passport, seed {request.seed}"
    candidate = candidate_of_items(rows[0].judge, told, [item for item in items if item.gold is not None])
    count = study.count(golds, candidate, of_log=candidates_on(golds, rows, others))
    people = Annotators.of(labelled)
    return _Labelled(rows=rows, labels=people.labels, bars=replace(bars, candidates=count), shares=people.shares)


def _say(*notes: str) -> None:
    for note in notes:
        typer.echo(safe_text(note), err=True)


def _take(config: Config, request: PassportRequest, bars: Bars) -> int:
    judge, place = _judge(config, request.judge)
    cases = list(build_cases(config))
    spending = Spending.of(config, RunLimits(max_calls=request.max_calls))
    model = judge_model(judge, config.judges[place])
    labelled = tuple((case, case.gold) for case in cases if case.gold is not None)
    labels = None
    if labelled:
        labels = CalibrationSet(_name(config, request), labelled, source=_asked(request).declared_source)
    office = _office(config, judge, cases, request, bars, source="human" if labels is None else labels.source)
    with ExitStack() as stack:
        log = None
        if request.out is not None:
            log = stack.enter_context(SqlLog(_log_beside(request.out)))
        run = _run_of(office, cases)
        answered = 0 if log is None else sum(used.calls for used in log.usage(run))
        plan = Plan(cases=len(cases), calls=office.calls)
        agree(
            [Asking(judge=judge.name, model=model, plan=plan, answered=answered)],
            config,
            cases,
            prices=spending.prices,
            max_calls=spending.planned,
            yes=request.yes,
            stderr=request.as_json,
            budget=spending.shown,
            left=max(0, office.calls - answered),
            at_most=True,
        )
        if labels is not None:
            look = asked_candidate(judge, office.plain.design, model, seed=request.seed)
            study = study_of(replace(_asked(request), labels=config.resolve(str(config.cases))), config.path)
            bars = replace(bars, candidates=study.count(labels.golds()[0], look))
        budget = spending.budget(() if log is None else log.usage(run))
        kept: dict[str, Any] = {} if log is None else {"log": log, "run": run, "reuse": False}
        passport = _office(config, judge, cases, request, bars, source=office.source, budget=budget, **kept).take()
    code = _print_passport(passport, request)
    if request.out is not None:
        _keep_answers(request.out, passport.measured_at)
    return code


def _office(
    config: Config,
    judge: Judge,
    cases: Sequence[AnswerCase],
    request: PassportRequest,
    bars: Bars,
    *,
    source: str,
    **running: Any,
) -> PassportOffice:
    built = build_harness_options(config)
    given = {name: built[name] for name in (*_RUNNING, *_WORDINGS) if name in built}
    return PassportOffice(
        judge,
        cases,
        wordings=len(built.get("instructions", ())),
        formed=request.formed,
        name=_name(config, request),
        source=source,
        bars=bars,
        seed=request.seed,
        **given,
        **running,
    )


def _check(config: Config, request: PassportRequest) -> int:
    path = request.check or Path()
    passport = Passport.load(path)
    judge, _ = _judge(config, request.judge or passport.judge)
    cases = list(build_cases(config))
    built = build_harness_options(config)
    given = {name: built[name] for name in _RUNNING if name in built}
    budget = Spending.of(config, RunLimits(max_calls=request.max_calls)).budget()
    passport, check = checked_passport(passport, judge, cases, budget=budget, **given)
    if not check.elsewhere:
        passport.save(path)
    if request.as_json:
        print_json(check.to_dict())
    else:
        show_section(canary_section(check), console(), every=True)
        if not check.elsewhere:
            say(console(), f"saved to {path}")
    return GATE_FAILED if check.alarm else OK


def _judge(config: Config, name: str | None) -> tuple[Judge, int]:
    place = place_of(config, name)
    return build_judge(config, place), place


def _name(config: Config, request: PassportRequest) -> str:
    return request.name or Path(str(config.cases)).name


def _asked(request: PassportRequest) -> Request:
    return part_of(request, Request)


def _run_of(office: PassportOffice, cases: list[AnswerCase]) -> str:
    """Return the run that answers are kept under: the same again goes on, another judge or other cases begin anew."""
    asked = fingerprint_parts(office.judge, office.full.design) or {"judge": office.judge.name}
    return f"passport-{Fingerprint({**asked, 'cases': cases_digest(cases), 'seed': office.seed}).digest}"


def _say_unused(config: Config) -> None:
    """Say which keys of a configuration are those of runs, so that nobody takes them for asked."""
    harness = (f"harness.{name}" for name in _OF_RUNS_HARNESS if name in config.harness.model_fields_set)
    execution = (f"execution.{name}" for name in ("engine", "ray") if name in config.execution.model_fields_set)
    unused = [*(name for name in _OF_RUNS if name in config.model_fields_set), *harness, *execution]
    if unused:
        typer.echo(f"a passport has no use for these keys of {config.path}: {', '.join(unused)}.", err=True)


def _print_passport(passport: Passport, request: PassportRequest) -> int:
    print_and_save(passport, _asked(request), lambda: (passport_section(passport),))
    labelled = any(one.trust is not None for one in passport.questions)
    return GATE_FAILED if labelled and not passport.granted else OK


def _log_beside(out: Path) -> Path:
    """Return where answers are kept until the passport is whole: no file that --out or another command writes."""
    return out.with_name(f"{out.name}.answers.sqlite")


def _keep_answers(out: Path, measured_at: str) -> None:
    """Give the answers a name of their own, so that the next passport asks anew."""
    stamp = "".join(letter for letter in measured_at if letter.isdigit())[:14]
    _log_beside(out).rename(out.with_name(f"{out.stem}-{stamp}.sqlite"))
