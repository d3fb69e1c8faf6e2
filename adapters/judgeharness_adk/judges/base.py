"""What ADK's LLM metrics have in common as core judges: its own prompt, one request a sample, strict reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import (
    EvalMetric,
    HallucinationsCriterion,
    JudgeModelOptions,
    LlmAsAJudgeCriterion,
    RubricsBasedCriterion,
)
from google.adk.evaluation.evaluator import Evaluator
from google.genai.types import Content, Part
from pydantic import ValidationError

from judgeharness_adk.invocations import InvocationCase, Shown, invocation_case
from judgeharness_adk.models import JudgeModel
from judgeharness_adk.replies import Reply
from judgeharness_integrations._errors import CaseError, ConfigError
from judgeharness_integrations.cases import Case, Criterion
from judgeharness_integrations.judging import Answer, JudgeIdentity, Judgment, Probe, model_family, text_hash
from judgeharness_integrations.parsing import only_quotes

__all__ = ["LABELS", "NOTHING_SAID", "Ask", "MetricJudge", "NoQuestionsError", "Unready"]

Ask: TypeAlias = Callable[[str], Awaitable[Reply | Exception]]  # a prompt -> the model's reply, or what it raised

LABELS = ("PASS", "FAIL")
NOTHING_SAID = Invocation(user_content=Content(role="user", parts=[Part(text="-")]))
C = TypeVar("C", RubricsBasedCriterion, LlmAsAJudgeCriterion, HallucinationsCriterion)


class NoQuestionsError(CaseError):
    """An invocation about which a metric has nothing to ask."""


class Unready(NamedTuple):
    """Something that is to be judged, and why it cannot be."""

    why: str


class MetricJudge(ABC, Generic[C]):
    """One LLM metric of ADK with its configuration; a subclass says how its prompt is built and its answer read."""

    metric: ClassVar[str]
    evaluator: ClassVar[type[Evaluator]]
    last_only: ClassVar[bool] = False  # ADK judges the last invocation, in view of those before it
    needs_expected: ClassVar[bool] = False
    pooled: ClassVar[str | None] = None  # what its questions are called where they differ between invocations

    def __init__(self, eval_metric: EvalMetric, *, name: str | None = None) -> None:
        """Check the criterion as ADK does; nothing is asked.

        Raises:
            ConfigError: ADK refuses the criterion, or the judge model cannot be made.

        """
        self.name = name or self.metric
        self.eval_metric = eval_metric
        self.criterion: C = self._checked(eval_metric)
        self.model = JudgeModel(self.options.judge_model, self.options.judge_model_config)

    def _checked(self, eval_metric: EvalMetric) -> C:
        if eval_metric.criterion is None:
            raise ConfigError(f"metric {eval_metric.metric_name!r} needs a criterion with a threshold.")
        try:
            return cast("C", self.evaluator.criterion_type.model_validate(eval_metric.criterion.model_dump()))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]  # an input may be a secret
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(f"metric {eval_metric.metric_name!r}: {where} cannot be used ({first['msg']}).") from None

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
            prompt_hash=text_hash(self.prompt(self._sample())),
            family=model_family(self.model.name),
        )

    def _settings(self) -> Mapping[str, Any]:
        """Return what else of the criterion changes what the judge is shown."""
        name = "include_intermediate_responses_in_final"
        return {name: True} if self.criterion.include_intermediate_responses_in_final else {}

    def _sample(self) -> InvocationCase:
        return cast("InvocationCase", self.view(invocation_case([NOTHING_SAID], NOTHING_SAID, case_id="-")))

    @property
    @abstractmethod
    def criteria(self) -> tuple[Criterion, ...]:
        """The questions it answers about every invocation."""

    @property
    def shown(self) -> Shown:
        """Which of the agent's words its prompt shows."""
        return "spoken" if self.criterion.include_intermediate_responses_in_final else "final"

    def view(self, case: Case) -> Any:
        """Return the case as the prompt shows it; None when it is not this metric's to judge."""
        if not isinstance(case, InvocationCase):
            return case  # `fits` says why it cannot be judged
        if self.last_only:
            return replace(case, shown=self.shown) if case.is_last else None
        return replace(case, shown=self.shown, conversation=case.conversation[-1:])

    def fits(self, case: Case) -> str | None:
        """Return why a case cannot be judged, or None."""
        if not isinstance(case, InvocationCase):
            return f"it judges ADK invocations (cases: an .evalset.json), not a {type(case).__name__}"
        if self.needs_expected and case.expected is None:
            return "it compares with an expected response, which the case does not have"
        return None

    async def cases(self, case: InvocationCase, ask: Ask) -> list[InvocationCase | Unready]:
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
        reply = await self.model.ask(self.prompt(case))
        return Judgment(
            answers=self._answers(reply, case),
            raw=reply.text,
            model=reply.model,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
        )

    def _answers(self, reply: Reply, case: InvocationCase) -> tuple[Answer, ...]:
        """Return what a reply says of its own: a half one may end within a quotation of the agent."""
        if not reply.text:
            reason = f"the model gave no text ({reply.reason})"
        elif reply.cut:
            reason = "the token limit cut the answer off"
        elif only_quotes(reply.text, case.all_texts()):
            reason = "the answer only quotes what was judged"
        else:
            return self.read(reply.text, case)
        outcome: Literal["refused", "unparsed"] = "refused" if reply.refused else "unparsed"
        return tuple(Answer(criterion=a.criterion, outcome=outcome, reasoning=reason) for a in self.read(None, case))
