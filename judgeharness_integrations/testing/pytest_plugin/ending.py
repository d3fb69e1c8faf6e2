"""The end of a session: one report of everything that was measured, its gates, its files, and the terminal's lines."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.certifying.wording import held_text
from judgeharness_integrations.analysis.runs.building import Bill, run_report, total_usage
from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport
from judgeharness_integrations.analysis.runs.summarising import design_key, designs_apart, told_apart
from judgeharness_integrations.analysis.runs.summary import CriterionSummary
from judgeharness_integrations.analysis.spending import UsageSums, bill_of
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.reporting.terminal import safe, table
from judgeharness_integrations.reporting.text import cost_text
from judgeharness_integrations.testing.pytest_plugin.records import Record, as_line, texts_by_case
from judgeharness_integrations.verdictlog.plain import counted, number_text, percent, safe_text
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from judgeharness_integrations.analysis.gates.gate import Gates
    from judgeharness_integrations.analysis.gates.report import GateCheck, GateReport
    from judgeharness_integrations.analysis.runs.report import OnAbstain
    from judgeharness_integrations.analysis.usage import Usage
    from judgeharness_integrations.testing.pytest_plugin.suite import Suite

__all__ = ["FILES", "Ending", "check_writable", "ended", "shown"]


# what a folder gets
FILES: Final = ("report.html", "report.md", "junit.xml", "cases.csv", "report.json", "recorded.jsonl")


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What a session came to.

    `problems` are sentences about files that could not be written, `unusable_gates` is one about gates that fit no
    judge. `repeated` counts the measurements of a judge and case where there are several.
    """

    report: RunReport
    gates: GateReport | None
    repeated: Mapping[tuple[str, str], int]
    written: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()
    unusable_gates: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every gate passed and every file was written."""
        return not self.problems and self.unusable_gates is None and (self.gates is None or self.gates.passed)


def ended(
    records: Sequence[Record],
    *,
    gates: Gates,
    outputs: Sequence[Path],
    on_abstain: OnAbstain,
    prices: Mapping[str, Price],
    interrupted: bool,
) -> Ending:
    """Report a session's measurements, check its gates and write its files."""
    report = _report(records, prices, interrupted=interrupted)
    checked, unusable = None, None
    if gates:
        from judgeharness_integrations.analysis.gates import check_gates  # noqa: PLC0415 - only sessions with gates need it

        try:
            checked = check_gates(report, gates)
        except UsageError as error:  # no judge of this session has what a gate asks for
            unusable = str(error)
    written, problems = _written(records, report, checked, outputs, on_abstain)
    times = Counter((result.judge, result.case_id) for result in report.results)
    return Ending(
        report=report,
        gates=checked,
        unusable_gates=unusable,
        repeated={asked: count for asked, count in times.items() if count > 1},
        written=tuple(written),
        problems=tuple(problems),
    )


def _report(records: Sequence[Record], prices: Mapping[str, Price], *, interrupted: bool) -> RunReport:
    results = told_apart(record.result for record in records)
    ended = next((result.state for result in results if result.state in ("budget_exhausted", "judge_down")), "complete")
    sums: dict[str, UsageSums] = {}
    usages: dict[str, list[Usage]] = {}
    for result in results:
        sums.setdefault(result.judge, UsageSums()).add(result.rows)
        usages.setdefault(result.judge, []).append(result.usage)
    bills = {judge: bill_of(used.usages, prices) for judge, used in sums.items()}
    return run_report(
        results,
        source="pytest",
        bills={
            judge: Bill(usage=total_usage(usages[judge]), cost=bill.cost, cost_remarks=bill.remarks)
            for judge, bill in bills.items()
        },
        state="interrupted" if interrupted else ended,
        case_texts=texts_by_case(records),
    )


def check_writable(path: Path) -> None:
    """Refuse a place for a report that cannot be written, before anything is asked.

    Raises:
        UsageError: a file stands where a folder should, or the place is not ours.

    """
    import tempfile  # noqa: PLC0415 - few sessions write reports

    folder = path if not path.suffix else path.parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror or error}): give another judgeharness_out."
        ) from error


def _written(
    records: Sequence[Record],
    report: RunReport,
    gates: GateReport | None,
    outputs: Sequence[Path],
    on_abstain: OnAbstain,
) -> tuple[list[Path], list[str]]:
    def document() -> str:
        from judgeharness_integrations.reporting.rundocument import report_document  # noqa: PLC0415

        return json.dumps(report_document(report, gates=gates), indent=2) + "\n"

    texts: dict[str, Callable[[], str]] = {
        ".html": lambda: report.to_html(gates=gates),
        ".htm": lambda: report.to_html(gates=gates),
        ".md": lambda: report.to_markdown(gates=gates),
        ".xml": lambda: report.to_junit(on_abstain=on_abstain, gates=gates),
        ".csv": report.to_csv,
        ".json": document,
        ".jsonl": lambda: "".join(as_line(record) + "\n" for record in records),
    }
    written, problems = [], []
    for path in _files(outputs):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path.suffix.lower()](), encoding="utf-8", errors="replace")
            written.append(path)
        except OSError as error:
            problems.append(f"{path} was not written ({error.strerror or error}).")
    return written, problems


def _files(outputs: Sequence[Path]) -> list[Path]:
    """Return the files to write: of a folder, all kinds."""
    listed: list[Path] = []
    for path in outputs:
        listed += [path / name for name in FILES] if path.is_dir() or not path.suffix else [path]
    return list(dict.fromkeys(listed))


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
        yield f"and about {counted(more, 'more case')} several times"


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
    for warning in section.every_warning:
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
