"""What `judgeharness passport` does: a judge of probabilities asked in every form, or its frozen states once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.analysis.calibration.saved import last_asked
from judgeharness_integrations.analysis.probability.measuring import Bars, question_passports
from judgeharness_integrations.analysis.probability.passport import Passport
from judgeharness_integrations.cli._asking import Asking, agree, judge_model
from judgeharness_integrations.cli._output import check_file, print_json
from judgeharness_integrations.cli._run_options import RunLimits
from judgeharness_integrations.cli.calibrate_log import rows_of_one
from judgeharness_integrations.cli.calibration import Request, print_and_save
from judgeharness_integrations.cli.exits import GATE_FAILED, OK, terminable
from judgeharness_integrations.cli.run_place import Spending
from judgeharness_integrations.judging.config import (
    Config,
    build_cases,
    build_harness_options,
    build_judge,
    load_config,
)
from judgeharness_integrations.judging.passport import PassportOffice, checked_passport
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.redacting import knowing
from judgeharness_integrations.reporting.passport import canary_section, passport_section
from judgeharness_integrations.reporting.terminal import console, say, show_section
from judgeharness_integrations.verdictlog import SqlLog

if TYPE_CHECKING:
    from judgeharness_integrations.cli._judge_options import PassportRequest
    from judgeharness_integrations.judging.cases import AnswerCase
    from judgeharness_integrations.judging.judge import Judge

_RUN = "passport"
_RUNNING = ("max_concurrency", "timeout_s", "max_attempts", "requests_per_minute", "tokens_per_minute", "keep")
_WORDINGS = ("instructions", "rewriter")


@terminable()
def take_passport(request: PassportRequest) -> int:
    """Take a passport, or ask the states of one again; print, save and return the exit code.

    130 after SIGINT, 143 after SIGTERM: what was answered is kept, and the same command goes on from there.
    """
    if (request.config is None) == (request.log is None):
        raise UsageError("give a configuration whose judge is to be asked, or --log with its answers.")
    if request.check is not None and request.out is not None:
        raise UsageError("--check adds its round to the passport it names: leave --out away.")
    bars = Bars(agreement=request.agreement, delta=request.delta)
    if request.out is not None:
        check_file(request.out)
        refuse_same("--out", request.out, request.config, request.log, request.check)
    if request.log is not None:
        if request.check is not None:
            raise UsageError("--check asks the frozen states again, which no log can: give a configuration.")
        return _told(_of_log(request.log, request, bars), request)
    config = load_config(request.config or Path())
    with knowing(config.model_dump()):
        return _check(config, request) if request.check is not None else _take(config, request, bars)


def _of_log(path: Path, request: PassportRequest, bars: Bars) -> Passport:
    judge, rows, _ = rows_of_one(path, request.judge, request.run, voting_only=False)
    labelled = any(row.gold is not None for row in rows)
    return Passport(
        name=request.name or path.name,
        judge=judge,
        source=_source(request) if labelled else "human",
        consensus="single labels",
        excluded_ties=0,
        measured_at=last_asked(rows) or datetime.now(UTC).isoformat(timespec="seconds"),
        questions=question_passports(rows, bars=bars, seed=request.seed),
    )


def _take(config: Config, request: PassportRequest, bars: Bars) -> int:
    judge, place = _judge(config, request.judge)
    cases = list(build_cases(config))
    spending = Spending.of(config, RunLimits(max_calls=request.max_calls))
    labelled = any(case.gold is not None for case in cases)
    office = _office(config, judge, cases, request, bars, source=_source(request) if labelled else "human")
    model = judge_model(judge, config.judges[place])
    with ExitStack() as stack:
        log = None
        if request.out is not None:
            log = stack.enter_context(SqlLog(_log_beside(request.out)))
        answered = 0 if log is None else sum(used.calls for used in log.usage(_RUN))
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
        budget = spending.budget(() if log is None else log.usage(_RUN))
        kept: dict[str, Any] = {} if log is None else {"log": log, "run": _RUN, "reuse": False}
        passport = _office(config, judge, cases, request, bars, source=office.source, budget=budget, **kept).take()
    code = _told(passport, request)
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
        name=request.name or Path(str(config.cases)).name,
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
    passport, reports = checked_passport(passport, judge, cases, budget=budget, **given)
    passport.save(path)
    moved = any(report.alarm is not None for report in reports.values())
    if request.as_json:
        print_json({name: _canary(report) for name, report in reports.items()})
    else:
        show_section(canary_section(passport, reports), console(), every=True)
        say(console(), f"saved to {path}")
    return GATE_FAILED if moved else OK


def _canary(report: Any) -> Mapping[str, Any]:
    return {
        "rounds": report.days,
        "states": report.states,
        "evidence": report.evidence[-1],
        "needed": report.needed,
        "alarm": report.alarm,
        "moved": list(report.moved),
        "varied": report.varied,
    }


def _judge(config: Config, name: str | None) -> tuple[Judge, int]:
    known = [one.name for one in config.judges]
    if name is None and len(known) > 1:
        raise UsageError(f"{config.path} holds {len(known)} judges: choose one with --judge.")
    if name is not None and name not in known:
        raise ConfigError(f"{config.path} has no judge {name!r}: it has {', '.join(known)}.")
    place = 0 if name is None else known.index(name)
    return build_judge(config, place), place


def _source(request: PassportRequest) -> str:
    return _asked(request).declared_source


def _asked(request: PassportRequest) -> Request:
    return Request(labels=None, as_json=request.as_json, out=request.out, source=request.source)


def _told(passport: Passport, request: PassportRequest) -> int:
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
