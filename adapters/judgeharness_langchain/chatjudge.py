"""A judge of our own over any chat model: structured output first, a strict text grammar otherwise."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypedDict, cast, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.judging.answer import UNREACHABLE, ModelAnswer
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase
from judgeharness_integrations.judging.chatmodels import SEVERAL_CHOICES, namespace_of, single_choice
from judgeharness_integrations.judging.execution.attempting import read_apart
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe, text_hash
from judgeharness_integrations.judging.marks import CALLED, MARKS, VERDICT_LINE, Shown, announced, shown
from judgeharness_integrations.judging.parsing import last_line_of
from judgeharness_integrations.judging.questions import DEFAULT_SLOTS

from .decisionmodels import is_decision_model
from .kinds import CallOptions, Kind
from .models import (
    Mode,
    Output,
    active_cache,
    answer_of,
    arguments_of,
    chat_prompt,
    family_of,
    fitting_case,
    innermost,
    isolated,
    misfit,
    model_name,
    model_parameters,
    prompt_hash,
    template_texts,
    with_tool,
)
from .versions import TESTED

OutputMode: TypeAlias = Literal["auto", "structured", "text"]
Reading: TypeAlias = Sequence[Answer] | None  # None: no answer in the expected form
_MODE = "output_mode"  # the attribute of a row

_DEFAULT_PROMPT = ChatPromptTemplate.from_messages(
    [("system", "{instructions}\n\n{marks}\n\n{answer_format}"), ("human", "{sections}")]
)

_VARIABLES = (
    "instructions",
    "marks",
    "answer_format",
    "code",
    "sections",
    "input",
    "output",
    "output_b",
    "reference",
    "context",
    "slot_a",
    "slot_b",
)


class JudgeOptions(TypedDict, total=False):
    """What every judge of this package can be told.

    `instructions` is what the judge is told (`prompt_variant` rewords it), `prompt` the whole prompt (see
    `ChatJudge`), `name` the judge's name in the log. `output` is `structured`, `text`, or `auto`: structured where
    the model offers it. `requires_input` and `requires_reference` refuse cases without one.
    """

    instructions: str
    prompt: ChatPromptTemplate | PromptTemplate
    name: str
    output: OutputMode
    requires_input: bool
    requires_reference: bool


def known_options(judge: type[Any]) -> list[str]:
    """Return the names of what a judge of this package can be told besides its model."""
    told = inspect.signature(judge).parameters
    own = [name for name in told if name not in ("model", "model_options", "options")]
    return [*own, *(JudgeOptions.__annotations__ if "options" in told or issubclass(judge, ChatJudge) else ())]


class _Own(NamedTuple):
    """A model as one sample asks it, and what the reader of its result is to know of that."""

    model: Any
    warnings: tuple[str, ...]
    shaped: dict[tuple[str, str], Any]  # names of the answers -> the model made to call a tool


class ChatJudge(ABC):
    """What the judges of this package share.

    A prompt of the caller's own is a `ChatPromptTemplate`, or a `PromptTemplate` for one message, over any of
    `instructions`, `marks`, `answer_format`, `code`, `sections`, `input`, `output`, `output_b`, `reference`, `context`,
    `slot_a`, `slot_b`; it should name `answer_format`. `sections` announces the code of the case and shows its
    texts between marks, and `marks` says what marks are: where a prompt does not name `marks`, `sections`
    begins with it. Where it names neither `sections`
    nor `code`, `answer_format` announces the code. Without `answer_format` a text is read as another framework's is:
    a verdict alone on the last line, which ends no passage of six words or more copied from the case.
    """

    tested = TESTED
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
            told = ": a decision model is asked by DecisionJudge" if is_decision_model(model) else ""
            raise UsageError(f"{type(self).__name__} needs a chat model, not {type(model).__name__}{told}.")
        if output not in ("auto", "structured", "text"):
            raise UsageError(f"output is 'auto', 'structured' or 'text', not {output!r}.")
        self.model = model
        self.criteria: tuple[Criterion, ...] = tuple(criteria)
        self.instructions = options.get("instructions") or default_instructions
        self.prompt = chat_prompt(options.get("prompt") or _DEFAULT_PROMPT, _VARIABLES)
        self._fixed = template_texts(self.prompt)
        self.name = options.get("name") or type(self).__name__
        self.output: OutputMode = output
        self.requires_input = options.get("requires_input", False)
        self.requires_reference = options.get("requires_reference", False)
        self.options = CallOptions()
        self._ready: dict[Any, _Own] = {}
        self._output = Output(None if output == "auto" else output)

    @property
    def evaluation_name(self) -> str:
        """The name of the evaluation."""
        return self.name

    @property
    def identity(self) -> JudgeIdentity:
        """Model, parameters and prompt."""
        rubric = repr([(c.name, c.description, c.labels, c.scale) for c in self.criteria])
        formats = [self._answer_format(DEFAULT_SLOTS, structured=structured) for structured in (False, True)]
        prompts = (prompt_hash(self.prompt), self.instructions, MARKS, *formats, rubric)
        return JudgeIdentity(
            name=type(self).__name__,
            model=model_name(self.model),
            parameters={**model_parameters(self.model), "output": self.output},
            learned={"output": self._output.settled} if self.output == "auto" and self._output.settled else {},
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

    @property
    def lesson(self) -> Mapping[str, str] | None:
        """The mode, as rows tell it, for a copy of the judge; None until an answer has settled it."""
        if self.output != "auto":
            return {}
        return {_MODE: self._output.settled} if self._output.settled else None

    def learn(self, facts: Mapping[str, str | float]) -> None:
        """Go on in the mode in which an earlier answer was asked for, by the attributes of its row."""
        mode = facts.get(_MODE)
        if self._output.settled is None and mode in get_args(Mode):
            self._output.settled = cast("Mode", mode)

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the model once; twice where its first answer shows that it gives no structured output."""
        case = fitting_case(self, probe.case)
        slots = case.presentation.slot_names or DEFAULT_SLOTS
        own = self._model(namespace_of(probe))
        asked: dict[Mode, RunnableConfig] = {}  # each request is a run of its own

        async def structured() -> ModelAnswer:
            asked["structured"] = self.options.for_sample(probe)
            messages = self._messages(case, slots, structured=True)
            if slots not in own.shaped:
                own.shaped[slots] = self._with_schema(own.model, slots)
            return await answer_of(own.shaped[slots], messages, asked["structured"])

        async def text() -> ModelAnswer:
            asked["text"] = self.options.for_sample(probe)
            return await answer_of(own.model, self._messages(case, slots), asked["text"])

        answer, mode = await self._output.ask(structured, text)
        reading = await read_apart(answer.text, self._own, answer, mode, case, slots)
        return self._judgment(answer, reading, own.warnings, asked[mode])

    def _own(self, answer: ModelAnswer, mode: Mode, case: AnswerCase, slots: tuple[str, str]) -> Reading:
        """Return what the model says of its own: as arguments of the tool, or on the line that carries the code."""
        if mode == "structured":
            parsed = arguments_of(answer, self._schema(slots))
            return None if parsed is None else self._read_structured(parsed, slots)
        code = self._laid_out(case, slots).code if "answer_format" in self.prompt.input_variables else None
        said = last_line_of(answer.text, code=code, judged=case.all_texts())
        return self._read_text(said, slots, answer.text) if said else None

    def _model(self, namespace: str) -> _Own:
        """Return the model with its own cache entries, which gives one choice a call."""
        cache = active_cache(self.model)
        key = (id(cache), namespace if cache is not None else "")
        if key not in self._ready:
            own = isolated(self.model, namespace)
            warnings = [UNREACHABLE] if own is None else []
            if single_choice(innermost(self.model)) is not innermost(self.model):
                warnings.append(SEVERAL_CHOICES)
            self._ready[key] = _Own(self.model if own is None else own, tuple(warnings), {})
        return self._ready[key]

    def _with_schema(self, model: Any, slots: tuple[str, str]) -> Any:
        try:
            return with_tool(model, self._schema(slots))
        except NotImplementedError:
            if self.output == "structured":
                raise UsageError(f"{self.name}: the model calls no tools; use output='text'.") from None
            raise

    def _judgment(
        self, answer: ModelAnswer, reading: Reading, warnings: Sequence[str], config: RunnableConfig
    ) -> Judgment:
        names = [criterion.name for criterion in self.criteria]
        answers = [unusable for name in names if (unusable := answer.unusable(name)) is not None]
        answers = answers or list(reading or [Answer(criterion=name, outcome="unparsed") for name in names])
        told = {"run_id": str(config.get("run_id")), **(self.lesson or {})}
        return answer.judgment(answers, warnings=warnings, **told)

    def _laid_out(self, case: AnswerCase, slots: tuple[str, str]) -> Shown:
        """Return the case as it is shown, under a code that the rest of the prompt does not hold either."""
        told = (case.presentation.instructions or self.instructions, self._verdict_format(slots), *self._fixed)
        return shown(case, slots, told=told)

    def _answer_format(self, slots: tuple[str, str], *, structured: bool) -> str:
        return CALLED if structured else VERDICT_LINE.format(verdict=self._verdict_format(slots))

    def _messages(self, case: AnswerCase, slots: tuple[str, str], *, structured: bool = False) -> list[BaseMessage]:
        """Return what the model is told, by how it is to answer."""
        named = self.prompt.input_variables
        marks, sections, code = self._laid_out(case, slots)
        answer_format = self._answer_format(slots, structured=structured)
        if not structured and not {"sections", "code"} & set(named):
            answer_format = f"{answer_format}\n{announced(code)}"
        if "marks" not in named:
            sections = f"{marks}\n\n{sections}"
        variables = {
            "instructions": case.presentation.instructions or self.instructions,
            "marks": marks,
            "answer_format": answer_format,
            "code": code,
            "sections": sections,
            "input": case.input or "",
            "output": case.output,
            "output_b": case.output_b if isinstance(case, PairwiseCase) else "",
            "reference": case.reference or "",
            "context": case.context or "",
            "slot_a": slots[0],
            "slot_b": slots[1],
        }
        return self.prompt.format_messages(**variables)

    @abstractmethod
    def _schema(self, slots: tuple[str, str]) -> dict[str, Any]:
        """Return the JSON schema of a structured answer."""

    @abstractmethod
    def _verdict_format(self, slots: tuple[str, str]) -> str:
        """Return what stands in place of the verdict in a text."""

    @abstractmethod
    def _read_structured(self, parsed: Mapping[str, Any], slots: tuple[str, str]) -> Reading:
        """Return the answers of a structured output."""

    @abstractmethod
    def _read_text(self, said: str, slots: tuple[str, str], reasoning: str) -> Reading:
        """Return the answers of what the last line of a text says; the text holds the reasons."""
