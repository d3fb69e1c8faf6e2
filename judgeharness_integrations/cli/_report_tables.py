"""A report for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.cli._printing import percent, safe, share, table
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.runs.report import JudgeSection, RunReport
    from judgeharness_integrations.reporting.runs.summary import CriterionSummary

__all__ = ["print_report"]

_MOST_LABELS, _LONGEST_LABEL = 4, 16
_MOST_SENTENCES = 6


def print_report(report: RunReport, screen: Console) -> None:
    """Print what every judge and criterion come to, what it cost, and what was not measured."""
    screen.print(safe(f"report of {report.source}", 200))
    for line in _designs(report):
        screen.print(Text(line))
    columns = (
        "judge",
        "result,\n% of cases",
        "decided,\n% of cases",
        "ab-\nstained",
        "not\ngraded",
        "right, %\nof labelled",
        "consis-\ntency %\n(chance)",
    )
    screen.print(table("measured", columns, map(_row, report.summaries)))
    for section in report.judges:
        for line in _about(section):
            screen.print(Text(safe_text(f"{section.judge}: {line}", 400)))
    state = report.state.replace("_", " ")
    run = f"run {safe_text(report.run, 60)}, " if report.run else ""
    screen.print(f"{run}state: {state}, {report.cases} cases; intervals are at 95 % over cases")


def _designs(report: RunReport) -> Iterator[str]:
    if report.informal:
        yield "one sample a case, informal: verdicts as they came, nothing was measured"
        return
    for rule, fixed in dict.fromkeys((one.design.rule.name, one.design.rule_fixed) for one in report.summaries):
        when = "chosen before the samples" if fixed == "before" else "chosen after the samples: exploratory"
        yield f"rule: {safe_text(rule)}, {when}"


def _row(summary: CriterionSummary) -> list[str | Text]:
    name = summary.judge if summary.criterion == "verdict" else f"{summary.judge} · {summary.criterion}"
    replay, chance = summary.replay, summary.chance_consistency
    expected = "" if chance is None else f"\n({percent(chance)})"
    return [
        safe(name),
        "\n".join(_results(summary)) or "-",
        share(replay.decided, summary.cases),
        str(replay.abstained),
        str(replay.not_graded),
        "-" if summary.accuracy is None else _told("", summary.accuracy),
        percent(summary.consistency_rate) + expected,
    ]


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
    for label, count in list(summary.verdicts.items())[:_MOST_LABELS]:
        if (rate := Rate.of(count, summary.cases)) is not None:
            yield _told(safe_text(verdict_text(label), _LONGEST_LABEL), rate)


def _told(label: str, rate: Rate) -> str:
    return f"{label} {share(rate.successes, rate.trials)}\n[{percent(rate.low)}, {percent(rate.high)}]".lstrip()


def _about(section: JudgeSection) -> Iterator[str]:
    for summary in section.criteria:
        for flip in summary.flips:
            ends = f"[{percent(flip.low)}, {percent(flip.high)}]"
            yield f"{flip.perturbation} changes {percent(flip.value)} % {ends} of the verdicts, over {flip.cases} cases"
        failed = {name: count for name, count in summary.outcomes.items() if name != "ok" and count}
        if failed:
            told = ", ".join(f"{count} {name}" for name, count in failed.items())
            yield f"failed samples of {summary.criterion}: {told} of {sum(summary.outcomes.values())}"
    if section.not_asked:
        yield f"{section.not_asked} of {section.cases + section.not_asked} cases were never asked"
    if section.calibration is not None and section.calibration_state is not None:
        yield f"calibration on {section.calibration.name}: {section.calibration_state}"
    used = section.usage
    tokens = "unknown" if used.input_tokens is None else f"{used.input_tokens} + {used.output_tokens or 0}"
    cost = "" if section.cost is None else f", cost {section.cost:.4f} by the prices given"
    yield f"usage: {used.calls} calls, tokens {tokens}{cost}"
    for warning in section.warnings:
        yield f"warning: {warning}"
    sentences = list(section.not_measured)
    for sentence in sentences[:_MOST_SENTENCES]:
        yield f"not measured: {sentence}"
    if len(sentences) > _MOST_SENTENCES:
        yield f"and {len(sentences) - _MOST_SENTENCES} more sentences of this kind"
