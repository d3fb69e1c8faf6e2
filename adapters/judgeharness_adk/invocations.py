"""An ADK invocation as a case, and ADK's JSON files as data and as its models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias, TypeVar

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation, InvocationEvents
from google.adk.evaluation.eval_result import EvalSetResult
from google.adk.evaluation.eval_rubrics import Rubric, RubricContent
from google.adk.evaluation.eval_set import EvalSet
from google.genai.types import Part
from pydantic import BaseModel, ValidationError

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.verdictlog.encoding import safe_text

from . import _seams

if TYPE_CHECKING:
    from os import PathLike

# What of the agent's words a prompt shows: the final responses, everything it said, or nothing.
Shown: TypeAlias = Literal["final", "spoken", "nothing"]

# The keys whose texts a judge reads, wherever they stand in an invocation; ids, authors and tool names keep theirs.
_READABLE = frozenset({"text", "args", "response", "instructions", "description", "text_property", "conversation_plan"})


class Question(NamedTuple):
    """One question of an invocation, in the order shown: its id, its text, and the type ADK filters rubrics by."""

    id: str
    text: str
    type: str | None = None

    def rubric(self) -> Rubric:
        """Return the question as ADK has it."""
        return Rubric(rubric_id=self.id, rubric_content=RubricContent(text_property=self.text), type=self.type)


def part_name(criterion: str, part: str) -> str:
    """Return what a criterion is called where it is about a part of an invocation."""
    return f"{criterion}.{part}"


def question_of(rubric: Rubric) -> Question:
    """Return a rubric as a question."""
    return Question(rubric.rubric_id, rubric.rubric_content.text_property or "", rubric.type)


@dataclass(frozen=True, kw_only=True)
class InvocationCase(AnswerCase):
    """The last invocation of a conversation; `is_last` when no invocation followed it.

    What a metric's prompt shows of it is filled in by the metric's judge: `questions` in the order shown, which of the
    agent's words are `shown`, whether response and reference stand side by side (`swappable`) and in which order
    (`reference_first`). `scenario` is what a simulated user was to do; `part` names what of the invocation this case is
    about, where it is not the whole.
    """

    conversation: tuple[Invocation, ...] = field(repr=False)
    expected: Invocation | None = field(default=None, repr=False)
    is_last: bool = True
    questions: tuple[Question, ...] = ()
    shown: Shown = "final"
    swappable: bool = False
    reference_first: bool = False
    scenario: ConversationScenario | None = field(default=None, repr=False)
    part: str = ""

    @property
    def judged(self) -> Invocation:
        """The judged invocation."""
        return self.conversation[-1]

    def texts(self) -> tuple[str, ...]:
        """Return the agent's words that the prompt shows."""
        return tuple(str(part.text) for turn in self.conversation for part in _spoken(turn, self.shown))

    def all_texts(self) -> tuple[str, ...]:
        """Return every text of the invocations, the expected one and the questions."""
        return self._every_text

    @cached_property
    def _every_text(self) -> tuple[str, ...]:
        found: list[str] = []
        for turn in (*self.conversation, *filter(None, (self.expected,))):
            _mapped(turn, lambda text: found.append(text) or text, readable=False)  # type: ignore[func-returns-value]
        if self.scenario is not None:
            rewritten_scenario(self.scenario, lambda text: found.append(text) or text)  # type: ignore[func-returns-value]
        return (*found, *(question.text for question in self.questions), *filter(None, (self.reference,)))

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with the agent's words changed where the prompt shows them."""
        turns = tuple(turn.model_copy(deep=True) for turn in self.conversation)
        for turn in turns:
            for part in _spoken(turn, self.shown):
                part.text = change(str(part.text))
        return replace(self, conversation=turns, output=answer_text(turns[-1]))

    def with_all_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with every text changed that the judge may be shown: tool calls and results too."""
        turns = tuple(_rewritten(turn, change) for turn in self.conversation)
        return replace(
            self,
            conversation=turns,
            expected=None if self.expected is None else _rewritten(self.expected, change),
            questions=tuple(question._replace(text=change(question.text)) for question in self.questions),
            input=user_text(turns[-1]),
            output=answer_text(turns[-1]),
            reference=None if self.reference is None else change(self.reference),
        )


def invocation_case(
    conversation: Sequence[Invocation],
    expected: Invocation | None = None,
    *,
    case_id: str,
    is_last: bool = True,
    names: Sequence[str] = (),
    scenario: ConversationScenario | None = None,
    attributes: Mapping[str, str | float] = MappingProxyType({}),
) -> InvocationCase:
    """Return the last of the given invocations as a case, before any metric has looked at it."""
    return InvocationCase(
        case_id=case_id,
        input=user_text(conversation[-1]),
        output=answer_text(conversation[-1]),
        reference=None if expected is None else answer_text(expected),
        names=tuple(names),
        attributes=attributes,
        conversation=tuple(conversation),
        expected=expected,
        is_last=is_last,
        scenario=scenario,
    )


def answer_text(invocation: Invocation) -> str:
    """Return the text of the final response, empty when there is none."""
    return "\n".join(str(part.text) for part in _spoken(invocation, "final"))


def user_text(invocation: Invocation) -> str:
    """Return what the user said."""
    return "\n".join(str(part.text) for part in _texts(invocation.user_content.parts))


def _spoken(invocation: Invocation, shown: Shown) -> Iterator[Part]:
    """Yield the parts of an invocation that hold the agent's words, in the order they were said.

    Thoughts are among them where ADK shows them to judges: people are to see what the judge sees.
    """
    if shown == "nothing":
        return
    data = invocation.intermediate_data
    if shown == "spoken" and isinstance(data, InvocationEvents):
        for event in data.invocation_events:
            yield from _texts(event.content.parts if event.content and event.author.lower() != "user" else None)
    elif shown == "spoken" and isinstance(data, IntermediateData):
        for _, parts in data.intermediate_responses:
            yield from _texts(parts)
    yield from _texts(invocation.final_response.parts if invocation.final_response else None)


def _texts(parts: Sequence[Part] | None) -> Iterator[Part]:
    return (part for part in parts or () if part.text and (not part.thought or _seams.shows_thoughts()))


def _rewritten(invocation: Invocation, change: Callable[[str], str]) -> Invocation:
    """Return an invocation with every readable text changed in its place: what is left alone prints as it did."""
    changed: Invocation = _mapped(invocation, change, readable=False)
    return changed


def rewritten_scenario(scenario: ConversationScenario, change: Callable[[str], str]) -> ConversationScenario:
    """Return a scenario with the texts changed that a judge reads: its plan, and what a persona is said to be like."""
    changed: ConversationScenario = _mapped(scenario, change, readable=False)
    return changed


def _mapped(value: Any, change: Callable[[str], str], *, readable: bool) -> Any:
    """Return a value with its readable texts changed; whatever holds none that changes is the value's own."""
    if isinstance(value, str):
        return value if not (readable and value) or (new := change(value)) == value else new
    if type(value) in (list, tuple):
        parts = [_mapped(part, change, readable=readable) for part in value]
        return value if all(map(is_, parts, value)) else type(value)(parts)
    if isinstance(value, BaseModel):
        held = vars(value) if value.__pydantic_extra__ is None else {**vars(value), **value.__pydantic_extra__}
        others = _changed(held, change, readable=readable)
        return value.model_copy(update=others) if others else value
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - the first is quick, and most are
        others = _changed(value, change, readable=readable)
        return {**value, **others} if others else value
    return value


def _changed(held: Mapping[str, Any], change: Callable[[str], str], *, readable: bool) -> dict[str, Any]:
    """Return what is another one of named values, changed, by its name."""
    found: dict[str, Any] = {}
    for name, part in held.items():
        open_ = readable or name in _READABLE
        if part is None or (type(part) is str and not open_):  # most fields of a part
            continue
        if (new := _mapped(part, change, readable=open_)) is not part:
            found[name] = new
    return found


M = TypeVar("M", bound=BaseModel)


def read_document(path: Path) -> Any:
    """Return what a file of ADK holds.

    Raises:
        CaseError: it cannot be read or is not JSON.

    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return json.loads(data) if isinstance(data, str) else data  # older versions of ADK wrote results encoded twice
    except (OSError, ValueError, RecursionError) as error:
        raise CaseError(f"{path}: cannot be read ({error}).") from error


def validated(model: type[M], data: Any, otherwise: str) -> M:
    """Return data as a model of ADK.

    Raises:
        CaseError: it is none; the message says `otherwise`, and the first problem.

    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise CaseError(f"{otherwise} ({safe_text(problem, 200)}).") from error
    except Exception as error:  # validators of google-genai's types fail in ways of their own
        raise CaseError(f"{otherwise} ({safe_text(f'{type(error).__name__}: {error}', 200)}).") from error


def read_eval_set(path: str | PathLike[str]) -> list[InvocationCase]:
    """Return the invocations of an eval set or of a result of `adk eval`, one case each.

    Of an eval set the recorded conversations are judged, and nothing is expected of them. Of a result
    (`*.evalset_result.json`) what the agent answered is judged, beside what was expected.

    Raises:
        CaseError: the file cannot be read, is neither, or holds no conversation.

    """
    data = read_document(Path(path))
    otherwise = f"{path}: is neither an ADK eval set nor a result of one"
    if isinstance(data, dict) and ("eval_case_results" in data or "evalCaseResults" in data):
        cases = list(_answered(validated(EvalSetResult, data, otherwise)))
    else:
        cases = list(_recorded(validated(EvalSet, data, otherwise)))
    if not cases:
        raise CaseError(f"{path}: holds no conversation to judge.")
    return cases


def _recorded(eval_set: EvalSet) -> Iterator[InvocationCase]:
    for eval_case in eval_set.eval_cases:
        conversation = [_with_rubrics(one, eval_case) for one in eval_case.conversation or ()]
        yield from _cases(conversation, [None] * len(conversation), eval_case.eval_id, eval_set_id=eval_set.eval_set_id)


def _with_rubrics(invocation: Invocation, eval_case: EvalCase) -> Invocation:
    rubrics = [*(eval_case.rubrics or ()), *(invocation.rubrics or ())]
    return invocation.model_copy(update={"rubrics": rubrics or None})


def _answered(eval_set: EvalSetResult) -> Iterator[InvocationCase]:
    runs: dict[str, int] = {}
    for result in eval_set.eval_case_results:
        run = runs[result.eval_id] = runs.get(result.eval_id, 0) + 1
        turns = result.eval_metric_result_per_invocation
        name = result.eval_id if run == 1 else f"{result.eval_id}, run {run}"
        yield from _cases(
            [turn.actual_invocation for turn in turns],
            [turn.expected_invocation for turn in turns],
            name,
            eval_set_id=eval_set.eval_set_id,
        )


def _cases(
    conversation: Sequence[Invocation], expected: Sequence[Invocation | None], name: str, **attributes: str
) -> Iterator[InvocationCase]:
    for place in range(len(conversation)):
        yield invocation_case(
            conversation[: place + 1],
            expected[place],
            case_id=f"{name}#{place + 1}",
            is_last=place == len(conversation) - 1,
            attributes={**attributes, "eval_id": name, "invocation_id": conversation[place].invocation_id},
        )
