"""What `judgeharness run --until` needs before its first call: the seed of its order, and gates that can be settled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.rules import pass_mark
from judgeharness_integrations.until import Until, drawn_seed
from judgeharness_integrations.verdictlog.sql.records import ORDER_SEED

if TYPE_CHECKING:
    from judgeharness_integrations.casefiles import CaseFile
    from judgeharness_integrations.cases import AnswerCase, Case, Criterion
    from judgeharness_integrations.config import Config
    from judgeharness_integrations.design import Design
    from judgeharness_integrations.gates.expression import Expression
    from judgeharness_integrations.gates.gate import Gates
    from judgeharness_integrations.harness import JudgeHarness
    from judgeharness_integrations.judging import Judge
    from judgeharness_integrations.verdictlog import SqlLog

__all__ = ["check_measurable", "order_notes", "order_seed", "unmeasurable", "untils"]

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
