"""A report for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from judgeharness_integrations.analysis.boundary import UNCALIBRATED
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.certifying.wording import held_text
from judgeharness_integrations.analysis.runs.report import never_asked
from judgeharness_integrations.analysis.runs.summarising import design_key, designs_apart
from judgeharness_integrations.cli._replay_tables import control_lines
from judgeharness_integrations.reporting.calibrationtext import alike, anchor_text, calibrated_rates, uncalibrated
from judgeharness_integrations.reporting.terminal import RIGHT, percent, safe, share, table
from judgeharness_integrations.reporting.text import cost_text, tokens_text
from judgeharness_integrations.verdictlog.plain import number_text, safe_text
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport
    from judgeharness_integrations.analysis.runs.summary import CriterionSummary, FlipRate
    from judgeharness_integrations.analysis.usage import Usage

__all__ = ["print_report"]

_MOST_LABELS, _LONGEST_LABEL = 4, 16
_MOST_SENTENCES = 6


def print_report(report: RunReport, screen: Console) -> None:
    """Print what every judge and criterion come to, what it cost, and what was not measured."""
    screen.print(safe(f"report of {report.source}", 200))
    for line in _designs(report):
        screen.print(Text(line))
    for section in report.judges:
        for alert in section.alerts:
            screen.print(Text(safe_text(f"{section.judge}: {alert}", 400), style="bold"))
    columns = (
        "judge",
        "result,\n% of cases",
        "decided,\n% of cases",
        "ab-\nstained",
        "not\ngraded",
        RIGHT,
        "consis-\ntency %\n(chance)",
    )
    named = [pair for section in report.judges for pair in _named(section)]
    screen.print(table("measured", columns, (_row(name, summary) for name, summary in named)))
    for section in report.judges:
        for line in _about(section):
            screen.print(Text(safe_text(f"{section.judge}: {line}", 400)))
    run = f"run {safe_text(report.run, 60)}, " if report.run else ""
    screen.print(f"{run}state: {report.state_text}, {report.cases} cases; intervals are at 95 % over cases")


def _designs(report: RunReport) -> Iterator[str]:
    if report.informal:
        yield "one sample a case, informal: verdicts as they came, nothing was measured"
        return
    for rule, fixed in dict.fromkeys((one.design.rule.name, one.design.rule_fixed) for one in report.summaries):
        when = "chosen before the samples" if fixed == "before" else "chosen after the samples: exploratory"
        yield f"rule: {safe_text(rule)}, {when}"


def _named(section: JudgeSection) -> Iterator[tuple[str, CriterionSummary]]:
    """Yield criteria with what they are called beside the others of the judge: its name, criterion and design."""
    designs = designs_apart(one.design for one in section.criteria)
    for one in section.criteria:
        criterion = "" if one.criterion == "verdict" else one.criterion
        yield " · ".join(filter(None, (section.judge, criterion, designs[design_key(one.design)]))), one


def _row(name: str, summary: CriterionSummary) -> list[str | Text]:
    replay, chance = summary.replay, summary.chance_consistency
    expected = "" if chance is None else f"\n({percent(chance)})"
    return [
        safe(name, 200),
        "\n".join(_results(summary)) or "-",
        share(replay.decided, summary.cases),
        str(replay.abstained),
        str(replay.not_graded),
        _right(summary),
        percent(summary.consistency_rate) + expected,
    ]


def _right(summary: CriterionSummary) -> str:
    """Return how right decisions are against gold: the share of labels, or how far scores lie off."""
    error = summary.replay.mean_absolute_error
    if error is not None:
        return f"off by {number_text(error)}\nof {summary.replay.labelled}"
    return "-" if summary.accuracy is None else _told("", summary.accuracy)


def _results(summary: CriterionSummary) -> Iterator[str]:
    """Yield what people ask for first: a mean score, a pass rate, or how often each label was decided."""
    if (mean := summary.mean_score) is not None:
        yield f"mean {mean.value:.3f}"
        yield "no interval" if mean.low is None else f"[{mean.low:.3f}, {mean.high:.3f}]"
        yield f"of {mean.n}"
        return
    if summary.positive is not None and summary.positive_rate is not None:
        yield _told(summary.positive, summary.positive_rate)
        return
    for label in list(summary.verdicts)[:_MOST_LABELS]:
        if (rate := summary.rate_of(label)) is not None:
            yield _told(safe_text(verdict_text(label), _LONGEST_LABEL), rate)


def _told(label: str, rate: Rate) -> str:
    return f"{label} {share(rate.successes, rate.trials)}\n[{percent(rate.low)}, {percent(rate.high)}]".lstrip()


def _about(section: JudgeSection) -> Iterator[str]:
    for name, summary in _named(section):
        about = name.removeprefix(section.judge).removeprefix(" · ")
        for line in (*_flips(summary), *_controls(summary)):
            yield f"{about}: {line}" if about else line
        failed = {name: count for name, count in summary.outcomes.items() if name != "ok" and count}
        if failed:
            told = ", ".join(f"{count} {name}" for name, count in failed.items())
            yield f"failed samples of {summary.criterion}: {told} of {sum(summary.outcomes.values())}"
    if section.not_asked:
        yield never_asked(section.not_asked, section.cases + section.not_asked)
    if section.calibration is not None:
        yield anchor_text(section.calibration, section.calibration_state)
        yield from calibrated_rates(section)
        yield from alike(section)
    yield from (held_text(*one) for one in section.certificates)
    yield f"usage: {_bill(section.usage, section.cost, section.cost_remarks)}"
    if section.calibration_usage is not None:
        bill = _bill(section.calibration_usage, section.calibration_cost, section.cost_remarks)
        yield f"calibrating it, beside that: {bill}"
    for warning in section.every_warning:
        yield f"warning: {warning}"
    sentences = list(section.not_measured)
    for sentence in sentences[:_MOST_SENTENCES]:
        yield f"not measured: {uncalibrated(section.criteria) if sentence == UNCALIBRATED else sentence}"
    if len(sentences) > _MOST_SENTENCES:
        yield f"and {len(sentences) - _MOST_SENTENCES} more sentences of this kind"


def _flips(summary: CriterionSummary) -> Iterator[str]:
    """Yield how often verdicts differ with a perturbation, and beside it how often they do without one."""
    noise = summary.noise
    beside = "" if noise is None else f"; between two samples of none in {_rate(noise)}"
    for flip in summary.flips:
        yield f"verdicts differ between none and {flip.perturbation} in {_rate(flip)}{beside}"


def _controls(summary: CriterionSummary) -> Iterator[str]:
    """Yield how right judges are that read nothing, and whether this one is better."""
    if summary.controls is not None:
        yield from control_lines(summary.controls)


def _rate(flip: FlipRate) -> str:
    of = "case" if flip.cases == 1 else "cases"
    ends = f"[{percent(flip.low)}, {percent(flip.high)}]"
    return f"{percent(flip.value)} % of pairs {ends}, mean over {flip.cases} {of}"


def _bill(used: Usage, cost: float | None, remarks: Sequence[str]) -> str:
    money = cost_text(cost, remarks)
    return f"{used.calls} calls, tokens {tokens_text(used) or 'unknown'}" + ("" if money is None else f", {money}")
