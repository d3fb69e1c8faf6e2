"""What `judgeharness report` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations.cli._gate_options import GateOptions
from judgeharness_integrations.cli._gate_table import print_gates
from judgeharness_integrations.cli._gates import gate_exit, gates_of
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console, safe
from judgeharness_integrations.cli._reading import without_garbage_collection
from judgeharness_integrations.cli._report_files import Outputs
from judgeharness_integrations.cli._report_source import Source
from judgeharness_integrations.cli._report_tables import print_report
from judgeharness_integrations.cli._step_summary import append_summary, summary_file
from judgeharness_integrations.cli.exits import NOT_GRADED
from judgeharness_integrations.gates.checking import check_gates
from judgeharness_integrations.reporting.runs.document import report_document

if TYPE_CHECKING:
    from judgeharness_integrations.gates.report import GateReport
    from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["Outputs", "Source", "make_report"]


def make_report(source: Source, outputs: Outputs, options: GateOptions) -> int:
    """Read a run or log, write what is wished for, check the gates, and return the exit code.

    It is 3 where nothing was graded. Without gates it is 0 otherwise, whatever those of the run said, which are shown
    then. With them it is 1 unless all pass, and 3 where a run that is shown is not whole: it was cut off, or cases of
    it ended not graded.
    """
    gates = gates_of(options)
    outputs.check(source)
    with without_garbage_collection():
        report = source.read()
        checked = check_gates(report, gates) if gates else None
        written = list(outputs.write(report, checked))
        _tell(report, checked, outputs, written)
        if outputs.step_summary and (path := summary_file()) is not None:
            append_summary(outputs.markdown(report, checked), path)
    unfinished = checked is not None and source.is_folder and _unfinished(report)
    return NOT_GRADED if unfinished or not report.graded else gate_exit(checked)


def _unfinished(report: RunReport) -> bool:
    """Whether a run is not whole."""
    return report.state != "complete" or any(one.replay.not_graded for one in report.summaries) or not report.results


def _tell(report: RunReport, gates: GateReport | None, outputs: Outputs, written: list[str]) -> None:
    if outputs.as_json:
        print_json(report_document(report, gates=gates, results=outputs.results))
    screen = console(stderr=outputs.takes_stdout)
    if not outputs.takes_stdout:
        print_report(report, screen)
    if (shown := gates or report.gates) is not None:
        print_gates(shown, screen, of_run=gates is None)
    for line in written:
        screen.print(safe(f"written: {line}", 400), soft_wrap=True)
    if not outputs.wanted and not outputs.as_json:
        screen.print("to share it: --html FILE, --markdown FILE, --junit FILE, --csv FILE or --json")
