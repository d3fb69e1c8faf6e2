"""The seam of the frameworks: their adapters, the versions these were tried with, and what they make of what is given.

A judge (`as_judge`) and a chat model (`chat_model`) may be somebody's own, or a framework's.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from judgeharness_integrations._errors import ConfigError, NotInstalledError, UnknownNameError, UsageError

from .cases import AnswerCase
from .chatmodels import ChatModel, FunctionModel, Prompt
from .functionsource import function_name, import_file
from .judge import FunctionJudge, Judge, JudgeLike, check_takes_one, text_hash
from .perturbations import Perturbation, Rewriter

if TYPE_CHECKING:
    from .execution.observing import Observer

__all__ = [
    "Adapter",
    "JudgeSpec",
    "VersionRange",
    "adapters",
    "as_judge",
    "beyond_tested",
    "chat_model",
    "find_adapter",
    "installed_version",
    "lacking",
    "load_adapter",
    "observer_factories",
    "recognised",
    "seam",
    "untested",
]


_NUMBER = re.compile("[0-9]+")


@dataclass(frozen=True, kw_only=True)
class VersionRange:
    """The lowest and the newest release series that were tried, as `major.minor`."""

    lowest: str
    newest: str

    def __str__(self) -> str:
        """Return the range in words."""
        return self.lowest if self.lowest == self.newest else f"{self.lowest} to {self.newest}"

    def beside(self, found: str) -> str | None:
        """Return `older` or `newer` of a version outside of the range, None of one inside."""
        if _series(found) < _series(self.lowest):
            return "older"
        return "newer" if _series(found) > _series(self.newest) else None


def _series(found: str) -> tuple[int, int]:
    begun = (_NUMBER.match(part) for part in found.split(".")[:2])  # 12rc1 of 2.12rc1 is of the series 2.12
    major, minor, *_ = (*(int(number[0]) if number else 0 for number in begun), 0, 0)
    return major, minor


@cache
def installed_version(package: str) -> str | None:
    """Return the version of a distribution; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def untested(tested: Mapping[str, VersionRange]) -> tuple[str, ...]:
    """Return a sentence for each installed distribution whose version was not tried.

    Args:
        tested: distribution -> the versions tried.

    """
    return tuple(sentence for package, series in tested.items() if (sentence := _beside(package, series)))


@cache
def _beside(package: str, series: VersionRange) -> str | None:
    found = installed_version(package)
    beside = None if found is None else series.beside(found)
    return None if beside is None else f"{package} {found} is {beside} than the versions tried here ({series})"


def beyond_tested(parts: Iterable[object]) -> tuple[str, ...]:
    """Return the sentences of what takes part in a measurement: a judge and who watches it.

    A part says in `tested` what it was tried with; one that does not is of no framework.
    """
    return tuple(dict.fromkeys(sentence for part in parts for sentence in untested(_tested(part))))


def _tested(part: object) -> dict[str, VersionRange]:
    told = getattr(part, "tested", None)  # a judge of somebody else's may call something of its own so
    ranges = told if isinstance(told, Mapping) else {}
    return {package: series for package, series in ranges.items() if isinstance(series, VersionRange)}


def seam(holder: object, name: str, *, package: str, tested: Mapping[str, VersionRange], extra: str = "") -> Any:
    """Return an attribute that the makers of a framework did not make public.

    Raises:
        UsageError: the installed version does not have it; the sentence names that one and the newest that was tried.

    """
    try:
        return getattr(holder, name)
    except AttributeError as error:
        owner = getattr(holder, "__name__", type(holder).__name__)
        raise lacking(package, f"{owner}.{name}", tested=tested, extra=extra) from error


def lacking(package: str, part: str, *, tested: Mapping[str, VersionRange], extra: str = "") -> UsageError:
    """Return the error of an installed version that does not have a part which is used here."""
    return UsageError(
        f"{package} {installed_version(package)} has no {part}: "
        f"install the newest that was tried, pip install '{package}{extra}=={tested[package].newest}.*'."
    )


GROUP = "judgeharness.adapters"


@dataclass(frozen=True, kw_only=True)
class JudgeSpec:
    """One judge of a configuration file, as an adapter gets it; relative paths in its options start at `folder`.

    `tier` is one of the adapter's `tiers`, which the model is asked at; None is the standard one.
    """

    name: str
    evaluator: str
    model: str | None = None
    model_options: Mapping[str, Any]
    evaluator_options: Mapping[str, Any]
    folder: Path = Path()
    tier: str | None = None


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """One framework.

    Args:
        name: as it stands in configuration files.
        extras: extra -> modules it brings; the first one is what the adapter needs at least.
        build_judge: a judge of a configuration -> a core Judge.
        build_rewriter: (model, model options) -> a rewriter, where the framework has chat models.
        build_model: (model, model options) -> a chat model that answers prompts with JSON, likewise.
        read_cases: a `.json` file of the framework's own kind -> cases its judges take.
        perturbations: name -> what makes it, for perturbations of those cases that the core does not have.
        recognise: an evaluator of the framework -> the judge in it; None for anything else.
        tiers: the cheaper tiers (`flex`) `build_judge` can ask for; it refuses a model whose client has no such option.
        benches: the adapter's evaluators, each as a `testing.Bench`, for `testing.check_adapter`.
        tested: distribution of the framework -> the versions the adapter was tried with.
        observer: what watches every measurement while the framework's tracing is on, else None; asked once a
            measurement where LangSmith is imported or a variable `..._TRACING` is set, so it must be quick, and must
            import nothing of the framework while tracing is off.

    """

    name: str
    extras: Mapping[str, tuple[str, ...]]
    build_judge: Callable[[JudgeSpec], Judge]
    build_rewriter: Callable[[str, Mapping[str, Any]], Rewriter] | None = None
    build_model: Callable[[str, Mapping[str, Any]], ChatModel] | None = None
    read_cases: Callable[[Path], list[AnswerCase]] | None = None
    perturbations: Mapping[str, Callable[[], Perturbation]] = field(default_factory=dict)
    recognise: Callable[[object], Judge | None] | None = None
    tiers: frozenset[str] = frozenset()
    benches: Callable[[], Sequence[object]] | None = None
    tested: Mapping[str, VersionRange] = field(default_factory=dict)
    observer: Callable[[], Observer | None] | None = None

    def missing(self) -> dict[str, tuple[str, ...]]:
        """Return extra -> modules of it that are not installed."""
        found = {extra: tuple(m for m in modules if not _installed(m)) for extra, modules in self.extras.items()}
        return {extra: modules for extra, modules in found.items() if modules}

    def require(self, extra: str | None = None) -> None:
        """Raise a NotInstalledError with the pip line unless an extra, the first one by default, is installed."""
        extra = extra or next(iter(self.extras))
        if extra in self.missing():
            raise NotInstalledError(f"{self.name} ({', '.join(self.missing()[extra])})", extra)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def load_adapter(point: EntryPoint) -> Adapter:
    """Return the adapter behind an entry point; whatever is wrong with a broken one is raised.

    Raises:
        TypeError: it is no `Adapter`.

    """
    loaded = point.load()
    if not isinstance(loaded, Adapter):
        raise TypeError(f"its entry point is no Adapter but a {type(loaded).__name__}")
    return loaded


def _broken(name: str, error: Exception) -> str:
    reason = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"adapter {name!r} cannot be loaded ({reason}): update or uninstall the package it is from."


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def adapters() -> dict[str, Adapter]:
    """Return every adapter that is registered, by name; none of their frameworks is imported.

    A broken one is left out with a warning.
    """
    found: dict[str, Adapter] = {}
    for name, adapter in _loaded():
        if isinstance(adapter, Adapter):
            found[name] = adapter
        else:
            warnings.warn(_broken(name, adapter), RuntimeWarning, stacklevel=2)
    return found


def _loaded() -> Iterator[tuple[str, Adapter | Exception]]:
    """Yield every name with its adapter, or with what is wrong with it."""
    for name, point in _points().items():
        try:
            yield name, load_adapter(point)
        except Exception as error:  # noqa: BLE001 - it is somebody else's, and anything may be wrong with it
            yield name, error


def find_adapter(name: str) -> Adapter:
    """Return the adapter of that name, its framework installed; no other one is loaded.

    Raises:
        UnknownNameError: there is no such adapter.
        NotInstalledError: its framework is not installed.
        UsageError: it is broken.

    """
    points = _points()
    if name not in points:
        raise UnknownNameError("adapter", name, points)
    try:
        adapter = load_adapter(points[name])
    except Exception as error:
        raise UsageError(_broken(name, error)) from error
    adapter.require()
    return adapter


def recognised(evaluator: object) -> Judge | None:
    """Return the judge in an evaluator of any installed framework, harnessed or not; None when none knows it."""
    for adapter in adapters().values():
        if adapter.recognise is not None and next(iter(adapter.extras)) not in adapter.missing():
            judge = adapter.recognise(evaluator)
            if judge is not None:
                return judge
    return None


def _is_of_a_framework(judge: object) -> bool:
    """Whether it is called as LangChain's evaluators or models are, or as openevals' and LangSmith's: by `outputs`."""
    if any(hasattr(judge, name) for name in ("evaluate_strings", "evaluate_string_pairs", "ainvoke")):
        return True
    try:
        return callable(judge) and "outputs" in inspect.signature(judge).parameters
    except (TypeError, ValueError):
        return False


_checked: Final[WeakValueDictionary[int, Judge]] = WeakValueDictionary()  # by id: judges need no hash


def as_judge(judge: JudgeLike) -> Judge:
    """Return a `Judge`: the object itself, the one in an evaluator of a framework, or one around a plain callable."""
    if (checked := _checked.get(id(judge))) is judge and checked is not None:
        return checked
    if isinstance(judge, Judge) and callable(judge.judge):
        check_takes_one(judge.judge, judge.name, "a probe")
        with suppress(TypeError):  # not every object can be referred to weakly
            _checked[id(judge)] = judge
        return judge
    wrapped = getattr(judge, "judge", None)  # a harnessed evaluator: whom it asks
    if isinstance(wrapped, Judge):
        return wrapped
    if _is_of_a_framework(judge) and (known := recognised(judge)) is not None:
        return known
    if callable(judge):
        known = FunctionJudge.of(judge, function_name(judge))
        return replace(known, name=function_name(judge.func)) if isinstance(judge, partial) else known
    raise UsageError(
        f"a {type(judge).__name__} is not a judge: give a callable that takes a case, or an object with "
        "name, identity, criteria and an async judge(probe)."
    )


_NO_PROVIDER: Final = "model_provider"  # what LangChain asks for where it knows none


def chat_model(spec: str, options: Mapping[str, Any] | None = None, *, adapter: str = "langchain") -> ChatModel:
    """Return the model of a spec: `provider:model` through an adapter, or `path/to/file.py:object` of your own.

    Args:
        spec: what to ask, as `openai:gpt-4o`; of a Python file a `ChatModel`, or a function that takes a `Prompt`,
            which is another model as soon as the file is changed.
        options: the adapter's (temperature, base_url ...); a file's object has its own.
        adapter: whose chat models are meant.

    Raises:
        UsageError: the adapter is not installed, or the model cannot be made.

    """
    module, _, name = spec.rpartition(":")
    if not name.strip():
        raise ConfigError(f"model {spec!r} has no name: give one, as openai:gpt-4o, or path/to/file.py:generator.")
    if spec.endswith(".py"):
        raise ConfigError(f"model {spec!r}: name what stands in the file, as {spec}:generator.")
    if module.endswith(".py"):
        return _own(spec, Path(module), name)
    found = find_adapter(adapter)
    if found.build_model is None:
        raise ConfigError(f"adapter {adapter!r} has no chat models: name another one.")
    try:
        return found.build_model(spec, dict(options or {}))
    except ConfigError as error:
        if _NO_PROVIDER not in str(error):
            raise
        raise ConfigError(
            f"model {spec!r} names no provider that is known: write provider:model, as openai:gpt-4o, or "
            "path/to/file.py:function for what stands in a file of yours."
        ) from error


def _own(spec: str, file: Path, name: str) -> ChatModel:
    found: Any = import_file(file, name, where=f"model {spec!r}")
    if isinstance(found, type) or not (isinstance(found, ChatModel) or callable(found)):
        raise ConfigError(f"model {spec!r} is neither a chat model nor a function of a prompt.")
    if isinstance(found, ChatModel):
        return found
    function: Callable[[Prompt], Any] = found
    # a function says nothing of itself: once its file is changed, it is another model
    source = text_hash(file.read_text("utf-8"))
    return FunctionModel(function=function, name=name, parameters={"source": source}, file=file)


def observer_factories() -> tuple[Callable[[], Observer | None], ...]:
    """Return what makes the observers that adapters offer, looked for once; a broken adapter offers none."""
    return _factories(entry_points)


@lru_cache(maxsize=4)
def _factories(_source: Callable[..., object]) -> tuple[Callable[[], Observer | None], ...]:
    loaded = (adapter for _, adapter in _loaded() if isinstance(adapter, Adapter))
    return tuple(adapter.observer for adapter in loaded if adapter.observer is not None)
