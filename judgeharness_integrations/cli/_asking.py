"""What is shared before anything is asked: the plan, its cost, the question whether to go on, and gates."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.text import Text

from judgeharness_integrations._errors import BudgetError, JudgeHarnessError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import Rule, pass_mark
from judgeharness_integrations.analysis.gates.checking import check_gates
from judgeharness_integrations.analysis.runs.building import told_at_stop
from judgeharness_integrations.analysis.runs.reading import read_report
from judgeharness_integrations.analysis.spending import Prices, bill_of
from judgeharness_integrations.analysis.usage import CHEAPER, Billed, Spent, billed, names_of, tier_name
from judgeharness_integrations.judging.cascading import Until, drawn_seed, settled
from judgeharness_integrations.judging.cases import AnswerCase, Case, CaseFile, Criterion
from judgeharness_integrations.judging.config import Config, JudgeConfig
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.reporting.terminal import console, safe, table
from judgeharness_integrations.verdictlog.encoding import counted, safe_text
from judgeharness_integrations.verdictlog.sql.runs import ORDER_SEED, RunRecord

from ._output import append_summary

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.certifying.certificate import HeldCertificate
    from judgeharness_integrations.analysis.design import Design
    from judgeharness_integrations.analysis.gates.gate import Expression, GateReport, Gates
    from judgeharness_integrations.analysis.probability.passport import HeldPassport
    from judgeharness_integrations.judging.harness import JudgeHarness
    from judgeharness_integrations.verdictlog import SqlLog
    from judgeharness_integrations.verdictlog.row import ModelUsage


def judge_model(judge: Judge, config: JudgeConfig) -> str | None:
    """Return the model a configuration names for a judge that does not name its own."""
    return None if judge.identity is not None and judge.identity.model is not None else config.model


def _check_cost(total: int, max_calls: int | None, *, in_turn: bool = False) -> None:
    """Refuse a run that would cost more than it may, before anything is asked."""
    if max_calls is not None and max_calls < 1:
        raise UsageError(f"max_calls must be a whole number of at least 1, not {max_calls}.")
    if max_calls is not None and total > max_calls:
        plan, instead = f"the plan is {total} calls", ""
        if in_turn:
            plan += " where every case goes all the way up the cascade"
            instead = "; to end the run after so many instead, give budget.calls (--budget-calls)"
        raise BudgetError(f"{plan}, more than max_calls={max_calls}: nothing was asked{instead}.")


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
        rows.append((safe("total"), "", "", "", "", str(sum(plan.total for plan in plans.values()))))
    screen = console(stderr=stderr)
    screen.print(table("plan", columns, rows))
    attempts = config.execution.max_attempts
    tries = "" if attempts == 1 else "; retries of failed calls are not counted here"
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
    """One judge of a plan, and what its earlier answers used: those of this run, or of the last one that asked it.

    `tier` is the one it is asked at.
    """

    judge: str
    model: str | None
    plan: Plan
    answered: int = 0
    before: Sequence[ModelUsage] = ()
    tier: str | None = None

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
    _check_cost(total, max_calls, in_turn=getattr(config, "cascade", None) is not None)
    confirm(total if left is None else left, yes=yes, at_most=at_most)


def money_notes(asked: Iterable[Asking], prices: Prices, cases: Iterable[object]) -> Iterator[str]:
    """Yield what each judge is going to cost and what that is known from; nothing without prices."""
    if not prices:
        return
    tokens = input_of(cases)
    for one in asked:
        known = bill_of([_at(one.tier, used) for used in one.before], prices)
        made = sum(used.made_calls for used in one.before)
        if made and known.cost is not None:
            each = known.cost / made
            found, why = each * one.calls, f"{each:.5f} a call, the mean of {made} earlier calls"
            yield f"money: about {found:.4f} for {one.told} ({'; '.join((why, *known.remarks))})"
        else:
            yield _by_texts(one, billed(Spent(tokens, 0, one.model, service_tier=one.tier), prices), tokens)


def _at(tier: str | None, used: ModelUsage) -> ModelUsage:
    """Return what was used, at the tier that is asked now where the one that served is not asked any more."""
    served, asked = tier_name(used.service_tier), tier_name(tier)
    other = served != asked and (served in CHEAPER or asked == "batch")
    return replace(used, service_tier=tier) if tier is not None and other else used


def asked_tiers(config: Config, engine: str | None = None) -> dict[str, str]:
    """Return the tier that each judge of a configuration is asked at, by its name; `engine` instead of its own."""
    execution = config.execution
    batched = (engine or execution.engine) == "batch"
    return {judge.name: "batch" if batched else judge.tier or execution.tier for judge in config.judges}


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


_OF_LABELS: Final = frozenset({"pass_rate", "rate", "accuracy", "agreement"})
_OF_SEVERAL: Final = frozenset({"consistency", "agreement"})
_UNCHANGED: Final = "none"
_LUCK: Final = 2.5  # per cent of runs until a gate that pass a judge exactly at its bar


def order_seed(config: Config, parts: Mapping[str, Any], log: SqlLog | None) -> int:
    """Return the seed of the order: that of the run so far, else the configured one, else one drawn now.

    The seed that is used where none is configured is the same everywhere, so that names of cases could be chosen by it.
    A log has one order of the same cases: a new run takes its answers over, and another order of them would be another
    chance to pass by luck (of ten orders of 300 cases, at the bar, one passed in 13 % of runs).
    """
    if ORDER_SEED in parts:
        return int(parts[ORDER_SEED])
    if config.harness.seed is not None:
        return config.harness.seed
    drawn = [] if log is None else [one.parts for one in log.records() if one.until]
    return next((int(one[ORDER_SEED]) for one in drawn if one.get("cases") == parts["cases"]), drawn_seed())


def order_notes(parts: Mapping[str, Any], log: SqlLog | None) -> Iterator[str]:
    """Yield in which order a run asks, and what it means that the log has looked at other cases until a gate."""
    yield (
        f"cases are asked in random order, drawn by the seed {parts[ORDER_SEED]}; who continues the run asks in the "
        "same order"
    )
    held = [] if log is None else [one.parts for one in log.records() if one.until]
    suites = {json.dumps(one.get("cases"), sort_keys=True) for one in held}
    if others := len(suites - {json.dumps(parts["cases"], sort_keys=True)}):
        known = "a run --until of other cases" if others == 1 else f"runs --until of {others} other sets of cases"
        yield (
            f"the log holds {known}, in an order of its own: added or changed cases are looked at anew, and a judge "
            f"exactly at the bar passes one of them in up to {_LUCK * (others + 1):g} % instead of {_LUCK:g} %"
        )


def check_measurable(
    gates: Gates, harness: JudgeHarness, judges: Sequence[Judge], cases: Sequence[AnswerCase] | CaseFile
) -> None:
    """Raise a UsageError for a gate that the answers of no judge can measure: it would ask every case in vain."""
    for gate in gates.listed:
        reasons = [
            unmeasurable(gate.expression, harness.design_for(judge), cases, judge.criteria or ()) for judge in judges
        ]
        if all(reasons):
            raise UsageError(f"--until {gate.name} cannot be measured: {reasons[0]}; nothing was asked.")


def untils(
    gates: Gates, judges: Sequence[Judge], cases: Sequence[AnswerCase] | CaseFile, *, seed: int, log: SqlLog, run: str
) -> dict[str, Until]:
    """Return what each judge is asked until; cases the run holds answers of stay in it."""
    return {
        judge.name: Until(
            cases,
            gates,
            judge=judge.name,
            judges=len(judges),
            seed=seed,
            answered={rows[0].case_id for rows in log.case_groups(run=run, judge=judge.name)},
        )
        for judge in judges
    }


def unmeasurable(
    expression: Expression, design: Design, cases: Iterable[Case], criteria: Sequence[Criterion] = ()
) -> str:
    """Return why no answer would measure a metric; empty where one may.

    Args:
        expression: the metric and its bar.
        design: what is asked of every case, and how answers are folded.
        cases: all of them; read only where their gold labels or own criteria are needed.
        criteria: what the judge declares that it answers.

    """
    return next(_reasons(expression, design, cases, criteria), "")


def _reasons(
    expression: Expression, design: Design, cases: Iterable[Case], criteria: Sequence[Criterion]
) -> Iterator[str]:
    metric, scored = expression.metric, design.rule.kind == "numbers" and pass_mark(design.rule) is None
    if metric in _OF_LABELS and scored:
        yield f"rule {design.rule.name} decides scores, which have no labels"
    if metric == "mean_score" and design.rule.kind == "labels":
        yield f"rule {design.rule.name} decides labels, which have no mean"
    if metric in _OF_SEVERAL and design.curtail:
        yield "early stopping shows more agreement than all samples would"
    if metric in _OF_SEVERAL and len(design.perturbations) * design.repetitions == 1:
        yield "one sample a case agrees with itself"
    if metric in {"position_flip", "flip_rate"}:
        name = expression.argument if metric == "flip_rate" else "position_swap"
        missing = [one for one in (_UNCHANGED, name) if one not in design.perturbations]
        if missing:
            yield f"perturbation {missing[0]} is not asked, only {', '.join(design.perturbations)}"
    label = "PASS" if metric == "pass_rate" else expression.argument if metric == "rate" else None
    if label is not None and criteria and not any(_own_criteria(case) for case in cases):
        known = dict.fromkeys(one for criterion in criteria for one in criterion.labels or (label,))
        if label not in known:
            yield f"no criterion of the judge has the label {label}, only {', '.join(known)}"
    if metric == "accuracy" and not any(_has_gold(case) for case in cases):
        yield "no case holds a gold label"


def _own_criteria(case: Case) -> Sequence[Criterion]:
    return getattr(case, "criteria", None) or ()


def _has_gold(case: Case) -> bool:
    return getattr(case, "gold", None) not in (None, {})


_CHECKED = ("complete", "budget_exhausted", "judge_down")  # what was interrupted or has failed goes on first


def check_run(
    folder: Path,
    document: Mapping[str, Any],
    *,
    rule: Rule,
    gates: Gates,
    summary: Path | None,
    until: Mapping[str, Until] = MappingProxyType({}),
) -> tuple[GateReport | None, str | None]:
    """Check the gates of a run that has ended, and append its report to the summary of a GitHub step.

    Args:
        folder: the run's, with all its files.
        document: its summary; nothing is checked of a run that was interrupted or has failed.
        rule: what its answers were folded with.
        gates: may be none.
        until: what each judge was asked until; its evidence stands for that of the files, where the gates were asked.
        summary: the file of the GitHub step, where there is one.

    Returns:
        What the gates said, None without any, and why they could not be checked: they are about nothing in the run.

    """
    if document["state"] not in _CHECKED or (not gates and summary is None):
        return None, None
    try:
        report = read_report(folder, rule)
    except JudgeHarnessError as error:
        if gates:
            raise
        typer.echo(f"the step summary is not written: {safe_text(str(error))}", err=True)
        return None, None
    checked, problem = None, None
    try:
        checked = settled(report, until) if until else check_gates(report, gates) if gates else None
    except UsageError as error:
        problem = str(error)
    if summary is not None:
        report = told_at_stop(replace(report, gates=checked)) if until else report
        append_summary(report.to_markdown(gates=checked), summary)
    return checked, problem


@dataclass(frozen=True, kw_only=True)
class Before:
    """What the log holds of a run already: its name, its record unless its rows were imported, what it used."""

    run: str | None = None
    record: RunRecord | None = None
    usage: Sequence[ModelUsage] = ()

    @property
    def calls(self) -> int:
        """Calls with rows, those about labelled cases included."""
        return sum(one.calls for one in self.usage)

    @property
    def spent(self) -> int | None:
        """Attempts that were noted of it."""
        return None if self.record is None else self.record.attempts_spent


def plan_notes(before: Before, plans: Mapping[str, Plan], judges: Sequence[Judge]) -> Iterator[str]:
    """Yield which run is continued and how far it is, and whose answers no other run will take over."""
    if before.record is not None or before.usage:
        calls = sum(plan.calls + plan.calibration_calls for plan in plans.values())
        begun = "imported" if before.record is None else f"begun {before.record.created_at}"
        yield f"goes on with run {before.run}, {begun}: {before.calls} of {calls} calls are answered"
    for judge in judges:
        if judge.identity is None or judge.identity.source is not None:
            yield f"{judge.name} names no model, so no other run can reuse its answers; to allow that, add `model:`"


def held_notes(judge: Judge, held: HeldCertificate | HeldPassport | None) -> Iterator[str]:
    """Yield that every decision about a judge will abstain, since its certificate or passport does not hold."""
    if held is not None and not held[1].valid and getattr(judge, "learn", None) is None:
        given, state = held
        yield f"{judge.name}: the {given.KIND} on {given.name} is {state}: every decision it is about will abstain"
