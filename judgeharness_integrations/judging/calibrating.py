"""Calibrating a rule on a set of labels."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.aggregation.grouping import Clusters
from judgeharness_integrations.analysis.calibration.controls import longer_of
from judgeharness_integrations.analysis.calibration.items import ONLY_CRITERION, Judged, LabelledItem, check_candidates
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration, measure_calibration, stratified
from judgeharness_integrations.analysis.calibration.population import CaseFacts, population_of
from judgeharness_integrations.analysis.calibration.saved import (
    SHARES,
    CalibrationReport,
    CalibrationState,
    SavedMeasurement,
)
from judgeharness_integrations.analysis.measure import facts_of_result
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.encoding import LABEL_COUNT, calibration_run
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_from_json, verdict_text

from .cases import AnswerCase, Case, case_id_of, read_cases
from .execution.preparing import clusters_of_cases
from .execution.recalling import is_searchable
from .running import Run, fingerprint_parts

if TYPE_CHECKING:
    import asyncio
    from os import PathLike

    from judgeharness_integrations.analysis.certifying.certificate import Certificate, HeldCertificate
    from judgeharness_integrations.analysis.design import Design

    from .judge import Judge
    from .plan import CasePlan

LabeledExample: TypeAlias = "tuple[Case, Any]"
_SEVERAL = 2


def unsaid_source(key: str) -> str:
    """Return that the source of labels has to be said, by a key or option: a calibration hangs on it."""
    return (
        f"say where the labels come from: {key} human (people gave them), executable (checks that ran) or "
        "model:<name> (another model's answers)"
    )


@dataclass(frozen=True)
class CalibrationSet:
    """Labelled cases.

    Args:
        name: what reports call it, `human_labeled_set_v1`.
        labeled_examples: (case, label) pairs. A label is a verdict, a mapping criterion -> verdict, or a list of
            the labels several annotators gave. A set of labels is one verdict: a Python set, or in a file a list in
            the list of annotators, `[["toxic", "spam"]]`.
        source: `human`, `executable` or `model:<name>`.
        consensus: how several labels of an item become one; `majority` leaves evenly split items out and counts them.
        positive: the label precision and recall are about.
        ties: (case id, criterion) of evenly split items that were left out before, as by `judgeharness label --merge`;
            the criterion is empty where it is the judge's only one.
        candidates: how many judges, prompts and rules are measured on these labels in all, of which one is chosen:
            their intervals hold together. None: not known, and each has its own.
        by: a column of the cases: rates are told for each of its values, too.

    """

    name: str
    labeled_examples: Sequence[LabeledExample]
    source: str = "human"
    consensus: str = "majority"
    positive: str | None = None
    ties: Sequence[tuple[str, str]] = ()
    candidates: int | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        """Refuse a set that could not calibrate anything."""
        if not self.labeled_examples:
            raise CaseError(
                f"calibration set {self.name!r} holds no labelled examples: label cases, in a file under `gold`."
            )
        kind, _, model = self.source.partition(":")
        if self.source not in ("human", "executable") and not (kind == "model" and model.strip()):
            raise CaseError(f"the source of a label set is human, executable or model:<name>, not {self.source!r}.")
        if self.candidates is not None:
            check_candidates(self.candidates)
        if self.consensus != "majority":
            raise CaseError(f"unknown consensus rule {self.consensus!r}: known is majority.")
        twice = [
            case for case, count in Counter(case_id_of(case) for case, _ in self.labeled_examples).items() if count > 1
        ]
        if twice:
            raise CaseError(f"calibration set {self.name!r} labels case {twice[0]!r} twice: give its labels as a list.")

    @property
    def cases(self) -> list[Case]:
        """The cases, in order."""
        return [case for case, _ in self.labeled_examples]

    def golds(self) -> tuple[dict[str, dict[str, Verdict]], int]:
        """Return case id -> criterion -> label, and how many evenly split labels were left out.

        A label given without a criterion stands under the empty name: the judge's only criterion.
        """
        golds, split = self._agreed()
        return golds, len(split)

    def split(self) -> tuple[tuple[str, str], ...]:
        """Return (case id, criterion) of the evenly split items, those that were left out before among them."""
        return self._agreed()[1]

    def shares(self) -> tuple[dict[str, dict[str, dict[Verdict, float]]], str]:
        """Return case id -> criterion -> label -> share of the annotators who gave it, and whose shares they are.

        Both are empty where no case has the labels of several.
        """
        given = {
            case_id_of(case): {
                criterion: _votes(value, where=f"case {case_id_of(case)!r}")
                for criterion, value in (label if isinstance(label, Mapping) else {ONLY_CRITERION: label}).items()
                if value is not None
            }
            for case, label in self.labeled_examples
        }
        counts = sorted({len(votes) for parts in given.values() for votes in parts.values()})
        if not counts or counts[-1] < _SEVERAL:
            return {}, ""
        annotators = f"{counts[-1]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return {
            case_id: {
                criterion: {label: count / len(votes) for label, count in Counter(votes).items()}
                for criterion, votes in parts.items()
            }
            for case_id, parts in given.items()
        }, f"{SHARES}{annotators} annotators"

    def drawn(self) -> Self:
        """Return the set with one annotator's label of each case and criterion, drawn by a digest of their names.

        How often decisions agree with such labels is, on average, how often they agree with an annotator drawn at
        random, and single draws of independent cases are what an exact test of a rate asks for.
        """
        found = []
        for case, label in self.labeled_examples:
            name = case_id_of(case)
            parts = label if isinstance(label, Mapping) else {ONLY_CRITERION: label}
            one = {key: _drawn(value, name, key) for key, value in parts.items() if value is not None}
            found.append((case, one))
        return replace(self, labeled_examples=tuple(found))

    def _agreed(self) -> tuple[dict[str, dict[str, Verdict]], tuple[tuple[str, str], ...]]:
        golds: dict[str, dict[str, Verdict]] = {}
        ties = [*self.ties]
        for case, label in self.labeled_examples:
            parts = label if isinstance(label, Mapping) else {ONLY_CRITERION: label}
            for criterion, value in parts.items():
                agreed = _consensus(value, where=f"case {case_id_of(case)!r}")
                if agreed is None:
                    ties.append((case_id_of(case), criterion))
                else:
                    golds.setdefault(case_id_of(case), {})[criterion] = agreed
        return golds, tuple(ties)

    @classmethod
    def from_file(cls, path: str | PathLike[str], *, name: str | None = None, **options: Any) -> CalibrationSet:
        """Read cases with a `gold` column from CSV or JSONL (`.gz` too); cases without gold are left out.

        An empty gold beside a `label_count` of 2 or more is an evenly split item, as `judgeharness label --merge`
        writes it; those are counted.
        """
        labelled = [(case, _without_ties(case)) for case in read_cases(path)]
        found = tuple((case, gold) for case, (gold, _) in labelled if gold is not None)
        ties = tuple((case.case_id, criterion) for case, (_, split) in labelled for criterion in split)
        return cls(name or Path(path).name.split(".")[0], found, ties=ties, **options)

    @classmethod
    def from_rows(cls, rows: Iterable[VerdictRow], *, name: str, **options: Any) -> CalibrationSet:
        """Take the gold labels of a verdict log; its cases have ids only, so a judge cannot be asked about them."""
        golds: dict[str, dict[str, Verdict]] = {}
        for row in rows:
            if row.gold is None:
                continue
            known = golds.setdefault(row.case_id, {}).setdefault(row.criterion, row.gold)
            if known != row.gold:
                raise CaseError(
                    f"case {row.case_id!r} has two gold labels for {row.criterion!r}: {known!r}, {row.gold!r}."
                )
        return cls(name, tuple(({"case_id": case_id}, labels) for case_id, labels in golds.items()), **options)


def _without_ties(case: AnswerCase) -> tuple[Any, list[str]]:
    """Return a case's gold without the evenly split labels of it, None where nothing is left, and their criteria."""
    try:
        several = float(case.attributes.get(LABEL_COUNT, 0)) >= _SEVERAL
    except ValueError:  # somebody's own column
        several = False
    gold: Any = case.gold
    if not several or (gold is not None and not isinstance(gold, Mapping)):
        return gold, []
    parts = {ONLY_CRITERION: None} if gold is None else gold
    kept = {criterion: label for criterion, label in parts.items() if label is not None}
    return kept or None, [criterion for criterion in parts if criterion not in kept]


def _votes(value: object, *, where: str) -> list[Verdict]:
    """Return the labels that annotators gave, at least one."""
    votes = value if isinstance(value, (list, tuple)) else [value]
    try:
        verdicts = [verdict for vote in votes if (verdict := verdict_from_json(vote)) is not None]
    except ValueError as error:
        raise CaseError(f"{where}: {error}.") from error
    if not verdicts:
        raise CaseError(f"{where} has an empty label.")
    return verdicts


def _drawn(value: object, case_id: str, criterion: str) -> Verdict:
    """Return one of several labels, whatever their order."""
    votes = sorted(_votes(value, where=f"case {case_id!r}"), key=verdict_text)
    digest = hashlib.sha256(repr((case_id, criterion)).encode()).hexdigest()
    return votes[int(digest, 16) % len(votes)]


def _consensus(value: object, *, where: str) -> Verdict | None:
    counts = Counter(_votes(value, where=where)).most_common(2)
    return None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


_PAIR = 2


def calibration_report(
    results: Iterable[HarnessResult],
    calibration_set: CalibrationSet,
    *,
    judge: str,
    parts: Mapping[str, Any] | None,
    measured_at: str,
    clusters: Clusters | None = None,
) -> CalibrationReport:
    """Compare the decisions, all of one design, with the labels of a set.

    `clusters` are those of the labelled cases where these are known, else of the rows.

    Raises:
        CaseError: labels name a criterion the judge does not answer, leave it open, or match no result.

    """
    golds, ties = calibration_set.golds()
    texts = {case_id_of(case): _answers(case) for case in calibration_set.cases}
    items: dict[str, list[Judged]] = {}
    labelled: list[LabelledItem] = []
    facts: list[CaseFacts] = []
    described: dict[str, list[CaseFacts]] = {}
    design: dict[str, Any] = {}
    results = list(results)
    belonging = Clusters.of_cases(results) if clusters is None else clusters
    shared = belonging.shared_names()
    for result in results:
        design = dict(result.design.parts())
        columns = result.rows[0].attributes if result.rows else {}
        longer = longer_of(texts.get(result.case_id, {}), columns)
        named = _by_criterion(golds.get(result.case_id, {}), result)
        cluster = belonging.of(result.case_id)
        facts += _facts(result, texts, calibration_set.by, named, cluster)
        for criterion, gold in named.items():
            described.setdefault(criterion, []).append(facts[-1])
            measured = result.criteria[criterion]
            items.setdefault(criterion, []).append(_judged(measured, gold, cluster=cluster, longer=longer))
            labelled.append(
                LabelledItem(
                    case_id=result.case_id,
                    criterion=criterion,
                    gold=gold,
                    verdict=measured.verdict,
                    status=measured.status,
                    cluster=shared.get(result.case_id),
                )
            )
    if not items:
        raise CaseError(f"no label of {calibration_set.name!r} matches a judged case.")
    population = population_of(facts, column=calibration_set.by)
    return CalibrationReport(
        name=calibration_set.name,
        judge=judge,
        source=calibration_set.source,
        consensus=calibration_set.consensus,
        excluded_ties=ties,
        criteria=_criteria(items, described, calibration_set, parts, population.columns),
        measured_at=measured_at,
        parts=None if parts is None else json.loads(json.dumps(parts, default=str)),  # equal before and after a file
        items=_in_order(labelled, golds),
        design=design,
        candidates=calibration_set.candidates,
        population=population,
    )


def _judged(measured: CriterionResult, gold: Verdict, *, cluster: Hashable, longer: str | None) -> Judged:
    return Judged(
        gold=gold,
        verdict=measured.verdict,
        status=measured.status,
        confidence=measured.consistency_rate,
        cluster=cluster,
        longer=longer,
        scored=measured.numeric,
    )


def _facts(
    result: HarnessResult,
    texts: Mapping[str, Mapping[str, str]],
    column: str | None,
    named: Mapping[str, Verdict],
    cluster: Hashable,
) -> list[CaseFacts]:
    """Return what is counted of a case, nothing of one without a label."""
    given = texts.get(result.case_id, {})
    return [facts_of_result(result, given, column=column, cluster=cluster, criteria=named)] if named else []


def _criteria(
    items: Mapping[str, list[Judged]],
    described: Mapping[str, list[CaseFacts]],
    labels: CalibrationSet,
    parts: Mapping[str, Any] | None,
    columns: Collection[str],
) -> dict[str, CriterionCalibration]:
    found: dict[str, CriterionCalibration] = {}
    for criterion, judged in items.items():
        measured = measure_calibration(
            judged,
            criterion=criterion,
            positive=labels.positive,
            scale=declared_scale(parts, criterion),
            candidates=labels.candidates or 1,
        )
        cases = described[criterion]
        found[criterion] = stratified(
            measured,
            judged,
            [case.stratum for case in cases],
            labels.by,
            others={name: [case.columns.get(name) for case in cases] for name in columns},
            candidates=labels.candidates or 1,
        )
    return found


def _answers(case: Case) -> dict[str, str]:
    """Return the answers a case holds."""
    given = {name: getattr(case, name, None) for name in ("output", "output_b")}
    return {name: text for name, text in given.items() if isinstance(text, str)}


def declared_scale(parts: Mapping[str, Any] | None, criterion: str) -> tuple[float, float] | None:
    """Return lowest and highest score of a criterion, where the judge declares them."""
    declared = (parts or {}).get("labels")
    said = declared.get(criterion) if isinstance(declared, Mapping) else None
    scale = said[1] if isinstance(said, (list, tuple)) and len(said) == _PAIR else None  # parts may come from a file
    if isinstance(scale, (list, tuple)) and len(scale) == _PAIR and all(map(is_number, scale)):
        return float(scale[0]), float(scale[1])
    return None


def _in_order(items: Iterable[LabelledItem], golds: Mapping[str, Any]) -> tuple[LabelledItem, ...]:
    """Return the items in the order of the label set; results come in order of completion."""
    place = {case_id: number for number, case_id in enumerate(golds)}
    return tuple(sorted(items, key=lambda item: place[item.case_id]))


def _by_criterion(labels: Mapping[str, Verdict], result: HarnessResult) -> dict[str, Verdict]:
    named: dict[str, Verdict] = {}
    for criterion, gold in labels.items():
        if criterion == ONLY_CRITERION:
            named[result.only.criterion] = gold
        elif criterion in result.criteria:
            named[criterion] = gold
        else:
            known = ", ".join(result.criteria)
            raise CaseError(f"a label names criterion {criterion!r}, but judge {result.judge!r} answers {known}.")
    return named


_T = TypeVar("_T")


class Once(Generic[_T]):
    """Keeps what was measured, by key; whoever asks for a measurement under way waits for it."""

    def __init__(self) -> None:
        """Start without measurements."""
        self._known: dict[object, Future[_T]] = {}
        self._guard = threading.Lock()

    def __contains__(self, key: object) -> bool:
        """Whether it was measured, or is being measured."""
        return key in self._known

    async def get(self, key: object, measure: Callable[[], Awaitable[_T | None]]) -> _T | None:
        """Return what is known under the key, measuring it if need be.

        A measurement that is cancelled, or gives None because it could not be finished, is left to the next caller.
        """
        from asyncio import wrap_future  # noqa: PLC0415 - already loaded by then

        mine: Future[_T] = Future()
        mine.set_running_or_notify_cancel()  # a caller who waits may be cancelled, which must not cancel it for all
        while (known := self._claim(key, mine)) is not mine:
            try:
                if known.done():
                    return known.result()
                waiting: asyncio.Future[_T] = wrap_future(known)
                return await waiting
            except _UnfinishedError:
                continue
        return await self._made(key, mine, measure)

    def _claim(self, key: object, mine: Future[_T]) -> Future[_T]:
        with self._guard:
            return self._known.setdefault(key, mine)

    async def _made(self, key: object, mine: Future[_T], measure: Callable[[], Awaitable[_T | None]]) -> _T | None:
        made: _T | None = None
        failure: Exception = _UnfinishedError()
        try:
            made = await measure()
        except Exception as error:
            failure = error
            raise
        finally:
            if made is None:
                with self._guard:
                    del self._known[key]
                mine.set_exception(failure)
            else:
                mine.set_result(made)
        return made


class _UnfinishedError(Exception):
    """What others wait for was given up."""


class SameObject:
    """A key equal to that of the same object only; two bound methods are the same when object and function are."""

    def __init__(self, thing: object) -> None:
        """Stand for an object, and keep it alive, so that its id cannot come to mean another one."""
        self._thing = thing
        self._ids = (id(getattr(thing, "__self__", thing)), id(getattr(thing, "__func__", thing)))

    def __eq__(self, other: object) -> bool:
        """Whether both stand for the same object."""
        return isinstance(other, SameObject) and self._ids == other._ids

    def __hash__(self) -> int:
        """Return a hash that fits `==`."""
        return hash(self._ids)


Planner: TypeAlias = "Callable[[Judge, Iterable[Case]], Iterator[CasePlan]]"


@dataclass(kw_only=True)
class Anchor:
    """The calibration of a harness: given, or measured once for each judge on `labels`, after its first case.

    A certificate is given: one for every judge, or `certificates` by the judge's name, as those of a cascade.
    """

    design: Design
    plan: Planner
    given: CalibrationReport | None
    labels: CalibrationSet | None
    certificate: Certificate | None = None
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    max_age: timedelta
    clock: Callable[[], datetime]
    _measured: Once[CalibrationReport] = field(default_factory=Once)

    def due(self, judge: Judge, judge_model: str | None) -> Iterator[CasePlan]:
        """Yield what will be asked to calibrate a judge: nothing for one that is calibrated."""
        if self.labels is not None and self._key(judge, judge_model) not in self._measured:
            yield from self.plan(judge, self.labels.cases)

    async def anchored(self, run: Run, result: HarnessResult) -> HarnessResult:
        """Return a result with the calibration and the certificate that go with it."""
        if (held := self.held(run.judge, run.design, run.judge_model)) is not None:
            from judgeharness_integrations.analysis.certifying.applying import certified  # noqa: PLC0415 - few are certified

            result = certified(result, *held)
        report, state = await self._of(run)
        if report is None or state is None:
            return result
        unusable = report.unusable(state, result.criteria)
        warnings = tuple(dict.fromkeys((*result.warnings, *unusable)))
        return replace(result, calibration=report, calibration_state=state, warnings=warnings)

    def held(self, judge: Judge, design: Design, judge_model: str | None) -> HeldCertificate | None:
        """Return the certificate and whether it holds for a judge under a design; None without one."""
        given = self.certificates.get(judge.name, self.certificate)
        return None if given is None else (given, self.state(given, judge, design, judge_model))

    def state(self, given: SavedMeasurement, judge: Judge, design: Design, judge_model: str | None) -> CalibrationState:
        """Return whether what was given holds for a judge under a design."""
        return given.state(
            fingerprint_parts(judge, design, judge_model),
            now=self.clock(),
            max_age=self.max_age,
            unidentified=getattr(judge, "unidentified", None),
        )

    async def measured(self, run: Run, labels: CalibrationSet, plans: Sequence[CasePlan]) -> CalibrationReport | None:
        """Measure a judge on labelled cases; None when the run ended before every one of them was judged."""
        # rows of labelled cases are evidence for the report, not for the run; a log that can be searched keeps them
        # under a name of their own, so that an interrupted run does not pay for them twice; answers of other runs
        # are not taken: they may be the very samples that the calibration is to vouch for
        log = run.log if is_searchable(run.log) else None
        own = calibration_run(run.run) if log is not None else run.run
        labelled = replace(run, run=own, log=log, anchor=None, labelled=labels.name, reuse=False)
        async with aclosing(labelled.results(plans)) as measured:
            results = [result async for result in measured]
        if any(result.state != "complete" for result in results):
            return None
        parts = fingerprint_parts(run.judge, run.design, run.judge_model)
        measured_at = self.clock().isoformat()
        return calibration_report(
            results,
            labels,
            judge=run.judge.name,
            parts=parts,
            measured_at=measured_at,
            clusters=clusters_of_cases(labels.cases),
        )

    async def _of(self, run: Run) -> tuple[CalibrationReport | None, CalibrationState | None]:
        """Return the calibration that goes with a run's results and whether it holds."""
        if self.given is not None:
            return self.given, self.state(self.given, run.judge, run.design, run.judge_model)
        if self.labels is None:
            return None, None
        labels = self.labels

        async def measure() -> CalibrationReport | None:
            if run.budget.exhausted or run.contact.lost is not None:
                return None
            return await self.measured(run, labels, list(self.plan(run.judge, labels.cases)))

        report = await self._measured.get(self._key(run.judge, run.judge_model), measure)
        return report, None if report is None else CalibrationState(status="valid")

    def _key(self, judge: Judge, judge_model: str | None) -> object:
        """Return what a calibration is known by: a fingerprint, or the judge itself when it has no identity."""
        parts, identity = fingerprint_parts(judge, self.design, judge_model), judge.identity
        if parts is None or identity is None:
            return SameObject(getattr(judge, "function", judge))
        return repr(parts | {"parameters": dict(identity.parameters)})  # what it learns meanwhile is the same judge's
