"""LangChain's evaluators, and judges of ours, on the bench of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import get_llm_cache, set_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langsmith import tracing_context

from judgeharness_integrations.judging.adapterkit import Bench, Evaluator, HarnessedEvaluator, Native, Script
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.marks import code_in, verdict_line

from .decisions import DecisionJudge
from .judges import CriteriaJudge, PairwiseJudge
from .wrapping import harness_evaluator

Make: TypeAlias = Callable[[BaseChatModel], Any]
_QUESTION = "What is the capital of Norway?"
_UNREADABLE = "I would rather not say."
_CODE = "{code}"  # in a reply: the code of the case
_OURS = {"equality_with_bare": "it is a judge of this package: there is no evaluator of LangChain's to compare with"}
_SINGLE = {"original_frame": "one answer is judged: there is no order of answers"}
_SLOTS = {"A": "Assistant A", "B": "Assistant B", "TIE": "TIE"}
# (value, score) of a result -> what they say together
_SAID = {("A", 1): "A", ("B", 0): "B", (None, 0.5): "TIE", ("Y", 1): "PASS", ("N", 0): "FAIL"}


class ScriptedChat(BaseChatModel):
    """A chat model that says what the script says; `replies` are label -> text, or the arguments of a tool."""

    script: Any
    replies: Mapping[str, Any]
    model_name: str = "gpt-4-bench"  # PairwiseStringEvalChain complains of any other maker

    @property
    def _llm_type(self) -> str:
        return "judgeharness-bench"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Take the schema of a structured answer."""
        return self.bind(tools=[tool["title"] for tool in tools], **options)

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        prompt = _prompt(messages)
        return self._reply(self.script.ask(prompt), code_in(prompt), **options)

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        prompt = _prompt(messages)
        return self._reply(await self.script.aask(prompt), code_in(prompt), **options)

    def _reply(self, label: str, code: str | None, tools: Sequence[str] = (), **_: Any) -> ChatResult:
        reply = self.replies.get(label, _UNREADABLE)
        message = (
            AIMessage(content=reply.replace(_CODE, code or ""))
            if isinstance(reply, str)
            else AIMessage(content="", tool_calls=[_call(tools[0], reply)])
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def _call(tool: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(name=tool, args=arguments, id="1")


def _prompt(messages: list[BaseMessage]) -> str:
    return "\n".join(str(message.text) for message in messages)


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


class _DecisionMarks(_Marks):
    """Keeps those of a decision model, whose calls are runs of a chain to callbacks."""

    def on_chain_start(self, *_: Any, **told: Any) -> None:
        """Keep the mark of a sample."""
        self.on_chat_model_start(**told)


@dataclass(frozen=True, kw_only=True)
class _OnBench:
    """An evaluator with `evaluate_string_pairs` or `evaluate_strings`, harnessed or not."""

    evaluator: Any
    pairwise: bool
    marks: Callable[[], _Marks] = _Marks

    @property
    def judge(self) -> Judge:
        judge: Judge = self.evaluator.judge
        return judge

    def case(self, first: str, second: str) -> AnswerCase:
        if not self.pairwise:
            return AnswerCase(case_id="bench", input=_QUESTION, output=first)
        return PairwiseCase(case_id="bench", input=_QUESTION, output=first, output_b=second)

    def evaluate(self, first: str, second: str) -> Native:
        name, arguments, marks = self._call(first, second)
        with tracing_context(enabled=False):  # LangSmith has nothing to see here
            return self._native(getattr(self.evaluator, name)(**arguments), marks)

    async def aevaluate(self, first: str, second: str) -> Native:
        name, arguments, marks = self._call(first, second)
        with tracing_context(enabled=False):
            return self._native(await getattr(self.evaluator, f"a{name}")(**arguments), marks)

    def _call(self, first: str, second: str) -> tuple[str, dict[str, Any], _Marks]:
        marks = self.marks()
        arguments: dict[str, Any] = {"prediction": first, "input": _QUESTION, "callbacks": [marks]}
        if not self.pairwise:
            return "evaluate_strings", arguments, marks
        return "evaluate_string_pairs", arguments | {"prediction_b": second}, marks

    def _native(self, answer: dict[str, Any], marks: _Marks) -> Native:
        document = answer.get("harness")
        precision = document["calibrated_precision"] if document else None
        return Native(
            answer=answer,
            plain={key: value for key, value in answer.items() if key != "harness"},
            verdict=_SAID.get((answer["value"], answer["score"])),
            document=document,
            precision=None if precision is None else precision["value"],
            marks=tuple(marks.seen),
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


def _bench(name: str, make: Make, replies: Mapping[str, Any], *, pairwise: bool, ours: bool) -> Bench:
    def harnessed(script: Script, harness: JudgeHarness) -> HarnessedEvaluator:
        evaluator = harness_evaluator(make(ScriptedChat(script=script, replies=replies)), harness)
        return _OnBench(evaluator=evaluator, pairwise=pairwise)

    def bare(script: Script) -> Evaluator:
        return _OnBench(evaluator=make(ScriptedChat(script=script, replies=replies)), pairwise=pairwise)

    return Bench(
        name=name,
        pairwise=pairwise,
        harnessed=harnessed,
        bare=None if ours else bare,
        perturbation="position_swap" if pairwise else "format_change",
        caching=_cached,
        opted_out=(_OURS if ours else {}) | ({} if pairwise else _SINGLE),
    )


def benches() -> list[Bench]:
    """Return LangChain's own evaluators where langchain-classic is installed, and judges of ours.

    One of ours reads structured output and one reads text.
    """
    words = {label: {"reasoning": "So it seems.", "verdict": slot} for label, slot in _SLOTS.items()}
    lines = {label: f"So it seems.\n{verdict_line(_CODE, label)}" for label in ("PASS", "FAIL")}
    ours = [
        _bench("PairwiseJudge", _pairwise_judge, words, pairwise=True, ours=True),
        _bench("CriteriaJudge", _criteria_judge, lines, pairwise=False, ours=True),
    ]
    deciding = _deciding() if find_spec("langchain_core.decisions") is not None else ()
    return [*(_classic() if find_spec("langchain_classic") is not None else ()), *ours, *deciding]


def _deciding() -> Iterator[Bench]:
    """Yield a judge over a decision model that is sure of what the script says."""
    from langchain_core.decisions import BaseDecisionModel, ClassifierResponse  # noqa: PLC0415 - not in every version

    class ScriptedDecisions(BaseDecisionModel):
        model: str = "decisions-bench"
        script: Any

        @property
        def _provider(self) -> str:
            return "judgeharness-bench"

        def _classify(self, state: Any, questions: Any) -> ClassifierResponse:
            return _decided(self.script.ask(str(state)), questions)

        async def _aclassify(self, state: Any, questions: Any) -> ClassifierResponse:
            return _decided(await self.script.aask(str(state)), questions)

    def _decided(label: str, questions: Mapping[str, Any]) -> ClassifierResponse:
        answers = {key: told for key, one in questions.items() if (told := _sure(label, one)) is not None}
        return ClassifierResponse.model_validate({"model": "decisions-bench", "answers": answers})

    for pairwise in (True, False):

        def harnessed(script: Script, harness: JudgeHarness, *, pairwise: bool = pairwise) -> HarnessedEvaluator:
            judge = DecisionJudge(ScriptedDecisions(script=script), shape="pairwise" if pairwise else "labels")
            return _OnBench(evaluator=harness_evaluator(judge, harness), pairwise=pairwise, marks=_DecisionMarks)

        yield Bench(
            name=f"DecisionJudge, {'pairwise' if pairwise else 'labels'}",
            pairwise=pairwise,
            harnessed=harnessed,
            perturbation="position_swap" if pairwise else "format_change",
            opted_out=_OURS | ({} if pairwise else _SINGLE),
        )


def _sure(label: str, question: Any) -> dict[str, Any] | None:
    """Return the answer of a model that is sure of a label; None, which is no answer, where nobody can read it."""
    if question.type == "noul":
        return {"type": "noul", "noul": float(label == "PASS")} if label in ("PASS", "FAIL") else None
    if (chosen := _SLOTS.get(label)) is None:
        return None
    shares = {value: float(value == chosen) for value in question.criteria}
    return {"type": "choice", "choice": chosen, "probabilities": shares, "confidence": 1.0}


def _pairwise_judge(model: BaseChatModel) -> PairwiseJudge:
    return PairwiseJudge(model, output="structured")


def _criteria_judge(model: BaseChatModel) -> CriteriaJudge:
    return CriteriaJudge(model, criteria="conciseness", output="text")


def _classic() -> Iterator[Bench]:
    from langchain_classic.evaluation import CriteriaEvalChain, PairwiseStringEvalChain  # noqa: PLC0415 - an extra

    letters = {"A": "So it seems. [[A]]", "B": "So it seems. [[B]]", "TIE": "So it seems. [[C]]"}
    yield _bench("PairwiseStringEvalChain", PairwiseStringEvalChain.from_llm, letters, pairwise=True, ours=False)
    words = {"PASS": "So it seems.\n\nY", "FAIL": "So it seems.\n\nN"}
    yield _bench("CriteriaEvalChain", CriteriaEvalChain.from_llm, words, pairwise=False, ours=False)
