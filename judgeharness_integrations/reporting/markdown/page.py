"""The whole report as Markdown: the answer on the first screen, everything else folded away below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from judgeharness_integrations.reporting.markdown.annotators import annotator_lines
from judgeharness_integrations.reporting.markdown.casetables import case_lines
from judgeharness_integrations.reporting.markdown.escaping import escaped
from judgeharness_integrations.reporting.markdown.headlines import gate_lines, headline_lines
from judgeharness_integrations.reporting.markdown.judges import judge_lines

if TYPE_CHECKING:
    from judgeharness_integrations.gates.report import GateReport
    from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["markdown_report"]


def markdown_report(report: RunReport, *, gates: GateReport | None = None, all_cases: bool = False) -> str:
    """Return the report as GitHub's Markdown; texts of judges and cases in it mean nothing to GitHub.

    Args:
        report: what was measured.
        gates: what gates said of it; without, what the run's own gates said is shown.
        all_cases: list every case, instead of the first 20 of each kind that matters.

    """
    return "\n".join(_lines(report, gates, all_cases=all_cases)) + "\n"


def _lines(report: RunReport, gates: GateReport | None, *, all_cases: bool) -> Iterator[str]:
    yield "## LLM judges, measured"
    yield ""
    run = f" · run {escaped(report.run, 60)}" if report.run else ""
    yield f"{escaped(report.source, 200)}{run} · {report.cases} cases · {report.state_text}"
    yield ""
    if (shown := gates or report.gates) is not None:
        yield from gate_lines(shown, of_run=gates is None)
        yield ""
    yield from headline_lines(report)
    yield ""
    yield from case_lines(report, all_cases=all_cases)
    for section in report.judges:
        yield from judge_lines(section)
    yield from annotator_lines(report)
