"""What `judgeharness report` writes, and where."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

if TYPE_CHECKING:
    from judgeharness_integrations.cli._report_source import Source
    from judgeharness_integrations.gates.report import GateReport
    from judgeharness_integrations.reporting.runs.report import OnAbstain, RunReport

__all__ = ["Outputs"]

_STDOUT = "-"
_RUN_FILES = frozenset({"run.json", "verdicts.sqlite", "verdicts.jsonl", "results.jsonl", "summary.json", "run.lock"})


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The formats that are wished for: format -> path, or `-` for standard output, or None."""

    files: Mapping[str, str | None] = field(default_factory=dict)
    as_json: bool = False
    results: bool = False
    on_abstain: OnAbstain = "failure"
    all_cases: bool = False
    step_summary: bool = True

    @property
    def wanted(self) -> dict[str, str]:
        """The formats with a place."""
        return {name: place for name, place in self.files.items() if place is not None}

    @property
    def takes_stdout(self) -> bool:
        """Whether standard output belongs to one document."""
        return self.as_json or _STDOUT in self.wanted.values()

    def check(self, source: Source) -> None:
        """Refuse places that are taken: by the log, by another format, or standard output twice.

        Raises:
            UsageError: one is.

        """
        if self.results and not self.as_json:
            raise UsageError("--results goes with --json.")
        to_stdout = [f"--{name}" for name, place in self.wanted.items() if place == _STDOUT]
        to_stdout += ["--json"] if self.as_json else []
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
            in_run = source.is_folder and path.parent == Path(source.where).resolve() and path.name in _RUN_FILES
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
            "junit": lambda: report.to_junit(on_abstain=self.on_abstain, gates=gates),
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
        from judgeharness_integrations.reporting.markdown import markdown_report  # noqa: PLC0415 - one of many formats

        return markdown_report(report, gates=gates, all_cases=self.all_cases)
