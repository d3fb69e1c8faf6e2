"""A report -> its page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from markupsafe import Markup

from judgeharness_integrations._version import __version__
from judgeharness_integrations.reporting.html.annotators import annotators_section
from judgeharness_integrations.reporting.html.boundaries import limits
from judgeharness_integrations.reporting.html.casedetails import case_details, texts_of
from judgeharness_integrations.reporting.html.caserows import CaseTable, case_table
from judgeharness_integrations.reporting.html.environment import environment, script, style
from judgeharness_integrations.reporting.html.judgecards import judge_card
from judgeharness_integrations.reporting.html.overview import column_names, headlines
from judgeharness_integrations.reporting.html.safetext import embedded_json
from judgeharness_integrations.reporting.html.tones import Tones
from judgeharness_integrations.reporting.runs.report import RunReport
from judgeharness_integrations.result import HarnessResult

if TYPE_CHECKING:
    from judgeharness_integrations.gates.report import GateReport

__all__ = ["html_report"]

_MOST_BADGES = 6
_AT_ONCE = 200  # rows of one piece of the table; later pieces cost nothing until the script needs them
_STATES = {
    "budget_exhausted": "stopped: the budget is used up",
    "judge_down": "stopped: a judge is down",
    "unfinished": "not finished",
}


def html_report(report: RunReport, *, gates: GateReport | None = None) -> str:
    """Return the report as one HTML page that needs nothing else: no network, no other file.

    Every text of cases, judges and people is escaped, and a policy in the page allows its own script and style alone.
    It is readable without a script; opening, filtering and sorting cases need it. The same report always gives the same
    page, and a page says no more of a case than the report holds: `case_texts` where they were given, reasons where the
    log kept them.

    Args:
        report: a run, a log or the results of a session.
        gates: what gates said about it; without, what the run's own gates said is shown.

    """
    tones = Tones(report.results)
    table = case_table(report, tones)
    lines = headlines(report)
    mine: dict[str, list[HarnessResult]] = {section.judge: [] for section in report.judges}
    for result in report.results:
        mine[result.judge].append(result)
    page = environment().get_template("page.html")
    return page.render(
        style=style(),
        script=script(),
        title=_title(report),
        report=report,
        source=PurePath(report.source).name or report.source,
        state=_STATES.get(report.state, report.state_text),
        headlines=lines,
        columns=column_names(lines),
        gates=gates or report.gates,
        gates_of_run=gates is None,
        most_badges=_MOST_BADGES,
        judges=[judge_card(section, mine[section.judge], tones) for section in report.judges],
        annotators=annotators_section(report),
        table=table,
        at_once=_AT_ONCE,
        not_asked=sum(section.not_asked for section in report.judges),
        details=_details(report, table, tones),
        texts=_texts(report),
        limits=limits(report),
        version=__version__,
    )


def _title(report: RunReport) -> str:
    cases = f"{report.cases:,} case{'' if report.cases == 1 else 's'}"
    names = [section.judge for section in report.judges]
    if not names:
        return "Nothing was judged"
    return f"{cases} judged by {names[0] if len(names) == 1 else f'{len(names)} judges'}"


def _details(report: RunReport, table: CaseTable, tones: Tones) -> Iterator[tuple[int, Markup]]:
    """Yield, of each row of the table, the data that it opens to."""
    everywhere = {
        section.judge: [sentence for sentence, count in section.not_measured.items() if count >= section.cases]
        for section in report.judges
    }
    for number, row in enumerate(table.rows):
        yield number, embedded_json(case_details(row, tones, everywhere[row.judge]))


def _texts(report: RunReport) -> Iterator[tuple[int, Markup]]:
    """Yield the texts of each judged case, once for all of its judges."""
    judged = {result.case_id for result in report.results}
    for number, (case, texts) in enumerate(report.case_texts.items()):
        if case in judged:
            yield number, embedded_json(texts_of(texts))
