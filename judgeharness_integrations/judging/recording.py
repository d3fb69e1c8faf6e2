"""Who is told of a measurement: listeners that record its result, and observers that watch it being made.

`JUDGEHARNESS_RECORD=verdicts/today.jsonl` in the environment records all results of a process and of those it starts;
`recording(listener)` those of a block. What labelled cases are judged for a calibration is not among them, nor what a
check of a judge asks.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias
from weakref import ref

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.measure import remeasure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.redacting import Redactor, without_secrets
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

from .cases import AnswerCase, Case
from .execution.observing import Observer, is_private
from .judge import Judge

__all__ = [
    "RECORD",
    "Listener",
    "asked_by",
    "case_texts",
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
    from .adapters import observer_factories  # noqa: PLC0415 - loads adapters

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
