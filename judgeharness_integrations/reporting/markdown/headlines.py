"""The first screen: what every judge comes to, and what the gates say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.reporting.markdown.escaping import escaped, table
from judgeharness_integrations.reporting.runs.designs import design_key, designs_apart
from judgeharness_integrations.statistics.means import Estimate
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.gates.report import GateReport
    from judgeharness_integrations.reporting.runs.report import JudgeSection, RunReport
    from judgeharness_integrations.reporting.runs.summary import CriterionSummary

__all__ = ["gate_lines", "headline_lines", "interval", "share"]

_COLUMNS = ("judge", "criterion", "result", "decided", "abstained", "not graded", "right, of gold", "consistency")
_MOST_LABELS = 4  # lines of a cell
_STATUS = {"passed": "✅ passed", "failed": "❌ failed", "not_measured": "⚠️ not measured"}


def share(rate: Rate | None) -> str:
    """Return `41.7 % [24.5, 61.2] of 24`."""
    if rate is None:
        return "-"
    return f"{100 * rate.value:.1f} % {interval(rate.low, rate.high, scale=100, digits=1)} of {rate.trials}"


def interval(low: float | None, high: float | None, *, scale: float = 1, digits: int = 3) -> str:
    """Return `[24.5, 61.2]`; that there is none, where none can be told."""
    if low is None or high is None:
        return "(no interval)"
    return f"[{scale * low:.{digits}f}, {scale * high:.{digits}f}]"


def headline_lines(report: RunReport) -> list[str]:
    """Return the table of every judge and criterion, and under it what it is to be read with."""
    rows = [row for section in report.judges for row in _rows(section)]
    if not rows:
        return ["Nothing was measured."]
    alerts = [f"⚠️ {escaped(f'{section.judge}: {alert}', 400)}" for section in report.judges for alert in section.alerts]
    told = [line for alert in alerts for line in (alert, "")]
    return [*told, *table((*_COLUMNS, "calibration"), rows, texts=2), "", *_no_better(report), *_notes(report)]


def _no_better(report: RunReport) -> Iterator[str]:
    """Yield which judges are not better than one that reads nothing, or not told from one."""
    for one in report.summaries:
        if one.controls is not None and not one.controls.beaten:
            yield f"⚠️ {escaped(f'{one.judge}, {one.criterion}: {one.controls.sentence}', 400)}.  "
    for section in report.judges:
        if section.calibrated and section.calibration is not None and (why := section.calibration.untold()):
            yield f"⚠️ {escaped(f'{section.judge}: {why}', 400)}.  "


def _rows(section: JudgeSection) -> Iterator[list[str]]:
    designs = designs_apart(one.design for one in section.criteria)
    for one in section.criteria:
        design = designs[design_key(one.design)]
        yield _row(section, one, f"{one.criterion} · {design}" if design else one.criterion)


def _row(section: JudgeSection, summary: CriterionSummary, name: str) -> list[str]:
    return [
        escaped(summary.judge, 60),
        escaped(name, 160),
        result_text(summary),
        share(summary.coverage),
        str(summary.replay.abstained),
        str(summary.replay.not_graded),
        _right(summary),
        _consistency(summary),
        _calibration(section, summary),
    ]


def result_text(summary: CriterionSummary) -> str:
    """Return the number people ask for first: a pass rate, a mean score, or how often each label was decided."""
    if summary.positive is not None:
        return f"{summary.positive} {share(summary.positive_rate)}"
    if summary.mean_score is not None:
        return f"mean {_mean(summary.mean_score)}"
    labels = list(summary.verdicts)
    told = [f"{escaped(verdict_text(label), 40)} {share(summary.rate_of(label))}" for label in labels[:_MOST_LABELS]]
    return "<br>".join([*told, *(["…"] if len(labels) > _MOST_LABELS else [])]) or "-"


def _right(summary: CriterionSummary) -> str:
    """Return how right decisions are against gold: the share of labels, or how far scores lie off."""
    error = summary.replay.mean_absolute_error
    return share(summary.accuracy) if error is None else f"off by {error:.3f}, mean of {summary.replay.labelled}"


def _calibration(section: JudgeSection, summary: CriterionSummary) -> str:
    """Return the state of a calibration; of one on a model's labels, what it shows instead."""
    report, state = section.calibration, section.calibration_state
    if report is None or state is None:
        return "none"
    if not state.valid:
        return state.status
    if summary.criterion not in report.criteria:
        return "none"
    return "valid" if report.calibrated else escaped(report.word, 80)


def _mean(found: Estimate) -> str:
    return f"{found.value:.3f} {interval(found.low, found.high)} of {found.n}"


def _consistency(summary: CriterionSummary) -> str:
    if summary.consistency_rate is None:
        return "-"
    chance = summary.chance_consistency
    return f"{summary.consistency_rate:.3f}" + (f" (chance {chance:.3f})" if chance is not None else "")


def _notes(report: RunReport) -> Iterator[str]:
    """Yield how the numbers came about, a sentence a design."""
    designs = dict.fromkeys(
        (one.design.rule.name, one.design.rule_fixed, one.design.perturbations, one.design.repetitions)
        for one in report.summaries
    )
    for rule, fixed, perturbations, repetitions in designs:
        if report.informal:
            yield "One sample a case, informal: verdicts as they came, nothing was measured.  "
            continue
        when = "chosen before the samples" if fixed == "before" else "chosen after the samples: **exploratory**"
        names = ", ".join(escaped(name, 60) for name in perturbations)
        yield f"Rule {escaped(rule, 80)}, {when}; {names} x {repetitions}.  "
    yield (
        "Intervals are at 95 % over cases. Results and decided are shares of all planned cases, so abstained and not "
        "graded ones count; a mean score is of decided cases, right is of decided cases with gold."
    )


def gate_lines(gates: GateReport, *, of_run: bool = False) -> list[str]:
    """Return what the gates say, those that did not pass first; `of_run`: what the run said at its end."""
    failed = sum(check.status != "passed" for check in gates.checks)
    word = "✅ every gate passed" if gates.passed else f"❌ {failed} of {len(gates.checks)} gate checks did not pass"
    title = f"**Gates{' of the run' if of_run else ''}: {word}**"
    title += f" ({gates.basis})" if gates.sequential or gates.point_estimates else ""
    title += ", as they were at its end" if of_run else ""
    ordered = sorted(gates.checks, key=lambda check: check.status == "passed")
    rows = (
        [
            escaped(check.gate, 80),
            escaped(check.about, 160),
            _STATUS[check.status],
            escaped(check.reason, 400),
        ]
        for check in ordered
    )
    title += f"; {gates.price}" if gates.price else ""
    return [title, "", *table(("gate", "of", "status", "why"), rows, texts=4)]
