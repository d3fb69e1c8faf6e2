"""What a session's judges came to, for the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.cli._printing import percent, safe, table
from judgeharness_integrations.reporting.billtext import cost_text
from judgeharness_integrations.reporting.certificatetext import held_text
from judgeharness_integrations.reporting.plain import number_text, safe_text
from judgeharness_integrations.reporting.runs.designs import design_key, designs_apart
from judgeharness_integrations.reporting.runs.report import JudgeSection, RunReport
from judgeharness_integrations.reporting.runs.summary import CriterionSummary
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from judgeharness_integrations.gates.report import GateCheck, GateReport
    from judgeharness_integrations.testing.pytest_plugin.ending import Ending
    from judgeharness_integrations.testing.pytest_plugin.suite import Suite

__all__ = ["shown"]

_COLUMNS = (
    "judge",
    "decided\nof cases",
    "ab-\nstained",
    "not\ngraded",
    "% of cases [95 %]",
    "consis-\ntency %",
    "calls",
)
_MOST_VERDICTS = 6
_MOST_REPEATED = 6


def shown(suite: Suite, *, width: int) -> Iterator[str]:
    """Yield lines: a table of judges, what anchors them, the gates, and what else must be known."""
    if (ending := suite.ending) is not None:
        yield from _drawn(_measured(ending.report), width)
        for section in ending.report.judges:
            yield from _about(section)
        yield from _gates(ending, width)
    yield from _spending(suite)
    if suite.silent:
        yield f"no result: {suite.silent} tests that use the fixture ended without one (crashed, failed or not reached)"
    yield from map(safe_text, suite.lost)
    if suite.gates_unchecked:
        yield "gates: not checked, nothing was measured"
    if ending is not None:
        yield from _repeated(ending)
        yield from (f"written: {path}" for path in ending.written)
        yield from map(safe_text, ending.problems)


def _repeated(ending: Ending) -> Iterator[str]:
    """Yield the cases that were measured more than once: each result is counted, but they are not independent."""
    for (judge, case), times in list(ending.repeated.items())[:_MOST_REPEATED]:
        yield f"judge {safe_text(judge, 60)!r} was asked {times} times about case {safe_text(case, 80)!r}"
    if (more := len(ending.repeated) - _MOST_REPEATED) > 0:
        yield f"and about {more} more {'case' if more == 1 else 'cases'} several times"


def _drawn(drawing: Table, width: int) -> list[str]:
    from rich.console import Console  # noqa: PLC0415 - loaded at first use

    page = io.StringIO()
    Console(file=page, width=width, markup=False, highlight=False, emoji=False, color_system=None).print(drawing)
    return [line.rstrip() for line in page.getvalue().strip("\n").splitlines()]


def _measured(report: RunReport) -> Table:
    rows = [_row(section, summary) for section in report.judges for summary in section.criteria]
    return table("measured", _COLUMNS, rows)


def _row(section: JudgeSection, summary: CriterionSummary) -> list[str | Text]:
    abstained, undecided = summary.replay.abstained, summary.replay.not_graded
    return [
        safe(_name(summary, section)),
        f"{summary.cases - abstained - undecided} of {summary.cases}",
        str(abstained),
        str(undecided),
        _level(summary),
        percent(summary.consistency_rate),
        str(section.usage.calls)
        if summary is section.criteria[0]
        else "",  # calls are the judge's, whatever it was asked
    ]


def _name(summary: CriterionSummary, section: JudgeSection) -> str:
    """Return judge and criterion, and the design where the judge was asked under several."""
    name = summary.judge if summary.criterion == "verdict" else f"{summary.judge} · {summary.criterion}"
    design = designs_apart(one.design for one in section.criteria)[design_key(summary.design)]
    return f"{name} · {design}" if design else name


def _level(summary: CriterionSummary) -> str:
    """Return the share of positive verdicts, or the mean score, with its interval."""
    if (mean := summary.mean_score) is not None:
        interval = "" if mean.low is None else f" [{number_text(mean.low)}, {number_text(mean.high)}]"
        return f"mean {number_text(mean.value)}{interval}"
    rate = summary.positive_rate
    return "-" if rate is None else f"{summary.positive} {_rate(rate)}"


def _rate(rate: Rate) -> str:
    return f"{percent(rate.value)} [{100 * rate.low:.0f}, {100 * rate.high:.0f}]"


def _verdicts(summary: CriterionSummary, section: JudgeSection) -> Iterator[str]:
    counts = list(summary.verdicts.items())
    told = ", ".join(f"{verdict_text(verdict)}: {count}" for verdict, count in counts[:_MOST_VERDICTS])
    if told and not summary.numeric:
        yield safe_text(f"{_name(summary, section)}: {told}" + (", …" if len(counts) > _MOST_VERDICTS else ""))


def _about(section: JudgeSection) -> Iterator[str]:
    judge, report, state = safe_text(section.judge, 60), section.calibration, section.calibration_state
    for summary in section.criteria:
        yield from _verdicts(summary, section)
    if report is None or state is None:
        yield f"{judge}: uncalibrated: how often its rule is right was not measured"
    elif state.valid:
        yield f"{judge}: {report.word} on {safe_text(report.name)}"
    else:
        yield f"{judge}: calibration on {safe_text(report.name)} {safe_text(str(state))}"
    yield from (f"{judge}: {held_text(*held)}" for held in section.certificates)
    if (cost := cost_text(section.cost, section.cost_remarks)) is not None:
        yield f"{judge}: {safe_text(cost)}"
    for name, count in section.skipped.items():
        yield f"{judge}: {safe_text(name, 60)} did not fit {count} of {section.cases} cases and was skipped"
    for warning in section.warnings:
        yield f"{judge}: warning: {safe_text(warning)}"


def _gates(ending: Ending, width: int) -> Iterator[str]:
    if ending.unusable_gates is not None:
        yield f"gates: {safe_text(ending.unusable_gates)}"
    if (gates := ending.gates) is None:
        return
    yield from _drawn(_gate_table(gates), width)
    for check in gates.checks:
        if check.status != "passed":
            yield safe_text(f"{_about_whom(check)}: {check.reason}")
    yield "gates: passed" if gates.passed else "gates: FAILED"


def _about_whom(check: GateCheck) -> str:
    return " · ".join(
        filter(None, (check.judge, "" if check.criterion == "verdict" else check.criterion, check.design))
    )


def _gate_table(gates: GateReport) -> Table:
    rows: list[list[str | Text]] = [
        [
            safe(check.gate),
            safe(_about_whom(check)),
            number_text(check.value),
            "-" if check.low is None else f"[{number_text(check.low)}, {number_text(check.high)}]",
            str(check.n),
            check.status.replace("_", " "),
        ]
        for check in gates.checks
    ]
    return table("gates", ["gate", "judge", "measured", "95 %", "cases", "status"], rows, texts=2)


def _spending(suite: Suite) -> Iterator[str]:
    spent, allowed = suite.calls
    if allowed is not None:
        reason = suite.designer.budget.reason
        yield f"calls: {spent} attempts of {allowed} allowed" + (f"; {reason}" if reason else "")
