"""What `judgeharness calibrate --log` does, and how what was measured is printed and saved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, product
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import typer
from rich.text import Text

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.grouping import (
    CLUSTER,
    Clusters,
    by_criterion,
    by_judge,
    copied_cases,
    is_numeric,
)
from judgeharness_integrations.analysis.aggregation.rules import Rule, deciding_rule
from judgeharness_integrations.analysis.calibration import (
    CalibrationReport,
    CriterionCalibration,
    Judged,
    LabelledItem,
    measure_calibration,
)
from judgeharness_integrations.analysis.calibration.candidates import (
    Candidate,
    candidate_of_items,
    names_of_case,
    rivals_of,
    run_of_row,
)
from judgeharness_integrations.analysis.calibration.controls import longer_of
from judgeharness_integrations.analysis.calibration.measure import stratified, withhold
from judgeharness_integrations.analysis.calibration.population import (
    Population,
    case_columns,
    column_text,
    population_of,
)
from judgeharness_integrations.analysis.calibration.saved import SavedMeasurement, labelled_last_asked
from judgeharness_integrations.analysis.calibration.strata import selection_of_items
from judgeharness_integrations.analysis.calibration.transport import (
    facts_of_decisions,
    items_of_decisions,
    labelled_alone,
    unlike_labelled,
)
from judgeharness_integrations.analysis.fingerprint import Fingerprint, design_changes, design_of_rows
from judgeharness_integrations.analysis.replay import CaseDecision, case_consistency, case_decisions, rows_of_judges
from judgeharness_integrations.analysis.runs.folder import (
    documents_of_run,
    lost_samples,
    noted_of_run,
    rule_fixed_of_run,
)
from judgeharness_integrations.analysis.runs.report import never_asked
from judgeharness_integrations.analysis.usage import names_of, same_model
from judgeharness_integrations.judging.calibrating import CalibrationSet, declared_scale, unsaid_source
from judgeharness_integrations.judging.candidates import CandidateOptions, asked_candidate, joined, read_gold, study_of
from judgeharness_integrations.judging.cases import case_id_of
from judgeharness_integrations.judging.config import (
    Config,
    build_cases,
    build_harness_options,
    build_judge,
    load_config,
)
from judgeharness_integrations.judging.execution.preparing import content_digest, judge_digest, probe_hash
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.reporting.calibrationtext import calibration_finding, calibration_section
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.sections import Finding, Section
from judgeharness_integrations.reporting.terminal import console, say, show_section
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.encoding import check_columns, safe_text
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, Verdict

from ._asking import judge_model
from ._command import OK
from ._following import Following
from ._output import asked_of_log, check_file, print_json, rows_of_log, stop_notes, without_replay_advice
from ._replay import rule_of

EXPLORATORY = "rule chosen after the samples: exploratory, unless the run was planned with it"


@dataclass(frozen=True, kw_only=True)
class Request(CandidateOptions):
    """What all ways of calibrating are asked for."""

    as_json: bool
    judge: str | None = None
    name: str | None = None
    source: str | None = None
    positive: str | None = None
    plot: Path | None = None
    run: str | None = None
    by: str | None = None
    following: Following = field(default_factory=Following)

    @property
    def declared_source(self) -> str:
        """Where the labels come from: what a calibration is worth depends on it, so that it has to be said."""
        if self.source is None:
            raise UsageError(f"{unsaid_source('--source')}.")
        return self.source


def deliver(report: CalibrationReport, request: Request, *notes: str) -> None:
    """Print a calibration, save and draw it."""
    known = request.following
    found = calibration_finding(report, before=known.before, following=known.next)
    print_and_save(report, request, lambda: (opened(found), *notes, calibration_section(report)))
    if request.plot is not None:
        _draw(report, request.plot, request)


def opened(found: Finding) -> Section:
    """Return what a measurement opens with."""
    return Section(title=found.answer, blocks=tuple(found.opening()))


def print_and_save(report: SavedMeasurement, request: Request, told: Callable[[], Iterable[str | Section]]) -> None:
    """Print what was measured, as it is told, and save it: what was paid for is kept even when one of the two fails."""
    try:
        _print(report, request, told)
    finally:
        if request.out is not None:
            _save(report, request.out, request)


def _draw(report: CalibrationReport, folder: Path, request: Request) -> None:
    from judgeharness_integrations.reporting.figures import draw_risk_coverage  # noqa: PLC0415 - few draw

    for path in draw_risk_coverage(report, folder):
        if not request.as_json:
            console().print(Text(f"drawn: {path}"), soft_wrap=True)


def _save(report: SavedMeasurement, out: Path, request: Request) -> None:
    try:
        report.save(out)
    except OSError as error:
        if not request.as_json:
            print_json(report.to_dict())
        reason = f"{out} cannot be written ({error.strerror or error})"
        raise ConfigError(f"the {report.KIND} was not saved, it is printed as JSON: {reason}.") from error
    if not request.as_json:
        console().print(Text(f"saved to {out}"), soft_wrap=True)


def _print(report: SavedMeasurement, request: Request, told: Callable[[], Iterable[str | Section]]) -> None:
    if request.as_json:
        print_json(report.to_dict())
        return
    screen = console()
    for part in told():
        if isinstance(part, Section):
            show_section(part, screen, every=True)
        else:
            say(screen, part)


def refuse_of_log(rule: str | None, run: str | None) -> None:
    """Refuse beside a configuration what says how a log is read."""
    if rule is not None:
        raise UsageError("--rule goes with --log: with CONFIG the rule is its harness.aggregation_rule.")
    if run is not None:
        raise UsageError("--run goes with --log: with CONFIG the judge is asked now.")


def place_of(config: Config, name: str | None) -> int:
    """Return the place of the named judge in a configuration, of its only one without a name."""
    names = [judge.name for judge in config.judges]
    if name is None and len(names) > 1:
        raise ConfigError(f"the configuration has {len(names)} judges: choose one with --judge.")
    if name is not None and name not in names:
        raise UnknownNameError("judge", name, names)
    return 0 if name is None else names.index(name)


_UNSEEDED: Final = 0  # the seed of a harness that was given none


class ConfiguredLog:
    """The judge and the design of a configuration, whose rows are measured; nobody is asked."""

    def __init__(self, path: Path, rows: Sequence[VerdictRow]) -> None:
        """Build what the configuration names, as it was asked."""
        config = load_config(path)
        place = place_of(config, rows[0].judge)
        judge = build_judge(config, place)
        learn: Any = getattr(judge, "learn", None)
        if learn is not None:
            for row in rows:
                learn(row.attributes)  # how it answers, as it did then
        harness = JudgeHarness(**build_harness_options(config))
        self._design, self._seed = harness.design_for(judge), harness.seed
        self._path, self._rows, self._config, self._judge = path, rows, config, judge
        self.rule: Rule = self._design.rule
        self.min_valid = self._design.min_valid
        self._declared = declared = judge_model(judge, config.judges[place])
        self._model = declared or (None if judge.identity is None else judge.identity.model)
        self.parts: Mapping[str, Any] | None = fingerprint_parts(judge, self._design, declared)
        self.candidate = asked_candidate(judge, self._design, declared)

    def check(self, log: Path, decided: Mapping[str, Sequence[CaseDecision]]) -> tuple[str, ...]:
        """Refuse a configuration that is not the one the rows were asked with, and say where that cannot be told.

        Args:
            log: where they stand.
            decided: criterion -> what was decided about their cases.

        """
        curtailed = any(case.curtailed for cases in decided.values() for case in cases)
        changes = design_changes(design_of_rows(self._rows, self.rule.name), self._design.parts())
        if self._design.curtail != curtailed:
            changes += (f"early stopping {curtailed} before, {self._design.curtail} now",)
        known = {one["fingerprint"] for one in documents_of_run(log, self._rows)} - {None}
        changes = changes or tuple(self._other_judge(known))
        if changes:
            raise UsageError(f"the log was not run with {self._path}: {'; '.join(changes)}.")
        if known or self.parts is None or (alike := self._asked_alike()):
            return ()
        if alike is False:
            raise UsageError(
                f"the log was not run with {self._path}, which asks none of its cases as they were asked (the prompt, "
                "the model's name, the seed, texts or columns differ): give the configuration as it was then, or "
                "--rule instead of it."
            )
        unknown = "a log apart from its run's folder does not say which prompt was asked"
        return (f"{unknown}: that the log was run with {self._path} is taken on your word",)

    def _asked_alike(self) -> bool | None:
        """Whether a case of the configuration is asked as it was; None if it holds none of the log's, or nobody knows.

        The hash of a probe covers judge, model, prompt and criteria, so that one equal hash confirms them all. Columns
        that were added to a file of cases since then do not count, nor do a seed that was and another spelling of the
        model, which make no other judge.
        """
        identity = self._judge.identity
        if identity is None or identity.source is not None or self._config.cases is None:
            return None
        asked = {row.case_id: row for row in self._rows if row.perturbation == "none" and row.probe_hash is not None}
        digests = {judge_digest(self._judge, name) for name in (self._declared, *self._spellings())}
        compared = False
        for case in build_cases(self._config):
            row = asked.get(case_id_of(case))
            if row is None:
                continue
            then = {name: value for name, value in case.attributes.items() if name in row.attributes}
            content = content_digest(replace(case, attributes=then)) or b""
            place: dict[str, Any] = {"perturbation": "none", "repetition": row.repetition}
            ways = product(digests, (self._seed, _UNSEEDED))
            if row.probe_hash in {probe_hash(digest, content, seed=seed, **place) for digest, seed in ways}:
                return True
            compared = True
        return False if compared else None

    def _spellings(self) -> set[str]:
        """Return how the model may have been written that was asked."""
        models = {row.model for row in self._rows} | {self._model}
        return {name for model in models if model for name in names_of(model)}

    def _other_judge(self, known: Collection[str]) -> Iterator[str]:
        """Yield why another judge was asked: by the fingerprints of the run's results, else by the model rows name."""
        if known and self.parts is not None:
            now = Fingerprint(self.parts).digest
            if now not in known:
                yield f"the judge's fingerprint was {' or '.join(sorted(known))}, now it is {now}"
            return
        models = {row.model for row in self._rows} - {None}
        if others := sorted(name for name in models if name and self._model and not same_model(self._model, name)):
            yield f"model {safe_text(', '.join(others))} before, {safe_text(str(self._model))} now"


Others: TypeAlias = Sequence[AbstractSet[Hashable]]  # by what the cases of each are known
Decided: TypeAlias = Mapping[str, Sequence[CaseDecision]]  # criterion -> decisions


def calibrate_log(log: Path, rule: str | None, request: Request, *, config: Path | None = None) -> int:
    """Measure a rule's decisions about an existing log against its gold column, and return the exit code.

    The rule is that of the configuration the log was run with, where that is given: whose judge is calibrated then.
    """
    if rule is None and config is None:
        raise UsageError("--log needs --rule, or CONFIG: which rule's decisions are to be measured?")
    if rule is not None and config is not None:
        raise UsageError("give --rule or CONFIG, not both: the rule is the configuration's.")
    check_drawable(request.plot)
    if request.out is not None:
        check_file(request.out)
        refuse_same("--out", request.out, log, request.labels, config)
    study = study_of(request, config, request.out, log=log)
    with without_replay_advice():
        judge, answered, others = rows_of_one(log, request.judge, request.run)
        if request.out is not None:  # later gates stand on it
            refuse_unended(log, answered, request.run, what="a saved calibration")
        labelled, rows, notes = labelled_rows(answered, log, request)
        check_columns(request.by, {name for row in rows for name in row.attributes})
        configured = None if config is None else ConfiguredLog(config, rows)
        folding = Folding.of(rule, configured)
        decided = folding.decisions(rows)
        if configured is not None:
            notes += configured.check(log, decided)
        everything = items_of(decided)
        notes += _unlike(decided)
        belonging = Clusters.of_rows(rows)
        clusters = belonging.by_case()
        rows = _of_part(rows, study.labels(labelled, clusters))
        decided = folding.decisions(rows)
        population = _population(decided, request.by)
        criteria = _criteria(decided, request, folding, population)  # which refuses what cannot be compared
    candidate = candidate_of_items(judge, deciding_rule(folding.rule, rows).name, _labelled(everything))
    shared = belonging.shared_names()
    golds, _ = labelled.golds()
    look = candidate if configured is None else configured.candidate
    count = study.count(golds, look, of_log=candidates_on(golds, rows, others))
    if count > 1:
        criteria = _criteria(decided, request, folding, population, candidates=count)
    report = CalibrationReport(
        name=labelled.name,
        judge=judge,
        source=labelled.source,
        consensus=labelled.consensus,
        excluded_ties=labelled.golds()[1],
        criteria={
            name: withhold(one, selection_of_items(everything, name, clusters)) for name, one in criteria.items()
        },
        measured_at=labelled_last_asked(rows) or datetime.now(UTC).isoformat(timespec="seconds"),
        parts=folding.parts,
        items=tuple(replace(item, cluster=shared.get(item.case_id)) for item in _labelled(items_of(decided))),
        design=design_of_rows(rows, folding.rule.name),
        candidates=count,
        population=population,
    )
    if request.as_json:
        for note in notes:
            typer.echo(safe_text(note), err=True)
    fixed = exploratory(log, judge, rows, folding) if configured is None else ()
    deliver(study.told(report), request, f"rule: {folding.rule.name}", *fixed, *map(safe_text, notes))
    return OK


@dataclass(frozen=True, kw_only=True)
class Folding:
    """How rows are decided, by a rule or a configuration that says so: `parts` are those of its fingerprint."""

    rule: Rule
    min_valid: int | None = None
    parts: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, rule: str | None, configured: ConfiguredLog | None) -> Self:
        """Return that of a configuration, else that of a rule by name."""
        if configured is None:
            return cls(rule=rule_of(rule or ""))
        return cls(rule=configured.rule, min_valid=configured.min_valid, parts=configured.parts)

    def decisions(self, rows: Sequence[VerdictRow]) -> dict[str, list[CaseDecision]]:
        """Return criterion -> decisions about the cases of one judge."""
        groups = by_criterion(rows).items()
        return {name: list(case_decisions(group, self.rule, min_valid=self.min_valid)) for name, group in groups}


def exploratory(log: Path, judge: str, rows: Sequence[VerdictRow], folding: Folding) -> tuple[str, ...]:
    """Return that a rule was chosen after the samples, unless it is the one the log's run was asked with."""
    fixed = rule_fixed_of_run(log, {judge: rows}, folding.rule, min_valid=folding.min_valid)
    return () if fixed == "before" else (EXPLORATORY,)


def _of_part(rows: Sequence[VerdictRow], part: CalibrationSet) -> list[VerdictRow]:
    """Return the rows with the labels of one part of a label set alone."""
    kept = {case_id_of(case) for case in part.cases}
    mine = [row if row.case_id in kept else replace(row, gold=None) for row in rows]
    if all(row.gold is None for row in mine):
        raise UsageError("no case of the log is in this part of the labels: give another --holdout, or label more.")
    return mine


def _labelled(items: Sequence[LabelledItem]) -> tuple[LabelledItem, ...]:
    return tuple(item for item in items if item.gold is not None)


def _with_copies(rows: Sequence[VerdictRow], column: str) -> tuple[Sequence[VerdictRow], list[str]]:
    return rows, copied_cases(rows, column)


def labelled_rows(
    rows: Sequence[VerdictRow],
    log: Path,
    request: Request,
    *,
    cluster: str = CLUSTER,
    copies: Callable[[Sequence[VerdictRow], str], tuple[Sequence[VerdictRow], list[str]]] = _with_copies,
    read: Callable[..., CalibrationSet] = read_gold,
) -> tuple[CalibrationSet, Sequence[VerdictRow], tuple[str, ...]]:
    """Return the labels, the rows with them, and what is to be said: of a file of labels, of the run, of its cases.

    `copies` does with cases that ask the same, by a column of clusters, what is to be done with them.
    `read` reads the file; who gives another one than `read_gold` takes the labels of several annotators as shares.
    """
    check_columns(None if cluster == CLUSTER else cluster, {name for row in rows for name in row.attributes})
    said = (*stop_notes(log, request.run), *cut_off_notes(rows, log, request.run), *lost_samples(rows))
    if request.labels is None:
        if all(row.gold is None for row in rows):
            raise UsageError(f"{log}: no row carries a gold label: give the labels as --labels FILE (case_id, gold).")
        # through the label set, so that its source is checked the same way
        name = request.name or log.name.split(".")[0]
        labels = CalibrationSet.from_rows(rows, name=name, source=request.declared_source)
    else:
        labels = read(request.labels, name=request.name, source=request.declared_source)
        found = joined(rows, labels)
        agreed = read is read_gold or not labels.shares()[1]
        rows, said = found.rows, (*found.notes(str(request.labels), ties=agreed), *said)
    rows, copied = copies(rows, cluster)
    return labels, rows, (*said, *copied)


def cut_off_notes(rows: Sequence[VerdictRow], log: Path, run: str | None) -> Iterator[str]:
    """Yield that a run was cut off, whose cases stand for the others in random order alone."""
    planned = noted_of_run(log, run).cases.get(rows[0].judge, 0)
    if (never := planned - len({row.case_id for row in rows})) > 0:
        yield f"{never_asked(never, planned)}: those that were speak for them only if cases came in random order"


def refuse_stopped(log: Path, run: str | None, *, what: str) -> None:
    """Refuse the log of a run whose cases were chosen by its answers; `what` is to be measured, with its article."""
    for note in stop_notes(log, run):
        raise UsageError(f"{note}, and neither is {what}: ask the other cases, with run and without --until.")


def refuse_unended(log: Path, rows: Sequence[VerdictRow], run: str | None, *, what: str) -> None:
    """Refuse the log of a run whose cases were chosen by its answers, or of which nobody knows that they were not.

    Args:
        log: the log.
        rows: of one judge.
        run: the run, where one is named.
        what: is to be measured, with its article.

    """
    refuse_stopped(log, run, what=what)
    for note in cut_off_notes(rows, log, run):
        raise UsageError(f"{note}, and nothing shows that they did: continue the run to its end, without --until.")


def rows_of_one(
    log: Path, judge: str | None, run: str | None, *, voting_only: bool = True
) -> tuple[str, list[VerdictRow], Others]:
    """Return the judge, its rows, of one run where one is named, and the cases of every other judge and run.

    A log of several judges needs a name.
    """
    rows = asked_of_log(log, run=run)
    groups = rows_of_judges(rows) if voting_only else by_judge(rows)
    chosen = groups if judge is None else {name: groups[name] for name in rows_of_judges(rows, [judge])}
    if len(chosen) > 1:
        raise UsageError(f"{log} holds {len(chosen)} judges: choose one with --judge.")
    [(name, rows)] = chosen.items()
    mine, others = {(run_of_row(row), row.judge) for row in rows}, dict[Hashable, set[Hashable]]()
    for row in rows_of_log(log) if run is not None else chain.from_iterable(groups.values()):
        if (key := (run_of_row(row), row.judge)) not in mine:
            others.setdefault(key, set()).update(names_of_case(row))
    return name, rows, list(others.values())


def candidates_on(golds: Mapping[str, Mapping[str, Verdict]], rows: Iterable[VerdictRow], others: Others) -> int:
    """Return how many candidates of a log one set of labels decides about.

    They are one judge in one run, each other that was asked about any of its labelled texts, and each further criterion
    of its own with the same labels (`Candidate.meets`).

    Args:
        golds: case -> criterion -> label.
        rows: of the judge.
        others: by what the cases of each other judge and run are known.

    """
    labelled = {name for row in rows if row.case_id in golds for name in names_of_case(row)}
    asked = [
        Candidate(
            run="",
            judge="",
            criterion=name,
            labels={case_id: (None, parts[name]) for case_id, parts in golds.items() if name in parts},
        )
        for name in {name for parts in golds.values() for name in parts} - {EVERY_CRITERION}
    ]
    own = max((1 + len(rivals_of(one, (other for other in asked if other is not one))) for one in asked), default=1)
    return own + sum(not labelled.isdisjoint(theirs) for theirs in others)


def items_of(decided: Decided) -> list[LabelledItem]:
    """Return each decision with its gold label, where there is one."""
    return [item for criterion, cases in decided.items() for item in items_of_decisions(criterion, cases)]


def _unlike(decided: Decided) -> tuple[str, ...]:
    """Return that the labels are not on a sample of the log's cases, a sentence a criterion."""
    what = "what is measured holds for cases like the labelled ones alone"
    told = [unlike_labelled(name, cases, what) for name, cases in decided.items()]
    return (*filter(None, dict.fromkeys(told)), *labelled_columns(decided))


def labelled_columns(decided: Decided) -> tuple[str, ...]:
    """Return which columns tell labelled cases from all others, so that nobody knows whether they are like them."""
    return tuple(filter(None, dict.fromkeys(labelled_alone(name, cases) for name, cases in decided.items())))


def _population(decided: Decided, column: str | None) -> Population:
    labelled = {name: [case for case in cases if case.gold is not None] for name, cases in decided.items()}
    return population_of(facts_of_decisions(labelled, column=column), column=column)


def _criteria(
    decided: Decided, request: Request, folding: Folding, population: Population, *, candidates: int = 1
) -> dict[str, CriterionCalibration]:
    found: dict[str, CriterionCalibration] = {}
    for name, cases in decided.items():
        labelled = [case for case in cases if case.gold is not None]
        if not labelled:
            continue
        items = _judged(labelled, numeric=bool(is_numeric([row for case in cases for row in case.rows])))
        found[name] = measure_calibration(
            items,
            criterion=name,
            positive=request.positive,
            scale=declared_scale(folding.parts, name),
            candidates=candidates,
        )
        columns = [case_columns(case.rows) for case in labelled]
        found[name] = stratified(
            found[name],
            items,
            [None if request.by is None else column_text(case.rows, request.by) for case in labelled],
            request.by,
            others={one: [case.get(one) for case in columns] for one in population.columns},
            candidates=candidates,
        )
    return found


def _judged(labelled: Sequence[CaseDecision], *, numeric: bool) -> list[Judged]:
    clusters = Clusters.of_cases(labelled)
    return [
        Judged(
            gold=gold,
            verdict=case.decision.verdict,
            status=case.decision.status,
            confidence=case_consistency(case, numeric=numeric),
            cluster=clusters.of(case.case_id),
            longer=longer_of({}, case.rows[0].attributes),
            scored=numeric,
        )
        for case in labelled
        if (gold := case.gold) is not None
    ]
