"""What `judgeharness report` writes, and where."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations._lazy import renderer
from judgeharness_integrations.analysis.calibration.candidates import candidates_beside
from judgeharness_integrations.analysis.gates.checking import check_gates
from judgeharness_integrations.analysis.replay import rows_of_judges
from judgeharness_integrations.analysis.runs.building import run_report
from judgeharness_integrations.analysis.runs.reading import is_recorded, read_report, results_of_log
from judgeharness_integrations.reporting.measured import gates_section, last_lines
from judgeharness_integrations.reporting.rundocument import report_document
from judgeharness_integrations.reporting.runsection import markdown_report, report_section
from judgeharness_integrations.reporting.terminal import console, safe, say, show_section
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, safe_text

from ._command import NOT_GRADED, names_in
from ._output import append_summary, print_json, summary_file, without_garbage_collection
from ._replay import gate_exit, gates_of, rule_of
from ._run_options import ReportRequest

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.gates.gate import GateReport
    from judgeharness_integrations.analysis.runs.report import RunReport
    from judgeharness_integrations.verdictlog.row import VerdictRow


_STDOUT = "-"
_FORMATS = ("html", "markdown", "junit", "csv")
_RUN_FILES = frozenset({"run.json", "verdicts.sqlite", "verdicts.jsonl", "results.jsonl", "summary.json", "run.lock"})


@dataclass(frozen=True)
class Outputs:
    """The documents that a request names: format -> path, or `-` for standard output."""

    request: ReportRequest

    @property
    def wanted(self) -> dict[str, str]:
        """The formats with a place."""
        return {name: place for name in _FORMATS if (place := getattr(self.request, name)) is not None}

    @property
    def takes_stdout(self) -> bool:
        """Whether standard output belongs to one document."""
        return self.request.as_json or _STDOUT in self.wanted.values()

    def check(self, source: Source) -> None:
        """Refuse places that are taken: by the log, by another format, or standard output twice.

        Raises:
            UsageError: one is.

        """
        if self.request.results and not self.request.as_json:
            raise UsageError("--results goes with --json.")
        to_stdout = [f"--{name}" for name, place in self.wanted.items() if place == _STDOUT]
        to_stdout += ["--json"] if self.request.as_json else []
        if len(to_stdout) > 1:
            raise UsageError(f"standard output takes one document, not {' and '.join(to_stdout)}: give a path.")
        read = {path.resolve() for path in source.files}
        taken: dict[Path, str] = {}
        for name, place in self.wanted.items():
            path = Path(place).resolve()
            if place == _STDOUT:
                continue
            if not place or path.is_dir():
                raise UsageError(f"--{name} {place or repr(place)} is no file: give the path of one.")
            in_run = source.is_folder and path.parent == Path(self.request.where).resolve() and path.name in _RUN_FILES
            if path in read or in_run:
                raise UsageError(f"--{name} {place} would write over what is read: give another path.")
            if path in taken:
                raise UsageError(f"--{name} and --{taken[path]} both name {place}: give two paths.")
            taken[path] = name

    def write(self, report: RunReport, gates: GateReport | None) -> Iterator[str]:
        """Write every format, folders included, and yield what was written where."""
        makers: dict[str, Callable[[], str]] = {
            "html": lambda: report.to_html(gates=gates),
            "markdown": lambda: self.markdown(report, gates),
            "junit": lambda: report.to_junit(on_abstain=self.request.on_abstain, gates=gates),
            "csv": report.to_csv,
        }
        for name, place in self.wanted.items():
            text = makers[name]()
            if place == _STDOUT:
                sys.stdout.write(text)
                continue
            path = Path(place)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("w", encoding="utf-8", errors=LONE_SURROGATES, newline="") as file:
                    file.write(text)
            except OSError as error:
                reason = error.strerror or error
                raise UsageError(f"--{name} {place} cannot be written ({reason}): give another path.") from error
            yield f"{name}: {place}"

    def markdown(self, report: RunReport, gates: GateReport | None) -> str:
        """Return the report as Markdown."""
        return markdown_report(report, gates=gates, every=self.request.every)


@dataclass(frozen=True)
class Source:
    """What a report is made of, as a request names it."""

    request: ReportRequest

    @property
    def is_url(self) -> bool:
        """Whether it is a database that is named by a URL."""
        return "://" in self.request.where

    @property
    def is_folder(self) -> bool:
        """Whether it is a run's folder."""
        return not self.is_url and Path(self.request.where).is_dir()

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is read, as far as they are known by name; those of a run's folder are all in it."""
        named = [
            None if self.is_url or self.is_folder else Path(self.request.where),
            self.request.cases,
            self.request.annotations,
        ]
        return tuple(path for path in named if path is not None)

    @property
    def _scale(self) -> float:
        """How far two scores lie apart and still agree."""
        return 1.0 if self.request.tolerance is None else self.request.tolerance

    def read(self) -> RunReport:
        """Return the report.

        Raises:
            UsageError: options do not fit what is named, or it cannot be read.

        """
        if (self.request.annotations is None) != (not self.request.humans):
            raise UsageError("--annotations FILE and --humans NAMES go together: give both, or neither.")
        facts: dict[str, Any] = {}
        facts["case_texts"], facts["texts_missing"] = self._texts()
        found = self._of_url(facts) if self.is_url else self._of_path(facts)
        return found if self.request.annotations is None else self._with_annotators(found, self.request.annotations)

    def _texts(self) -> tuple[dict[str, dict[str, str]], str]:
        """Return the texts of the cases that are shown, and why a run's are not."""
        from judgeharness_integrations.judging.casefiles import texts_of_cases, texts_of_run  # noqa: PLC0415
        from judgeharness_integrations.judging.cases import read_cases  # noqa: PLC0415 - not all reports show texts

        if self.request.cases is not None:
            if not self.request.texts:
                raise UsageError("--cases shows texts, --no-texts leaves them out: give one of the two.")
            return texts_of_cases(read_cases(self.request.cases)), ""
        return texts_of_run(Path(self.request.where)) if self.is_folder and self.request.texts else ({}, "")

    def _of_path(self, facts: dict[str, Any]) -> RunReport:
        if self.is_folder or is_recorded(Path(self.request.where)):
            self._check_folder()
        elif not Path(self.request.where).exists():
            raise UsageError(f"{self.request.where} does not exist: give the folder of a run, or a verdict log.")
        return read_report(
            self.request.where,
            None if self.request.rule is None else rule_of(self.request.rule),
            run=self.request.run,
            judges=self.request.judges or None,
            labels=self.request.labels,
            min_valid=self.request.min_valid,
            tolerance=self._scale,
            **facts,
        )

    def _check_folder(self) -> None:
        """Refuse what a run has fixed: silently leaving it out would show other numbers than were asked for."""
        where, rule = self.request.where, self.request.rule
        if rule is not None and ":" not in rule:
            raise UsageError(
                f"{where} is a run, whose rule was chosen before its samples: leave out --rule, or fold its log "
                f"with another one, as in report {Path(where) / 'verdicts.jsonl'} --rule '{rule}'."
                if self.is_folder
                else f"{where} holds recorded results, whose rules were chosen before their samples: leave out --rule."
            )
        fixed = {
            "--run": self.request.run,
            "--labels": self.request.labels or None,
            "--min-valid": self.request.min_valid,
            "--tolerance": self.request.tolerance,
        }
        given = [name for name, value in fixed.items() if value is not None]
        if given:
            raise UsageError(
                f"{self.request.where} holds results of a run, not a log: {' and '.join(given)} go with a log."
            )

    def _of_url(self, facts: dict[str, Any]) -> RunReport:
        """Return the report of a run in a database."""
        from judgeharness_integrations.verdictlog.decoding import as_labels  # noqa: PLC0415 - few logs are databases
        from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

        if self.request.rule is None:
            raise UsageError("a log has no rule of its own: give one, as --rule majority.")
        with SqlLog(self.request.where, create=False) as log:
            run, name = self._run_in(log.run_ids()), log.name
            every: list[VerdictRow] = list(log.rows())
        rows = [row for row in every if row.run == run]
        if self.request.labels:
            rows = as_labels(rows, source=name)
        results = results_of_log(
            rows,
            rule_of(self.request.rule),
            judges=self.request.judges or None,
            min_valid=self.request.min_valid,
            tolerance=self._scale,
        )
        shown = chain.from_iterable(rows_of_judges(rows, self.request.judges or None).values())
        return run_report(results, source=name, run=run, beside=candidates_beside(every, shown), **facts)

    def _run_in(self, runs: Sequence[str]) -> str:
        if self.request.run is not None and self.request.run not in runs:
            raise UnknownNameError("run", self.request.run, runs)
        if self.request.run is None and len(runs) != 1:
            names = safe_text(", ".join(map(repr, runs)), 200)
            raise UsageError(f"the log holds {len(runs)} runs ({names}): choose one with --run.")
        return self.request.run if self.request.run is not None else runs[0]

    def _with_annotators(self, report: RunReport, annotations: Path) -> RunReport:
        annotated: RunReport = renderer(report, "annotated")(
            report, annotations, humans=names_in(self.request.humans), epsilon=self.request.epsilon
        )
        return annotated


def make_report(request: ReportRequest) -> int:
    """Read a run or log, show it, write what is asked for, check the gates, and return the exit code.

    It is 3 where nothing was graded. Without gates it is 0 otherwise, whatever those of the run said, which are shown
    then. With them it is 1 unless all pass, and 3 where a run that is shown is not whole: it was cut off, or cases of
    it ended not graded.
    """
    gates, source, outputs = gates_of(request.gates), Source(request), Outputs(request)
    outputs.check(source)
    with without_garbage_collection():
        report = source.read()
        checked = check_gates(report, gates) if gates else None
        written = list(outputs.write(report, checked))
        _print(report, checked, outputs, written)
        if request.step_summary and (path := summary_file()) is not None:
            append_summary(outputs.markdown(report, checked), path)
    unfinished = checked is not None and source.is_folder and _unfinished(report)
    return NOT_GRADED if unfinished else gate_exit(checked, graded=report.graded)


def _unfinished(report: RunReport) -> bool:
    """Whether a run is not whole."""
    return report.state != "complete" or any(one.replay.not_graded for one in report.summaries) or not report.results


def _print(report: RunReport, gates: GateReport | None, outputs: Outputs, written: list[str]) -> None:
    if outputs.request.as_json:
        print_json(report_document(report, gates=gates, results=outputs.request.results))
    screen = console(stderr=outputs.takes_stdout)
    if not outputs.takes_stdout:
        every, has_page = outputs.request.every, "html" in outputs.wanted
        show_section(report_section(report, gates=gates, every=every, has_page=has_page), screen, every=every)
    elif (shown := gates or report.gates) is not None:
        show_section(gates_section(shown, of_run=gates is None), screen)
    for line in written:
        screen.print(safe(f"written: {line}", 400), soft_wrap=True)
    if report.texts_missing and outputs.wanted.keys() & {"html", "markdown"}:
        screen.print(safe(f"texts of the cases are not shown: {report.texts_missing}", 400), soft_wrap=True)
    if not outputs.wanted and not outputs.request.as_json:
        screen.print("to share it: --html FILE, --markdown FILE, --junit FILE, --csv FILE or --json")
    for line in last_lines(gates or report.gates):
        say(screen, line)
