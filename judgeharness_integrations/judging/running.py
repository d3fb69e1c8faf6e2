"""One run of one judge: probes out, rows in, a measurement for every complete case, told to whoever records.

`JUDGEHARNESS_RECORD=verdicts/today.jsonl` in the environment records all results of a process and of those it starts;
`recording(listener)` those of a block. What labelled cases are judged for a calibration is not among them, nor what a
check of a judge asks.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias
from weakref import ref

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.design import Design, Fingerprint
from judgeharness_integrations.analysis.measure import measure, remeasure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.adapters import beyond_tested
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase
from judgeharness_integrations.judging.execution.agenda import Agenda, OpenCase, Stopping
from judgeharness_integrations.judging.execution.answering import Keep, RowMaker
from judgeharness_integrations.judging.execution.attempting import CallPolicy, Contact
from judgeharness_integrations.judging.execution.limiter import SharedRun, shared_run
from judgeharness_integrations.judging.execution.local import Asking, Executor
from judgeharness_integrations.judging.execution.observing import Observer, Span, Spans, is_private
from judgeharness_integrations.judging.execution.preparing import (
    KeptRewrites,
    Preparer,
    Rewritten,
    judge_digest,
    rewriter_name,
)
from judgeharness_integrations.judging.execution.recalling import Recall, Reuse, is_searchable, keeper_for
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.judge import Judge, call_maybe_async, model_family
from judgeharness_integrations.judging.perturbations import Rewriter
from judgeharness_integrations.judging.plan import CasePlan
from judgeharness_integrations.redacting import Redactor, without_secrets
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.files import VerdictLog

__all__ = [
    "RECORD",
    "Listener",
    "Run",
    "asked_by",
    "case_texts",
    "fingerprint_parts",
    "ready",
    "record",
    "recording",
    "to_file",
    "unrecorded",
    "warned",
    "watchers",
]

_first: Final[dict[tuple[str, str], Any]] = {}  # place and name -> who was asked first


def warned(result: HarnessResult, judge: Judge, place: str | None) -> HarnessResult:
    """Return a result with a warning where another function of the judge's name was asked in the same place before.

    Judges that are known by an identity are told apart by it, wherever their results meet; None is no place.
    """
    function = getattr(judge, "function", None)
    if place is None or function is None or judge.identity is not None:
        return result
    asked = getattr(function, "__self__", function)  # a bound method is made anew whenever it is named
    first = _first.setdefault((place, judge.name), _reference(asked))
    if first() is asked:
        return result
    why = getattr(judge, "unidentified", None) or "the judge declares no identity"
    told = f"several functions are called {judge.name!r} and nothing tells their results apart ({why})"
    return _saying(f"{told}: give each its own name", result)


def _saying(told: str, result: HarnessResult) -> HarnessResult:
    """Return a result whose first row says it, as warnings are read from the rows wherever these are kept."""
    if not result.rows:
        return result
    first, *others = result.rows
    said = "; ".join(str(one) for one in (first.attributes.get("warning"), told) if one is not None)
    first = replace(first, attributes={**first.attributes, "warning": said})
    return remeasure(replace(result, rows=(first, *others)))


def _reference(asked: Any) -> Any:
    """Return what gives an object as long as it is there, so that nobody's client is kept."""
    try:
        return ref(asked)
    except TypeError:  # of one with slots
        return lambda: asked


RECORD: Final = "JUDGEHARNESS_RECORD"
_TEST: Final = "PYTEST_CURRENT_TEST"
_TEXTS = ("input", "output", "output_b", "reference", "context")
# what is told of a result: the measurement, and the texts that were judged, field by field
Listener: TypeAlias = Callable[[HarnessResult, Mapping[str, str]], None]


class _Appending:
    """Appends every result to a file, a line each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checked = False

    def __repr__(self) -> str:
        return str(self._path)

    def ready(self) -> None:
        """Raise a ConfigError unless the file can be written; looked at once, and nothing is left behind."""
        if self._checked:
            return
        try:
            _try_to_write(self._path)
        except OSError as error:
            raise ConfigError(
                f"results cannot be recorded in {self._path} ({error.strerror or error}): give {RECORD} another file; "
                "nothing was asked."
            ) from error
        self._checked = True

    def __call__(self, result: HarnessResult, texts: Mapping[str, str]) -> None:
        from filelock import FileLock  # noqa: PLC0415 - loaded at first use

        from judgeharness_integrations.analysis.document import recorded_line  # noqa: PLC0415

        asked = asked_by(result, _test_running())
        line = json.dumps(recorded_line(asked, texts), ensure_ascii=False, allow_nan=False)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with (
            FileLock(f"{self._path}.lock"),
            open(self._path, "a", encoding="utf-8", errors=LONE_SURROGATES, opener=owner_only) as file,
        ):
            file.write(line + "\n")


def _test_running() -> str | None:
    """Return the node id of pytest's test that runs, which pytest tells everybody as `node id (phase)`."""
    return os.environ.get(_TEST, "").rpartition(" ")[0] or None


def to_file(path: Path) -> Listener:
    """Return a listener that appends every result to a file, a line each, also when several processes do.

    The file is one `judgeharness report` reads. It is made with the first result; where it cannot be written, a
    ConfigError says so before anything is asked.
    """
    return _Appending(path)


def _try_to_write(path: Path) -> None:
    """Raise an OSError unless a file and the lock beside it can be written, in folders that may have to be made."""
    for one in (path, Path(f"{path}.lock")):
        if one.exists():
            one.open("ab").close()  # changes nothing
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder):
        pass


def _from_environment() -> list[Listener]:
    path = os.environ.get(RECORD)
    return [to_file(Path(path).expanduser())] if path else []


_listeners: Final[list[Listener]] = _from_environment()
_unrecorded: Final[ContextVar[bool]] = ContextVar("judgeharness_unrecorded", default=False)
_failing: Final[set[int]] = set()  # listeners that have failed, which was said


@contextmanager
def recording(listener: Listener) -> Iterator[None]:
    """Tell a listener every result that is measured inside the block, in any thread.

    Where it has a method `ready`, that is called before anything is asked, and may raise an error. What it raises when
    it is told a result is said once on standard error: the result was paid for, and is not lost with it.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
        _failing.discard(id(listener))


@contextmanager
def unrecorded() -> Iterator[None]:
    """Tell nobody what is measured inside the block by the task that is in it: it is no result of a suite."""
    token = _unrecorded.set(True)
    try:
        yield
    finally:
        _unrecorded.reset(token)


def ready() -> None:
    """Ask whoever listens whether they can, before anything is asked.

    Raises:
        ConfigError: results could not be recorded.

    """
    for listener in tuple(_listeners):
        check = getattr(listener, "ready", None)
        if check is not None:
            check()


def record(result: HarnessResult, case: Case, *, judge: Judge, with_texts: bool, redact: Redactor) -> None:
    """Tell whoever listens about a measurement; `with_texts` says whether what was judged may be kept."""
    if _listeners and not _unrecorded.get():
        texts = redact.data(case_texts(case)) if with_texts else {}
        result = warned(result, judge, RECORD)
        for listener in tuple(_listeners):
            try:
                listener(result, texts)
            except Exception as error:  # noqa: BLE001 - whatever it is, the result was paid for
                _say_once(listener, error)


def asked_by(result: HarnessResult, test: str | None) -> HarnessResult:
    """Return a result that knows the node id of the test that asked, without the secrets among its parameters."""
    return replace(result, test=None if test is None else without_secrets(test))


def _say_once(listener: Listener, error: Exception) -> None:
    if id(listener) in _failing:
        return
    _failing.add(id(listener))
    reason = getattr(error, "strerror", None) or repr(error)
    with suppress(AttributeError, OSError, ValueError):  # there may be no standard error
        sys.stderr.write(
            f"judgeharness: results are no longer recorded in {listener!r:.200} ({reason:.200}); "
            "they are returned all the same.\n"
        )


def case_texts(case: Case) -> dict[str, str]:
    """Return what of a case people read, field by field."""
    if isinstance(case, AnswerCase):
        return {name: text for name in _TEXTS if (text := getattr(case, name, None)) is not None}
    return {"case": case if isinstance(case, str) else repr(case)}


_SWITCHES = ("_TRACING", "_TRACING_V2")  # as names of environment variables end


def watchers(given: Sequence[Observer] | None, default: Iterable[Observer] = ()) -> tuple[Observer, ...]:
    """Return who watches a measurement: those given, and what installed frameworks offer while their tracing is on.

    None stands for `default`. An empty list is nobody, whatever is traced, but for those offered who are private: they
    show nothing, and keep what is judged from being uploaded where tracing was told to upload nothing.
    """
    watching = tuple(default if given is None else given)
    if not _may_be_traced():
        return watching
    offered = _offered(watching)
    return (*watching, *(one for one in offered if given is None or given or is_private([one])))


def _may_be_traced() -> bool:
    """Whether it is worth while to load adapters and ask them."""
    return "langsmith" in sys.modules or any(name.endswith(_SWITCHES) for name in os.environ)


def _offered(given: Sequence[Observer]) -> list[Observer]:
    """Return what installed frameworks offer beside those who watch, and no second of a class.

    Beside private ones it is what an offered observer returns from `as_private()`; one without that is left out.
    """
    from judgeharness_integrations.judging.adapters import observer_factories  # noqa: PLC0415 - loads adapters

    found: list[Observer] = []
    for offer in observer_factories():
        offered = _made(offer)
        if offered is None or any(isinstance(one, type(offered)) for one in given):
            continue
        if not is_private(given):
            found.append(offered)
        elif (as_private := getattr(offered, "as_private", None)) is not None:
            found.append(as_private())
    return found


def _made(offer: Callable[[], Observer | None]) -> Observer | None:
    try:
        return offer()
    except Exception as error:  # noqa: BLE001 - tracing must not end what is traced
        _say_once_of_watching(f"judgeharness: a measurement is not traced ({error!r:.200}); it is made all the same.")
        return None


@lru_cache(maxsize=64)
def _say_once_of_watching(sentence: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{sentence}\n")


_SCORE_STEPS = 9  # two scores agree within one step of a 1-10 scale, or a ninth of any other


def fingerprint_parts(judge: Judge, design: Design, judge_model: str | None = None) -> dict[str, Any] | None:
    """Return what a calibration of this judge under this design depends on; None for a judge without identity."""
    identity = judge.identity
    if identity is None:
        return None
    return {
        "judge": identity.name,
        "model": judge_model or identity.model,
        "parameters": {**identity.parameters, **identity.learned},
        "prompt": identity.prompt_hash,
        **({} if identity.source is None else {"source": identity.source}),
        "labels": {c.name: [c.labels, c.scale] for c in judge.criteria or ()},
        **design.parts(),
    }


@dataclass(kw_only=True)
class Run:
    """One judge, one design, one budget."""

    judge: Judge
    design: Design
    executor: Executor
    policy: CallPolicy
    budget: Budget
    spans: Spans
    contact: Contact = field(default_factory=Contact)
    redact: Redactor = field(default_factory=Redactor)
    seed: int = 0
    run: str = ""
    keep: Keep = "text"
    judge_model: str | None = None
    log: VerdictLog | None = None
    reuse: bool = True
    rewriters: Mapping[int, str] = field(default_factory=dict)  # their places in the design
    span: Span | None = None
    rewritten: Rewritten = field(default_factory=Rewritten)
    anchor: Callable[[Run, HarnessResult], Awaitable[HarnessResult]] | None = None  # adds the calibration to a result
    labelled: str | None = None  # the label set whose cases these are
    meets: str | None = None  # the run of a log where its answers stand beside other judges'
    prime_cache: bool = True  # repetitions of a text wait for its first answer while others can be asked
    one_by_one: bool = False  # whether there is a next case may depend on the answers
    _shared: SharedRun = field(init=False, default_factory=SharedRun)
    _fingerprints: dict[str, str | None] = field(init=False, default_factory=dict)

    async def results(self, plans: Iterable[CasePlan]) -> AsyncGenerator[HarnessResult, None]:
        """Yield the measurement of every case as it completes.

        When the budget ends first, or the judge is down, the cases left unfinished follow as `not_graded`; so do those
        an executor of somebody else's gave up.

        Raises:
            UsageError: a case is being measured in this run already, or the rule cannot fold the answers.

        """
        with shared_run(self.log, self.run) as self._shared:
            async with aclosing(self._results(plans)) as results:
                async for result in results:
                    yield result

    async def _results(self, plans: Iterable[CasePlan]) -> AsyncGenerator[HarnessResult, None]:
        opened: dict[str, OpenCase] = {}
        asking = self._asking()
        preparer = Preparer(
            seed=self.seed,
            rewrite=partial(self._rewrite, asking, opened),
            rewritten=self.rewritten,
            curtail=self.design.curtail,
        )
        opening = self._opening(iter(plans), opened, preparer, asking)
        agenda = Agenda(opening, recall=self._recall, one_by_one=self.one_by_one, prime_cache=self.prime_cache)
        try:
            async with aclosing(self.executor.ask(self.judge, agenda, asking)) as calls:
                async for answered in calls:
                    case = opened[answered[0].case_id]
                    case.add(answered)
                    agenda.answered(case, answered)
                    if case.finished:
                        asking.parents.pop(case.plan.case_id, None)
                        yield await self._finished(opened.pop(case.plan.case_id))
            await self._set_aside()
            async with aclosing(self._unfinished(agenda, opened, asking)) as unfinished:
                async for result in unfinished:
                    yield result
        finally:
            if asking.keeper is not None:
                await asking.keeper.settled()
            await preparer.close()
            for case in opened.values():
                self._shared.end(self.judge.name, case.plan.case_id)
                if case.span is not None:
                    self.spans.end(case.span)

    async def _set_aside(self) -> None:
        """Let a judge that was down be asked again about the calls that showed it, when the run goes on."""
        set_aside = getattr(self.log, "set_failed_aside", None)
        if self.contact.lost is not None and set_aside is not None:
            where = {"run": self.run, "judge": self.judge.name, "case_ids": self.contact.cases}
            await asyncio.to_thread(set_aside, **where)

    async def _unfinished(
        self, agenda: Agenda, opened: dict[str, OpenCase], asking: Asking
    ) -> AsyncGenerator[HarnessResult, None]:
        """Yield the cases that were begun, and unless somebody ended the run all others: nothing is lost."""
        ended: dict[str, Any] = {"state": "interrupted"}
        if not self.budget.ended and self.contact.lost is not None:
            ended = {"state": "judge_down", "ended": self.contact.lost}
        elif not self.budget.ended and self.budget.exhausted:
            ended = {"state": "budget_exhausted"}
        while opened:
            yield await self._closed(opened.pop(next(iter(opened))), asking, ended)
        if ended["state"] != "interrupted":
            async for case in agenda.rest():
                yield await self._closed(opened.pop(case.plan.case_id), asking, ended)

    async def _closed(self, case: OpenCase, asking: Asking, ended: Mapping[str, Any]) -> HarnessResult:
        """Measure a case nothing more is asked about, with what is known of it already."""
        for pending in case.known_left():
            if pending.known and not case.complete:
                if not pending.stored:
                    await asking.keep(pending.known)
                case.add(pending.known)
        return await self._finished(case, **({} if case.complete else ended))

    def _asking(self) -> Asking:
        rows = RowMaker(
            self.judge,
            run=self.run,
            keep=self.keep,
            judge_model=self.judge_model,
            folds=self.design.rule.kind,
            digest=self._digest if is_searchable(self.log) else None,
            redact=self.redact,
        )
        keeper = None if self.log is None else keeper_for(self.log)
        model = self._model or self.judge.name
        return Asking(
            rows=rows,
            budget=self.budget,
            spans=self.spans,
            model=model,
            keeper=keeper,
            rule=self.design.rule,
            contact=self.contact,
            one_by_one=self.one_by_one,
            run=self.run,
            log=self.log,
        )

    @property
    def _recall(self) -> Recall | None:
        if not is_searchable(self.log):
            return None
        mine: dict[str, Any] = {"run": self.run, "judge": self.judge.name, "digest": self._digest}
        mine["shared"] = self._shared
        identity = self.judge.identity  # one that declares none: nobody knows whose answers they are
        knows = self.reuse and identity is not None and identity.source is None
        reuse = Reuse(log=self.log, keep=self.keep, **mine) if knows else None
        return Recall(self.log, **mine, reuse=reuse, learn=getattr(self.judge, "learn", None))

    @cached_property
    def _digest(self) -> bytes:
        return judge_digest(self.judge, self.judge_model)

    def _opening(
        self, plans: Iterator[CasePlan], opened: dict[str, OpenCase], preparer: Preparer, asking: Asking
    ) -> Iterator[OpenCase]:
        for plan in plans:
            self._shared.begin(self.run, self.judge.name, plan.case_id)
            span = None
            if self.spans:
                span = self.spans.begin("case", plan.case_id, self.span, **self._facts(plan))
                asking.parents[plan.case_id] = span
            stopping, probes = self._stopping(plan), list(preparer.probes(plan))
            case = OpenCase(plan, span, probes if stopping is None else stopping.ordered(probes), stopping)
            opened[plan.case_id] = case
            yield case

    def _stopping(self, plan: CasePlan) -> Stopping | None:
        if not self.design.curtail:
            return None
        criteria = (*(self.judge.criteria or ()), *_own_criteria(plan.case))
        names = tuple(criterion.name for criterion in criteria)
        return Stopping(rule=self.design.rule, min_valid=self.design.min_valid, criteria=names)

    def _facts(self, plan: CasePlan) -> dict[str, Any]:
        facts = {"judge": self.judge.name, "case": plan.case, "calls": plan.calls}
        return facts if self.labelled is None else {**facts, "calibration": self.labelled}

    async def _rewrite(
        self, asking: Asking, opened: Mapping[str, OpenCase], rewriter: Rewriter, text: str, case_id: str
    ) -> str:
        """Return a text in other words: those this run was given before, else what the rewriter answers now."""
        kept = None
        if is_searchable(self.log) and self.keep == "text":
            kept = KeptRewrites(self.log, self.run, self.rewriters)
        if kept is not None and (known := await kept.find(rewriter, text)) is not None:
            return known

        async def call() -> str:
            rewritten: str = await call_maybe_async(rewriter, text)
            return rewritten

        opened[case_id].rewrites += 1

        with self.spans.around("rewrite", rewriter_name(rewriter), asking.parents.get(case_id)) as span:
            answer, _ = await self.policy.attempt(call, self.budget)
            if isinstance(answer, Exception):
                span.outcome["error"] = type(answer).__name__
        if isinstance(answer, Exception):
            raise answer
        return answer if kept is None else await kept.keep(rewriter, text, answer)

    @property
    def _model(self) -> str | None:
        identity = self.judge.identity
        return self.judge_model or (identity.model if identity is not None else None)

    @cached_property
    def _untested(self) -> tuple[str, ...]:
        return beyond_tested((self.judge, *self.spans.observers))

    @property
    def _fingerprint(self) -> str | None:
        """Made anew once the judge has learned how it answers."""
        identity = self.judge.identity
        learned = repr(sorted(identity.learned.items())) if identity is not None else ""
        if learned not in self._fingerprints:
            parts = fingerprint_parts(self.judge, self.design, self.judge_model)
            self._fingerprints[learned] = None if parts is None else Fingerprint(parts).digest
        return self._fingerprints[learned]

    async def _finished(self, case: OpenCase, **state: Any) -> HarnessResult:
        result = warned(self._measured(case, **state), self.judge, self.meets)
        try:
            if self.anchor is not None:
                result = await self.anchor(self, result)
        finally:
            self._shared.end(self.judge.name, case.plan.case_id)
            if case.span is not None:
                self.spans.end(case.span, result=result)
        if self.labelled is None:
            record(result, case.plan.case, judge=self.judge, with_texts=self.keep == "text", redact=self.redact)
        return result

    def _measured(self, case: OpenCase, **state: Any) -> HarnessResult:
        plan = case.plan
        identity, criteria = self.judge.identity, (*(self.judge.criteria or ()), *_own_criteria(plan.case))
        return measure(
            case.in_plan_order(),
            case_id=plan.case_id,
            judge=self.judge.name,
            design=self.design,
            planned=plan.samples,
            criteria=[criterion.name for criterion in criteria],
            label_counts={c.name: len(c.labels) for c in criteria if c.labels} or _pairwise_labels(plan),
            tolerances={c.name: (c.scale[1] - c.scale[0]) / _SCORE_STEPS for c in criteria if c.scale},
            temperature=identity.parameters.get("temperature") if identity is not None else None,
            rewrites=case.rewrites,
            judge_model=self._model,
            fingerprint=self._fingerprint,
            skipped=plan.skipped,
            remaining=[p.perturbation.swaps for p in case.unanswered()] if case.stopping is not None else (),
            model_families=(model_family(self._model), *_author_families(plan.case)),
            untested=self._untested,
            **state,
        )


def _pairwise_labels(plan: CasePlan) -> Mapping[str, int]:
    return {"verdict": 3} if isinstance(plan.case, PairwiseCase) else {}  # A, B, TIE


def _own_criteria(case: object) -> tuple[Criterion, ...]:
    return case.criteria if isinstance(case, AnswerCase) else ()


def _author_families(case: object) -> tuple[str | None, ...]:
    if not isinstance(case, AnswerCase):
        return ()
    authors = (case.author, case.author_b if isinstance(case, PairwiseCase) else None)
    return tuple(model_family(author) for author in authors if author)
