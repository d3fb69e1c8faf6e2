"""What `judgeharness check CONFIG` does: every judge asked as far as its answers are not known, and reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import BudgetError, ConfigError, JudgeDownError
from judgeharness_integrations.checking import CheckReport, check_judge
from judgeharness_integrations.cli._asking import check_cost, confirm, print_plans
from judgeharness_integrations.cli._check_ending import CHECK, CheckEnd, finished
from judgeharness_integrations.cli._check_parts import CheckParts, JudgeToCheck, check_parts
from judgeharness_integrations.cli._check_record import note_beginning
from judgeharness_integrations.cli._check_request import CheckRequest
from judgeharness_integrations.cli._failures import without_replay_advice
from judgeharness_integrations.cli._plan_money import Asking, money_notes, usage_before
from judgeharness_integrations.cli._run_place import RunPlace
from judgeharness_integrations.cli._run_request import RunRequest, Spending
from judgeharness_integrations.cli._stopping import Terminated, finishing, terminable, undisturbed
from judgeharness_integrations.cli._writing import check_folder
from judgeharness_integrations.config import Config, load_config
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.redacting import knowing, without_secrets
from judgeharness_integrations.verdictlog.runfolder import LOG, MARK, VERDICTS

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog
    from judgeharness_integrations.verdictlog.sql.usage import ModelUsage

__all__ = ["DEFAULT_OUT", "check_config"]

DEFAULT_OUT = "judgeharness-check"


@terminable()
def check_config(path: Path, request: CheckRequest) -> int:
    """Check the judges of a configuration, or go on with it, and return the exit code.

    130 after SIGINT, 143 after SIGTERM, both with a report of what was answered.
    """
    config = load_config(path)
    with knowing(config.model_dump()):
        return _check(config, request)


def _check(config: Config, request: CheckRequest) -> int:
    spending = Spending.of(config, RunRequest(max_calls=request.max_calls))
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
        _agree(parts, spending, request, known, usage)
        log = stack.enter_context(place.open()) if log is None else log
        note_beginning(parts, log)
        return finished(_asked(parts, request, log, budget), log, folder, request)


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


def _agree(
    parts: CheckParts,
    spending: Spending,
    request: CheckRequest,
    known: Mapping[str, int],
    usage: Sequence[ModelUsage],
) -> None:
    """Show the plan and what it costs at most, and ask whether to go on."""
    plans = {one.judge.name: one.plan for one in parts.judges}
    total, answered = sum(plan.total for plan in plans.values()), sum(known.values())
    notes = [f"{one.judge.name}: {known[one.run]} answers are in the log" for one in parts.judges if known[one.run]]
    judges = [
        Asking(
            judge=one.judge.name,
            model=one.model,
            plan=one.plan,
            answered=known[one.run],
            before=usage_before(None, one.judge.name, one.model, usage),
        )
        for one in parts.judges
    ]
    notes += money_notes(judges, spending.prices, parts.cases)
    limit = spending.planned
    print_plans(plans, parts.config, max_calls=limit, stderr=request.as_json, budget=spending.shown, notes=notes)
    check_cost(total, limit)
    if answered != total:
        confirm(total - answered if answered < total else total, yes=request.yes, at_most=True)


def _asked(parts: CheckParts, request: CheckRequest, log: SqlLog, budget: Budget) -> CheckEnd:
    """Ask every judge; what was answered is reported however that ends."""
    reports: list[CheckReport] = []
    down: list[str] = []
    stopped: BaseException | None = None
    for one in parts.judges:
        if stopped is None:
            try:
                with finishing(budget):
                    reports += _reported(one, parts, request, log, budget)
            except JudgeDownError as error:
                down.append(without_secrets(str(error).rstrip("."), parts.config.model_dump()))
            except (KeyboardInterrupt, Terminated) as error:
                stopped = error
            if stopped is None and budget.ended:
                stopped = KeyboardInterrupt()
                reports = [report for report in reports if report.judge != one.judge.name]
        if stopped is not None:
            with undisturbed():  # what the log holds; nothing is asked
                reports += _reported(one, parts, request, log, Budget(exhausted=True, reason="interrupted"))
    return CheckEnd(parts=parts, reports=reports, stopped=stopped, budget=budget, down=down)


def _reported(
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
