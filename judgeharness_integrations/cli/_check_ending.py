"""What a check of judges leaves behind: check.json, the rows, a page, the report on the screen and an exit code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judgeharness_integrations._files import owner_only
from judgeharness_integrations.checking import CheckReport
from judgeharness_integrations.cli._check_parts import CheckParts
from judgeharness_integrations.cli._check_record import note_end
from judgeharness_integrations.cli._check_request import CheckRequest
from judgeharness_integrations.cli._failures import failures, told
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._step_summary import append_summary, summary_file
from judgeharness_integrations.cli._stopping import Terminated, undisturbed
from judgeharness_integrations.cli.exits import GATE_FAILED, INTERRUPTED, NOT_GRADED, OK, TERMINATED
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog import write_log
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.runfolder import VERDICTS

if TYPE_CHECKING:
    from judgeharness_integrations.execution.budget import Budget
    from judgeharness_integrations.verdictlog import SqlLog

__all__ = ["CHECK", "CheckEnd", "exit_code", "finished", "show"]

CHECK = "check.json"
_LONGEST = 2000


@dataclass(frozen=True, kw_only=True)
class CheckEnd:
    """The reports of a check, and what ended it before everything was asked: `down` tells of judges that are down."""

    parts: CheckParts
    reports: Sequence[CheckReport]
    stopped: BaseException | None
    budget: Budget
    down: Sequence[str] = ()

    @property
    def state(self) -> str:
        """How it ended."""
        if self.stopped is not None:
            return "interrupted"
        if self.down:
            return "judge_down"
        return "budget_exhausted" if self.budget.exhausted else "complete"


def finished(end: CheckEnd, log: SqlLog, folder: Path, request: CheckRequest) -> int:
    """Write everything down, show it, and return the exit code."""
    with undisturbed():
        note_end(end.parts, log, state=end.state)
        rows = (row for one in end.parts.judges for row in log.rows(run=one.run))
        write_log(rows, folder / VERDICTS)
        text = json.dumps(_document(end.reports, end.state), indent=2, ensure_ascii=False, allow_nan=False)
        with open(folder / CHECK, "w", encoding="utf-8", errors=LONE_SURROGATES, opener=owner_only) as file:
            file.write(text + "\n")
        show(end.reports, request, state=end.state, folder=folder)
        for line in _ending(end, log):
            typer.echo(safe_text(line, _LONGEST), err=True)
    if end.stopped is not None:
        return TERMINATED if isinstance(end.stopped, Terminated) else INTERRUPTED
    is_whole = end.state == "complete" and len(end.reports) == len(end.parts.judges)
    return exit_code(end.reports) if is_whole else NOT_GRADED


def show(
    reports: Sequence[CheckReport], request: CheckRequest, *, state: str | None = None, folder: Path | None = None
) -> None:
    """Print the reports, as JSON where that was asked for, and write the page and the summary of a GitHub job."""
    page = request.html if reports else None
    if page is not None:
        from judgeharness_integrations.checking.page import check_page  # noqa: PLC0415 - few want a page

        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(check_page(reports), encoding="utf-8", errors=LONE_SURROGATES)
    if reports and (step := summary_file()) is not None:
        from judgeharness_integrations.cli._check_summary import summary_of  # noqa: PLC0415 - few run in GitHub's jobs

        append_summary(summary_of(reports), step)
    if request.as_json:
        print_json(_document(reports, state))
        return
    from judgeharness_integrations.cli._check_tables import print_checks  # noqa: PLC0415 - JSON needs no tables

    if reports:
        print_checks(reports)
    if folder is not None:
        typer.echo(f"\nwritten: {folder / CHECK}, {folder / VERDICTS}")
    if page is not None:
        typer.echo(f"page: {page}")


def exit_code(reports: Sequence[CheckReport]) -> int:
    """Return 3 where a judge gave no valid answer, else 1 where a property fails."""
    if not all(report.outcomes.get("ok") for report in reports):
        return NOT_GRADED
    return GATE_FAILED if any(report.failed for report in reports) else OK


def _document(reports: Sequence[CheckReport], state: str | None) -> dict[str, Any]:
    return {
        "schema": "judgeharness.checks/1",
        "state": state,
        "judges": [report.to_dict() for report in reports],
    }


def _ending(end: CheckEnd, log: SqlLog) -> list[str]:
    """Return how it ended and why samples failed."""
    lines = []
    if end.state != "complete":
        kept = sum(used.rows for one in end.parts.judges for used in log.usage(one.run))
        how = "terminated" if isinstance(end.stopped, Terminated) else end.state
        how = {"budget_exhausted": f"{end.budget.reason}", "judge_down": "; ".join(end.down)}.get(how, how)
        larger = " with a larger budget" if end.state == "budget_exhausted" else ""
        lines.append(f"{how}: {kept} rows are in {log.name}; the same command goes on from there{larger}.")
    reported = {report.judge for report in end.reports}
    lines += [
        f"{one.judge.name}: nothing was answered, so there is no report"
        for one in end.parts.judges
        if one.judge.name not in reported
    ]
    for one in end.parts.judges:
        lines += told(one.judge.name, failures(log.rows(run=one.run), end.parts.config.model_dump()))
    return lines
