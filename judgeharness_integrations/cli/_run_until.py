"""What is settled and said before the first call of a run, and its gates at the end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import typer

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import pass_mark
from judgeharness_integrations.analysis.gates.checking import check_gates
from judgeharness_integrations.analysis.runs.reading import read_report
from judgeharness_integrations.analysis.runs.stopped import told_at_stop
from judgeharness_integrations.cli._output import append_summary
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.judging.until import Until, drawn_seed, settled
from judgeharness_integrations.verdictlog.plain import safe_text
from judgeharness_integrations.verdictlog.sql.runs import ORDER_SEED

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.aggregation.rules import Rule
    from judgeharness_integrations.analysis.certifying.certificate import HeldCertificate
    from judgeharness_integrations.analysis.design import Design
    from judgeharness_integrations.analysis.gates.gate import Expression, Gates
    from judgeharness_integrations.analysis.gates.report import GateReport
    from judgeharness_integrations.judging.cases import AnswerCase, Case, CaseFile, Criterion
    from judgeharness_integrations.judging.config import Config
    from judgeharness_integrations.judging.harness import JudgeHarness
    from judgeharness_integrations.verdictlog import SqlLog
    from judgeharness_integrations.verdictlog.sql.runs import ModelUsage, RunRecord

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
            yield f"{judge.name} names no model: a new run cannot take over its answers; add `model:` if it should"


def certificate_notes(judges: Sequence[Judge], held: Mapping[str, HeldCertificate | None]) -> Iterator[str]:
    """Yield of which judges every decision will abstain, since the certificate does not hold for them."""
    for judge in judges:
        found = held[judge.name]
        if found is not None and not found[1].valid and getattr(judge, "learn", None) is None:
            given, state = found
            yield f"{judge.name}: the certificate on {given.name} is {state}: every decision it is about will abstain"
