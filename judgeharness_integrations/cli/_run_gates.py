"""Gates and the step summary of a run, from the files it left: memory grows with its cases only where one is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.cli._step_summary import append_summary
from judgeharness_integrations.gates.checking import check_gates
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.runs.reading import read_report
from judgeharness_integrations.until import settled

if TYPE_CHECKING:
    from judgeharness_integrations.aggregation.rules import Rule
    from judgeharness_integrations.gates.gate import Gates
    from judgeharness_integrations.gates.report import GateReport
    from judgeharness_integrations.until import Until

__all__ = ["check_run"]

_CHECKED = ("complete", "budget_exhausted", "judge_down")  # what was interrupted or has failed goes on first


def check_run(
    folder: Path,
    document: Mapping[str, Any],
    *,
    rule: Rule,
    gates: Gates,
    summary: Path | None,
    until: Mapping[str, Until] = MappingProxyType({}),
) -> tuple[GateReport | None, str | None]:
    """Check the gates of a run that has ended, and append its report to the summary of a GitHub step.

    Args:
        folder: the run's, with all its files.
        document: its summary; nothing is checked of a run that was interrupted or has failed.
        rule: what its answers were folded with.
        gates: may be none.
        until: what each judge was asked until; its evidence stands for that of the files, where the gates were asked.
        summary: the file of the GitHub step, where there is one.

    Returns:
        What the gates said, None without any, and why they could not be checked: they are about nothing in the run.

    """
    if document["state"] not in _CHECKED or (not gates and summary is None):
        return None, None
    try:
        report = read_report(folder, rule)
    except JudgeHarnessError as error:
        if gates:
            raise
        typer.echo(f"the step summary is not written: {safe_text(str(error))}", err=True)
        return None, None
    checked, problem = None, None
    try:
        checked = settled(report, until) if until else check_gates(report, gates) if gates else None
    except UsageError as error:
        problem = str(error)
    if summary is not None:
        append_summary(report.to_markdown(gates=checked), summary)
    return checked, problem
