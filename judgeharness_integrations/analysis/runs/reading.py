"""Where a report comes from: the folder of a run, or any verdict log under a rule."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.files import read_log
from judgeharness_integrations.verdictlog.row import CaseKey, VerdictRow
from judgeharness_integrations.verdictlog.runfolder import json_lines, opened_lines

from ..aggregation.grouping import by_case
from ..aggregation.rules import Rule, RuleLike, samples_planned
from ..aggregation.rules import rule as named_rule
from ..calibration.candidates import calibrated_beside, candidates_beside
from ..calibration.saved import CalibrationState
from ..certifying.certificate import Certificate
from ..design import Design, RuleFixed
from ..document import RECORDED_SCHEMA
from ..measure import measure
from ..replay.replaying import replay, replay_cases, rows_of_judges
from ..replay.report import Certificates, JudgeReplay
from ..result import HarnessResult
from .building import run_report
from .folder import (
    anchored_results,
    calibrations_of_run,
    certificates_of_run,
    noted_of_run,
    report_of_folder,
    report_of_recorded,
    rule_fixed_of_run,
    unknown_certificate,
)

if TYPE_CHECKING:
    from os import PathLike

    from ..gates.gate import GateReport
    from .report import RunReport


def results_of_log(
    rows: Iterable[VerdictRow],
    rule: RuleLike,
    *,
    judges: Sequence[str] | None = None,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    rule_fixed: RuleFixed = "after",
    certificates: Certificates = MappingProxyType({}),
    samples: Mapping[CaseKey, int] = MappingProxyType({}),
) -> list[HarnessResult]:
    """Measure every case of a log, judge by judge, in order of appearance.

    Args:
        rows: the log, or a run of it.
        rule: a rule's name, a function of rows, or a `Rule`.
        judges: the judges to look at; all of them when None.
        min_valid: valid samples a verdict needs; at least half of the case's rows when None.
        tolerance: how far two scores lie apart and still agree, in units of the score.
        rule_fixed: whether the rule was chosen before or after the samples.
        certificates: judge -> a certificate and whether it holds; see `replay`.
        samples: case -> samples that were to be asked; see `replay`.

    Raises:
        UnknownNameError: a judge or the rule is not known.
        UsageError: the rule does not fit the verdicts, or needs both orders and the log never shows them.

    """
    chosen, selected = named_rule(rule), rows_of_judges(rows, judges)
    cases = {judge: list(by_case(mine).values()) for judge, mine in selected.items()}
    replay_cases(  # says what does not fit
        (group for groups in cases.values() for group in groups), chosen, min_valid=min_valid, tolerance=tolerance
    )
    return [
        result
        for judge, groups in cases.items()
        for result in _measured(
            judge,
            groups,
            _design(groups, chosen, min_valid, tolerance, rule_fixed),
            certificates.get(judge, (None, None)),
            samples,
        )
    ]


def _design(
    groups: Sequence[Sequence[VerdictRow]], rule: Rule, min_valid: int | None, tolerance: float, fixed: RuleFixed
) -> Design:
    """Return what was asked of a judge, as far as its rows show."""
    rows = [row for group in groups for row in group]
    samples = Counter((row.run, row.case_id, row.criterion, row.perturbation) for row in rows)
    return Design(
        perturbations=tuple(dict.fromkeys(row.perturbation for row in rows)),
        repetitions=max(samples.values()),
        rule=rule,
        min_valid=min_valid,
        tolerance=tolerance,
        rule_fixed=fixed,
        curtail=any(samples_planned(group) for group in groups),
    )


def _measured(
    judge: str,
    groups: Sequence[Sequence[VerdictRow]],
    design: Design,
    held: tuple[Certificate | None, CalibrationState | None],
    samples: Mapping[CaseKey, int],
) -> Iterator[HarnessResult]:
    certificate, state = held
    for rows in groups:
        remaining = _remaining(rows)
        yield measure(
            rows,
            case_id=rows[0].case_id,
            judge=judge,
            design=design,
            planned=None if remaining else samples.get(rows[0].case_key),
            remaining=remaining,
            certificate=certificate,
            certificate_state=state,
        )


def _remaining(rows: Sequence[VerdictRow]) -> list[bool]:
    """Return, of each sample that early stopping left out, whether it would have swapped the texts."""
    places = {(row.perturbation, row.repetition): row.swapped for row in rows}
    planned = samples_planned(rows)
    left = max(planned - len(places), 0)
    swapped = min(left, max(planned // 2 - sum(places.values()), 0))  # rules that look have equal orders
    return [False] * (left - swapped) + [True] * swapped


_HEAD = 200  # the schema stands first in a line
_TOLERANCE = 1.0


def read_report(
    path: str | PathLike[str],
    rule: RuleLike | None = None,
    *,
    run: str | None = None,
    judges: Sequence[str] | None = None,
    labels: bool = False,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    **facts: Any,
) -> RunReport:
    """Return the report of a run's folder, of recorded results (`recording`), or of a verdict log.

    Args:
        path: what `judgeharness run --out` wrote, what JUDGEHARNESS_RECORD named (also as .gz), or a log (.sqlite,
            .parquet, .csv or .jsonl, also .gz).
        rule: how to fold a log; unless it is the rule of the run whose log it is, it was chosen after the samples,
            and the report says so. A run has its rule; it is needed only where that is a function of the caller's own.
        run: the run of a log that holds several.
        judges: only these judges.
        labels: read every verdict of a log as a label, numbers too.
        min_valid: valid samples a verdict needs; at least half of the case's rows when None. Of a log alone.
        tolerance: how far two scores lie apart and still agree, in units of the score. Of a log alone.
        facts: further fields of `RunReport`, such as `case_texts`.

    Raises:
        ConfigError: the folder holds no results of a run, or damaged ones.
        LogFormatError: the log cannot be read.
        UnknownNameError: a judge, run or rule is not known.
        UsageError: a log was given without a rule, or holds several runs and none was chosen.

    """
    place = Path(path)
    chosen = [part for name in judges or () for part in ("--judge", name)]
    if place.is_dir() or is_recorded(place):
        facts["arguments"] = _arguments(place, rule, *chosen)
        if place.is_dir():
            found = report_of_folder(place, rule=rule, **facts)
        else:
            found = report_of_recorded(json_lines(place), source=str(place), rule=rule, **facts)
        return found if not judges else _only(found, judges)
    if not place.exists() and "://" not in str(path):
        raise ConfigError(f"{place} does not exist: give the folder of a run, recorded results, or a verdict log.")
    if rule is None:
        raise UsageError(f"{place} is a log, which has no rule of its own: give one, as --rule majority.")
    every = read_log(place, labels=labels)
    rows = _of_run(every, run, place)
    groups = rows_of_judges(rows, judges)
    certificates = certificates_of_run(place, groups, named_rule(rule))
    unknown = "" if certificates else unknown_certificate(place, rows)
    noted = noted_of_run(place, rows[0].run or None)
    results = results_of_log(
        rows,
        rule,
        judges=judges,
        min_valid=min_valid,
        tolerance=tolerance,
        rule_fixed=rule_fixed_of_run(place, groups, named_rule(rule), min_valid=min_valid),
        certificates=certificates,
        samples=noted.samples_of(rows),
    )
    known = calibrations_of_run(place, groups)
    results = anchored_results(results, known, groups, named_rule(rule))
    facts["calibrated_beside"] = calibrated_beside(known, groups)
    facts["arguments"] = _arguments(
        place,
        rule,
        *chosen,
        *(["--run", run] if run is not None else ()),
        *(["--labels"] if labels else ()),
        *(["--min-valid", str(min_valid)] if min_valid is not None else ()),
        *(["--tolerance", f"{tolerance:g}"] if tolerance != _TOLERANCE else ()),
    )
    if noted.gates is not None and noted.gates.stopped:  # its cases are as many as its answers asked for, by any rule
        facts["gates"] = noted.gates if not judges else _gates_of(noted.gates, judges)
    wanted = {judge: count for judge, count in noted.cases.items() if not judges or judge in judges}
    facts["beside"] = candidates_beside(every, chain.from_iterable(groups.values()))
    return run_report(results, source=str(place), run=run, planned=wanted, unknown_certificate=unknown, **facts)


def _arguments(place: Path, rule: RuleLike | None, *options: str) -> tuple[str, ...]:
    """Return with what the command makes the report again; nothing where it cannot name the rule."""
    if rule is None:
        return (str(place), *options)
    name = named_rule(rule).name
    try:
        nameable = ":" in name or named_rule(name) == named_rule(rule)
    except UsageError:
        nameable = False
    return (str(place), "--rule", name, *options) if nameable else ()


def is_recorded(path: Path) -> bool:
    """Whether a file holds recorded results, by its first line."""
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        return False
    try:
        with opened_lines(path) as file:
            return RECORDED_SCHEMA in file.read(_HEAD)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error):
        return False


def _only(report: RunReport, judges: Sequence[str]) -> RunReport:
    sections = {section.judge: section for section in report.judges}
    for name in judges:
        if name not in sections:
            raise UnknownNameError("judge", name, sections)
    gone = [result for result in report.results if result.judge not in judges]
    return replace(
        report,
        beside=(*report.beside, *candidates_beside(row for result in gone for row in result.rows)),
        calibrated_beside={
            name: one.calibration
            for name, one in sections.items()
            if name not in judges and one.calibration is not None
        },
        results=tuple(result for result in report.results if result.judge in judges),
        judges=tuple(sections[name] for name in dict.fromkeys(judges)),
        gates=None if report.gates is None else _gates_of(report.gates, judges),
        together=report.together if sections.keys() <= set(judges) else {},
    )


def _gates_of(gates: GateReport, judges: Sequence[str]) -> GateReport | None:
    checks = tuple(check for check in gates.checks if check.judge in judges)
    return replace(gates, checks=checks) if checks else None


def _of_run(rows: Sequence[VerdictRow], run: str | None, place: Path) -> list[VerdictRow]:
    runs = list(dict.fromkeys(row.run for row in rows))
    if run is None and len(runs) > 1:
        names = safe_text(", ".join(map(repr, runs)), 200)
        raise UsageError(f"{place} holds {len(runs)} runs ({names}): choose one with --run.")
    if run is not None and run not in runs:
        raise UnknownNameError("run", run, runs)
    return [row for row in rows if run in (None, row.run)]


def run_measures(
    rows: Sequence[VerdictRow], parts: Mapping[str, Any], *, cases: int | None = None
) -> list[dict[str, Any]] | None:
    """Return what each judge and criterion of a run came to.

    Args:
        rows: all of the run.
        parts: what its answers depend on, as its record keeps it: the rule and its quorum are among it.
        cases: how many each judge was to be asked about; those without a row are not graded.

    Returns:
        Counts of cases, `accuracy` (share of the decided cases with gold), `consistency_rate`; None where its rows do
        not tell: no rule is noted or it is a function, a certificate or a passport held answers back, or it has no
        rows.

    """
    harness = parts.get("harness", {})
    if not rows or "aggregation_rule" not in harness or parts.get("certificate") is not None:
        return None
    judges = {row.judge for row in rows}
    try:
        found = replay(
            rows,
            harness["aggregation_rule"],
            min_valid=harness.get("min_valid"),
            tolerance=harness.get("tolerance", 1.0),
            planned={} if cases is None else dict.fromkeys(judges, cases),
        )
    except UsageError:  # a rule that no name brings back, or one that cannot read these answers
        return None
    return [_measures(one) for one in found.judges]


def _measures(one: JudgeReplay) -> dict[str, Any]:
    return {
        "judge": one.judge,
        "criterion": one.criterion,
        "cases": one.cases,
        "decided": one.decided,
        "abstained": one.abstained,
        "not_graded": one.not_graded,
        "decided_with_gold": one.labelled,
        "accuracy": one.accuracy,
        "consistency_rate": one.consistency_rate,
    }


def changed_parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return which parts of two runs differ: `cases`, `judges`, `harness`; none is known of a run without a record."""
    known = [name for name in ("cases", "judges", "harness") if name in before and name in after]
    return [name for name in known if before[name] != after[name]]
