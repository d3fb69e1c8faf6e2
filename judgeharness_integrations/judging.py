"""Who judges: the seam every judge fits through, and what one call of it answers."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations._threads import thread_pool
from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.verdictlog.row import ABSTAIN, Outcome, Verdict, verdict_from_json

if TYPE_CHECKING:
    from concurrent.futures import Executor as ThreadPool

    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.perturbations import Perturbation

__all__ = [
    "Answer",
    "FunctionJudge",
    "Judge",
    "JudgeIdentity",
    "JudgeLike",
    "Judgment",
    "Probe",
    "as_judge",
    "as_judgment",
    "model_family",
    "text_hash",
]

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
    """What makes two judges the same judge; a calibration holds only for an equal identity."""

    name: str
    model: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prompt_hash: str | None = None
    family: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the identity as JSON keeps it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one call answered about one criterion, still in the frame the judge was shown."""

    criterion: str = DEFAULT_CRITERION
    verdict: Verdict | None = None
    outcome: Outcome = "ok"
    reasoning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What one call of a judge gave back: one `Answer` a criterion, and the evidence of the call.

    `facts` holds further evidence that goes to the row's attributes (`response_id`, `cached`, ...).
    """

    answers: tuple[Answer, ...]
    raw: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    facts: Mapping[str, str | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One question to a judge: the (perturbed) case, under which perturbation, the how-manieth time."""

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
    (`slot_names`, `prompt_variant`); `instructions`, the text `prompt_variant` rewords; `view(case)`, the case as the
    judge is shown it, None when it is not its to judge; `fits(case)`, why a case cannot be judged, or None;
    `takes_values`, that it reads the values of a `StructuredCase` rather than texts; `discrete`, that its scores are
    choices with nothing in between.
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

    A `Judgment` stays; a mapping is one answer a criterion; a bool is PASS or FAIL; None, NaN and text too long
    for a label are unparsed; `ABSTAIN` is a refusal, since abstaining is the harness's decision.
    """
    if isinstance(value, Judgment):
        return value
    if not isinstance(value, str) and isinstance(value, Mapping):
        return Judgment(answers=tuple(_answer(str(name), part) for name, part in value.items()))
    return Judgment(answers=(_answer(DEFAULT_CRITERION, value),))


def _answer(criterion: str, value: object) -> Answer:
    if isinstance(value, Answer):
        return value
    try:
        verdict = verdict_from_json(getattr(value, "value", value))
    except ValueError as error:
        return Answer(criterion=criterion, outcome="unparsed", reasoning=str(error))
    if verdict == ABSTAIN:
        return Answer(criterion=criterion, outcome="refused")
    if verdict is None or (isinstance(verdict, str) and (len(verdict) > _LONGEST_LABEL or "\n" in verdict)):
        return Answer(criterion=criterion, outcome="unparsed", reasoning=verdict)
    return Answer(criterion=criterion, verdict=verdict)


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

    async def judge(self, probe: Probe) -> Judgment:
        """Call the function with the probe's case."""
        if self._asynchronous:
            return as_judgment(await self.function(probe.case))
        return as_judgment(await _in_thread(self.function, probe.case, threads=self.threads))

    @cached_property
    def _asynchronous(self) -> bool:
        return _is_async(self.function)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


async def call_maybe_async(function: Callable[..., Any], *args: object) -> Any:
    """Await an async function; run a synchronous one in a thread, with the caller's context variables."""
    return await (function(*args) if _is_async(function) else _in_thread(function, *args))


async def _in_thread(function: Callable[..., Any], *args: object, threads: ThreadPool | None = None) -> Any:
    call = partial(copy_context().run, _shielded, function, *args)
    value = await asyncio.get_running_loop().run_in_executor(threads or thread_pool(), call)
    return await value if inspect.isawaitable(value) else value


def _shielded(function: Callable[..., Any], *args: object) -> Any:
    try:
        return function(*args)
    except StopIteration as error:  # a future cannot carry StopIteration
        msg = "the judge ran out of answers (StopIteration)"
        raise RuntimeError(msg) from error


def _is_of_a_framework(judge: object) -> bool:
    """Whether it is called as LangChain's evaluators are, or as openevals' and LangSmith's: by `outputs`."""
    if hasattr(judge, "evaluate_strings") or hasattr(judge, "evaluate_string_pairs"):
        return True
    try:
        return callable(judge) and "outputs" in inspect.signature(judge).parameters
    except (TypeError, ValueError):
        return False


def as_judge(judge: JudgeLike) -> Judge:
    """Return a `Judge`: the object itself, the one in an evaluator of a framework, or one around a plain callable."""
    if isinstance(judge, Judge) and callable(judge.judge):
        return judge
    wrapped = getattr(judge, "judge", None)  # a harnessed evaluator: whom it asks
    if isinstance(wrapped, Judge):
        return wrapped
    if _is_of_a_framework(judge):
        from judgeharness_integrations.adapters import recognised  # noqa: PLC0415 - loads adapters, which few need

        if (known := recognised(judge)) is not None:
            return known
    if callable(judge):
        name = getattr(judge, "__name__", type(judge).__name__)
        return FunctionJudge(function=judge, name="judge" if name == "<lambda>" else name)
    msg = (
        f"a {type(judge).__name__} is not a judge: give a callable that takes a case, or an object with "
        "name, identity, criteria and an async judge(probe)."
    )
    raise UsageError(msg)
