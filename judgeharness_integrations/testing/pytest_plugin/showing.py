"""What a session came to, at the end of pytest's output: judges, gates, what else must be known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.analysis.certifying.wording import held_text
from judgeharness_integrations.reporting.calibrationtext import anchor_text
from judgeharness_integrations.reporting.gates import gates_section
from judgeharness_integrations.reporting.measured import measured_table
from judgeharness_integrations.reporting.runsection import measured_entries
from judgeharness_integrations.reporting.sections import Block, Section
from judgeharness_integrations.reporting.terminal import section_lines
from judgeharness_integrations.reporting.text import cost_text
from judgeharness_integrations.verdictlog.plain import counted

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.runs.report import JudgeSection
    from judgeharness_integrations.testing.pytest_plugin.ending import Ending
    from judgeharness_integrations.testing.pytest_plugin.suite import Suite

_MOST_REPEATED: Final = 6


def shown(suite: Suite, *, width: int) -> list[str]:
    """Return lines: a table of judges, what anchors them, the gates, and what else must be known."""
    return section_lines(Section(title="", blocks=tuple(_blocks(suite))), width=width)


def _blocks(suite: Suite) -> Iterator[Block]:
    if (ending := suite.ending) is not None:
        yield measured_table(entry for section in ending.report.judges for entry in measured_entries(section))
        for section in ending.report.judges:
            yield from (f"{section.judge}: {line}" for line in _about(section))
        if ending.unusable_gates is not None:
            yield f"gates: {ending.unusable_gates}"
        if ending.gates is not None:
            yield gates_section(ending.gates)
    yield from _spending(suite)
    if suite.silent:
        yield f"no result: {suite.silent} tests that use the fixture ended without one (crashed, failed or not reached)"
    yield from suite.lost
    if suite.gates_unchecked:
        yield "gates: not checked, nothing was measured"
    if ending is not None:
        yield from _repeated(ending)
        yield from (f"written: {path}" for path in ending.written)
        yield from ending.problems


def _about(section: JudgeSection) -> Iterator[str]:
    yield anchor_text(section.calibration, section.calibration_state)
    yield from (held_text(*held) for held in section.certificates)
    cost = cost_text(section.cost, section.cost_remarks)
    yield f"{counted(section.usage.calls, 'call')}" + ("" if cost is None else f", {cost}")
    for name, count in section.skipped.items():
        yield f"{name} did not fit {count} of {counted(section.cases, 'case')} and was skipped"
    yield from (f"warning: {warning}" for warning in section.every_warning)


def _repeated(ending: Ending) -> Iterator[str]:
    """Yield the cases that were measured more than once: each result is counted, but they are not independent."""
    for (judge, case), times in list(ending.repeated.items())[:_MOST_REPEATED]:
        yield f"judge {judge!r} was asked {times} times about case {case!r}"
    if (more := len(ending.repeated) - _MOST_REPEATED) > 0:
        yield f"and about {counted(more, 'more case')} several times"


def _spending(suite: Suite) -> Iterator[str]:
    spent, allowed = suite.calls
    if allowed is not None:
        reason = suite.designer.budget.reason
        yield f"calls: {spent} attempts of {allowed} allowed" + (f"; {reason}" if reason else "")
