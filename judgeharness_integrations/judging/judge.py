"""Who judges: the seam every judge fits through, and what one call of it answers.

Threads for synchronous judges and rewriters.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures import Executor as ThreadPool
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache, partial
from types import FunctionType, MethodType
from typing import Any, Final, Protocol, Self, TypeAlias, runtime_checkable
from weakref import WeakValueDictionary

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import (
    ABSTAIN,
    Outcome,
    Verdict,
    expected_level,
    most_probable,
    probabilities_from_json,
    verdict_from_json,
)

from .cases import Case, Criterion
from .functionsource import UnreadableError, source_digest
from .parsing import AnswerFields, answer_fields, described, of_an_array
from .perturbations import Perturbation

__all__ = [
    "Answer",
    "FunctionJudge",
    "Judge",
    "JudgeIdentity",
    "JudgeLike",
    "Judgment",
    "Probe",
    "as_answer",
    "as_judgment",
    "model_family",
    "text_hash",
]

# A thread is started only when none is idle, so this many exist only if that many calls are in flight. The pool of an
# event loop is as small as the machine has processors, and calls that queue for it would run into their deadline.
_MOST_THREADS = 2048
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def thread_pool() -> ThreadPoolExecutor:
    """Return the process's pool; how many calls are in flight is the harness's `max_concurrency` to decide."""
    global _pool  # noqa: PLW0603 - one pool per process is the point
    with _lock:
        if _pool is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - async judges need none

            _pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="judgeharness-judge")
        return _pool


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a function, or an object that is called like one, is asynchronous."""
    if inspect.iscoroutinefunction(function):
        return True
    if isinstance(function, (FunctionType, MethodType, partial)):  # most are, and have no other way to be called
        return False
    return inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


async def call_maybe_async(function: Callable[..., Any], *args: object) -> Any:
    """Await an async function; run a synchronous one in a thread, with the caller's context variables."""
    return await (function(*args) if is_async(function) else in_thread(function, *args))


async def in_thread(function: Callable[..., Any], *args: object, threads: Executor | None = None) -> Any:
    """Run a synchronous function in a thread, with the caller's context variables.

    A call that is cancelled before its thread begins is not made.
    """
    answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    (threads or thread_pool()).submit(_thread_answer, answered, copy_context(), function, args)
    try:
        value = await answered
    finally:
        del answered  # an error of its would hold it by this frame, and it the error
    return await value if inspect.isawaitable(value) else value


def _thread_answer(
    answered: asyncio.Future[Any], context: Context, function: Callable[..., Any], args: tuple[object, ...]
) -> None:
    if answered.cancelled():
        return
    try:
        _tell(answered, answered.set_result, context.run(function, *args))
    except StopIteration:  # a future cannot carry it
        _tell(answered, answered.set_exception, RuntimeError("the judge ran out of answers (StopIteration)"))
    except BaseException as error:  # noqa: BLE001 - whatever it is, who waits is to know
        _tell(answered, answered.set_exception, error)
    finally:
        del answered


def _tell(answered: asyncio.Future[Any], settle: Callable[[Any], object], what: object) -> None:
    """Settle a future in its loop, which costs less than a future of the pool's chained to it."""
    with suppress(RuntimeError):  # the loop was closed: nobody waits any more
        answered.get_loop().call_soon_threadsafe(lambda: answered.done() or settle(what))


def _forget() -> None:
    global _lock, _pool
    _lock, _pool = threading.Lock(), None


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)


DEFAULT_CRITERION = "verdict"
_LONGEST_LABEL = 200
_FAMILIES = {
    "gpt": "openai",
    "chatgpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "openai": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "gemma": "google",
    "palm": "google",
    "llama": "meta",
    "mistral": "mistral",
    "mixtral": "mistral",
    "magistral": "mistral",
    "qwen": "alibaba",
    "qwq": "alibaba",
    "deepseek": "deepseek",
    "grok": "xai",
    "command": "cohere",
    "nova": "amazon",
    "phi": "microsoft",
    "kimi": "moonshot",
    "glm": "zhipu",
}


def text_hash(text: str) -> str:
    """Return a short SHA-256 digest of a prompt, so that a change shows without storing the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=1024)
def model_family(model: str | None) -> str | None:
    """Return the maker of a model by its name (`openai/gpt-4o` -> `openai`), or None when unknown."""
    if not model:
        return None
    words = model.lower().replace("/", "-").replace(":", "-").replace("_", "-").replace(".", "-").split("-")
    for word in words:
        for stem, family in _FAMILIES.items():
            if word == stem or (word.startswith(stem) and word[len(stem) :].isdigit()):
                return family
    return None


@dataclass(frozen=True, kw_only=True)
class JudgeIdentity:
    """What makes two judges the same judge; a calibration holds only for an equal identity.

    `learned` is what only its first answers tell of how it answers (`output`, whether a model calls tools): part of a
    fingerprint, which is made of answers, and not of what is to be asked. `source` is the digest of a plain function
    that declares no identity (`functionsource`), by which it can use a calibration.
    """

    name: str
    model: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prompt_hash: str | None = None
    family: str | None = None
    learned: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the identity as JSON keeps it."""
        return {name: value for name, value in asdict(self).items() if name != "source" or value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one call answered about one criterion, still in the frame the judge was shown.

    `probabilities`: of every label, or of the text of every level of a score; without a verdict, where none is the
    highest.
    """

    criterion: str = DEFAULT_CRITERION
    verdict: Verdict | None = None
    outcome: Outcome = "ok"
    reasoning: str | None = None
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What one call of a judge gave back: one `Answer` a criterion, and the evidence of the call.

    Tokens, tier and finish reason as `VerdictRow` has them. `facts` holds further evidence that goes to the row's
    attributes (`response_id`, `cached`, ...). `unreadable` says what the answer was where it is of a kind that is never
    a verdict, or says several that differ.
    """

    answers: tuple[Answer, ...]
    raw: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    service_tier: str | None = None
    finish_reason: str | None = None
    facts: Mapping[str, str | float] = field(default_factory=dict)
    unreadable: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One question to a judge: the (perturbed) case, under which perturbation, and which repetition."""

    case: Case
    case_id: str
    perturbation: Perturbation
    repetition: int
    seed: int


@runtime_checkable
class Judge(Protocol):
    """Whatever answers a probe.

    `identity` None makes calibrations unverifiable; `criteria` None means they are learned from the answers.
    Optional attributes: `supports`, names of perturbations that change the judge's own prompt
    (`slot_names`, `prompt_variant`) or its typed questions; `unchanged(needs, case)`, why one of those would leave a
    question of the case as it is, or None; `instructions`, the text `prompt_variant` rewords; `view(case)`, the case as
    the judge is shown it, None when it is not its to judge; `fits(case)`, why a case cannot be judged, or None;
    `takes_values`, that it reads the values of a `StructuredCase` rather than texts, and `takes_attachments`, those in
    its `extra`, too; `discrete`, that its scores are choices with nothing in between; `learn(facts)`, which is told the
    attributes of rows of earlier answers before it is asked, and `lesson`, what a copy of the judge has to learn to go
    on alike: none where it is empty, None while only an answer can tell, until when copies are asked one at a time;
    `unidentified`, why `identity` is None; `own_evaluation`, else `function`, what of the caller's own answers, in
    any form; `asked_once`, why one unperturbed call says all (`asks no model`), or None.
    """

    @property
    def name(self) -> str:
        """The judge's name in the log."""
        ...

    @property
    def identity(self) -> JudgeIdentity | None:
        """What makes it this judge."""
        ...

    @property
    def criteria(self) -> tuple[Criterion, ...] | None:
        """The questions it answers."""
        ...

    async def judge(self, probe: Probe) -> Judgment:
        """Answer one probe."""
        ...


JudgeLike: TypeAlias = "Judge | Callable[[Any], Any]"


def as_judgment(value: object) -> Judgment:
    """Normalise what a plain callable returned.

    A `Judgment` stays. A mapping, a pydantic object, a dataclass or a named tuple is its fields (`answerfields`): one
    verdict with its reasoning and `probabilities`, or one answer a criterion. A bool is PASS or FAIL; None, NaN and
    text too long for a label are unparsed; `ABSTAIN` is a refusal, since abstaining is the harness's decision. Of what
    is none of these, and of verdicts that differ, the answer says what it was, and `unreadable`, too.
    """
    if isinstance(value, Judgment):
        return value
    if type(value) is str and len(value) <= _LONGEST_LABEL:
        return _judgment_of_label(value)
    return _judgment_of(value)


def _judgment_of(value: object) -> Judgment:
    given = _given(value)
    if given is None or given.one:
        answer = _answer(DEFAULT_CRITERION, value, given)
        what = f"answered {described(value)}: {answer.reasoning}" if _is_strange(value) else _difference(given)
        return Judgment(answers=(answer,), unreadable=what)
    if value == {}:
        return Judgment(answers=())
    if _is_no_verdict(value, given):
        text = f"answered {described(value)}, which is no verdict: return a label, a number, or fields such as verdict"
        return Judgment(answers=(Answer(outcome="unparsed", reasoning=text),), unreadable=text)
    answers = (as_answer(name, part) for name, part in given.criteria.items())
    return Judgment(
        answers=tuple(replace(one, reasoning=one.reasoning or given.reasoning) for one in answers),
        unreadable=next(filter(None, map(_difference, map(answer_fields, given.criteria.values()))), None),
    )


_judgment_of_label = lru_cache(maxsize=1024)(_judgment_of)  # a judge has few labels, and gives each many times


def as_answer(criterion: str, value: object) -> Answer:
    """Normalise what a plain callable returned about one criterion; see `as_judgment`."""
    return _answer(criterion, value, _given(value))


def _given(value: object) -> AnswerFields | None:
    """Return the fields of a value that is read by them."""
    return None if isinstance(value, (Answer, Enum)) else answer_fields(value)


def _answer(criterion: str, value: object, given: AnswerFields | None) -> Answer:
    if isinstance(value, Answer):
        return value
    if given is not None:
        return _of_fields(criterion, value, given)
    try:
        verdict = verdict_from_json(of_an_array(getattr(value, "value", value)))
    except ValueError as error:
        return Answer(criterion=criterion, outcome="unparsed", reasoning=str(error))
    if verdict == ABSTAIN:
        return Answer(criterion=criterion, outcome="refused")
    if verdict is None or (isinstance(verdict, str) and (len(verdict) > _LONGEST_LABEL or "\n" in verdict)):
        return Answer(criterion=criterion, outcome="unparsed", reasoning=verdict)
    return Answer(criterion=criterion, verdict=verdict)


def _of_fields(criterion: str, value: object, given: AnswerFields) -> Answer:
    """Return the one answer that fields give; where two of them say different verdicts there is none."""
    if not given.one:
        text = f"answered {described(value)}, which is no verdict"
        return Answer(criterion=criterion, outcome="unparsed", reasoning=text)
    answers = {name: as_answer(criterion, part) for name, part in given.verdicts.items()}
    first = next(iter(answers.values()), None) or _of_probabilities(criterion, given.probabilities)
    if any(not _agree(first, one) for one in answers.values()):
        return Answer(
            criterion=criterion, outcome="unparsed", reasoning=f"answered {_verdicts_text(answers)}, which differ"
        )
    error = first.reasoning if any(map(_is_strange, given.verdicts.values())) else None
    said = replace(first, criterion=criterion, reasoning=error or given.reasoning or first.reasoning)
    return replace(said, probabilities=given.probabilities) if said.outcome == "ok" else said


def _of_probabilities(criterion: str, shares: Mapping[str, Any] | None) -> Answer:
    """Return the answer that probabilities alone give: the most probable label, or the expected level of a score."""
    try:
        given = probabilities_from_json(shares)
    except ValueError as error:
        return Answer(criterion=criterion, outcome="unparsed", reasoning=str(error))
    if given is None:
        return Answer(criterion=criterion, outcome="unparsed")
    try:
        return Answer(criterion=criterion, verdict=expected_level(given), probabilities=given)
    except ValueError:  # options that are no numbers
        return Answer(criterion=criterion, verdict=most_probable(given), probabilities=given)


def _difference(given: AnswerFields | None) -> str | None:
    """Return what the verdicts of fields are where each can be read and they differ: nobody knows which one counts."""
    if given is None:
        return None
    answers = {name: as_answer(DEFAULT_CRITERION, part) for name, part in given.verdicts.items()}
    read = [one for one in answers.values() if one.outcome == "ok"]
    if all(_agree(read[0], one) for one in read):
        return None
    return f"answered {_verdicts_text(answers)}, which differ: return one of them"


def _verdicts_text(answers: Mapping[str, Answer]) -> str:
    said = {name: one.outcome if one.verdict is None else one.verdict for name, one in answers.items()}
    return " and ".join(f"{name} {verdict!s:.40}" for name, verdict in said.items())


def _agree(one: Answer, other: Answer) -> bool:
    """Whether two fields say the same; 1 and 0 beside PASS and FAIL do."""
    truth: dict[Any, Any] = {"PASS": 1, "FAIL": 0}
    said = [(answer.outcome, truth.get(answer.verdict, answer.verdict)) for answer in (one, other)]
    return said[0] == said[1]


def _is_no_verdict(value: object, given: AnswerFields) -> bool:
    """Whether fields are none of a judge's, but say those of a model's response.

    That is where no field can be a verdict; of an object one field that never is will do, unless others show that it is
    a judge's: its reasoning, or a field with a verdict of its own.
    """
    strange = sum(map(_is_strange, given.criteria.values()))
    if strange in {0, len(given.criteria)} or isinstance(value, Mapping):
        return strange == len(given.criteria)
    parts = map(answer_fields, given.criteria.values())
    return given.reasoning is None and not any(part is not None and part.one for part in parts)


def _is_strange(value: object) -> bool:
    """Whether a value is of a kind that is never a verdict."""
    if value is None or isinstance(value, (str, int, float, Answer)):
        return False
    if isinstance(value, (list, set, frozenset)) or type(value) is tuple:
        return not all(isinstance(label, str) for label in value)
    given = _given(value)
    if given is not None and given.one:  # may be read another time
        return False
    return as_answer(DEFAULT_CRITERION, value).outcome == "unparsed"


@dataclass(frozen=True, kw_only=True)
class FunctionJudge:
    """A plain function as a judge: it receives `probe.case` and returns what `as_judgment` takes.

    A synchronous function runs in a thread, so that a blocking client does not hold up other calls.
    """

    function: Callable[[Any], Any]
    name: str = "judge"
    identity: JudgeIdentity | None = None
    criteria: tuple[Criterion, ...] | None = None
    threads: ThreadPool | None = field(default=None, compare=False)
    unidentified: str | None = None

    @classmethod
    def of(cls, function: Callable[[Any], Any], name: str) -> Self:
        """Return a function as a judge that is known again by its name and source, where its source can be read."""
        try:
            identity = JudgeIdentity(name=name, source=source_digest(function))
        except UnreadableError as error:
            return cls(function=function, name=name, unidentified=str(error))
        return cls(function=function, name=name, identity=identity)

    def __post_init__(self) -> None:
        """Refuse a function that cannot be called with a case alone.

        Raises:
            UsageError: it cannot.

        """
        check_takes_one(self.function, self.name, "a case")

    async def judge(self, probe: Probe) -> Judgment:
        """Call the function with the probe's case."""
        if self._asynchronous:
            return as_judgment(await self.function(probe.case))
        return as_judgment(await in_thread(self.function, probe.case, threads=self.threads))

    @cached_property
    def _asynchronous(self) -> bool:
        return is_async(self.function)


def check_takes_one(function: Callable[..., Any], judge: str, what: str) -> None:
    """Raise a UsageError unless a function can be called with one argument."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have none
        return
    try:
        signature.bind(None)
    except TypeError as error:
        raise UsageError(f"judge {judge!r} cannot be called with {what} ({error}): let it take {what} alone.") from None


_understood: Final[WeakValueDictionary[int, Any]] = WeakValueDictionary()  # code of functions, by its id


def is_understood(judge: Judge) -> bool:
    """Whether an answer of it was read in this process; always true where no function of the caller's own answers."""
    code = _code(judge)
    return code is None or _understood.get(id(code)) is code


def note_understood(judge: Judge) -> None:
    """Note that what a judge answers can be read."""
    if (code := _code(judge)) is not None:
        with suppress(TypeError):  # some functions written in C cannot be referred to weakly
            _understood[id(code)] = code


def _code(judge: Judge) -> object | None:
    """Return what is called when a judge asks its function, which suites wrap anew for each case; None without one."""
    function = getattr(judge, "own_evaluation", getattr(judge, "function", None))
    while isinstance(function, partial):
        function = function.func
    if function is None:
        return None
    function = inspect.unwrap(function)
    called = function if hasattr(function, "__code__") else type(function).__call__
    code: object = getattr(called, "__code__", function)
    return code
