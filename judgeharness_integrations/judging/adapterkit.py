"""What adapters are made of: the bench, the default harness, judges by rule, and what models inside a judge said."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import BuiltinFunctionType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, Final, Protocol, TypeAlias

from judgeharness_integrations._errors import UsageError

from .adapters import installed_version
from .answer import (
    NO_TOKENS,
    UNREACHABLE,
    EmptyAnswerError,
    ModelAnswer,
    answer_behind,
    completion_answer,
    error_text,
    result_answer,
)
from .cases import Case
from .execution.observing import answer_begun
from .execution.ownclients import with_options
from .execution.retrying import is_transient
from .functionsource import UnreadableError, source_digest
from .harness import JudgeHarness, Shape
from .judge import Answer, Judge, JudgeIdentity, Judgment

GARBAGE: Final = "GARBAGE"
_PATIENCE_S = 10.0  # a thread cannot be cancelled, so it does not wait for ever
_GLANCE_S = 0.002

# A label, or what is raised, for each call in turn, over and over; or a function of the prompt.
Labels: TypeAlias = "Sequence[str | Exception] | Callable[[str], str]"


class Script:
    """What the model behind a framework's judge answers.

    An adapter's fake model shows it the whole prompt, by `ask` or `aask`, and makes the framework's reply text of the
    label it gets: `A` (the answer that stands first in the prompt), `B`, `TIE`; `PASS`, `FAIL` of a graded answer;
    `GARBAGE`, which becomes a reply that nobody can read. What it raises is to be raised.

    Attributes:
        prompts: what was asked, in order of arrival.
        cancelled: how many async calls were cancelled.

    """

    def __init__(self, labels: Labels, *, holding: bool = False) -> None:
        """Prepare the labels; a model that is `holding` answers nobody before its `release`."""
        self._turns = None if callable(labels) else itertools.cycle(labels)
        self._choose = labels if callable(labels) else None
        self._lock = threading.Lock()
        self._released = threading.Event()
        if not holding:
            self._released.set()
        self.prompts: list[str] = []
        self.cancelled = 0
        self.waiting = 0  # calls that have not been answered
        self.waiting_async = 0

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.prompts)

    def release(self) -> None:
        """Answer the calls that wait, and later ones at once."""
        self._released.set()

    def ask(self, prompt: str) -> str:
        """Return the label for a prompt, from a sync client."""
        with self._counted(prompt):
            self._released.wait(_PATIENCE_S)
            return self._label(prompt)

    async def aask(self, prompt: str) -> str:
        """Return the label for a prompt, from an async client."""
        with self._counted(prompt):
            self.waiting_async += 1
            try:
                while not self._released.is_set():  # noqa: ASYNC110 - an asyncio.Event belongs to one loop
                    await asyncio.sleep(_GLANCE_S)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.waiting_async -= 1
            return self._label(prompt)

    @contextmanager
    def _counted(self, prompt: str) -> Iterator[None]:
        with self._lock:
            self.prompts.append(prompt)
            self.waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self.waiting -= 1

    def _label(self, prompt: str) -> str:
        if self._choose is not None:
            return self._choose(prompt)
        with self._lock:
            label = next(self._turns or iter(()))
        if isinstance(label, Exception):
            raise label
        return label


@dataclass(frozen=True, kw_only=True)
class Native:
    """One result of a framework, and what is to be read in it.

    Args:
        answer: the framework's own result as it returns or writes it; `json.dumps` takes it.
        plain: its keys and values without the measurement; those of the bare evaluator, where there is one.
        verdict: what the framework's own keys say: `A`, `B`, `TIE`, `PASS`, `FAIL`; None when they say that nothing
            was decided.
        document: `HarnessResult.to_dict()` as the framework carries it; further keys may stand beside. None for a bare
            evaluator.
        precision: the calibrated precision the result states; None when it states none.
        marks: (perturbation, repetition) of each call that the framework's own callbacks or observers saw.

    """

    answer: Any
    plain: Mapping[str, Any]
    verdict: str | None
    document: Mapping[str, Any] | None = None
    precision: float | None = None
    marks: tuple[tuple[str, int], ...] = ()


class Evaluator(Protocol):
    """An evaluator of the framework.

    `second` is answer B of a pair; otherwise what the framework shows beside the answer, such as a reference.
    """

    def evaluate(self, first: str, second: str) -> Native:
        """Evaluate by the sync face."""
        ...

    async def aevaluate(self, first: str, second: str) -> Native:
        """Evaluate by the async face."""
        ...


class HarnessedEvaluator(Evaluator, Protocol):
    """The same evaluator under a harness."""

    @property
    def judge(self) -> Judge:
        """Whom it asks; `harness.calibrate` takes it."""
        ...

    def case(self, first: str, second: str) -> Case:
        """Return what the judge is given for these texts."""
        ...


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One evaluator of a framework, over a scripted model that is a real model class of that framework.

    Args:
        name: what it is, as reports call it.
        pairwise: whether it compares two answers; else it answers PASS or FAIL.
        harnessed: (script, harness) -> the evaluator as users harness it.
        bare: script -> the evaluator as the framework has it, asking once.
        perturbation: one that fits its cases, besides `none`; `position_swap` where two texts stand side by side.
        caching: switches the framework's cache on, where it has one.
        opted_out: check -> why it says nothing about this evaluator.

    Raises:
        UsageError: a check is opted out of without a reason.

    """

    name: str
    pairwise: bool
    harnessed: Callable[[Script, JudgeHarness], HarnessedEvaluator]
    bare: Callable[[Script], Evaluator] | None = None
    perturbation: str = "position_swap"
    caching: Callable[[], AbstractContextManager[object]] | None = None
    opted_out: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse opting out without a reason."""
        if silent := [name for name, reason in self.opted_out.items() if not reason.strip()]:
            raise UsageError(f"bench {self.name!r} opts out of {silent[0]!r}: say why.")


ASKS_NO_MODEL = "asks no model"
ASKS_AN_EMBEDDING_MODEL = "asks an embedding model, which answers alike each time"


def identified(make: Callable[[], JudgeIdentity]) -> tuple[JudgeIdentity | None, str | None]:
    """Return the identity a function makes, or why there is none: the pair of a judge's `identity`, `unidentified`."""
    try:
        return make(), None
    except UnreadableError as error:
        return None, str(error)


def rule_identity(
    name: str, *, packages: Sequence[str], parameters: Mapping[str, object], model: str | None = None
) -> JudgeIdentity:
    """Return what makes a comparison of a package the same one: its name, versions, and how it is set.

    Args:
        name: the comparison's own name.
        packages: the import names of the packages that compare; one that is not installed does not count.
        parameters: how it is set. A function of one of the packages is told by its name, another one
            by its source.
        model: the embedding model it asks.

    Raises:
        UnreadableError: a parameter cannot be compared with another one.

    """
    versions = {package: found for package in packages if (found := installed_version(package)) is not None}
    settings = {key: _plain_value(key, value, packages) for key, value in sorted(parameters.items())}
    return JudgeIdentity(name=name, model=model, parameters={"versions": versions, **settings})


def _plain_value(name: str, value: Any, packages: Sequence[str]) -> Any:
    """Return a value as JSON keeps it."""
    if isinstance(value, Mapping):
        return {str(key): _plain_value(f"{name}[{key!r}]", part, packages) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [_plain_value(name, part, packages) for part in value]
        return sorted(parts, key=str) if isinstance(value, (set, frozenset)) else parts
    given = value.value if isinstance(value, Enum) else value
    return given if given is None or isinstance(given, (str, int, float)) else _code_text(name, given, packages)


def _code_text(name: str, value: Any, packages: Sequence[str]) -> str:
    """Return what tells a function from another one."""
    builtin = isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, ModuleType)
    if builtin or (isinstance(value, FunctionType) and _is_written_in(value, packages)):
        return f"{value.__module__}.{value.__qualname__}"
    if not isinstance(value, (FunctionType, partial)):
        raise UnreadableError(f"its `{name}` is a {type(value).__name__}, which cannot be compared with another one")
    try:
        return source_digest(value)
    except UnreadableError as error:
        raise UnreadableError(f"its `{name}`: {error}") from None


def _is_written_in(function: FunctionType, packages: Sequence[str]) -> bool:
    """Whether a function is of one of the packages, so that its name and their version tell all of it."""
    return str(function.__module__).partition(".")[0] in packages and not function.__closure__


_MODES: dict[Shape, str] = {"scores": "mode", "any": "supermajority(2/3) | mode"}
_NEAR = 0.1  # scores of evaluation frameworks are from 0 to 1 by convention


def check_harness(harness: object, *, example: Shape = "labels") -> None:
    """Raise a UsageError for what is neither a harness nor None; its sentence shows one of the `example` shape."""
    if harness is not None and not isinstance(harness, JudgeHarness):
        kind = type(harness).__name__
        raise UsageError(f"harness is a JudgeHarness, as in JudgeHarness.standard('{example}'), not a {kind}.")


def shape_of(judge: Judge) -> Shape:
    """Return `labels` or `scores` where every criterion declares its labels or its scale, else `any`."""
    criteria = judge.criteria or ()
    if criteria and all(criterion.labels for criterion in criteria):
        return "labels"
    if criteria and all(criterion.scale for criterion in criteria):
        return "scores"
    return "any"


def standard_for(judge: Judge, shape: Shape | None = None, **options: Any) -> JudgeHarness:
    """Return the standard harness for a judge; `shape` is its own where None, `options` those of the constructor.

    A format change that does not fit an output is skipped and reported: one plain answer must not end a dataset.
    Scores of given choices are folded by `mode`, since a median could lie between the choices.
    """
    shape = shape or shape_of(judge)
    ours: dict[str, Any] = {"on_unfit": "skip"} | ({"tolerance": _NEAR} if shape == "any" else {})
    if getattr(judge, "discrete", False) and shape in _MODES:
        ours["aggregation_rule"] = _MODES[shape]
    return JudgeHarness.standard(shape, **ours | options)


_MISREAD = frozenset({"OutputParserException", "ValidationError"})  # LangChain's and pydantic's
_LONGEST_REASON = 500  # characters


class Capture:
    """The answers of one sample's model calls, in order; `langchain` is whether a model of LangChain gave the last.

    One that `captured` yields is a handler of LangChain's, too, where that is installed.
    """

    run_inline = True  # reads in the calling task, before the judge goes on

    def __init__(self) -> None:
        """Nothing captured yet."""
        self.answers: list[ModelAnswer] = []
        self.empty: EmptyAnswerError | None = None
        self.langchain = False

    @property
    def last(self) -> ModelAnswer | None:
        """The last answer; None when no model was seen to answer."""
        return self.answers[-1] if self.answers else None

    def add(self, read: Callable[[Any], ModelAnswer], reply: Any) -> None:
        """Keep an answer.

        Raises:
            EmptyAnswerError: the reply holds none; that is kept.

        """
        self.empty = None
        try:
            self.answers.append(read(reply))
        except EmptyAnswerError as error:
            self.empty = error
            raise

    def on_llm_new_token(self, *_: Any, **__: Any) -> None:
        """Note that a LangChain model that streams has begun to answer."""
        answer_begun()

    def on_llm_end(self, response: Any, **_: Any) -> None:
        """Keep an answer of a LangChain model at once: a later cache hit changes the usage of its message."""
        self.langchain = True
        with suppress(EmptyAnswerError):  # the model raises an error of its own
            self.add(result_answer, response)

    def told(self, judgment: Judgment) -> Judgment:
        """Return what a function made of the answers, with their evidence; what the function tells itself stands."""
        if (said := self.last) is None:
            return judgment
        warnings = [half_answer(said), UNREACHABLE if said.cached else None]
        found = said.after(self.answers[:-1]).judgment(judgment.answers, warnings=warnings)
        own = {one.name: getattr(judgment, one.name) for one in fields(judgment)}
        own["facts"] = {**found.facts, **judgment.facts}
        return replace(found, **{name: value for name, value in own.items() if value is not None})

    def unread(self, error: Exception) -> Judgment | None:
        """Return the judgment of a function that could not read an answer; None when it is the call that failed.

        Raises:
            EmptyAnswerError: the last reply held no answer.

        """
        if self.empty is not None:
            raise EmptyAnswerError(self.empty.answer.after(self.answers)) from error
        if (said := unread_answer(error, self.last)) is None:
            return None
        earlier = [one for one in self.answers if one is not said]
        return said.after(earlier).judgment([said.unusable(Answer().criterion) or misread(error)])


_CAPTURE: ContextVar[Capture | None] = ContextVar("judgeharness_capture", default=None)


@cache
def _kind() -> type[Capture]:
    """Return what captures: a handler of LangChain's where that is installed, which is imported at the first call."""
    if find_spec("langchain_core") is None:
        return Capture
    handler = import_module("langchain_core.callbacks").BaseCallbackHandler
    # LangChain asks the variable whenever it configures a run: the only way into a model that a judge keeps to itself
    import_module("langchain_core.tracers.context").register_configure_hook(_CAPTURE, inheritable=True)
    return type("Capture", (Capture, handler), {})


@contextmanager
def captured() -> Iterator[Capture]:
    """Capture what models answer inside, in this task and the threads and tasks it starts."""
    capture = _kind()()
    token = _CAPTURE.set(capture)
    try:
        yield capture
    finally:
        _CAPTURE.reset(token)


def watched_client(client: Any) -> Any:
    """Return an OpenAI client, sync or async, whose chat completions are captured, and which retries nothing.

    It asks with the settings the client has at the time. One that cannot be copied retries as it was told to. Its
    `create` raises an `EmptyAnswerError` for a reply that is no chat completion.
    """

    def create(**arguments: Any) -> Any:
        patched = "create" in getattr(client.chat.completions, "__dict__", {})  # a copy would lose what traces it, say
        asked = None if patched else with_options(client, max_retries=0)
        with _garbled():
            reply = (client if asked is None else asked).chat.completions.create(**arguments)
        return _awaited(reply) if inspect.isawaitable(reply) else _noted(reply)

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


@contextmanager
def _garbled() -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError as error:
        raise ConnectionError(f"the reply is no JSON: {error}") from error


async def _awaited(reply: Awaitable[Any]) -> Any:
    with _garbled():
        return _noted(await reply)


def _noted(completion: Any) -> Any:
    (_CAPTURE.get() or Capture()).add(completion_answer, completion)
    return completion


def half_answer(said: ModelAnswer) -> str | None:
    """Return the warning of a score that a function may have read from a half answer; None for a whole one."""
    if said.problem is None:
        return None
    return f"the score may rest on a half answer of a model inside the judge: {said.problem}"


def unread_answer(
    error: Exception, seen: ModelAnswer | None, reading: tuple[type[Exception], ...] = (), *, unseen: bool = False
) -> ModelAnswer | None:
    """Return the answer behind an error of reading it; None when it is the call that failed.

    Args:
        error: what the judge raised.
        seen: the last answer a model was seen to give; None when there was none.
        reading: further errors that a judge raises over an answer; those of a function may be of any making.
        unseen: whether the model may read its answer itself, before it is seen.

    """
    if (behind := answer_behind(error)) is not None:
        # one without tokens was seen before its client refused to read it; another is an answer of its own
        return (seen or behind) if behind.tokens == NO_TOKENS else behind
    if is_transient(error):  # the body of a reply that was garbled on its way is an error of reading, too
        return None
    parsed = not _MISREAD.isdisjoint(kind.__name__ for kind in type(error).__mro__)
    if seen is None:
        return ModelAnswer(text=error_text(error)) if unseen and parsed else None
    return seen if parsed or isinstance(error, reading) else None


def misread(error: Exception) -> Answer:
    """Return the answer of a judge that could not read what its model said."""
    return Answer(outcome="unparsed", reasoning=f"{type(error).__name__}: {error_text(error)[:_LONGEST_REASON]}")
