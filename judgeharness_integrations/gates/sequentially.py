"""Sequential gates on a report: the cases it holds as evidence, and the check of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from judgeharness_integrations.gates.casevalues import CASE_VALUES, case_value, value_without
from judgeharness_integrations.gates.criterioncases import CriterionCases
from judgeharness_integrations.gates.expression import Expression
from judgeharness_integrations.gates.judging import number
from judgeharness_integrations.gates.looking import Evidence, weigh
from judgeharness_integrations.gates.metrics import METRIC_MEASURES, Measured
from judgeharness_integrations.gates.report import About, GateCheck
from judgeharness_integrations.gates.sampling import sample_of, within
from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["Looked", "judged_sequentially", "looked_at"]


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What a sequential gate looks at; without `evidence` the reason why there is none is `missing`.

    `case_ids` are the cases behind it, and `note` is for readers.
    """

    evidence: Evidence | None = None
    scale: tuple[float, float] | None = None
    missing: str = ""
    of: str = "cases"
    case_ids: frozenset[str] = frozenset()
    note: str = ""


def looked_at(
    expression: Expression,
    measured: Measured,
    cases: CriterionCases,
    *,
    about: About,
    scale: tuple[float, float] | None,
    report: RunReport,
    at_stop: Looked | None = None,
) -> Looked:
    """Return the cases of a report as evidence about a metric.

    Args:
        expression: the metric and its bar.
        measured: the metric on all cases of the report.
        cases: of a judge and criterion.
        about: the population, or this suite.
        scale: the ends of scores.
        report: which the cases are of.
        at_stop: the evidence when asking was stopped, instead of that of the cases.

    """
    if expression.metric not in CASE_VALUES:
        return Looked(missing="its calibration was measured once, on a fixed number of labelled cases")
    if measured.value is None:
        return Looked(missing=measured.missing)
    if not expression.is_share and scale is None:
        return Looked(missing="a sequential gate of scores needs the ends of their scale: give --scale 1:10")
    found = at_stop or _evidence(expression, cases, about=about, scale=scale, report=report)
    if found.evidence is None:
        return found
    part = within(cases, found.case_ids)
    noted = None if part is None else METRIC_MEASURES[expression.metric](part, expression.argument)
    notes = ["" if noted is None else noted.note, found.note]
    if measured.controls:  # of all cases, as everywhere else: of a part of them they may say the contrary
        of_all = "" if part is cases else "all cases asked: "
        notes.append(f"{of_all}{measured.controls} by an interval over a fixed number of cases")
    return replace(found, of=measured.of, note="; ".join(filter(None, notes)))


def _evidence(
    expression: Expression,
    cases: CriterionCases,
    *,
    about: About,
    scale: tuple[float, float] | None,
    report: RunReport,
) -> Looked:
    sample = sample_of(cases, about=about, report=report)
    if sample.missing:
        return Looked(missing=sample.missing)
    name, metric = cases.summary.criterion, expression.metric
    values = [
        case_value(metric, result, result.criteria[name], expression.argument)
        if name in result.criteria
        else value_without(metric)
        for result in sample.results
    ]
    if scale is not None and not expression.is_share:
        values = [None if one is None else (one - scale[0]) / (scale[1] - scale[0]) for one in values]
        if any(one is not None and not 0 <= one <= 1 for one in values):
            return Looked(missing=f"a score lies outside the scale {scale[0]:g}:{scale[1]:g}")
    return Looked(
        evidence=Evidence.of(values, sample.clusters, size=sample.size),
        scale=None if expression.is_share else scale,
        case_ids=frozenset(result.case_id for result in sample.results),
        note=sample.note,
    )


def judged_sequentially(
    expression: Expression,
    looked: Looked,
    *,
    about: About,
    judge: str,
    criterion: str,
    design: str = "",
    exploratory: bool = False,
) -> GateCheck:
    """Return what a sequential gate says; see `judging.judged`. What is not settled has not passed."""
    facts: dict[str, Any] = {"gate": expression.text, "judge": judge, "criterion": criterion, "design": design}
    evidence = looked.evidence
    if evidence is None or not evidence.counts:
        why = looked.missing or "no case counts"
        return GateCheck(
            **facts,
            status="not_measured",
            value=None,
            low=None,
            high=None,
            n=0,
            reason=f"{expression.name} was not measured: {why}",
        )
    found = weigh(expression, evidence, scale=looked.scale)
    value, low, high = (_scaled(one, looked.scale) for one in (evidence.value, *evidence.interval()))
    bar, n = expression.bar, int(evidence.weights.sum())
    sentence = (
        f"{expression.name} {number(value, bar)} [{number(low, bar)}, {number(high, bar)}] over {n} {looked.of}"
        f"{_units(evidence)}, about {_about(about, evidence)}: {found.sentence()}"
    )
    sentence += f" ({looked.note})" if looked.note else ""
    sentence += "; exploratory: the rule was chosen after the samples" if exploratory else ""
    return GateCheck(
        **facts,
        status="passed" if found.outcome == "passed" else "failed",
        value=value,
        low=low,
        high=high,
        n=n,
        reason=sentence,
        p_anytime=found.p,
    )


def _scaled(value: float, scale: tuple[float, float] | None) -> float:
    return value if scale is None else scale[0] + value * (scale[1] - scale[0])


def _units(evidence: Evidence) -> str:
    return "" if evidence.most == 1 else f" in {len(evidence.weights)} clusters, which are the units"


def _about(about: About, evidence: Evidence) -> str:
    if about == "population":
        return "the population they are from"
    return f"this suite of {evidence.size} {'cases' if evidence.most == 1 else 'clusters'}"
