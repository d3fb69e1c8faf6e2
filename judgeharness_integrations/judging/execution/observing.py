"""Observers: spans around a run, a case, a call, a rewrite, and a model's answer inside a call."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from judgeharness_integrations.redacting import Redactor

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, Task, TaskID

    from judgeharness_integrations.analysis.result import HarnessResult
    from judgeharness_integrations.verdictlog.row import VerdictRow

SpanKind: TypeAlias = Literal["run", "case", "call", "rewrite", "model"]

# The spans of the call under way and their parent, for judges that make model calls nobody else traces.
_calling: ContextVar[tuple[Spans, Span] | None] = ContextVar("judgeharness_calling", default=None)
_begun: ContextVar[Callable[[], object] | None] = ContextVar("judgeharness_begun", default=None)  # see `answer_begun`


@dataclass(kw_only=True, eq=False)
class Span:
    """Something that began and will end.

    `facts` are known at the start; `outcome` is filled in before the end. `tokens` keeps what an observer returned
    from `begin`, by the observer's id. `name` is for people; `case_id` is a case's own, which may hold a secret.
    """

    kind: SpanKind
    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    parent: Span | None = None
    case_id: str | None = field(default=None, repr=False)
    outcome: dict[str, Any] = field(default_factory=dict)
    tokens: dict[int, object] = field(default_factory=dict)


class Observer(Protocol):
    """Something that watches.

    `begin` and `end` of a `call` or `rewrite` run in the task that makes the call, so a context variable set in
    `begin` reaches the judge; those of a `run` or `case` may run in different tasks. One whose attribute `private` is
    true keeps what is judged from being uploaded, and what else uploads then has to keep it, too. One that makes a
    measurement the root of a trace names the tracing system in `roots_in`.
    """

    def begin(self, span: Span) -> object:
        """Note a span's start; what is returned is found at its end in `span.tokens[id(self)]`."""

    def end(self, span: Span) -> None:
        """Note a span's end."""


def is_private(observers: Iterable[Observer] | None) -> bool:
    """Whether one of the observers keeps what is judged from being uploaded."""
    return any(getattr(observer, "private", False) for observer in observers or ())


def is_rooted(observers: Iterable[Observer] | None, system: str) -> bool:
    """Whether one of the observers makes a measurement the root of its trace in a tracing system."""
    return any(getattr(observer, "roots_in", None) == system for observer in observers or ())


class Spans:
    """Tells every observer; costs nothing without any."""

    def __init__(self, observers: Sequence[Observer], redact: Redactor | None = None) -> None:
        """Watch with these observers, who are told no secret that the redactor knows."""
        self._observers, self._redact = tuple(observers), redact or Redactor()

    def __bool__(self) -> bool:
        """Whether anybody watches."""
        return bool(self._observers)

    @property
    def observers(self) -> tuple[Observer, ...]:
        """Who watches."""
        return self._observers

    def begin(self, kind: SpanKind, name: str, parent: Span | None = None, **facts: Any) -> Span:
        """Begin a span."""
        case_id = name if kind == "case" else None
        if self._observers:
            redact = self._redact.current()
            name, facts = redact.text(name), redact.data(facts)
        span = Span(kind=kind, name=name, facts=facts, parent=parent, case_id=case_id)
        for observer in self._observers:
            with self._unharmed(observer):
                span.tokens[id(observer)] = observer.begin(span)
        return span

    @contextmanager
    def around(self, kind: SpanKind, name: str, parent: Span | None = None, **facts: Any) -> Iterator[Span]:
        """Begin a span and end it, whatever happens in between."""
        span = self.begin(kind, name, parent, **facts)
        try:
            yield span
        finally:
            self.end(span)

    def end(self, span: Span, **outcome: Any) -> None:
        """End a span."""
        span.outcome.update(outcome)
        told = ((name, value) for name, value in span.outcome.items() if isinstance(value, str))
        span.outcome.update({name: self._redact.text(value) for name, value in told if self._observers})
        case = span if span.kind == "case" else span.parent
        if case is not None and case.case_id not in (None, case.name):
            span.outcome.update(_renamed(span.outcome, case.name))
        for observer in reversed(self._observers):
            with self._unharmed(observer):
                observer.end(span)

    @contextmanager
    def _unharmed(self, observer: Observer) -> Iterator[None]:
        """Let an observer that fails go, with one warning: watching must not end what is watched."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the calls go on
            self._observers = tuple(other for other in self._observers if other is not observer)
            name = type(observer).__name__
            sentence = self._redact.text(f"observer {name} failed and is not told any more: {error!r}.")
            warnings.warn(sentence, RuntimeWarning, stacklevel=4)


def _renamed(outcome: Mapping[str, Any], case_id: str) -> dict[str, Any]:
    """Return the rows and the result of an outcome, of a case that is called otherwise."""

    def named(rows: Iterable[VerdictRow]) -> tuple[VerdictRow, ...]:
        return tuple(replace(row, case_id=case_id) for row in rows)

    found: dict[str, Any] = {"rows": named(outcome["rows"])} if outcome.get("rows") else {}
    result: HarnessResult | None = outcome.get("result")
    if result is not None:
        rows, probe_rows = named(result.rows), named(result.probe_rows)
        found["result"] = replace(result, case_id=case_id, rows=rows, probe_rows=probe_rows)
    return found


@contextmanager
def calling(spans: Spans, span: Span) -> Iterator[None]:
    """Say that what the current task does belongs to a call."""
    token = _calling.set((spans, span))
    try:
        yield
    finally:
        _calling.reset(token)


def is_watched() -> bool:
    """Whether the current task makes a call that somebody watches."""
    return _calling.get() is not None


@contextmanager
def awaiting_beginning(note: Callable[[], object]) -> Iterator[None]:
    """Call `note` when the model begins to answer what the current task asks; it may be called from another thread."""
    token = _begun.set(note)
    try:
        yield
    finally:
        _begun.reset(token)


def answer_begun() -> None:
    """Say that the model of the call under way has begun to answer: its prompt is in the provider's cache."""
    if (note := _begun.get()) is not None:
        note()


@contextmanager
def model_span(model: str, **facts: Any) -> Iterator[dict[str, Any]]:
    """Show observers one request to a model inside a judge's call; fill the mapping with how it ended.

    For judges whose model calls leave no trace of their own. Keys of the outcome: `input_tokens`, `output_tokens`,
    `cached_input_tokens`, `cache_write_tokens`, `model` (the one that answered), `error`. Nothing happens outside a
    watched call.
    """
    outcome: dict[str, Any] = {}
    if (watched := _calling.get()) is None:
        yield outcome
        return
    spans, parent = watched
    span = spans.begin("model", model, parent, **facts)
    try:
        yield outcome
    except BaseException as error:
        outcome.setdefault("error", type(error).__name__)
        raise
    finally:
        spans.end(span, **outcome)


class ProgressBar:
    """A progress bar on standard error: calls made, of calls planned."""

    def __init__(self, *, calls: int | None = None) -> None:
        """Prepare for a run of so many calls, where it does not say so itself; nothing is drawn before it begins."""
        self._calls = calls
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._called: Counter[int] = Counter()  # case span -> its calls that have ended

    def begin(self, span: Span) -> None:
        """Draw the bar when the run begins."""
        if span.kind != "run":
            return
        from rich.console import Console  # noqa: PLC0415 - only terminals pay for the import
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        columns = (*shown, _pause_column())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = progress.add_task(span.name, total=span.facts.get("calls") or self._calls)
        progress.start()
        self._progress = progress

    def end(self, span: Span) -> None:
        """Advance after a call, and after a case by what needed no call; remove the bar after the run."""
        if self._progress is None or self._task is None:
            return
        if span.kind in ("call", "rewrite"):
            self._progress.advance(self._task)
            if span.kind == "call" and span.parent is not None:
                self._called[id(span.parent)] += 1
        elif span.kind == "case":
            called, result = self._called.pop(id(span), 0), span.outcome.get("result")
            if result is not None and result.state == "complete":
                self._progress.advance(self._task, span.facts.get("calls", 0) - called)
        elif span.kind == "run":
            self._progress.stop()
            self._progress = None


def _pause_column() -> ProgressColumn:
    """Return a column that says why nothing moves while a server's Retry-After lasts."""
    from rich.progress import ProgressColumn  # noqa: PLC0415 - only terminals pay for the import
    from rich.text import Text  # noqa: PLC0415

    from .limiter import longest_pause_s  # noqa: PLC0415

    class Pause(ProgressColumn):
        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            del task
            seconds = longest_pause_s()
            return Text(f"the server asked to wait {seconds:.0f} s" if seconds >= 1 else "")

    return Pause()


def default_observers(*, calls: int | None = None) -> tuple[Observer, ...]:
    """Return a progress bar when standard error is a terminal, nothing otherwise; see `ProgressBar` for `calls`."""
    shown = sys.stderr is not None and sys.stderr.isatty()  # pythonw has no stderr
    return (ProgressBar(calls=calls),) if shown else ()
