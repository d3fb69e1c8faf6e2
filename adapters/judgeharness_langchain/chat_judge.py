"""A judge of our own over any chat model: structured output first, a strict text grammar otherwise."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.cases import AnswerCase, Case, Criterion, PairwiseCase
from judgeharness_integrations.judging import Answer, JudgeIdentity, Judgment, Probe, text_hash
from judgeharness_integrations.marks import MARKS, shown
from judgeharness_integrations.parsing import only_quotes
from judgeharness_langchain.caching import UNREACHABLE, active_cache, isolated, namespace_of
from judgeharness_langchain.fitting import fitting_case, misfit
from judgeharness_langchain.kinds import Kind
from judgeharness_langchain.messages import ModelAnswer, judgment_of, read_message
from judgeharness_langchain.models import family_of, innermost, model_name
from judgeharness_langchain.options import CallOptions
from judgeharness_langchain.parameters import model_parameters
from judgeharness_langchain.prompting import prompt_hash
from judgeharness_langchain.structured import ended_early, means_unsupported, structured_of

__all__ = ["DEFAULT_SLOTS", "ChatJudge", "JudgeOptions", "OutputMode", "Reading", "known_options"]

OutputMode: TypeAlias = Literal["auto", "structured", "text"]
Reading: TypeAlias = Sequence[Answer] | None  # None: no answer in the expected form
DEFAULT_SLOTS = ("Assistant A", "Assistant B")

_DEFAULT_PROMPT = ChatPromptTemplate.from_messages(
    [("system", "{instructions}\n\n{marks}\n\n{answer_format}"), ("human", "{sections}")]
)


class JudgeOptions(TypedDict, total=False):
    """What every judge of this package can be told.

    `instructions` is what the judge is told (`prompt_variant` rewords it), `prompt` the whole prompt (see
    `ChatJudge`), `name` the judge's name in the log. `output` is `structured`, `text`, or `auto`: structured where
    the model offers it. `requires_input` and `requires_reference` refuse cases without one.
    """

    instructions: str
    prompt: ChatPromptTemplate
    name: str
    output: OutputMode
    requires_input: bool
    requires_reference: bool


def known_options(judge: type[ChatJudge]) -> list[str]:
    """Return the names of what a judge of this package can be told besides its model."""
    own = [name for name in inspect.signature(judge).parameters if name not in ("model", "options")]
    return [*own, *JudgeOptions.__annotations__]


class ChatJudge(ABC):
    """What the judges of this package share.

    A prompt of the caller's own is a `ChatPromptTemplate` over any of `instructions`, `marks`, `answer_format`,
    `sections`, `input`, `output`, `output_b`, `reference`, `context`, `slot_a`, `slot_b`; it should name
    `answer_format`. `sections` shows the case between marks, and `marks` says which: where a prompt does not name
    `marks`, `sections` begins with it.
    """

    kind: Kind
    supports: frozenset[str] = frozenset({"prompt_variant"})

    def __init__(
        self,
        model: BaseChatModel | Runnable[Any, Any],
        criteria: Sequence[Criterion],
        default_instructions: str,
        options: JudgeOptions,
    ) -> None:
        """Prepare; nothing is asked yet."""
        for name in options:
            if name not in (known := known_options(type(self))):
                raise UnknownNameError(f"option of {type(self).__name__}", name, known)
        output = options.get("output", "auto")
        if not isinstance(innermost(model), BaseChatModel):
            raise UsageError(f"{type(self).__name__} needs a chat model, not {type(model).__name__}.")
        if output not in ("auto", "structured", "text"):
            raise UsageError(f"output is 'auto', 'structured' or 'text', not {output!r}.")
        self.model = model
        self.criteria: tuple[Criterion, ...] = tuple(criteria)
        self.instructions = options.get("instructions") or default_instructions
        self.prompt = options.get("prompt") or _DEFAULT_PROMPT
        self.name = options.get("name") or type(self).__name__
        self.output: OutputMode = output
        self.requires_input = options.get("requires_input", False)
        self.requires_reference = options.get("requires_reference", False)
        self.options = CallOptions()
        self._ready: dict[Any, tuple[Any, str | None]] = {}
        self._text_only = [output == "text"]  # shared by bound copies: learned once that the model cannot do better

    @property
    def evaluation_name(self) -> str:
        """The name of the evaluation."""
        return self.name

    @property
    def identity(self) -> JudgeIdentity:
        """Model, parameters and prompt."""
        rubric = repr([(c.name, c.description, c.labels, c.scale) for c in self.criteria])
        prompts = (prompt_hash(self.prompt), self.instructions, MARKS, self._answer_format(DEFAULT_SLOTS), rubric)
        return JudgeIdentity(
            name=type(self).__name__,
            model=model_name(self.model),
            parameters={**model_parameters(self.model), "output": self.output},
            prompt_hash=text_hash(repr(prompts)),
            family=family_of(self.model),
        )

    def bound(self, options: CallOptions, *, own_parser: bool = False) -> Self:
        """Return the judge for one evaluation, with the caller's callbacks, tags and metadata."""
        del own_parser  # there is no other parser than ours
        judge = copy.copy(self)
        judge.options = options
        return judge

    def fits(self, case: Case) -> str | None:
        """Return why the judge cannot judge a case, None when it can."""
        return misfit(case, self, pairwise=self.kind.shape == "pairwise")

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the model once; twice where it turns out not to offer structured output."""
        case = fitting_case(self, probe.case)
        slots = case.presentation.slot_names or DEFAULT_SLOTS
        messages = self.prompt.format_messages(**self._variables(case, slots))
        if not self._text_only[0]:
            answered = await self._structured(probe, case, messages, slots)
            if answered is not None:
                return answered
        model, warning = self._model(namespace_of(probe), None)
        config = self.options.for_sample(probe)
        answer = read_message(await model.ainvoke(messages, config))
        return self._judgment(answer, self._own(answer, None, case, slots), warning, config)

    async def _structured(
        self, probe: Probe, case: AnswerCase, messages: list[BaseMessage], slots: tuple[str, str]
    ) -> Judgment | None:
        """Return the judgment, or None when the model turns out not to offer structured output."""
        model, warning = self._model(namespace_of(probe), slots)
        if model is None:
            return None
        config = self.options.for_sample(probe)
        try:
            result = await model.ainvoke(messages, config)
        except Exception as error:
            if self.output == "auto" and means_unsupported(error):
                self._text_only[0] = True
                return None
            if (ended := ended_early(error)) is not None:
                return self._judgment(ended, None, warning, config)
            raise
        raw = result["raw"]
        answer = read_message(raw) if isinstance(raw, AIMessage) else ModelAnswer(text=str(raw))
        parsed = structured_of(raw, answer.text, result["parsed"])
        reading = self._own(answer, parsed, case, slots)
        return self._judgment(answer, reading, warning, config)

    def _own(
        self, answer: ModelAnswer, parsed: Mapping[str, Any] | None, case: AnswerCase, slots: tuple[str, str]
    ) -> Reading:
        """Return what the model says of its own: nothing when it only quotes the case."""
        if only_quotes(answer.text, case.all_texts()):
            return None
        reading = self._read_structured(parsed, slots) if parsed is not None else None
        return self._read_text(answer.text, slots) if reading is None else reading

    def _model(self, namespace: str, slots: tuple[str, str] | None) -> tuple[Any, str | None]:
        """Return the model with its own cache entries, for structured output where `slots` are given."""
        cache = active_cache(self.model)
        key = (id(cache), namespace if cache is not None else "", slots)
        if key not in self._ready:
            own = isolated(self.model, namespace)
            model = self.model if own is None else own
            shaped = model if slots is None else self._with_schema(model, slots)
            self._ready[key] = (shaped, UNREACHABLE if own is None else None)
        return self._ready[key]

    def _with_schema(self, model: Any, slots: tuple[str, str]) -> Any | None:
        try:
            return model.with_structured_output(self._schema(slots), include_raw=True)
        except (NotImplementedError, AttributeError):
            if self.output == "structured":
                raise UsageError(f"{self.name}: the model offers no structured output; use output='text'.") from None
            self._text_only[0] = True
            return None

    def _judgment(self, answer: ModelAnswer, reading: Reading, warning: str | None, config: RunnableConfig) -> Judgment:
        if answer.refusal is not None:
            answers = [Answer(criterion=c.name, outcome="refused", reasoning=answer.refusal) for c in self.criteria]
        elif reading is None or answer.truncated:
            answers = [Answer(criterion=c.name, outcome="unparsed") for c in self.criteria]
        else:
            answers = list(reading)
        return judgment_of(answers, answer, warning, run_id=str(config.get("run_id")))

    def _variables(self, case: AnswerCase, slots: tuple[str, str]) -> dict[str, Any]:
        marks, sections = shown(case, slots)
        if "marks" not in self.prompt.input_variables:
            sections = f"{marks}\n\n{sections}"
        return {
            "instructions": case.presentation.instructions or self.instructions,
            "marks": marks,
            "answer_format": self._answer_format(slots),
            "sections": sections,
            "input": case.input or "",
            "output": case.output,
            "output_b": case.output_b if isinstance(case, PairwiseCase) else "",
            "reference": case.reference or "",
            "context": case.context or "",
            "slot_a": slots[0],
            "slot_b": slots[1],
        }

    @abstractmethod
    def _schema(self, slots: tuple[str, str]) -> dict[str, Any]:
        """Return the JSON schema of a structured answer."""

    @abstractmethod
    def _answer_format(self, slots: tuple[str, str]) -> str:
        """Return how the model is told to answer in text."""

    @abstractmethod
    def _read_structured(self, parsed: Mapping[str, Any], slots: tuple[str, str]) -> Reading:
        """Return the answers of a structured output."""

    @abstractmethod
    def _read_text(self, text: str, slots: tuple[str, str]) -> Reading:
        """Return the answers of a text."""
