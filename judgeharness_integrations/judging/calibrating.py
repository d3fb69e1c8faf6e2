"""What stands behind a verdict: a saved calibration, or one measured on labelled cases during the first run."""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.calibration.controls import longer_of
from judgeharness_integrations.analysis.calibration.items import ONLY_CRITERION, Judged, LabelledItem
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration, measure_calibration, stratified
from judgeharness_integrations.analysis.calibration.population import CaseFacts, population_of
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState
from judgeharness_integrations.analysis.measure import facts_of_result
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.judging.cases import Case, case_id_of
from judgeharness_integrations.judging.execution.preparing import clusters_of_cases
from judgeharness_integrations.judging.execution.recalling import is_searchable
from judgeharness_integrations.judging.labelset import CalibrationSet
from judgeharness_integrations.judging.running import Run, fingerprint_parts
from judgeharness_integrations.verdictlog.encoding import CALIBRATION_RUN
from judgeharness_integrations.verdictlog.row import Verdict, is_number

if TYPE_CHECKING:
    import asyncio

    from judgeharness_integrations.analysis.calibration.saved import SavedMeasurement
    from judgeharness_integrations.analysis.certifying.certificate import Certificate, HeldCertificate
    from judgeharness_integrations.analysis.design import Design
    from judgeharness_integrations.judging.judge import Judge
    from judgeharness_integrations.judging.plan import CasePlan

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


def calibration_run(run: str) -> str:
    """Return the run that rows of a run's labelled cases carry."""
    return f"{run}{CALIBRATION_RUN}"


@dataclass(kw_only=True)
class Anchor:
    """The calibration of a harness: given, or measured once for each judge on `labels`, after its first case.

    A certificate is given.
    """

    design: Design
    plan: Planner
    given: CalibrationReport | None
    labels: CalibrationSet | None
    certificate: Certificate | None = None
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
        given = self.certificate
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
