"""What is noted of a run beside its answers: how much of it was planned, and what its gates said."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

from judgeharness_integrations._documents import DATABASE_SUFFIXES
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.aggregation.deciding import PLANNED_SAMPLES
from judgeharness_integrations.analysis.runs.report import never_asked
from judgeharness_integrations.verdictlog.plain import counted
from judgeharness_integrations.verdictlog.row import CaseKey, VerdictRow
from judgeharness_integrations.verdictlog.runfolder import MARK, RESULTS, SUMMARY, folder_of, read_mark

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.gates.report import GateReport


def opened_lines(path: Path) -> TextIO:
    """Open a file of lines for reading, one that ends with `.gz` as what it was compressed from."""
    if path.suffix == ".gz":
        import gzip  # noqa: PLC0415 - loaded at first use

        return gzip.open(path, "rt", encoding="utf-8", errors="surrogatepass")
    return path.open(encoding="utf-8", errors="surrogatepass")


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; a last line that was cut off in writing is left out.

    Raises:
        ConfigError: the file cannot be read, or a line before the last is damaged.

    """
    try:
        with opened_lines(path) as file:
            lines = file.read().split("\n")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{path.parent} holds no results of a run ({path.name}: {reason}): give the folder that `judgeharness run "
            "--out` wrote, recorded results, or a verdict log with --rule."
        ) from error
    written = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    for number, line in written:
        try:
            found = json.loads(line)
        except ValueError as error:
            if number == written[-1][0]:
                return
            raise ConfigError(f"{path}: line {number} is damaged: write the file again.") from error
        if not isinstance(found, dict):
            raise ConfigError(f"{path}: line {number} holds no JSON object: write the file again.")
        yield found


@dataclass(frozen=True, kw_only=True)
class NotedRun:
    """What is noted of a run.

    Args:
        cases: judge -> cases that were to be asked; empty where that is not known.
        samples: case -> samples of it that had been asked, or were to be, when its result was written; of cases with a
            result and an answer alone. What early stopping left out is none of them.
        gates: what the run's own gates said; None where that is not known, or there were none.

    """

    cases: Mapping[str, int] = field(default_factory=dict)
    samples: Mapping[CaseKey, int] = field(default_factory=dict)
    gates: GateReport | None = None

    def samples_of(self, rows: Iterable[VerdictRow]) -> dict[CaseKey, int]:
        """Return case -> samples that were to be asked, of these rows too.

        A case that was cut off before it had a result was to be asked as often as the other cases of its judge.
        """
        most: dict[tuple[str, str], int] = {}
        for (run, judge, _), count in self.samples.items():
            most[run, judge] = max(count, most.get((run, judge), 0))
        cut_off = {row.case_key for row in rows if PLANNED_SAMPLES not in row.attributes} - self.samples.keys()
        known = {key: most[key[:2]] for key in cut_off if key[:2] in most}
        return {**known, **self.samples}

    def gaps(
        self, judge: str, rows: Sequence[VerdictRow], like: Mapping[CaseKey, int] = MappingProxyType({})
    ) -> Iterator[str]:
        """Yield how many planned cases of a judge were never asked, and how many of its samples have no row.

        Args:
            judge: whose.
            rows: all that are left of it, which vote.
            like: case -> how many cases it stands for; itself alone where it is not named.

        """
        held = Counter(key for key, _, _ in {(row.case_key, row.perturbation, row.repetition) for row in rows})
        wanted = {key: count for key, count in self.samples_of(rows).items() if key[1] == judge}
        asked = sum(like.get(key, 1) for key in {*held, *wanted})
        if (never := self.cases.get(judge, 0) - asked) > 0:
            yield f"{never_asked(never, self.cases[judge])}: not graded"
        gaps = [count - held[key] for key, count in wanted.items() if held[key] < count]
        if gaps:
            cases = counted(len(gaps), "case")
            total = counted(sum(wanted.values()), "planned sample")
            yield f"{sum(gaps)} of {total} have no row ({cases}): those cases are not graded"


def noted_of_run(path: Path, run: str | None = None) -> NotedRun:
    """Return what a run's folder notes of it, else its database.

    Args:
        path: the folder, or the log in it, or a database; of any other log nothing is known.
        run: the run that is asked about, where one is named.

    """
    folder = folder_of(path)
    if folder is None or not (folder / MARK).exists():
        return _noted_in_database(path, run)
    summary, mark = summary_of(folder / SUMMARY), read_mark(folder / MARK)
    if run not in {None, mark.get("run")}:
        return NotedRun()
    samples = _samples(folder, str(mark.get("run", "")))
    return NotedRun(cases=planned_cases(summary, mark), samples=samples, gates=gates_of_summary(summary))


def _samples(folder: Path, run: str) -> dict[CaseKey, int]:
    """Return case -> samples of those that were asked; criteria differ only where their rows alone were counted."""
    found: dict[CaseKey, int] = {}
    for document in json_lines(folder / RESULTS) if (folder / RESULTS).is_file() else ():
        measured = document["criteria"].values()
        planned = {criterion["planned"] for criterion in measured}
        if len(planned) == 1 and any(criterion["taken"] for criterion in measured):
            found[run, document["judge"], document["case_id"]] = planned.pop() - len(document.get("unasked", ()))
    return found


def _noted_in_database(path: Path, run: str | None) -> NotedRun:
    """Return the same of a log apart from its folder, which knows not what gates said, but whether they ended a run."""
    if path.suffix.lower() not in DATABASE_SUFFIXES or not path.is_file():
        return NotedRun()
    from judgeharness_integrations.analysis.gates.report import GateReport  # noqa: PLC0415 - gates read reports themselves
    from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

    with SqlLog(path, create=False) as log:
        records = [one for one in log.records() if run in {None, one.run}]
        if len(records) != 1 or (cases := records[0].cases_a_judge) is None:
            return NotedRun()
        asked: dict[str, int] = {}
        for one in log.usage(records[0].run):
            asked[one.judge] = max(asked.get(one.judge, 0), one.cases)
    ended = records[0].until and records[0].state == "complete" and any(one < cases for one in asked.values())
    gates = GateReport(checks=(), sequential="suite", stopped=True) if ended else None
    return NotedRun(cases=asked if ended else dict.fromkeys(asked, cases), gates=gates)


def planned_cases(summary: Mapping[str, Any], mark: Mapping[str, Any]) -> dict[str, int]:
    """Return judge -> planned cases, as the summary says; of a run that was cut off, as it was noted at its start."""
    if "judges" in summary:
        return {judge["judge"]: judge["judged_cases"] + judge["not_asked_cases"] for judge in summary["judges"]}
    noted = mark.get("planned_cases")
    return {str(judge): int(cases) for judge, cases in noted.items()} if isinstance(noted, Mapping) else {}


def gates_of_summary(summary: Mapping[str, Any]) -> GateReport | None:
    """Return what the run's gates said."""
    from judgeharness_integrations.analysis.gates.report import GateReport  # noqa: PLC0415 - gates read reports themselves

    found = summary.get("gates")
    return None if found is None else GateReport.from_dict(found)


def summary_of(path: Path) -> Mapping[str, Any]:
    """Return a run's summary; nothing of a run that has not finished.

    Raises:
        ConfigError: it cannot be read.

    """
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): delete it, the report is made without it.") from error
    return found if isinstance(found, dict) else {}
