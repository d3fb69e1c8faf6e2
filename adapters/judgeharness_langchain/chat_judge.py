"""A judge of our own over any chat model: structured output first, a strict text grammar otherwise."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.cases import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations.judging import Answer, JudgeIdentity, Judgment, Probe, text_hash
from judgeharness_langchain.caching import active_cache, isolated
from judgeharness_langchain.kinds import Kind
from judgeharness_langchain.messages import ModelAnswer, read_message
from judgeharness_langchain.models import family_of, innermost, model_name, model_parameters
from judgeharness_langchain.options import CallOptions
from judgeharness_langchain.prompting import prompt_hash

__all__ = ["DEFAULT_SLOTS", "ChatJudge", "JudgeOptions", "OutputMode", "Reading"]

OutputMode: TypeAlias = Literal["auto", "structured", "text"]
Reading: TypeAlias = Sequence[Answer] | None  # None: no answer in the expected form
DEFAULT_SLOTS = ("Assistant A", "Assistant B")

_DEFAULT_PROMPT = ChatPromptTemplate.from_messages(
    [("system", "{instructions}\n\n{answer_format}"), ("human", "{sections}")]
)
_UNREACHABLE = "an LLM cache is active and the judge's model cannot be reached: repetitions may be one cached reply"
_UNSUPPORTED_WORDS = ("response_format", "json_schema", "json_object", "tool_choice", "tools")
_BAD_REQUEST = 400


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


class ChatJudge(ABC):
    """What the judges of this package share.

    A prompt of the caller's own is a `ChatPromptTemplate` over any of `instructions`, `answer_format`, `sections`,
    `input`, `output`, `output_b`, `reference`, `context`, `slot_a`, `slot_b`; it should name `answer_format`.
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
        prompts = (prompt_hash(self.prompt), self.instructions, self._answer_format(DEFAULT_SLOTS), rubric)
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

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the model once."""
        slots = self._slots(probe.case)
        messages = self.prompt.format_messages(**self._variables(probe.case, slots))
        config = self.options.for_sample(probe)
        namespace = f"{probe.perturbation.name}#{probe.repetition}"
        if not self._text_only[0]:
            structured, warning = self._model(namespace, slots)
            if structured is not None:
                answered = await self._structured(structured, messages, config, slots, warning)
                if answered is not None:
                    return answered
        model, warning = self._model(namespace, None)
        message = await model.ainvoke(messages, config)
        answer = read_message(message)
        return self._judgment(answer, self._read_text(answer.text, slots), warning)

    async def _structured(
        self,
        structured: Runnable[Any, Any],
        messages: list[BaseMessage],
        config: RunnableConfig,
        slots: tuple[str, str],
        warning: str | None,
    ) -> Judgment | None:
        """Return the judgment, or None when the model turns out not to offer structured output."""
        try:
            result = await structured.ainvoke(messages, config)
        except Exception as error:
            if self.output == "auto" and _means_unsupported(error):
                self._text_only[0] = True
                return None
            if (ended := _ended_early(error)) is not None:
                return self._judgment(ended, None, warning)
            raise
        raw, parsed = result["raw"], result["parsed"]
        answer = read_message(raw) if isinstance(raw, AIMessage) else ModelAnswer(text=str(raw))
        reading = self._read_structured(parsed, slots) if isinstance(parsed, Mapping) else None
        if reading is None and answer.refusal is None:
            reading = self._read_text(answer.text, slots)
        return self._judgment(answer, reading, warning)

    def _model(self, namespace: str, slots: tuple[str, str] | None) -> tuple[Any, str | None]:
        """Return the model with its own cache entries, for structured output where `slots` are given."""
        cache = active_cache(self.model)
        key = (id(cache), namespace if cache is not None else "", slots)
        if key not in self._ready:
            own = isolated(self.model, namespace)
            model = self.model if own is None else own
            shaped = model if slots is None else self._with_schema(model, slots)
            self._ready[key] = (shaped, _UNREACHABLE if own is None else None)
        return self._ready[key]

    def _with_schema(self, model: Any, slots: tuple[str, str]) -> Any | None:
        try:
            return model.with_structured_output(self._schema(slots), include_raw=True)
        except (NotImplementedError, AttributeError):
            if self.output == "structured":
                raise UsageError(f"{self.name}: the model offers no structured output; use output='text'.") from None
            self._text_only[0] = True
            return None

    def _judgment(self, answer: ModelAnswer, reading: Reading, warning: str | None) -> Judgment:
        facts = answer.facts(namespaced=warning is None)
        if warning is not None:
            facts["warning"] = warning
        if answer.refusal is not None:
            answers = [Answer(criterion=c.name, outcome="refused", reasoning=answer.refusal) for c in self.criteria]
        elif reading is None or answer.truncated:
            answers = [Answer(criterion=c.name, outcome="unparsed") for c in self.criteria]
        else:
            answers = list(reading)
        return Judgment(
            answers=tuple(answers),
            raw=answer.text or answer.refusal,
            model=answer.model,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            facts=facts,
        )

    def _slots(self, case: Any) -> tuple[str, str]:
        named = case.presentation.slot_names if isinstance(case, AnswerCase) else None
        return named or DEFAULT_SLOTS

    def _variables(self, case: Any, slots: tuple[str, str]) -> dict[str, Any]:
        if not isinstance(case, AnswerCase):
            raise CaseError(f"{self.name} judges an AnswerCase or a PairwiseCase, not a {type(case).__name__}.")
        for word in ("input", "reference"):
            if getattr(self, f"requires_{word}") and getattr(case, word) is None:
                raise CaseError(f"{self.name} needs the {word} of case {case.case_id!r}.")
        output_b = case.output_b if isinstance(case, PairwiseCase) else ""
        return {
            "instructions": case.presentation.instructions or self.instructions,
            "answer_format": self._answer_format(slots),
            "sections": "\n\n".join(f"<<{title}>>\n{text}\n<<end>>" for title, text in self._sections(case, slots)),
            "input": case.input or "",
            "output": case.output,
            "output_b": output_b,
            "reference": case.reference or "",
            "context": case.context or "",
            "slot_a": slots[0],
            "slot_b": slots[1],
        }

    def _sections(self, case: AnswerCase, slots: tuple[str, str]) -> list[tuple[str, str]]:
        titled = [("Task", case.input), ("Context", case.context), ("Reference answer", case.reference)]
        if isinstance(case, PairwiseCase):
            titled += [(f"Answer of {slots[0]}", case.output), (f"Answer of {slots[1]}", case.output_b)]
        else:
            titled.append(("Answer", case.output))
        return [(title, text) for title, text in titled if text is not None]

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


def _means_unsupported(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    return status == _BAD_REQUEST and any(word in str(error) for word in _UNSUPPORTED_WORDS)


def _ended_early(error: Exception) -> ModelAnswer | None:
    """Return an answer for errors that mean the model answered, but not usably."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "ContentFilterFinishReasonError" in names:
        return ModelAnswer(text="", refusal="content filter")
    if names & {"LengthFinishReasonError", "OutputParserException", "ValidationError"}:
        return ModelAnswer(text=str(error)[:2000], truncated=True)
    return None


def object_schema(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object whose properties are all required."""
    return {
        "title": title,
        "description": "The verdict of a judge.",
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


REASONING = {"type": "string", "description": "The reasons, before the verdict."}


def reasoning_of(parsed: Mapping[str, Any]) -> str | None:
    """Return the reasons of a structured answer."""
    value = parsed.get("reasoning")
    return value if isinstance(value, str) else None
