"""What `run` and `calibrate` share before anything is asked: the plan, its cost and the question whether to go on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

import typer
from rich.text import Text

from judgeharness_integrations._errors import BudgetError, UsageError
from judgeharness_integrations.judging.config import Config, JudgeConfig
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.reporting.terminal import console, safe, table

__all__ = ["check_cost", "confirm", "judge_model", "print_plans"]


def judge_model(judge: Judge, config: JudgeConfig) -> str | None:
    """Return the model a configuration names for a judge that does not name its own."""
    return None if judge.identity is not None and judge.identity.model is not None else config.model


def check_cost(total: int, max_calls: int | None) -> None:
    """Refuse a run that would cost more than it may, before anything is asked."""
    if max_calls is not None and max_calls < 1:
        raise UsageError(f"max_calls must be a whole number of at least 1, not {max_calls}.")
    if max_calls is not None and total > max_calls:
        raise BudgetError(f"the plan is {total} calls, more than max_calls={max_calls}: nothing was asked.")


def print_plans(
    plans: Mapping[str, Plan],
    config: Config,
    *,
    max_calls: int | None,
    stderr: bool,
    budget: str | None = None,
    notes: Iterable[str] = (),
) -> None:
    """Print what each judge will be asked, what limits that, and `notes` about it."""
    columns = ("judge", "cases", "judge\ncalls", "rewrites", "calibration\ncalls", "all\ncalls")
    rows: list[Sequence[str | Text]] = [
        (safe(name), *map(str, (plan.cases, plan.calls, plan.rewrites, plan.calibration_calls, plan.total)))
        for name, plan in plans.items()
    ]
    if len(rows) > 1:
        rows.append((safe("together"), "", "", "", "", str(sum(plan.total for plan in plans.values()))))
    screen = console(stderr=stderr)
    screen.print(table("plan", columns, rows))
    attempts = config.execution.max_attempts
    tries = "" if attempts == 1 else "; a call that fails is tried again, which is not counted here"
    if budget is not None:
        screen.print(f"budget of the whole run: {budget}")
    else:
        screen.print(
            f"upper limit: {max_calls} calls, retries included" if max_calls else f"no upper limit given{tries}"
        )
    for note in notes:
        screen.print(Text(note))


def confirm(total: int, *, yes: bool, at_most: bool = False) -> None:
    """Ask whether to go on, where it costs calls and somebody is there to answer.

    `at_most`: some answers may be known already.

    Raises:
        UsageError: the answer was no.

    """
    if yes or not total or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if not typer.confirm(f"Make {'up to ' if at_most else ''}{total} calls?", err=True):
        raise UsageError("not confirmed: nothing was asked.")
