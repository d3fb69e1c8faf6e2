"""The folder of a run as a report, and what is noted of it beside its answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from judgeharness_integrations._documents import DATABASE_SUFFIXES
from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.verdictlog.encoding import counted, safe_text
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, CaseKey, VerdictRow, voting
from judgeharness_integrations.verdictlog.runfolder import (
    MARK,
    RESULTS,
    SUMMARY,
    ended_early,
    folder_of,
    json_lines,
    read_mark,
    record_of,
    rows_of_folder,
    run_of,
)

from ..aggregation.rules import PLANNED_SAMPLES, Rule, RuleLike
from ..aggregation.rules import rule as named_rule
from ..calibration.saved import CalibrationReport, CalibrationState
from ..certifying.cascade import Cascade
from ..certifying.certificate import Certificate, HeldCertificate
from ..document import RECORDED_SCHEMA, row_record
from ..rebuilding import rebuilt_result
from ..replay.report import replay_state
from ..result import HarnessResult
from ..spending import Prices, stored_prices
from ..usage import Usage
from .building import bill_of_summary, run_report
from .report import RunReport, never_asked
from .summarising import told_apart

if TYPE_CHECKING:
    from ..design import RuleFixed
    from ..gates.gate import GateReport


@dataclass(frozen=True, kw_only=True)
class NotedRun:
    """What is noted of a run.

    Args:
        cases: judge -> cases that were to be asked; empty where that is not known.
        samples: case -> samples of it that had been asked, or were to be, when its result was written; of cases with a
            result and an answer alone. What early stopping left out is none of them.
        gates: what the run's own gates said; None where that is not known, or there were none.
        ended: which budget ended it before everything was asked; empty where none did.

    """

    cases: Mapping[str, int] = field(default_factory=dict)
    samples: Mapping[CaseKey, int] = field(default_factory=dict)
    gates: GateReport | None = None
    ended: str = ""

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

    def asked_in_full(self, rows: Sequence[VerdictRow]) -> bool:
        """Whether any case of these rows holds all samples of it that were to be asked."""
        held = Counter(key for key, _, _ in {(row.case_key, row.perturbation, row.repetition) for row in rows})
        wanted = self.samples_of(rows)
        return any(count >= wanted.get(key, 0) for key, count in held.items())

    def with_lost(self, rows: Sequence[VerdictRow]) -> list[VerdictRow]:
        """Return rows with one for each sample that was asked and has none, and no verdict where a case has such.

        Whatever folds them, such a case is not graded, as `replay` with `samples_of` finds it. Which of its judge's
        samples are lost is told by those of other cases.
        """
        held: dict[CaseKey, dict[tuple[str, int], VerdictRow]] = {}
        design: dict[tuple[str, str], dict[tuple[str, int], bool]] = {}
        for row in voting(rows):
            held.setdefault(row.case_key, {}).setdefault((row.perturbation, row.repetition), row)
            design.setdefault((row.run, row.judge), {})[row.perturbation, row.repetition] = row.swapped
        lost: dict[CaseKey, list[VerdictRow]] = {}
        for key, count in self.samples_of(rows).items():
            known, places = held.get(key, {}), design.get(key[:2], {})
            if places and count > len(known):
                missing = [place for place in places if place not in known][: count - len(known)]
                lost[key] = [_lost(key, place, places[place]) for place in missing]
        return [
            *(_beside_lost(row) if row.case_key in lost else row for row in rows),
            *(row for found in lost.values() for row in found),
        ]

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
            yield _without_rows(sum(gaps), sum(wanted.values()), len(gaps))


_NO_ROW: Final = "the sample was asked, and its row is lost"


def _lost(key: CaseKey, place: tuple[str, int], swapped: bool) -> VerdictRow:  # noqa: FBT001 - of the row
    """Return the row of a sample that was asked and has none."""
    run, judge, case_id = key
    return VerdictRow(
        run=run,
        judge=judge,
        case_id=case_id,
        criterion=EVERY_CRITERION,
        perturbation=place[0],
        repetition=place[1],
        swapped=swapped,
        verdict=None,
        outcome="error",
        error=_NO_ROW,
    )


def _beside_lost(row: VerdictRow) -> VerdictRow:
    """Return a row without its verdict: which others of its case were lost may depend on what they said."""
    if row.verdict is None:
        return row
    return replace(row, verdict=None, probabilities=None, outcome="error", error="other samples of its case are lost")


def lost_samples(rows: Iterable[VerdictRow]) -> Iterator[str]:
    """Yield how many samples of a judge are lost, of its rows `with_lost`; nothing where none is."""
    rows = voting(rows)
    lost = [row.case_key for row in rows if row.error == _NO_ROW]
    if lost:
        total = len({(row.case_key, row.perturbation, row.repetition) for row in rows})
        yield _without_rows(len(lost), total, len(set(lost)))


def _without_rows(lost: int, total: int, cases: int) -> str:
    of, where = counted(total, "planned sample"), counted(cases, "case")
    return f"{lost} of {of} have no row ({where}): those cases are not graded"


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
    return NotedRun(
        cases=planned_cases(summary, mark),
        samples=samples,
        gates=gates_of_summary(summary),
        ended=str(summary["budget_reason"]) if summary.get("budget_reason") else "",
    )


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
    if not path.is_file():
        return NotedRun()
    if path.suffix.lower() not in DATABASE_SUFFIXES:
        return _noted_in_rows(path, run)
    from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

    from ..gates.gate import GateReport  # noqa: PLC0415 - gates read reports themselves

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


def _noted_in_rows(path: Path, run: str | None) -> NotedRun:
    from ..gates.gate import GateReport  # noqa: PLC0415 - gates read reports themselves

    found = ended_early(path, run)
    if found is None:
        return NotedRun()
    if found.by_gate:
        return NotedRun(cases=found.asked, gates=GateReport(checks=(), sequential="suite", stopped=True))
    return NotedRun(cases=found.planned)


def planned_cases(summary: Mapping[str, Any], mark: Mapping[str, Any]) -> dict[str, int]:
    """Return judge -> planned cases, as the summary says; of a run that was cut off, as it was noted at its start."""
    if "judges" in summary:
        return {judge["judge"]: judge["judged_cases"] + judge["not_asked_cases"] for judge in summary["judges"]}
    noted = mark.get("planned_cases")
    return {str(judge): int(cases) for judge, cases in noted.items()} if isinstance(noted, Mapping) else {}


def gates_of_summary(summary: Mapping[str, Any]) -> GateReport | None:
    """Return what the run's gates said."""
    from ..gates.gate import GateReport  # noqa: PLC0415 - gates read reports themselves

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


# judge -> its calibration, and whether that held for the run; None where nobody knows
Calibrations: TypeAlias = Mapping[str, tuple[CalibrationReport, CalibrationState | None]]

_Rows = Mapping[tuple[str, str], list[dict[str, Any]]]


def report_of_folder(folder: Path, *, rule: RuleLike | None = None, **facts: Any) -> RunReport:
    """Return the report of a run that stands in a folder, also of one that is still going or was cut off.

    Args:
        folder: what `judgeharness run --out` wrote.
        rule: the rule it was folded with, where that is a function of the caller's own.
        facts: further fields of `RunReport`.

    Raises:
        ConfigError: the folder holds no results, or damaged ones.
        UsageError: its log cannot be reached.

    """
    summary = summary_of(folder / SUMMARY)
    mark = read_mark(folder / MARK) if (folder / MARK).exists() else {}
    run = str(mark.get("run", "")) if (folder / MARK).exists() else summary.get("run")
    rows = _rows(folder, run)
    calibrations = {judge["judge"]: judge.get("calibration_report") for judge in summary.get("judges", ())}
    results = [_result(document, rows, calibrations, mark, rule) for document in json_lines(folder / RESULTS)]
    planned = planned_cases(summary, mark)
    usages: dict[str, list[Usage]] = {}
    for result in results:
        usages.setdefault(result.judge, []).append(result.usage)
    report = run_report(
        results,
        source=str(folder),
        planned=planned,
        bills={
            judge["judge"]: bill_of_summary(judge, usages.get(judge["judge"], []))
            for judge in summary.get("judges", ())
        },
        run=run,
        state=summary.get("state", "unfinished"),
        cases_digest=None if (record := record_of(folder)) is None else record.cases_digest,
        gates=gates_of_summary(summary),
        together={name: summary[name] for name in ("cascade", "panel") if summary.get(name) is not None},
        **facts,
    )
    return report if report.of_known_size else _of_unknown_size(report)


def documents_of_run(log: Path, rows: Sequence[VerdictRow]) -> list[dict[str, Any]]:
    """Return the results of the run that the rows of a judge are of; none where their log stands apart from them.

    Args:
        log: the run's folder, or its log in it.
        rows: of one judge.

    """
    return list(_documents(log, rows))


def _documents(log: Path, rows: Sequence[VerdictRow]) -> Iterator[dict[str, Any]]:
    folder = log if log.is_dir() else log.parent
    if (folder / RESULTS).is_file() and {row.run for row in rows} == {run_of(folder)}:
        yield from (one for one in json_lines(folder / RESULTS) if one.get("judge") == rows[0].judge)


def rule_fixed_of_run(
    log: Path, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule, *, min_valid: int | None = None
) -> RuleFixed:
    """Return whether a rule and its quorum were fixed before the samples: those of a run were, any others were not.

    Args:
        log: the run's folder, or its log in it; of a log apart from it nobody knows what it was sampled for.
        judges: judge -> rows.
        rule: what decides now.
        min_valid: valid samples a verdict needs now.

    """
    own = {(one.get("rule"), one.get("min_valid"), one.get("rule_fixed")) for one in _designs(log, judges)}
    return "before" if own == {(rule.name, min_valid, "before")} else "after"


def rule_of_run(log: Path, judges: Mapping[str, Sequence[VerdictRow]]) -> tuple[Rule, int | None] | None:
    """Return the rule of the run that rows are of, and its quorum; None where its results do not stand beside them.

    Args:
        log: see `rule_fixed_of_run`.
        judges: see there.

    Raises:
        UsageError: the rule is a function of the caller's own, which no folder holds.

    """
    known = next(filter(None, _designs(log, judges)), None)  # a run has one rule
    if known is None:
        return None
    if (own := passport_of_run(log, known["rule"] or "")) is not None:
        return own, known["min_valid"]
    if known["rule"] is None:
        raise UsageError(f"{log}: its rule is a function of the caller's own, which it does not hold: give --rule.")
    return named_rule(known["rule"]), known["min_valid"]


def passport_of_run(path: Path, name: str) -> Rule | None:
    """Return the rule of the passport that a run decided by, as `passport(...)` names it; None where it has no such.

    It decides the answers that were asked while the passport held (`Passport.rule`).

    Args:
        path: the run's folder, or its log in it.
        name: of the rule.

    """
    folder = folder_of(path)
    noted = {} if folder is None or not (folder / MARK).is_file() else read_mark(folder / MARK)
    if noted.get("passport") is None:
        return None
    from ..probability.passport import Passport  # noqa: PLC0415 - few have one

    found = Passport.from_dict(noted["passport"]).rule()
    return found if found.name == name else None


def _designs(log: Path, judges: Mapping[str, Sequence[VerdictRow]]) -> list[Mapping[str, Any]]:
    """Return the design of each judge of a run, empty where it is not known; there is one a judge."""
    return [next(_documents(log, rows), {}).get("design", {}) for rows in judges.values()]


def certificates_of_run(
    path: Path, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule
) -> dict[str, HeldCertificate]:
    """Return judge -> the certificate its decisions in a run stand under, and whether it holds for those of a rule.

    Args:
        path: the run's folder, or its log in it; of any other log nothing is known.
        judges: judge -> the rows that are read.
        rule: what decides.

    Raises:
        ConfigError: what the folder notes of its run cannot be read.
        UsageError: the rows are those of other runs as well, whose certificates nobody knows.

    """
    folder = folder_of(path)
    noted = {} if folder is None or not (folder / MARK).is_file() else read_mark(folder / MARK)
    runs = {row.run for rows in judges.values() for row in rows}
    given = {judge: one for judge in judges if (one := _noted_certificate(noted, judge)) is not None}
    if folder is None or not given or noted.get("run") not in runs:
        return {}
    if len(runs) > 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs, and decisions of {noted['run']!r:.80} stand under a certificate: choose "
            "one with --run."
        )
    saved = {judge: Certificate.from_dict(one) for judge, one in given.items()}
    return {
        judge: (one, replay_state(one, judges[judge], rule, _noted_state(documents_of_run(folder, judges[judge]))))
        for judge, one in saved.items()
    }


def _noted_certificate(mark: Mapping[str, Any], judge: str) -> Any:
    """Return what a run's folder notes that the decisions of a judge stand under; None where it notes nothing."""
    steps = (mark.get("cascade") or {}).get("steps", ())
    return next((step for step in steps if step["judge"] == judge), mark.get("certificate"))


def cascade_of_run(path: Path) -> Cascade | None:
    """Return the cascade of the run a path is of; None where it had none.

    Raises:
        ConfigError: what the folder notes of its run cannot be read.

    """
    folder = folder_of(path)
    noted = {} if folder is None or not (folder / MARK).is_file() else read_mark(folder / MARK)
    return None if noted.get("cascade") is None else Cascade.from_dict(noted["cascade"])


def prices_of_run(path: Path) -> Prices | None:
    """Return the prices of the run a path is of; None where there are none."""
    folder = folder_of(path)
    record = None if folder is None else record_of(folder)
    return None if record is None else stored_prices(record.prices) or None


def calibrations_of_run(path: Path, judges: Mapping[str, Sequence[VerdictRow]]) -> Calibrations:
    """Return the calibrations in the summary of a run; none where it has not ended, or the rows are not its alone.

    Args:
        path: see `certificates_of_run`.
        judges: see there.

    """
    folder = folder_of(path)
    summary = {} if folder is None else summary_of(folder / SUMMARY)
    if not summary or {row.run for rows in judges.values() for row in rows} != {summary.get("run")}:
        return {}
    return {
        one["judge"]: (
            CalibrationReport.from_dict(one["calibration_report"]),
            CalibrationState(status=one["calibration"]["status"], reason=one["calibration"]["reason"]),
        )
        for one in summary.get("judges", ())
        if one.get("calibration_report") and one.get("calibration")
    }


def anchored_results(
    results: Sequence[HarnessResult], known: Calibrations, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule
) -> list[HarnessResult]:
    """Return results with the calibrations that go with them, whose cases nobody has compared yet."""
    states = {
        judge: replay_state(report, judges[judge], rule, held)
        for judge, (report, held) in known.items()
        if judge in judges
    }
    return [
        replace(one, calibration=known[one.judge][0], calibration_state=states[one.judge])
        if one.judge in states
        else one
        for one in results
    ]


def unknown_certificate(log: Path, rows: Iterable[VerdictRow]) -> str:
    """Return that a database notes a certificate of the runs of rows, which it does not hold itself; else nothing."""
    if log.suffix.lower() not in DATABASE_SUFFIXES:
        return ""
    from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

    runs = {row.run for row in rows}
    with SqlLog(log, create=False) as opened:
        named = [record.run for record in opened.records() if record.run in runs and record.parts.get("certificate")]
    if not named:
        return ""
    return (
        f"run {safe_text(named[0])} decided under a certificate, which its log does not hold: these are the decisions "
        "of the rule alone; give the folder of that run, or replay with --certificate FILE"
    )


def _noted_state(documents: Sequence[Mapping[str, Any]]) -> CalibrationState | None:
    """Return what a run's results say its certificate was worth; None where nobody knows."""
    states = [one["certificate"] for one in documents if "certificate" in one]
    return CalibrationState(status=states[0]["status"], reason=states[0]["reason"]) if states else None


def _of_unknown_size(report: RunReport) -> RunReport:
    """Return a report that says of every judge that nobody knows what is missing."""
    unknown = "how many cases were planned is not known: the run was cut off"
    return replace(
        report, judges=tuple(replace(section, warnings=(*section.warnings, unknown)) for section in report.judges)
    )


def _rows(folder: Path, run: str | None) -> _Rows:
    """Return the records of a run's rows by judge and case: from its log, else from the file it was exported to."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows_of_folder(folder, run):
        groups.setdefault((row.judge, row.case_id), []).append(row_record(row))
    return groups


def _result(
    document: Mapping[str, Any],
    rows: _Rows,
    calibrations: Mapping[str, Any],
    mark: Mapping[str, Any],
    rule: RuleLike | None,
) -> HarnessResult:
    judge = document["judge"]
    held = {"rows": rows.get((judge, document["case_id"]), []), "calibration_report": calibrations.get(judge)}
    if held["calibration_report"] is None:  # an older run wrote none: its rates alone hold no calibration
        held["calibration"] = None
    if "certificate" in document:
        held["certificate_report"] = _noted_certificate(mark, judge)
    if "passport" in document:
        held["passport_report"] = mark.get("passport")
    return rebuilt_result({**document, **held}, rule=rule)


def recorded_result(line: Mapping[str, Any], *, rule: RuleLike | None = None) -> HarnessResult:
    """Return the result of what `recorded_line` returned."""
    return replace(rebuilt_result(line["result"], rule=rule), test=line.get("test"))


def report_of_recorded(
    lines: Iterable[Mapping[str, Any]], *, source: str, rule: RuleLike | None = None, **facts: Any
) -> RunReport:
    """Return the report of recorded results.

    Args:
        lines: what `recorded_line` returned.
        source: for people, where they come from.
        rule: the rule they were folded with, where that is a function of the caller's own.
        facts: further fields of `RunReport`; `case_texts` go before recorded ones.

    Raises:
        ConfigError: a line is of another schema, or damaged.

    """
    results, texts = [], {}
    for line in lines:
        if line.get("schema") != RECORDED_SCHEMA:
            raise ConfigError(f"{source}: not a record of schema {RECORDED_SCHEMA}: found {line.get('schema')!r:.60}.")
        results.append(recorded_result(line, rule=rule))
        texts[results[-1].case_id] = {str(name): str(text) for name, text in line["case"].items()}
    facts["case_texts"] = {**texts, **facts.get("case_texts", {})}
    return run_report(told_apart(results), source=source, **facts)
