"""What `run` and `calibrate` share before anything is asked: the plan, its cost and the question whether to go on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import typer
from rich.text import Text

from judgeharness_integrations._errors import BudgetError, UsageError
from judgeharness_integrations.analysis.spending import Prices, bill_of
from judgeharness_integrations.analysis.usage import Billed, Spent, billed, names_of
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.judging.config import Config, JudgeConfig
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.reporting.terminal import console, safe, table
from judgeharness_integrations.verdictlog.plain import counted

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog
    from judgeharness_integrations.verdictlog.sql.runs import ModelUsage


def judge_model(judge: Judge, config: JudgeConfig) -> str | None:
    """Return the model a configuration names for a judge that does not name its own."""
    return None if judge.identity is not None and judge.identity.model is not None else config.model


def _check_cost(total: int, max_calls: int | None) -> None:
    """Refuse a run that would cost more than it may, before anything is asked."""
    if max_calls is not None and max_calls < 1:
        raise UsageError(f"max_calls must be a whole number of at least 1, not {max_calls}.")
    if max_calls is not None and total > max_calls:
        raise BudgetError(f"the plan is {total} calls, more than max_calls={max_calls}: nothing was asked.")


def _print_plans(
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


BYTES_PER_TOKEN: Final = 4
_MOST_CASES: Final = 1000
_MOST_RUNS: Final = 20


@dataclass(frozen=True, kw_only=True)
class Asking:
    """One judge of a plan, and what its earlier answers used: those of this run, or of the last one that asked it."""

    judge: str
    model: str | None
    plan: Plan
    answered: int = 0
    before: Sequence[ModelUsage] = ()

    @property
    def calls(self) -> int:
        """Calls of the judge that are still to be made."""
        return max(self.plan.calls + self.plan.calibration_calls - self.answered, 0)

    @property
    def told(self) -> str:
        """Those calls in words."""
        return f"{counted(self.calls, 'call')} of {self.judge}"


def agree(
    judges: Sequence[Asking],
    config: Config,
    cases: Iterable[object],
    *,
    prices: Prices,
    max_calls: int | None,
    yes: bool,
    stderr: bool,
    budget: str | None = None,
    notes: Sequence[str] = (),
    remarks: Sequence[str] = (),
    left: int | None = None,
    at_most: bool = False,
) -> None:
    """Show the plan and what it costs at most, refuse more than may be asked, and ask whether to go on.

    Args:
        judges: who is asked.
        config: says how often a failed call is tried.
        cases: what they are asked about, whose texts cost money.
        prices: of models, as far as they are known.
        max_calls: refuse a larger plan.
        yes: do not ask whether to go on.
        stderr: where the plan is shown.
        budget: what the whole run may spend, in words.
        notes: what is to be said before what it costs.
        remarks: what is to be said after it.
        left: calls that are still to be made; all of the plan by default.
        at_most: some answers may be known already.

    Raises:
        BudgetError: the plan is larger than `max_calls`.
        UsageError: the answer was no.

    """
    plans = {one.judge: one.plan for one in judges}
    told = [*notes, *money_notes(judges, prices, cases), *remarks]
    _print_plans(plans, config, max_calls=max_calls, stderr=stderr, budget=budget, notes=told)
    total = sum(plan.total for plan in plans.values())
    _check_cost(total, max_calls)
    confirm(total if left is None else left, yes=yes, at_most=at_most)


def money_notes(asked: Iterable[Asking], prices: Prices, cases: Iterable[object]) -> Iterator[str]:
    """Yield what each judge is going to cost and what that is known from; nothing without prices."""
    if not prices:
        return
    tokens = input_of(cases)
    for one in asked:
        known = bill_of(one.before, prices)
        made = sum(used.made_calls for used in one.before)
        if made and known.cost is not None:
            each = known.cost / made
            found, why = each * one.calls, f"{each:.5f} a call, the mean of {made} earlier calls"
            yield f"money: about {found:.4f} for {one.told} ({'; '.join((why, *known.remarks))})"
        else:
            yield _by_texts(one, billed(Spent(tokens, 0, one.model), prices), tokens)


def _by_texts(one: Asking, bill: Billed, tokens: int | None) -> str:
    """Return what is known before the first answer: what it costs to read the texts of the cases."""
    if bill.cost is None or tokens is None:
        why = "; ".join(bill.remarks) if tokens is not None else "the texts of its cases are not known"
        return f"money: not known for {one.told} before its first answers: {why}"
    said = "; ".join((f"{tokens} tokens a call, estimated at {BYTES_PER_TOKEN} bytes a token", *bill.remarks))
    return (
        f"money: at least {bill.cost * one.calls:.4f} for {one.told} to read the texts of the cases "
        f"({said}); its instructions and answers come on top, known after the first answers"
    )


def input_of(cases: Iterable[object]) -> int | None:
    """Return how many tokens the texts of a case have, a mean over the first thousand; None without texts."""
    sizes = [
        sum(len(text.encode(errors="surrogatepass")) for text in case.all_texts())
        for case in islice(cases, _MOST_CASES)
        if isinstance(case, AnswerCase)
    ]
    return round(sum(sizes) / len(sizes) / BYTES_PER_TOKEN) if sizes else None


def usage_before(
    log: SqlLog | None, judge: str, model: str | None, usage: Iterable[ModelUsage]
) -> Sequence[ModelUsage]:
    """Return what a judge used of its model in this run (`usage`), else in the last run of the log that asked it."""
    mine = _usage_of(usage, judge, model)
    for record in reversed(() if log is None or mine else log.records()[-_MOST_RUNS:]):
        if log is not None and (mine := _usage_of(log.usage(record.run), judge, model)):
            return mine
    return mine


def _usage_of(usage: Iterable[ModelUsage], judge: str, model: str | None) -> Sequence[ModelUsage]:
    names = None if model is None else {*names_of(model)}
    return [
        used
        for used in usage
        if used.judge == judge
        and used.made_calls
        and (names is None or not names.isdisjoint(names_of(used.model or "")))
    ]
