"""What `judgeharness check` does: judges asked under changes and attacks, or a log read, and a report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import BudgetError, ConfigError, JudgeDownError, UnknownNameError
from judgeharness_integrations._version import __version__
from judgeharness_integrations.analysis.checking import CheckReport, check_rows
from judgeharness_integrations.analysis.replay import rows_about
from judgeharness_integrations.judging.config import (
    Config,
    SendableJudge,
    build_cases,
    build_executor,
    build_harness_options,
    build_judge,
    cases_digest,
    load_config,
)
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.harness import JudgeHarness, preset
from judgeharness_integrations.redacting import knowing, redacted, without_secrets
from judgeharness_integrations.reporting.checks import checks_section
from judgeharness_integrations.reporting.sections import section_markdown
from judgeharness_integrations.reporting.terminal import console, show_section
from judgeharness_integrations.testing.checking.asking import RULE, usual_perturbations
from judgeharness_integrations.testing.checking.judge import check_judge, plan_check
from judgeharness_integrations.verdictlog import SqlLog, write_log
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, counted, safe_text
from judgeharness_integrations.verdictlog.row import ModelUsage, is_probe
from judgeharness_integrations.verdictlog.runfolder import LOG, MARK, VERDICTS
from judgeharness_integrations.verdictlog.sql.runs import RunRecord

from ._asking import Asking, agree, asked_tiers, judge_model, usage_before
from ._command import GATE_FAILED, NOT_GRADED, OK, stop_code, stop_word, stoppable, terminable, undisturbed
from ._judge_options import CheckRequest
from ._output import (
    append_summary,
    check_folder,
    failures,
    print_json,
    rows_of_log,
    summary_file,
    told,
    without_garbage_collection,
    without_replay_advice,
)
from ._run_options import RunLimits
from .run_place import RunPlace, Spending, run_parts

if TYPE_CHECKING:
    from judgeharness_integrations.judging.cases import AnswerCase
    from judgeharness_integrations.judging.judge import Judge
    from judgeharness_integrations.judging.plan import Plan


_REPETITIONS = 3
_CASES = 50
_ASKED = ("perturbations", "rewriter", "instructions", "keep", "reuse")
_RUNNING = ("max_concurrency", "timeout_s", "max_attempts", "requests_per_minute", "tokens_per_minute")
_ANSWERS_DEPEND_ON = ("seed", "wordings", "rewriter")  # what is asked beyond that are other rows of the same run


@dataclass(frozen=True, kw_only=True)
class JudgeToCheck:
    """A judge, the model behind it, what asking it costs at most, and the run of its rows."""

    judge: Judge
    model: str | None
    plan: Plan
    run: str


@dataclass(frozen=True, kw_only=True)
class CheckParts:
    """Everything `check_judge` takes but the judge: `options` say what is asked, `running` how."""

    config: Config
    cases: Iterable[AnswerCase]
    judges: Sequence[JudgeToCheck]
    options: Mapping[str, Any]
    running: Mapping[str, Any]
    score_tolerance: float | None


def check_parts(config: Config, request: CheckRequest) -> CheckParts:
    """Build all that a configuration names and plan every judge: what cannot be asked is known before the first call.

    Raises:
        UnknownNameError: a judge or probe is asked for that there is none of.

    """
    places = _places(config, request.judges)
    cases = build_cases(config)
    built = build_harness_options(_checked_config(config))
    seed = request.seed if request.seed is not None else built.get("seed", 0)
    options = {name: built[name] for name in _ASKED if name in built} | {
        "probes": request.attacks,
        "repetitions": _REPETITIONS if request.repetitions is None else request.repetitions,
        "max_cases": _CASES if request.cases is None else request.cases,
        "seed": seed,
    }
    executor = build_executor(config, built)
    judges = [build_judge(config, place) for place in places]
    if config.execution.engine == "ray":
        judges = [SendableJudge(judge, config, place) for judge, place in zip(judges, places, strict=True)]
    found = [
        JudgeToCheck(
            judge=judge,
            model=judge_model(judge, config.judges[place]),
            plan=plan_check(judge, cases, **options),
            run=_run(config, place, judge, cases_digest(cases), options),
        )
        for judge, place in zip(judges, places, strict=True)
    ]
    score_tolerance = config.harness.tolerance if request.score_tolerance is None else request.score_tolerance
    running = {name: built[name] for name in _RUNNING if name in built} | {"executor": executor}
    return CheckParts(
        config=config, cases=cases, judges=found, options=options, running=running, score_tolerance=score_tolerance
    )


def _places(config: Config, names: Sequence[str]) -> list[int]:
    known = [judge.name for judge in config.judges]
    for name in names:
        if name not in known:
            raise UnknownNameError("judge", name, known)
    return [place for place, name in enumerate(known) if not names or name in names]


def _checked_config(config: Config) -> Config:
    """Return the configuration with the perturbations of a check: the usual ones, and its own besides.

    Its own probes are left out: a check attacks the side that lost, and not twice.
    """
    harness = config.harness
    own = harness.perturbations
    if own is None:
        own = list(preset(harness.preset or "standard", str(harness.shape))["perturbations"])
    usual = usual_perturbations(rewriter=harness.rewriter is not None, wordings=len(harness.instructions or ()))
    names = [name for name in dict.fromkeys((*usual, *own)) if name != "none" and not is_probe(name)]
    return config.model_copy(update={"harness": harness.model_copy(update={"perturbations": names})})


def _run(config: Config, place: int, judge: Judge, cases: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the run of a judge's rows: another one as soon as its answers could be others."""
    harness = JudgeHarness(
        perturbations=options["perturbations"],
        repetitions=1,
        aggregation_rule=RULE,
        seed=options["seed"],
        rewriter=options.get("rewriter"),
        instructions=options.get("instructions", ()),
    )
    alone = config.model_copy(update={"judges": [config.judges[place]], "calibration": None})
    parts = run_parts(alone, harness, [judge], cases=cases)
    parts["harness"] = {name: parts["harness"][name] for name in _ANSWERS_DEPEND_ON}
    text = json.dumps(parts, sort_keys=True, default=str)
    return f"check-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]}"


def note_beginning(parts: CheckParts, log: SqlLog) -> None:
    """Note what is to be asked, before anything is."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    config = redacted(parts.config.model_dump(mode="json", exclude_none=True))
    for one in parts.judges:
        facts: dict[str, Any] = {
            "state": "running",
            "config": config,
            "planned_cases": one.plan.cases,
            "planned_calls": one.plan.calls,
            "version": __version__,
        }
        if log.record(one.run) is None:
            log.begin(RunRecord(run=one.run, created_at=now, updated_at=now, **facts))
        else:
            log.note(one.run, **facts)


def note_end(parts: CheckParts, log: SqlLog, *, state: str) -> None:
    """Note how it ended; of a check that is complete, as many calls were planned as there are."""
    for one in parts.judges:
        answered = sum(used.calls for used in log.usage(one.run))
        log.note(one.run, state=state, planned_calls=answered if state == "complete" else one.plan.calls)


CHECK = "check.json"
_LONGEST = 2000


@dataclass(frozen=True, kw_only=True)
class CheckEnd:
    """The reports of a check, and what ended it before everything was asked: `down` tells of judges that are down."""

    parts: CheckParts
    reports: Sequence[CheckReport]
    stopped: BaseException | None
    budget: Budget
    down: Sequence[str] = ()

    @property
    def state(self) -> str:
        """How it ended."""
        if self.stopped is not None:
            return "interrupted"
        if self.down:
            return "judge_down"
        return "budget_exhausted" if self.budget.exhausted else "complete"


def finished(end: CheckEnd, log: SqlLog, folder: Path, request: CheckRequest) -> int:
    """Write everything down, show it, and return the exit code."""
    with undisturbed():
        note_end(end.parts, log, state=end.state)
        rows = (row for one in end.parts.judges for row in log.rows(run=one.run))
        write_log(rows, folder / VERDICTS)
        text = json.dumps(_document(end.reports, end.state), indent=2, ensure_ascii=False, allow_nan=False)
        with open(folder / CHECK, "w", encoding="utf-8", errors=LONE_SURROGATES, opener=owner_only) as file:
            file.write(text + "\n")
        show(end.reports, request, state=end.state, folder=folder)
        for line in _ending(end, log):
            typer.echo(safe_text(line, _LONGEST), err=True)
    if end.stopped is not None:
        return stop_code(end.stopped)
    is_whole = end.state == "complete" and len(end.reports) == len(end.parts.judges)
    return exit_code(end.reports) if is_whole else NOT_GRADED


def show(
    reports: Sequence[CheckReport], request: CheckRequest, *, state: str | None = None, folder: Path | None = None
) -> None:
    """Print the reports, as JSON where that was asked for, and write the page and the summary of a GitHub job."""
    page = request.html if reports else None
    if page is not None:
        from judgeharness_integrations.reporting.checkpage import check_page  # noqa: PLC0415 - few want a page

        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(check_page(reports, source=request.source), encoding="utf-8", errors=LONE_SURROGATES)
    if reports and (step := summary_file()) is not None:
        append_summary(section_markdown(checks_section(reports, source=request.source), depth=3) + "\n\n", step)
    if request.as_json:
        print_json(_document(reports, state))
        return
    if reports:
        show_section(checks_section(reports, source=request.source), console(), every=request.every)
    if folder is not None:
        typer.echo(f"\nwritten: {folder / CHECK}, {folder / VERDICTS}")
    if page is not None:
        typer.echo(f"page: {page}")


def exit_code(reports: Sequence[CheckReport]) -> int:
    """Return 3 where a judge gave no valid answer, else 1 where a property fails."""
    if not all(report.outcomes.get("ok") for report in reports):
        return NOT_GRADED
    return GATE_FAILED if any(report.failed for report in reports) else OK


def _document(reports: Sequence[CheckReport], state: str | None) -> dict[str, Any]:
    return {"schema": "judgeharness.checks/1", "state": state, "judges": [report.to_dict() for report in reports]}


def _ending(end: CheckEnd, log: SqlLog) -> list[str]:
    """Return how it ended and why samples failed."""
    lines = []
    if end.state != "complete":
        kept = sum(used.rows for one in end.parts.judges for used in log.usage(one.run))
        how = end.state if end.stopped is None else stop_word(end.stopped)
        how = {"budget_exhausted": f"{end.budget.reason}", "judge_down": "; ".join(end.down)}.get(how, how)
        larger = " with a larger budget" if end.state == "budget_exhausted" else ""
        lines.append(
            f"{how}: {counted(kept, 'row is', 'rows are')} in {log.name}; the same command goes on from there{larger}."
        )
    reported = {report.judge for report in end.reports}
    lines += [
        f"{one.judge.name}: nothing was answered, so there is no report"
        for one in end.parts.judges
        if one.judge.name not in reported
    ]
    for one in end.parts.judges:
        lines += told(one.judge.name, failures(log.rows(run=one.run), end.parts.config.model_dump()))
    return lines


DEFAULT_OUT = "judgeharness-check"


def check_judges(request: CheckRequest) -> int:
    """Check judges by a log or by asking them, and return the exit code."""
    request.check()
    if request.log is not None:
        return check_log(request.log, request)
    return check_config(cast("Path", request.config), request)


def check_log(log: Path, request: CheckRequest) -> int:
    """Report on judges of a log, or of the one in the folder of a run or a check, and return the exit code.

    Raises:
        UsageError: the log has several judges or runs and none was chosen, or the folder has no log.

    """
    with without_garbage_collection():
        rows = rows_about(rows_of_log(log, run=request.run, labels=request.labels), request.criteria or None)
        reports = [
            check_rows(
                rows,
                judge=name,
                tolerance=request.tolerance,
                alpha=request.alpha,
                score_tolerance=request.score_tolerance,
            )
            for name in dict.fromkeys(request.judges) or (None,)
        ]
    show(reports, request)
    return exit_code(reports)


@terminable()
def check_config(path: Path, request: CheckRequest) -> int:
    """Check the judges of a configuration, or go on with it, and return the exit code.

    130 after SIGINT, 143 after SIGTERM, both with a report of what was answered.
    """
    config = load_config(path)
    with knowing(config.model_dump()):
        return _check(config, request)


def _check(config: Config, request: CheckRequest) -> int:
    spending = Spending.of(config, RunLimits(max_calls=request.max_calls))
    folder = request.out or config.resolve(DEFAULT_OUT) / config.path.stem
    place = RunPlace(folder=folder, log=None)
    _check_place(place)
    parts = check_parts(config, request)
    with ExitStack() as stack:
        stack.enter_context(place.held())
        log = stack.enter_context(place.open()) if place.holds_run else None
        usage = [] if log is None else [used for one in parts.judges for used in log.usage(one.run)]
        budget = spending.budget(usage)
        for one in parts.judges:
            budget.check_price(one.model)
        known = {one.run: sum(used.calls for used in log.usage(one.run)) if log else 0 for one in parts.judges}
        _confirm(parts, spending, request, known, usage)
        log = stack.enter_context(place.open()) if log is None else log
        note_beginning(parts, log)
        return finished(_ask_judges(parts, request, log, budget), log, folder, request)


def _check_place(place: RunPlace) -> None:
    """Refuse a folder that holds something else than an earlier check, or cannot be written.

    Raises:
        ConfigError: it does, or cannot.

    """
    folder = place.folder
    if (folder / MARK).exists():
        raise ConfigError(f"{folder} holds a run: give another --out.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / LOG).exists():
        raise ConfigError(f"{folder} holds something else than a check: give another --out.")
    check_folder(folder, (CHECK, VERDICTS), overwrite=True)


def _confirm(
    parts: CheckParts, spending: Spending, request: CheckRequest, known: Mapping[str, int], usage: Sequence[ModelUsage]
) -> None:
    """Show the plan and what it costs at most, and ask whether to go on."""
    total, answered = sum(one.plan.total for one in parts.judges), sum(known.values())
    notes = [
        f"{one.judge.name}: {counted(count, 'answer is', 'answers are')} in the log"
        for one in parts.judges
        if (count := known[one.run])
    ]
    tiers = asked_tiers(parts.config)
    judges = [
        Asking(
            judge=one.judge.name,
            model=one.model,
            plan=one.plan,
            answered=known[one.run],
            before=usage_before(None, one.judge.name, one.model, usage),
            tier=tiers.get(one.judge.name),
        )
        for one in parts.judges
    ]
    agree(
        judges,
        parts.config,
        parts.cases,
        prices=spending.prices,
        max_calls=spending.planned,
        yes=request.yes,
        stderr=True,
        budget=spending.shown,
        notes=notes,
        left=total - answered if answered <= total else total,
        at_most=True,
    )


def _ask_judges(parts: CheckParts, request: CheckRequest, log: SqlLog, budget: Budget) -> CheckEnd:
    """Ask every judge; what was answered is reported however that ends."""
    reports: list[CheckReport] = []
    down: list[str] = []
    stopped: BaseException | None = None
    for one in parts.judges:
        if stopped is None:
            mine: list[CheckReport] = []
            with stoppable(budget, JudgeDownError) as stop:
                mine = list(_report_of(one, parts, request, log, budget))
            if isinstance(stop.by, JudgeDownError):
                down.append(without_secrets(str(stop.by).rstrip("."), parts.config.model_dump()))
                stopped = KeyboardInterrupt() if budget.ended else None
            else:
                stopped = stop.by
            reports += mine if stopped is None else []
        if stopped is not None:
            with undisturbed():  # what the log holds; nothing is asked
                reports += _report_of(one, parts, request, log, Budget(exhausted=True, reason="interrupted"))
    return CheckEnd(parts=parts, reports=reports, stopped=stopped, budget=budget, down=down)


def _report_of(
    one: JudgeToCheck, parts: CheckParts, request: CheckRequest, log: SqlLog, budget: Budget
) -> Iterator[CheckReport]:
    """Yield the report of a judge, nothing where nothing was answered before the budget ended."""
    try:
        with without_replay_advice():
            report = check_judge(
                one.judge,
                parts.cases,
                judge_model=one.model,
                tolerance=request.tolerance,
                alpha=request.alpha,
                score_tolerance=parts.score_tolerance,
                log=log,
                run=one.run,
                budget=budget,
                **parts.options,
                **parts.running,
            )
    except BudgetError:
        return
    yield report
