"""Gates on a report: every gate on every judge and criterion it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.gates.criterioncases import CriterionCases, criteria_of
from judgeharness_integrations.gates.expression import METRICS, Expression
from judgeharness_integrations.gates.gate import Gate, Gates
from judgeharness_integrations.gates.judging import judged
from judgeharness_integrations.gates.metrics import METRIC_MEASURES, Measured, unanchored, untested
from judgeharness_integrations.gates.report import STOPPED, GateCheck, GateReport
from judgeharness_integrations.reporting.plain import safe_text

if TYPE_CHECKING:
    from judgeharness_integrations.gates.sequentially import Looked
    from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["check_gates"]

_CALIBRATION = "require_calibration"
_MOST_NAMED = 8
_FIXED: Final = f"the run {STOPPED}: gate with --sequential, or on a run that asked every case"
_NONE_LOOKED_AT: Final = "no case that was looked at is about it"


def check_gates(
    report: RunReport,
    gates: Gates | Iterable[Gate | str],
    *,
    at_stop: Mapping[tuple[str, str, str], Looked] | None = None,
) -> GateReport:
    """Check gates on a report: the case is the unit, and the worse end of the 95 % interval is looked at.

    A gate is checked on every judge and criterion its metric can be measured of: a pass rate not of scores. What could
    be measured and was not (no gold labels, no valid calibration, no answer) never passes. Where the run ended because
    gates of its own were settled, gates on a fixed number of cases are not measured.

    Args:
        report: what was measured.
        gates: `Gates`, or gates or texts as `pass_rate>=0.9`.
        at_stop: the evidence by which asking was stopped, by gate, judge and criterion.

    Raises:
        UnknownNameError: a gate is about a judge or criterion that the report does not have.
        UsageError: an expression cannot be read or can never pass, or is about nothing in the report.

    """
    asked = gates if isinstance(gates, Gates) else Gates(fail_under=tuple(gates))
    found = tuple(criteria_of(report))
    checks = [check for gate in asked.listed for check in _checks(report, found, gate, asked, at_stop)]
    if asked.require_calibration:
        checks += _calibrations(report, found)
    about, own = (asked.about, report.gates) if asked.sequential else (None, None)
    order = None if own is None else own.order
    return GateReport(checks=tuple(checks), point_estimates=asked.point_estimates, sequential=about, order=order)


def _checks(
    report: RunReport,
    found: Sequence[CriterionCases],
    gate: Gate,
    asked: Gates,
    at_stop: Mapping[tuple[str, str, str], Looked] | None,
) -> Iterator[GateCheck]:
    expression = gate.expression
    measure = METRIC_MEASURES[expression.metric]
    chosen = _chosen(report, found, gate)
    measured = [(cases, measure(cases, expression.argument)) for cases in chosen]
    unmeasured = [name for name in _without_criteria(report) if gate.judge in (None, name)]
    if not unmeasured and all(one is None for _, one in measured):
        raise UsageError(_about_nothing(expression, chosen))
    for cases, one in measured:
        if one is None:
            continue
        facts: dict[str, Any] = {
            "judge": cases.summary.judge,
            "criterion": cases.summary.criterion,
            "design": cases.design,
            "exploratory": cases.summary.design.rule_fixed == "after",
        }
        if asked.sequential:
            yield _sequentially(gate, one, cases, asked=asked, report=report, at_stop=at_stop, facts=facts)
        elif report.stopped:
            yield judged(expression, Measured(missing=_FIXED), **facts)
        else:
            yield judged(expression, one, point_estimates=asked.point_estimates, **facts)
    for judge in unmeasured:
        yield judged(expression, Measured(missing="no case was measured"), judge=judge, criterion=gate.criterion or "")


def _sequentially(
    gate: Gate,
    measured: Measured,
    cases: CriterionCases,
    *,
    asked: Gates,
    report: RunReport,
    at_stop: Mapping[tuple[str, str, str], Looked] | None,
    facts: Mapping[str, Any],
) -> GateCheck:
    from judgeharness_integrations.gates.sequentially import (  # noqa: PLC0415 - loads SciPy
        Looked,
        judged_sequentially,
        looked_at,
    )

    stop = None
    if at_stop is not None:
        stop = at_stop.get((gate.name, facts["judge"], facts["criterion"])) or Looked(missing=_NONE_LOOKED_AT)
    of: dict[str, Any] = {"about": asked.about, "scale": asked.scale, "report": report, "at_stop": stop}
    looked = looked_at(gate.expression, measured, cases, **of)
    return judged_sequentially(gate.expression, looked, about=asked.about, **facts)


def _without_criteria(report: RunReport) -> list[str]:
    """Return the judges nothing was measured of; a report without judges is one without a name."""
    return [section.judge for section in report.judges if not section.criteria] if report.judges else [""]


def _chosen(report: RunReport, found: Sequence[CriterionCases], gate: Gate) -> list[CriterionCases]:
    """Return the criteria a gate is narrowed to."""
    judges = [section.judge for section in report.judges]
    if gate.judge is not None and gate.judge not in judges:
        raise UnknownNameError(f"judge of the gate {safe_text(gate.name, 120)}", gate.judge, judges)
    criteria = {cases.summary.criterion for cases in found}
    if gate.criterion is not None and criteria and gate.criterion not in criteria:
        raise UnknownNameError(f"criterion of the gate {safe_text(gate.name, 120)}", gate.criterion, criteria)
    return [
        cases
        for cases in found
        if gate.judge in (None, cases.summary.judge) and gate.criterion in (None, cases.summary.criterion)
    ]


def _about_nothing(expression: Expression, chosen: Sequence[CriterionCases]) -> str:
    """Return why no criterion has the metric, and what there is."""
    if METRICS[expression.metric] == "PERTURBATION" or expression.metric == "position_flip":
        asked = dict.fromkeys(name for cases in chosen for name in cases.summary.design.perturbations if name != "none")
        there = f"the perturbations asked are {', '.join(asked)}" if asked else "no perturbation was asked"
    else:
        there = "; ".join(map(_there, chosen[:_MOST_NAMED])) or "there is no criterion"
    return safe_text(f"the gate {expression.text} is about nothing in this report: {there}.", 800)


def _there(cases: CriterionCases) -> str:
    name = f"{cases.summary.criterion} of {cases.summary.judge} holds"
    if cases.scored:
        return f"{name} scores (mean_score, consistency, coverage, abstention)"
    return f"{name} the labels {', '.join(cases.labels)} (rate(LABEL), accuracy, consistency, coverage, abstention)"


def _calibrations(report: RunReport, found: Sequence[CriterionCases]) -> Iterator[GateCheck]:
    for cases in found:
        section, criterion = cases.section, cases.summary.criterion
        reason = unanchored(section, criterion)
        if reason or section.calibration is None:
            yield _calibration(section.judge, criterion, reason, design=cases.design)
        else:
            one, source = section.calibration.criteria[criterion], section.calibration.name
            beside = "" if one.controls is None or one.controls.beaten else one.controls.sentence
            told = (f"calibrated on {source}: {one.n} labelled cases", beside, untested(section))
            yield _calibration(section.judge, criterion, "; ".join(filter(None, told)), n=one.n, design=cases.design)
    for judge in _without_criteria(report):
        yield _calibration(judge, "", "no case was measured")


def _calibration(judge: str, criterion: str, reason: str, *, n: int | None = None, design: str = "") -> GateCheck:
    """Return the check of one criterion; `n` labelled cases of the calibration that holds, None without one."""
    return GateCheck(
        gate=_CALIBRATION,
        judge=judge,
        criterion=criterion,
        status="failed" if n is None else "passed",
        value=None,
        low=None,
        high=None,
        n=n or 0,
        reason=reason,
        design=design,
    )
