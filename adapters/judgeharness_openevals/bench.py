"""Judges of openevals and agentevals, and our pairwise one, on the bench of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import get_llm_cache, set_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langsmith import tracing_context
from openevals.code.llm import create_async_code_llm_as_judge, create_code_llm_as_judge
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge

from judgeharness_integrations.judging.adapterkit import Bench, Evaluator, HarnessedEvaluator, Native, Script
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.structured import structured_case

from ._seams import agentevals_factories
from .pairwise import create_async_harnessed_pairwise_judge, create_harnessed_pairwise_judge
from .wrapping import harness_judge

Faces: TypeAlias = tuple[Any, Any]  # an evaluator, sync and async
_QUESTION = "What is the capital of Norway?"
_PROMPT = "Is the answer right?\n\nQuestion: {inputs}\n\nAnswer: {outputs}"
_UNREADABLE = "I would rather not say."
_SCORES = {"PASS": True, "FAIL": False}
_PREFERENCES = {"A": 1.0, "B": 0.0, "TIE": 0.5}
_SINGLE = {"original_frame": "one answer is judged: there is no order of answers"}
_OURS = {"equality_with_bare": "openevals has no pairwise evaluator to compare with"}


class _Marks(BaseCallbackHandler):
    """Keeps the tags and metadata of every call of the model."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def on_chat_model_start(
        self,
        *_: Any,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **__: Any,
    ) -> None:
        """Keep the mark of a sample; tags and metadata must agree about it."""
        told = metadata or {}
        name, repetition = told.get("perturbation"), told.get("repetition")
        if {f"perturbation:{name}", f"repetition:{repetition}"} <= set(tags or ()):
            self.seen.append((str(name), int(str(repetition))))


class ScriptedChat(BaseChatModel):
    """A chat model of LangChain's that gives the arguments `replies` has for what the script says."""

    script: Any
    replies: Mapping[str, dict[str, Any]]

    @property
    def _llm_type(self) -> str:
        return "judgeharness-bench"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Take the schema of a structured answer."""
        return self.bind(tools=[tool["title"] for tool in tools], **options)

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        return self._reply(self.script.ask(_prompt(messages)), options["tools"])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        return self._reply(await self.script.aask(_prompt(messages)), options["tools"])

    def _reply(self, label: str, tools: Sequence[str]) -> ChatResult:
        message = AIMessage(content=_UNREADABLE)
        if label in self.replies:
            call = ToolCall(name=tools[0], args=self.replies[label], id="1")
            message = AIMessage(content="", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


def _prompt(messages: list[BaseMessage]) -> str:
    return "\n".join(str(message.text) for message in messages)


@dataclass(frozen=True, kw_only=True)
class _OnBench:
    """An evaluator of openevals' protocol, by both faces."""

    faces: Faces
    marks: _Marks
    scores: Mapping[str, Any]
    pairwise: bool
    shown: Callable[[str], Any] = str

    @property
    def judge(self) -> Judge:
        judge: Judge = self.faces[1].judge
        return judge

    def case(self, first: str, second: str) -> AnswerCase:
        if not self.pairwise:
            return structured_case(case_id="bench", inputs=_QUESTION, outputs=self.shown(first))
        return PairwiseCase(case_id="bench", input=_QUESTION, output=first, output_b=second)

    def evaluate(self, first: str, second: str) -> Native:
        with self._marked() as marks:
            return self._native(self.faces[0](**self._arguments(first, second)), marks)

    async def aevaluate(self, first: str, second: str) -> Native:
        with self._marked() as marks:
            return self._native(await self.faces[1](**self._arguments(first, second)), marks)

    def _arguments(self, first: str, second: str) -> dict[str, Any]:
        return {"inputs": _QUESTION, "outputs": [first, second] if self.pairwise else self.shown(first)}

    @contextmanager
    def _marked(self) -> Iterator[list[tuple[str, int]]]:
        """Keep the marks of one evaluation, and LangSmith out of it."""
        self.marks.seen = []
        with tracing_context(enabled=False):
            yield self.marks.seen

    def _native(self, answer: dict[str, Any], marks: list[tuple[str, int]]) -> Native:
        measurement = answer.get("metadata") or {}
        labels = {score: label for label, score in self.scores.items()}
        return Native(
            answer=answer,
            plain={key: value for key, value in answer.items() if key != "metadata"},
            verdict=labels.get(answer["score"]),
            document=measurement.get("harness"),
            precision=measurement.get("calibrated_precision"),
            marks=tuple(marks),
        )


@contextmanager
def _cached() -> Iterator[None]:
    """Switch a cache on for every model."""
    before = get_llm_cache()
    set_llm_cache(InMemoryCache())
    try:
        yield
    finally:
        set_llm_cache(before)


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """A kind of judge that answers with a truth value: what makes it, sync and async, and how it is shown a text."""

    faces: tuple[Callable[..., Any], Callable[..., Any]]
    shown: Callable[[str], Any] = str

    def bench(self) -> Bench:
        """Return the kind on the bench."""
        replies = {label: {"reasoning": "So it seems.", "score": score} for label, score in _SCORES.items()}

        def bare(script: Script) -> Evaluator:
            return _on_bench(script, replies, self._made, pairwise=False, shown=self.shown)

        def harnessed(script: Script, harness: JudgeHarness) -> HarnessedEvaluator:
            def made(model: BaseChatModel) -> Faces:
                one, other = self._made(model)
                return harness_judge(one, harness), harness_judge(other, harness)

            return _on_bench(script, replies, made, pairwise=False, shown=self.shown)

        return Bench(
            name=self.faces[0].__name__,
            pairwise=False,
            harnessed=harnessed,
            bare=bare,
            perturbation="format_change",
            caching=_cached,
            opted_out=_SINGLE,
        )

    def _made(self, model: BaseChatModel) -> Faces:
        one, other = self.faces
        return one(prompt=_PROMPT, judge=model), other(prompt=_PROMPT, judge=model)


def _messages(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def _kinds() -> Iterator[_Kind]:
    yield _Kind(faces=(create_llm_as_judge, create_async_llm_as_judge))
    yield _Kind(faces=(create_code_llm_as_judge, create_async_code_llm_as_judge))
    made = {factory.__name__: factory for factory in agentevals_factories()}
    if (one := made.get("create_trajectory_llm_as_judge")) is not None:
        yield _Kind(faces=(one, made["create_async_trajectory_llm_as_judge"]), shown=_messages)


def _compared(model: BaseChatModel, harness: JudgeHarness) -> Faces:
    return (
        create_harnessed_pairwise_judge(judge=model, harness=harness),
        create_async_harnessed_pairwise_judge(judge=model, harness=harness),
    )


def benches() -> list[Bench]:
    """Return judges of one answer, with a truth value as their score, and our judge of two."""
    preferred = {label: {"reasoning": "So it seems.", "preferred": label} for label in _PREFERENCES}

    def pairwise(script: Script, harness: JudgeHarness) -> HarnessedEvaluator:
        return _on_bench(script, preferred, lambda model: _compared(model, harness), pairwise=True)

    ours = Bench(
        name="create_harnessed_pairwise_judge",
        pairwise=True,
        harnessed=pairwise,
        caching=_cached,
        opted_out=_OURS,
    )
    return [*(kind.bench() for kind in _kinds()), ours]


def _on_bench(
    script: Script,
    replies: Mapping[str, dict[str, Any]],
    make: Callable[[BaseChatModel], Faces],
    *,
    pairwise: bool,
    shown: Callable[[str], Any] = str,
) -> _OnBench:
    marks = _Marks()
    model = ScriptedChat(script=script, replies=replies, callbacks=[marks])
    scores: Mapping[str, Any] = _PREFERENCES if pairwise else _SCORES
    return _OnBench(faces=make(model), marks=marks, scores=scores, pairwise=pairwise, shown=shown)
