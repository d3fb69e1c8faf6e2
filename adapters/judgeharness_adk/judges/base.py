"""What ADK's LLM metrics have in common as core judges: its own prompt, one request a sample, strict reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar, cast

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import (
    BaseCriterion,
    EvalMetric,
    HallucinationsCriterion,
    JudgeModelOptions,
    LlmAsAJudgeCriterion,
    LlmBackedUserSimulatorCriterion,
    RubricsBasedCriterion,
)
from google.adk.evaluation.evaluator import Evaluator
from google.adk.evaluation.llm_as_judge import LlmAsJudge
from google.adk.models.base_llm import BaseLlm
from google.genai.types import Content, Part
from pydantic import ValidationError

from judgeharness_adk import _seams
from judgeharness_adk.invocations import InvocationCase, Question, Shown, invocation_case, part_name
from judgeharness_adk.models import Hooked, Hooks, JudgeModel, reread
from judgeharness_integrations._errors import CaseError, ConfigError
from judgeharness_integrations.judging.adapters import JudgeSpec, VersionRange, find_adapter
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion
from judgeharness_integrations.judging.execution.attempting import read_apart
from judgeharness_integrations.judging.judge import (
    Answer,
    Judge,
    JudgeIdentity,
    Judgment,
    Probe,
    model_family,
    text_hash,
)

Ask: TypeAlias = Callable[[str], Awaitable[ModelAnswer | Exception]]  # a prompt -> the model's reply, or what it raised

LABELS = ("PASS", "FAIL")
_PROMPTS_KEPT = 64  # cases whose samples are under way
NOTHING_SAID = Invocation(user_content=Content(role="user", parts=[Part(text="-")]))
C = TypeVar("C", RubricsBasedCriterion, LlmAsAJudgeCriterion, HallucinationsCriterion, LlmBackedUserSimulatorCriterion)


class NoQuestionsError(CaseError):
    """An invocation about which a metric has nothing to ask."""


class Unready(NamedTuple):
    """Something that is to be judged, and why it cannot be."""

    why: str


class Settled(NamedTuple):
    """What is decided of an invocation without asking: the question, whether it is fulfilled, and why."""

    id: str
    passed: bool
    why: str


class MetricJudge(ABC, Generic[C]):
    """One LLM metric of ADK with its configuration; a subclass says how its prompt is built and its answer read."""

    tested: ClassVar[Mapping[str, VersionRange]] = _seams.TESTED
    metric: ClassVar[str]
    evaluator: type[Evaluator]
    criterion_kind: ClassVar[type[BaseCriterion]] = LlmAsAJudgeCriterion  # where the evaluator does not name it
    last_only: ClassVar[bool] = False  # ADK judges the last invocation, in view of those before it
    needs_expected: ClassVar[bool] = False
    pooled: ClassVar[str | None] = None  # what its questions are called where they differ between invocations
    conjunctive: ClassVar[bool] = False  # an invocation counts as one: it passes if all that is asked of it does
    parts: ClassVar[tuple[str, ...]] = ()  # parts of an invocation that are measured by themselves
    adk_only: ClassVar[str | None] = None  # what it judges, where that exists inside ADK's own evaluation only

    def __init__(
        self,
        eval_metric: EvalMetric,
        *,
        name: str | None = None,
        hooks: Hooks | None = None,
        models: Mapping[str, BaseLlm] = MappingProxyType({}),
    ) -> None:
        """Check the criterion as ADK does; nothing is asked.

        Args:
            eval_metric: the metric with its criterion.
            name: what the judge is called; the metric's name when None.
            hooks: a class that formats the prompt in the place of ADK's own, and reads the answer if it says how.
            models: name -> model, of those that ADK does not resolve.

        Raises:
            ConfigError: ADK refuses the criterion, or the judge model cannot be made.

        """
        self.name = name or self.metric
        self.evaluator = hooks.evaluator if hooks else self.evaluator
        self.hooks = hooks
        self.eval_metric = eval_metric
        self._prompts: dict[int, tuple[InvocationCase, str]] = {}  # by identity: invocations have no hash
        self.criterion: C = self._checked(eval_metric)
        self._instance = models.get(self.options.judge_model)
        self.model = JudgeModel(self.options.judge_model, self.options.judge_model_config, instance=self._instance)
        self._set_up()

    def _set_up(self) -> None:
        """Check and prepare what else a metric needs, once its criterion is known."""

    def _checked(self, eval_metric: EvalMetric) -> C:
        if eval_metric.criterion is None:
            raise ConfigError(f"metric {eval_metric.metric_name!r} needs a criterion with a threshold.")
        try:
            return cast("C", self._kind_of_criterion().model_validate(eval_metric.criterion.model_dump()))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]  # an input may be a secret
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(f"metric {eval_metric.metric_name!r}: {where} cannot be used ({first['msg']}).") from None

    def _kind_of_criterion(self) -> type[BaseCriterion]:
        told = self.evaluator.criterion_type  # a class of the user's may tell its constructor alone
        return told if "judge_model_options" in told.model_fields else self.criterion_kind

    def shown_to_adk(self, **changes: Any) -> EvalMetric:
        """Return the metric for evaluators of ADK's that make prompts, and resolve a model they never ask."""
        if self._instance is not None:
            stand_in = self.options.model_copy(update={"judge_model": _seams.STAND_IN})
            changes["judge_model_options"] = stand_in
        return self.eval_metric.model_copy(update={"criterion": self.criterion.model_copy(update=changes)})

    @property
    def options(self) -> JudgeModelOptions:
        """ADK's options of the judge model."""
        return self.criterion.judge_model_options

    @property
    def identity(self) -> JudgeIdentity:
        """The metric, its model, and its prompt for an invocation that says nothing."""
        return self._identity

    @cached_property
    def _identity(self) -> JudgeIdentity:
        return JudgeIdentity(
            name=self.metric,
            model=self.model.name,
            parameters={**self.model.parameters, **self._settings()},
            prompt_hash=self._prompt_hash(),
            family=model_family(self.model.name),
        )

    def _prompt_hash(self) -> str:
        """Return the hash of its prompt for an invocation that says nothing."""
        return text_hash(self._sample_prompt())

    def _sample_prompt(self) -> str:
        try:
            return self.prompt(self._sample())
        except Exception:
            if self.hooks is None:
                raise
            # a hook that takes no invocation in which nothing was said
            return f"{self.evaluator.__module__}.{self.evaluator.__qualname__}"

    def _settings(self) -> Mapping[str, Any]:
        """Return what else of the criterion changes what the judge is shown."""
        name = "include_intermediate_responses_in_final"
        settings: dict[str, Any] = {name: True} if self.criterion.include_intermediate_responses_in_final else {}
        if self.hooks is not None and self.hooks.reads:
            settings["reader"] = f"{self.evaluator.__module__}.{self.evaluator.__qualname__}"
        return settings

    def _sample(self) -> InvocationCase:
        return cast("InvocationCase", self.view(invocation_case([NOTHING_SAID], NOTHING_SAID, case_id="-")))

    @property
    @abstractmethod
    def criteria(self) -> tuple[Criterion, ...]:
        """The questions it answers about every invocation."""

    @property
    def standing_names(self) -> tuple[str, ...]:
        """The names under which its questions are measured: about an invocation, and about parts of it."""
        names: tuple[str, ...] = tuple(criterion.name for criterion in self.criteria)
        return (*names, *(part_name(name, part) for part in self.parts for name in names))

    @property
    def shown(self) -> Shown:
        """Which of the agent's words its prompt shows."""
        return "spoken" if self.criterion.include_intermediate_responses_in_final else "final"

    def view(self, case: Case) -> Any:
        """Return the case as the prompt shows it; None when it is not this metric's to judge."""
        if not isinstance(case, InvocationCase):
            return case  # `fits` says why it cannot be judged
        if case.questions:
            return case  # as it was shown before
        if self.last_only and not case.is_last:
            return None
        turns = case.conversation if self.last_only else case.conversation[-1:]
        return replace(case, shown=self.shown, conversation=turns, **self._asked(case))

    def _asked(self, case: InvocationCase) -> Mapping[str, Any]:
        """Return the fields of a case that say what is asked about it."""
        del case
        return {}

    def fits(self, case: Case) -> str | None:
        """Return why a case cannot be judged, or None."""
        if not isinstance(case, InvocationCase):
            return f"it judges ADK invocations (cases: an .evalset.json), not a {type(case).__name__}"
        if self.needs_expected and case.expected is None:
            return "it compares with an expected response, which the case does not have"
        return None

    @property
    def asks_first(self) -> bool:
        """Whether it may have to ask its model what there is to judge."""
        return type(self).cases is not MetricJudge.cases

    async def cases(self, case: InvocationCase, ask: Ask) -> list[InvocationCase | Unready | Settled]:
        """Return what is to be judged of an invocation; a metric may have to `ask` its model what that is."""
        del ask
        return [] if (seen := self.view(case)) is None else [seen]

    @abstractmethod
    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt for a case."""

    @abstractmethod
    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return what an answer says about each question of a case."""

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the model once."""
        case = probe.case
        answer = await self.model.ask(self._prompt_of(case))
        read = await read_apart(answer.text, self._answers, answer, case)
        return answer.judgment(read.answers, adk_score=read.score)

    def _prompt_of(self, case: InvocationCase) -> str:
        """Return the prompt, which all samples of a case share as it was perturbed."""
        kept, prompt = self._prompts.pop(id(case), (None, ""))
        if kept is not case:
            prompt = self.prompt(case)
        self._prompts[id(case)] = case, prompt
        if len(self._prompts) > _PROMPTS_KEPT:
            del self._prompts[next(iter(self._prompts))]
        return prompt

    def _answers(self, answer: ModelAnswer, case: InvocationCase) -> Hooked:
        """Return what an answer says: nothing where it is a half one, which may end within a quotation of the agent."""
        hooked = self.hooks is not None and self.hooks.reads
        if answer.ending == "complete" and (answer.text or (hooked and answer.calls)):
            read = self.read(answer.text or None, case)
            return self._reread(answer, read, case) if hooked else Hooked(read, None)
        silent = Answer(outcome="unparsed", reasoning="the model gave no text")
        lost = (answer.unusable(a.criterion) or replace(silent, criterion=a.criterion) for a in self.read(None, case))
        return Hooked(tuple(lost), None)

    def _reread(self, answer: ModelAnswer, read: tuple[Answer, ...], case: InvocationCase) -> Hooked:
        threshold, evaluator = self.criterion.threshold, self.formatter(case)
        return reread(evaluator, answer, read, rubrics=self.by_rubric, threshold=threshold)

    @property
    def by_rubric(self) -> bool:
        """Whether ADK has a score for each of its questions."""
        return isinstance(self.criterion, RubricsBasedCriterion)

    def formatter(self, case: InvocationCase) -> LlmAsJudge[Any]:
        """Return the evaluator that formats a case's prompt, for metrics that ADK lets format it."""
        raise NotImplementedError


_ORDERS_KEPT = 64
_JUDGED = ("final_response", "tool_usage", "user_agent_dialogue")  # one of them is what a metric judges
_TASK, _RUBRICS = "user_input", frozenset({"rubrics", "properties"})


class RubricDecider:
    """A decision model by its name, as `openai:gpt-6-luna`; LangChain's adapter makes the judge over it.

    `options` are those of its client, such as `base_url` and `api_key`.
    """

    def __init__(self, name: str, options: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Keep name and options; nothing is made yet."""
        self.name, self.options = name, options
        self.over = lru_cache(maxsize=_ORDERS_KEPT)(self._over)  # each has a client

    def _over(self, questions: tuple[Question, ...]) -> Judge:
        """Return the judge that is asked these rubrics, in this order.

        Raises:
            UsageError: LangChain has no decision models, or the model cannot be made.

        """
        spec = JudgeSpec(
            name=self.name,
            evaluator="DecisionJudge",
            model=self.name,
            model_options=self.options,
            evaluator_options={"criteria": [criterion_of(question) for question in questions]},
        )
        return find_adapter("langchain").build_judge(spec)


def criterion_of(question: Question) -> Criterion:
    """Return a rubric as a criterion."""
    return Criterion(name=question.id, description=question.text, labels=LABELS)


def shown_case(case: InvocationCase, parts: Mapping[str, str]) -> AnswerCase:
    """Return what is judged of an invocation, by the names ADK's template has for the texts it shows a judge."""
    judged = next(name for name in _JUDGED if name in parts)
    others = [(name, text) for name, text in parts.items() if text and name not in {judged, _TASK, *_RUBRICS}]
    told = [f"{name.replace('_', ' ').capitalize()}:\n{text}" for name, text in others]
    return AnswerCase(
        case_id=case.case_id,
        input=parts.get(_TASK),
        output=parts[judged],
        context="\n\n".join(told) or None,
        presentation=case.presentation,
    )
