"""The records of a session, also between processes, and its end: one report, its gates and its files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.document import recorded_line
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.analysis.runs.building import Bill, run_report, total_usage
from judgeharness_integrations.analysis.runs.folder import recorded_result
from judgeharness_integrations.analysis.runs.report import OnAbstain, RunReport
from judgeharness_integrations.analysis.runs.summarising import told_apart
from judgeharness_integrations.analysis.spending import UsageSums, bill_of
from judgeharness_integrations.analysis.usage import Price, Usage
from judgeharness_integrations.judging.functionsource import imported_rule
from judgeharness_integrations.verdictlog.encoding import distribution_text, number_text, safe_text
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.gates.gate import GateReport, Gates


@dataclass(frozen=True, kw_only=True)
class Record:
    """A result, which knows the test that asked for it, and the texts that were judged."""

    result: HarnessResult
    texts: Mapping[str, str]

    @property
    def test(self) -> str:
        """The test's node id."""
        return self.result.test or ""


def as_line(record: Record) -> str:
    """Return a record as one line of ASCII: `judgeharness report` reads files of such lines."""
    return json.dumps(recorded_line(record.result, record.texts), allow_nan=False)


def from_line(line: str, *, folder: Path) -> Record:
    """Return the record of a line; a rule given as `module:function` is imported, also from `folder`.

    Raises:
        ConfigError: its rule is a function that no text names.

    """
    found: dict[str, Any] = json.loads(line)
    document, rule = found["result"], None
    shown = document["aggregation_rule"] or ""
    if document["design"]["rule"] is None and ":" in shown:
        rule = imported_rule(shown, folder=folder, where="aggregation_rule")
    return Record(result=recorded_result(found, rule=rule), texts=found["case"])


def texts_by_case(records: Iterable[Record]) -> dict[str, Mapping[str, str]]:
    """Return what was judged by case; nothing of a case that is another one in another test."""
    found: dict[str, Mapping[str, str]] = {}
    differ = set()
    for record in records:
        case = record.result.case_id
        if found.setdefault(case, record.texts) != record.texts:
            differ.add(case)
    return {case: texts for case, texts in found.items() if texts and case not in differ}


def properties(result: HarnessResult, *, number: int = 1) -> Iterator[tuple[str, str]]:
    """Yield names and values: `judgeharness.verdict` and so on.

    The second measurement of a test is `judgeharness.2.verdict`; with several criteria each is named as well, as in
    `judgeharness.politeness.verdict`.
    """
    start = "judgeharness" if number == 1 else f"judgeharness.{number}"
    yield f"{start}.case", safe_text(result.case_id)
    yield f"{start}.judge", safe_text(result.judge)
    if result.judge_model is not None:
        yield f"{start}.judge_model", safe_text(result.judge_model)
    yield f"{start}.rule", "informal" if result.informal else safe_text(result.aggregation_rule)
    yield f"{start}.calls", str(result.usage.calls)
    yield f"{start}.calibration", _calibration(result)
    for name, measured in result.criteria.items():
        criterion = f"{start}.{safe_text(name, 60)}" if len(result.criteria) > 1 else start
        for what, value in _measurement(measured):
            yield f"{criterion}.{what}", value


def _measurement(measured: CriterionResult) -> Iterator[tuple[str, str]]:
    yield "verdict", "none" if measured.verdict is None else safe_text(verdict_text(measured.verdict))
    yield "status", measured.status
    yield "distribution", distribution_text(measured.sample_distribution)
    yield "samples", f"{measured.valid} valid of {measured.planned}"
    yield "consistency", number_text(measured.consistency_rate)


def _calibration(result: HarnessResult) -> str:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return "uncalibrated"
    return safe_text(f"{report.word} on {report.name}" if state.valid else f"calibration {state}")


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
