"""Numbers of a run that its own gates stopped: with the interval that holds at every look, or with none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.gates.gate import Gates, parse_expression
from judgeharness_integrations.analysis.gates.report import REQUIRE_CALIBRATION, GateCheck, GateReport
from judgeharness_integrations.analysis.replay.report import JudgeReplay
from judgeharness_integrations.analysis.runs.report import RunReport
from judgeharness_integrations.analysis.runs.summary import CriterionSummary
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.verdictlog.plain import counted


def told_at_stop(report: RunReport) -> RunReport:
    """Return a report whose gated numbers are those its own gates looked at, where asking stopped once they settled.

    An interval over a fixed number of cases does not hold for them: the gate's confidence sequence does, at every look.
    Decisions by a rule chosen later are others than those the gates were about: their sequence is made anew, over the
    same cases, or the reason is told why there is none.
    """
    gates = report.gates
    if gates is None or not gates.stopped:
        return report
    later = any(one.design.rule_fixed == "after" for section in report.judges for one in section.criteria)
    again = _looked_again(report, gates) if later else gates
    judges = []
    for section in report.judges:
        found = [_at_stop(one, again if one.design.rule_fixed == "after" else gates) for one in section.criteria]
        told = tuple(sentence for _, sentence in found if sentence)
        judges.append(replace(section, criteria=tuple(one for one, _ in found), alerts=(*section.alerts, *told)))
    return replace(report, judges=tuple(judges))


def _looked_again(report: RunReport, gates: GateReport) -> GateReport:
    """Return what the gates of a run say of its decisions under another rule."""
    from judgeharness_integrations.analysis.gates.checking import check_gates  # noqa: PLC0415 - it makes reports of logs

    asked = tuple(dict.fromkeys(check.gate for check in gates.checks if check.gate != REQUIRE_CALIBRATION))
    if not asked:
        return gates
    return check_gates(report, Gates(fail_under=asked, sequential=True, about=gates.sequential or "population"))


def last_looks(gates: GateReport, judge: str, criterion: str) -> dict[str, GateCheck]:
    """Return metric -> the check of it that looked at most cases."""
    return {
        parse_expression(check.gate).name: check
        for check in sorted(gates.checks, key=lambda one: one.n)
        if (check.judge, check.criterion) == (judge, criterion) and check.gate != REQUIRE_CALIBRATION
    }


def accuracy_at_stop(gates: GateReport, judge: str, criterion: str) -> tuple[float, float] | None:
    """Return the confidence sequence of an accuracy at the last look of a gate on it; None without one."""
    check = last_looks(gates, judge, criterion).get("accuracy")
    return None if check is None or check.low is None or check.high is None else (check.low, check.high)


def replay_at_stop(entries: Iterable[JudgeReplay], gates: GateReport, *, own_rule: bool) -> tuple[JudgeReplay, ...]:
    """Return what a replay says of a run that its gates stopped, without intervals over a fixed number of cases.

    Args:
        entries: of the run.
        gates: its own.
        own_rule: whether the replay decides as the run did, so that what its gates looked at holds here, too.

    """
    return tuple(
        replace(
            one,
            stopped=True,
            accuracy_ends=accuracy_at_stop(gates, one.judge, one.criterion) if own_rule else None,
        )
        for one in entries
    )


def _at_stop(summary: CriterionSummary, gates: GateReport) -> tuple[CriterionSummary, str]:
    """Return what a criterion comes to at the last look of each gate, and that in a sentence; nothing without any."""
    told, untold = [], []
    for name, check in last_looks(gates, summary.judge, summary.criterion).items():
        if check.value is None:
            untold.append(check.reason)
        elif changed := _gated(summary, check):
            summary = replace(summary, **changed)
            told.append(f"{name} is of the {counted(check.n, 'case')} its gate looked at")
    about = [f"{'; '.join(told)}, with a confidence sequence that holds at every look"] if told else []
    sentences = "; ".join([*about, *untold])
    return summary, f"{summary.criterion}: {sentences}" if sentences else ""


def _gated(summary: CriterionSummary, check: GateCheck) -> dict[str, Any]:
    """Return the fields of a summary that are the number of a gate, as that measured it."""
    expression, value, n = parse_expression(check.gate), check.value or 0.0, check.n
    ends: dict[str, Any] = {"low": check.low, "high": check.high}
    if expression.metric == "mean_score":
        return {"mean_score": Estimate(value=value, n=n, **ends)}
    rate = Rate(successes=round(value * n), trials=n, **ends)
    if expression.metric in {"accuracy", "coverage", "abstention"}:
        return {expression.metric: rate}
    label = {"pass_rate": "PASS", "rate": expression.argument}.get(expression.metric)
    if label is None:
        return {}
    positive = {"positive_rate": rate} if summary.positive == label else {}
    return {"shares": {**summary.shares, label: rate}, **positive}
