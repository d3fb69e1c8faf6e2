"""What `judgeharness report` reads: a run or a log, the texts of its cases, and people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.cli._names import names_in
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.runs.building import run_report
from judgeharness_integrations.reporting.runs.fromlog import results_of_log
from judgeharness_integrations.reporting.runs.reading import is_recorded, read_report

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.runs.report import RunReport
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Source", "case_texts"]

_TEXTS = ("input", "output", "output_b", "reference", "context")


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a report is made of, as the command names it."""

    where: str
    rule: str | None = None
    run: str | None = None
    judges: Sequence[str] | None = None
    labels: bool = False
    min_valid: int | None = None
    tolerance: float | None = None
    cases: Path | None = None
    annotations: Path | None = None
    humans: Sequence[str] = ()
    epsilon: float = 0.2

    @property
    def is_url(self) -> bool:
        """Whether it is a database that is named by a URL."""
        return "://" in self.where

    @property
    def is_folder(self) -> bool:
        """Whether it is a run's folder."""
        return not self.is_url and Path(self.where).is_dir()

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is read, as far as they are known by name; those of a run's folder are all in it."""
        named = [None if self.is_url or self.is_folder else Path(self.where), self.cases, self.annotations]
        return tuple(path for path in named if path is not None)

    @property
    def _scale(self) -> float:
        """How far two scores lie apart and still agree."""
        return 1.0 if self.tolerance is None else self.tolerance

    def read(self) -> RunReport:
        """Return the report.

        Raises:
            UsageError: options do not fit what is named, or it cannot be read.

        """
        if (self.annotations is None) != (not self.humans):
            raise UsageError("--annotations FILE and --humans NAMES go together: give both, or neither.")
        facts: dict[str, Any] = {} if self.cases is None else {"case_texts": case_texts(self.cases)}
        found = self._of_url(facts) if self.is_url else self._of_path(facts)
        return found if self.annotations is None else self._with_annotators(found, self.annotations)

    def _of_path(self, facts: dict[str, Any]) -> RunReport:
        if self.is_folder or is_recorded(Path(self.where)):
            self._check_folder()
        elif not Path(self.where).exists():
            raise UsageError(f"{self.where} does not exist: give the folder of a run, or a verdict log.")
        return read_report(
            self.where,
            None if self.rule is None else rule_of(self.rule),
            run=self.run,
            judges=self.judges,
            labels=self.labels,
            min_valid=self.min_valid,
            tolerance=self._scale,
            **facts,
        )

    def _check_folder(self) -> None:
        """Refuse what a run has fixed: silently leaving it out would show other numbers than were asked for."""
        if self.rule is not None and ":" not in self.rule:
            raise UsageError(
                f"{self.where} is a run, whose rule was chosen before its samples: leave out --rule, or fold its log "
                f"with another one, as in report {Path(self.where) / 'verdicts.jsonl'} --rule '{self.rule}'."
                if self.is_folder
                else f"{self.where} holds recorded results, whose rules were chosen before their samples: leave out "
                "--rule."
            )
        fixed = {
            "--run": self.run,
            "--labels": self.labels or None,
            "--min-valid": self.min_valid,
            "--tolerance": self.tolerance,
        }
        given = [name for name, value in fixed.items() if value is not None]
        if given:
            raise UsageError(f"{self.where} holds results of a run, not a log: {' and '.join(given)} go with a log.")

    def _of_url(self, facts: dict[str, Any]) -> RunReport:
        """Return the report of a run in a database."""
        from judgeharness_integrations.verdictlog.decoding import as_labels  # noqa: PLC0415 - few logs are databases
        from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

        if self.rule is None:
            raise UsageError("a log has no rule of its own: give one, as --rule majority.")
        with SqlLog(self.where, create=False) as log:
            run, name = self._run_in(log.run_ids()), log.name
            rows: list[VerdictRow] = list(log.rows(run=run))
        if self.labels:
            rows = as_labels(rows, source=name)
        results = results_of_log(
            rows, rule_of(self.rule), judges=self.judges, min_valid=self.min_valid, tolerance=self._scale
        )
        return run_report(results, source=name, run=run, **facts)

    def _run_in(self, runs: Sequence[str]) -> str:
        if self.run is not None and self.run not in runs:
            raise UnknownNameError("run", self.run, runs)
        if self.run is None and len(runs) != 1:
            names = safe_text(", ".join(map(repr, runs)), 200)
            raise UsageError(f"the log holds {len(runs)} runs ({names}): choose one with --run.")
        return self.run if self.run is not None else runs[0]

    def _with_annotators(self, report: RunReport, annotations: Path) -> RunReport:
        from judgeharness_integrations.agreement import read_panel  # noqa: PLC0415 - brings numpy
        from judgeharness_integrations.reporting.runs.annotating import annotated  # noqa: PLC0415

        return annotated(report, read_panel(annotations), humans=names_in(self.humans), epsilon=self.epsilon)


def case_texts(path: Path) -> dict[str, dict[str, str]]:
    """Return case -> field -> text of a case file."""
    from judgeharness_integrations.casefiles import read_cases  # noqa: PLC0415 - few reports show texts

    return {
        case.case_id: {name: text for name in _TEXTS if (text := getattr(case, name, None)) is not None}
        for case in read_cases(path)
    }
