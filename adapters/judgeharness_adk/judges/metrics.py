"""ADK's metrics as core judges: rubrics, `hallucinations_v1`, and a judge of the user's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self, cast

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import (
    HallucinationsCriterion,
    LlmAsAJudgeCriterion,
    LlmBackedUserSimulatorCriterion,
    RubricsBasedCriterion,
)
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator
from google.adk.evaluation.hallucinations_v1 import EvaluationStep, HallucinationsV1Evaluator
from google.adk.evaluation.llm_as_judge import LlmAsJudge
from google.adk.evaluation.rubric_based_evaluator import RubricBasedEvaluator
from google.adk.evaluation.rubric_based_final_response_quality_v1 import RubricBasedFinalResponseQualityV1Evaluator
from google.adk.evaluation.rubric_based_multi_turn_trajectory_evaluator import RubricBasedMultiTurnTrajectoryEvaluator
from google.adk.evaluation.rubric_based_tool_use_quality_v1 import RubricBasedToolUseV1Evaluator
from google.adk.evaluation.simulation.per_turn_user_simulator_quality_v1 import PerTurnUserSimulatorQualityV1
from google.adk.evaluation.simulation.user_simulator_personas import UserPersona
from google.genai.types import Content, Part

from judgeharness_adk import _seams
from judgeharness_adk.invocations import (
    InvocationCase,
    Question,
    Shown,
    invocation_case,
    part_name,
    question_of,
    rewritten_scenario,
    user_text,
)
from judgeharness_adk.reading import read_rubrics, read_sentences, read_validity, split_sentences
from judgeharness_adk.reading.sentences import splitting_problem
from judgeharness_integrations._errors import CaseError, ConfigError
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe, text_hash

from .base import (
    LABELS,
    NOTHING_SAID,
    Ask,
    MetricJudge,
    NoQuestionsError,
    RubricDecider,
    Settled,
    Unready,
    criterion_of,
    shown_case,
)

_ORDERS_KEPT = 64
_HASHES_KEPT = 64
_hashes: dict[tuple[type, str], str] = {}  # judge, criterion -> hash of its prompt


class RubricJudge(MetricJudge[RubricsBasedCriterion]):
    """A judge that answers yes or no to every rubric of an invocation in one request.

    With a `decider` a decision model is asked instead of ADK's judge model, and probabilities stand in its rows.
    """

    criterion_kind = RubricsBasedCriterion
    decider: RubricDecider | None = None

    def _set_up(self) -> None:
        self.standing = tuple(question_of(rubric) for rubric in self.criterion.rubrics or ())
        self._criteria = tuple(criterion_of(question) for question in self.standing)
        self._evaluator = lru_cache(maxsize=_ORDERS_KEPT)(self._asking)  # each builds a model, which may be heavy
        ids = [question.id for question in self.standing]
        if doubled := {name for name in ids if ids.count(name) > 1}:
            raise ConfigError(f"metric {self.metric!r}: rubric id {min(doubled)!r} stands twice.")

    def decide_by(self, decider: RubricDecider) -> None:
        """Have a decision model answer; call it before anything is asked.

        Raises:
            UsageError: the metric has a prompt of its own, or the model cannot be made.

        """
        if self.hooks is not None:
            kind = self.evaluator.__qualname__
            raise ConfigError(
                f"a decision model is asked no prompt of {kind}'s own: leave out decisions, or take ADK's metric."
            )
        self.decider = decider
        self._deciding = decider.over(self._sample().questions)

    @property
    def supports(self) -> frozenset[str]:
        """The perturbations of its questions that fit it."""
        return frozenset() if self.decider is None else frozenset(getattr(self._deciding, "supports", ()))

    @property
    def retested(self) -> float | None:
        """The share of cases a decision model is asked once more; None of ADK's judge model."""
        return None if self.decider is None else getattr(self._deciding, "retested", None)

    @property
    def instructions(self) -> str | None:
        """How a decision model is asked a question; None of ADK's judge model, whose prompt is ADK's."""
        return None if self.decider is None else getattr(self._deciding, "instructions", None)

    def unchanged(self, needs: frozenset[str], case: Case) -> str | None:
        """Return why a decision model would be asked as before under a perturbation; None if it would not."""
        if self.decider is None or not isinstance(case, InvocationCase):
            return None
        deciding: Any = self.decider.over(case.questions)
        reason: str | None = deciding.unchanged(needs, self._shown_case(case))
        return reason

    @cached_property
    def _identity(self) -> JudgeIdentity:
        if self.decider is None or self._deciding.identity is None:
            return super()._identity
        own = self._deciding.identity
        asked = text_hash(
            f"{own.prompt_hash}{self._sample_prompt()}"
        )  # the questions, and what of ADK's stands in a state
        return replace(own, name=self.metric, prompt_hash=asked, parameters={**own.parameters, **self._settings()})

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the model once."""
        if self.decider is None:
            return await super().judge(probe)
        judged = self._shown_case(probe.case)
        return await self.decider.over(probe.case.questions).judge(replace(probe, case=judged))

    def _shown_case(self, case: InvocationCase) -> AnswerCase:
        return shown_case(case, json.loads(self._prompt_of(case)))

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """One a rubric of the criterion."""
        return self._criteria

    def _asked(self, case: InvocationCase) -> Mapping[str, Any]:
        """Return the rubrics shown; an invocation's own rubrics are criteria of that case alone."""
        evaluator = self._collecting
        try:
            evaluator.create_effective_rubrics_list(case.judged.rubrics)
        except ValueError as error:
            asked = self.standing or any(rubric.type == self._kind for rubric in case.judged.rubrics or ())
            kind = CaseError if asked else NoQuestionsError
            raise kind(f"metric {self.metric!r}, case {case.case_id!r}: {str(error).rstrip('.')}.") from error
        questions = tuple(question_of(rubric) for rubric in evaluator.get_effective_rubrics_list())
        known = {question.id for question in self.standing}
        own = tuple(criterion_of(question) for question in questions if question.id not in known)
        return {"questions": questions, "criteria": own}

    def _sample(self) -> InvocationCase:
        own = None if self.standing else [Question("-", "-", self._kind).rubric()]
        return cast(
            "InvocationCase",
            self.view(invocation_case([NOTHING_SAID.model_copy(update={"rubrics": own})], None, case_id="-")),
        )

    def _prompt_hash(self) -> str:
        """Return the hash of a prompt, which for ADK's own is made once a criterion: ADK makes a judge an eval case."""
        if self.hooks is not None:
            return super()._prompt_hash()
        key = (type(self), self.criterion.model_dump_json(fallback=repr))
        if key not in _hashes:
            _hashes[key] = super()._prompt_hash()
            if len(_hashes) > _HASHES_KEPT:
                del _hashes[next(iter(_hashes))]
        return _hashes[key]

    @property
    def _kind(self) -> str | None:
        """The type by which ADK tells the rubrics of an invocation that are this metric's."""
        return getattr(self.evaluator, "RUBRIC_TYPE", None)

    @cached_property
    def _collecting(self) -> RubricBasedEvaluator:
        """The evaluator that says which rubrics an invocation has."""
        return self._built(self.standing)

    def _built(self, questions: tuple[Question, ...]) -> RubricBasedEvaluator:
        make = cast("type[RubricBasedFinalResponseQualityV1Evaluator]", self.evaluator)
        return make(eval_metric=self.shown_to_adk(rubrics=[question.rubric() for question in questions]))

    def _asking(self, questions: tuple[Question, ...]) -> RubricBasedEvaluator:
        """Return an evaluator that asks about rubrics as they are, and in this order."""
        evaluator = self._built(questions)
        _seams.settle_rubrics(evaluator, [question.rubric() for question in questions])
        if self.decider is not None:
            _seams.show_parts(evaluator)
        return evaluator

    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt with the rubrics in the case's order."""
        # one for these questions alone: ADK's keeps the rubrics of the invocation it was given last
        evaluator = self.formatter(case)
        if self.last_only:
            _seams.show_conversation(evaluator, case.conversation)
        judged = case.judged if case.judged.rubrics is None else case.judged.model_copy(update={"rubrics": None})
        return evaluator.format_auto_rater_prompt(judged, case.expected)

    def formatter(self, case: InvocationCase) -> RubricBasedEvaluator:
        """Return the evaluator of the rubrics in the case's order."""
        return self._evaluator(case.questions)

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return one answer a rubric."""
        asked = [(question.id, question.text) for question in case.questions]
        return read_rubrics(text, asked, shown=case.all_texts())


class FinalResponseQualityJudge(RubricJudge):
    """`rubric_based_final_response_quality_v1`."""

    metric = "rubric_based_final_response_quality_v1"
    evaluator = RubricBasedFinalResponseQualityV1Evaluator


class ToolUseQualityJudge(RubricJudge):
    """`rubric_based_tool_use_quality_v1`, which shows the judge tool calls and no response."""

    metric = "rubric_based_tool_use_quality_v1"
    evaluator = RubricBasedToolUseV1Evaluator

    @property
    def shown(self) -> Shown:
        """Nothing the agent said."""
        return "nothing"


class TrajectoryQualityJudge(RubricJudge):
    """`rubric_based_multi_turn_trajectory_quality_v1`, which judges the last invocation in view of all."""

    metric = "rubric_based_multi_turn_trajectory_quality_v1"
    evaluator = RubricBasedMultiTurnTrajectoryEvaluator
    last_only = True

    @property
    def shown(self) -> Shown:
        """Everything the agent said."""
        return "spoken"


_CRITERION = "final_response_match"
_QUESTION = Question(_CRITERION, "The response says what the expected response says.")


class FinalResponseMatchJudge(MetricJudge[LlmAsAJudgeCriterion]):
    """`final_response_match_v2`, whose prompt shows response and reference side by side."""

    metric = "final_response_match_v2"
    evaluator = FinalResponseMatchV2Evaluator
    needs_expected = True

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The one question."""
        return (Criterion(name=_CRITERION, description=_QUESTION.text, labels=LABELS),)

    def _asked(self, case: InvocationCase) -> Mapping[str, Any]:
        """Return the one question, and whether its prompt can show the reference first."""
        del case
        return {"questions": (_QUESTION,), "swappable": self._swapped is not None}

    def _built(self) -> FinalResponseMatchV2Evaluator:
        make: Any = self.evaluator
        made: FinalResponseMatchV2Evaluator = make(eval_metric=self.shown_to_adk())
        return made

    @cached_property
    def _plain(self) -> FinalResponseMatchV2Evaluator:
        return self._built()

    @cached_property
    def _swapped(self) -> FinalResponseMatchV2Evaluator | None:
        """ADK's evaluator with the reference first; None when its prompt does not allow it."""
        evaluator = self._built()
        if not _seams.reference_first(evaluator):
            return None
        prompts = {one.format_auto_rater_prompt(NOTHING_SAID, NOTHING_SAID) for one in (self._plain, evaluator)}
        return evaluator if len(prompts) > 1 else None  # a subclass may have a prompt of its own

    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt, response and reference in the case's order."""
        return self.formatter(case).format_auto_rater_prompt(case.judged, case.expected)

    def formatter(self, case: InvocationCase) -> FinalResponseMatchV2Evaluator:
        """Return ADK's evaluator that shows response and reference in the case's order."""
        return self._swapped if case.reference_first and self._swapped else self._plain

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return the one answer."""
        return (read_validity(text, _CRITERION, shown=case.all_texts()),)


_PROMPTS = ("segmenter_prompt", "sentence_validator_prompt")


@dataclass(frozen=True, kw_only=True)
class SentencesCase(InvocationCase):
    """What the agent said at one step, sentence by sentence, and the context it must be supported by.

    The sentences are the judged texts. Changing one keeps its id.
    """

    context: str | None = None

    def texts(self) -> tuple[str, ...]:
        """Return the sentences."""
        return tuple(question.text for question in self.questions)

    def all_texts(self) -> tuple[str, ...]:
        """Return the sentences and the context."""
        return (*self.texts(), self.context or "")

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with every sentence changed."""
        return replace(self, questions=tuple(q._replace(text=change(q.text)) for q in self.questions))

    def with_all_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with sentences and context changed."""
        return replace(self.with_texts(change), context=change(self.context or ""))


class HallucinationsJudge(MetricJudge[HallucinationsCriterion]):
    """`hallucinations_v1`: sentences are segmented once, and each is a criterion of its own."""

    metric = "hallucinations_v1"
    evaluator = HallucinationsV1Evaluator
    pooled = "sentences"
    adk_only = "sentences that only adk's own evaluation segments"

    def _set_up(self) -> None:
        self._adk = HallucinationsV1Evaluator(self.shown_to_adk())

    def take_prompts(self, evaluator: HallucinationsV1Evaluator) -> None:
        """Ask with the prompts of an evaluator, which a class of the user's may have set."""
        for name in _PROMPTS:
            setattr(self._adk, name, getattr(evaluator, name, getattr(self._adk, name)))

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """None: the sentences of an invocation are questions about it alone."""
        return ()

    def _settings(self) -> dict[str, Any]:
        name = "evaluate_intermediate_nl_responses"
        return {"segmenter": self._adk.segmenter_prompt} | ({name: True} if getattr(self.criterion, name) else {})

    def _sample(self) -> InvocationCase:
        return SentencesCase(case_id="-", output="-", conversation=(), questions=(Question("1", "-"),), context="-")

    def view(self, case: Case) -> Any:
        """Return the case; its sentences must have been segmented before."""
        return case

    def fits(self, case: Case) -> str | None:
        """Return why a case cannot be judged, or None."""
        if isinstance(case, SentencesCase):
            return None
        return f"it judges {self.adk_only}"

    async def cases(self, case: InvocationCase, ask: Ask) -> list[InvocationCase | Unready | Settled]:
        """Return one case a step of the agent; the judge's model segments what was said, once."""
        steps = _seams.steps_of(self._adk, case.judged)
        return [
            await self._segmented(case, step, place if len(steps) > 1 else None, ask)
            for place, step in enumerate(steps, start=1)
        ]

    async def _segmented(
        self, case: InvocationCase, said: EvaluationStep, step: int | None, ask: Ask
    ) -> InvocationCase | Unready:
        reply = await ask(self._adk.segmenter_prompt.format(response=said.nl_response))
        sentences = () if isinstance(reply, Exception) else split_sentences(reply.text)
        if problem := splitting_problem(reply, sentences, said.nl_response):
            return Unready(f"the response could not be segmented ({problem})")
        mark = "" if step is None else f"step {step}, "
        questions = tuple(Question(f"{mark}sentence {n}", text) for n, text in enumerate(sentences, start=1))
        return SentencesCase(
            case_id=case.case_id if step is None else f"{case.case_id}#{step}",
            input=case.input,
            output=said.nl_response,
            names=case.names,
            conversation=(case.judged,),
            questions=questions,
            criteria=tuple(Criterion(name=q.id, description=q.text, labels=LABELS) for q in questions),
            context=said.context,
        )

    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt over the sentences in the case's order."""
        sentences = "\n".join(f"<sentence>{question.text}</sentence>" for question in case.questions)
        return self._adk.sentence_validator_prompt.format(context=case.context, sentences=sentences)

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return one answer a sentence."""
        asked = [(question.id, question.text) for question in case.questions]
        return read_sentences(text, asked, shown=case.all_texts())


_KNOWN: tuple[type[MetricJudge[Any]], ...] = (
    *(FinalResponseQualityJudge, ToolUseQualityJudge, TrajectoryQualityJudge, FinalResponseMatchJudge),
)
# what our readers read in the place of
ADK_READERS = (
    RubricBasedEvaluator.convert_auto_rater_response_to_score,
    FinalResponseMatchV2Evaluator.convert_auto_rater_response_to_score,
)


class ScoreJudge(MetricJudge[LlmAsAJudgeCriterion]):
    """An `LlmAsJudge` that gives an invocation one score."""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The one question, which goes by the metric's name."""
        return (Criterion(name=self.metric, labels=LABELS),)

    def _asked(self, case: InvocationCase) -> Mapping[str, Any]:
        """Return its one question."""
        del case
        return {"questions": (Question(self.metric, self.metric),)}

    def fits(self, case: Case) -> str | None:
        """Return why a case cannot be judged, or None."""
        if isinstance(case, InvocationCase) and case.expected is None and _seams.needs_expected(self._hooks):
            return "it compares with an expected response, which the case does not have"
        return super().fits(case)

    @cached_property
    def _hooks(self) -> LlmAsJudge[Any]:
        make: Any = self.evaluator
        made: LlmAsJudge[Any] = make(eval_metric=self.shown_to_adk())
        return made

    def formatter(self, case: InvocationCase) -> LlmAsJudge[Any]:
        """Return the user's evaluator."""
        del case
        return self._hooks

    def prompt(self, case: InvocationCase) -> str:
        """Return the user's prompt."""
        return self._hooks.format_auto_rater_prompt(case.judged, case.expected)

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return no verdict: the user's hook reads."""
        del text, case
        return (Answer(criterion=self.metric, outcome="unparsed"),)


def judge_for(metric: str, theirs: type[LlmAsJudge[Any]]) -> type[MetricJudge[Any]]:
    """Return the judge class of a metric whose evaluator is the user's."""
    known = [judge for judge in _KNOWN if issubclass(theirs, judge.evaluator)]
    rest = [RubricJudge] if issubclass(theirs, RubricBasedEvaluator) else [ScoreJudge]
    base: type[MetricJudge[Any]] = [*known, *rest][0]
    told = {"metric": metric, "evaluator": theirs, "__module__": __name__}
    made: Any = type(f"{theirs.__name__}Judge", (base,), told)
    judge: type[MetricJudge[Any]] = made
    return judge


_USER_CRITERION = "user_turn"
_END = "end"  # the part of the last invocation that is about the conversation's end
_USER_QUESTION = Question(_USER_CRITERION, "The simulated user keeps to the conversation plan.")
_ENDED = Question(part_name(_USER_CRITERION, _END), "After this turn the conversation ends, as its plan says.")
_KEY = "is_valid"
_NOTHING_PLANNED = ConversationScenario(starting_prompt="-", conversation_plan="-")
_NOBODY = UserPersona(id="-", description="-", behaviors=[])


@dataclass(frozen=True, kw_only=True)
class UserTurnCase(InvocationCase):
    """What the simulated user said last, after the conversation before it; at its end the stop signal, not changed."""

    def texts(self) -> tuple[str, ...]:
        """Return what the user said; nothing where it is the stop signal."""
        return () if self.part else (user_text(self.judged),)

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with what the user said last changed."""
        if self.part:
            return self
        said = self.judged.model_copy(deep=True)
        for part in said.user_content.parts or ():
            part.text = change(part.text) if part.text else part.text
        return replace(self, conversation=(*self.conversation[:-1], said), input=user_text(said))

    def with_all_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with every text changed but the stop signal, those of the plan too."""
        changed = super().with_all_texts(change)
        scenario = None if self.scenario is None else rewritten_scenario(self.scenario, change)
        said = (*changed.conversation[:-1], self.judged) if self.part else changed.conversation
        return replace(changed, conversation=said, scenario=scenario)


class UserSimulatorJudge(MetricJudge[LlmBackedUserSimulatorCriterion]):
    """`per_turn_user_simulator_quality_v1`: a turn of the simulated user is a case, its end one more.

    The first turn has to be the scenario's starting prompt, for which nobody is asked.
    """

    metric = "per_turn_user_simulator_quality_v1"
    evaluator = PerTurnUserSimulatorQualityV1
    criterion_kind = LlmBackedUserSimulatorCriterion
    conjunctive = True
    parts = (_END,)
    adk_only = "the turns of a simulated user beside their scenario, which only adk's own evaluation has"

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The one question."""
        return (Criterion(name=_USER_CRITERION, description=_USER_QUESTION.text, labels=LABELS),)

    def _set_up(self) -> None:
        self._adk = PerTurnUserSimulatorQualityV1(self.shown_to_adk())

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "stop_signal": self.criterion.stop_signal}

    def _sample_prompt(self) -> str:
        """Return both of ADK's prompts, without a persona and with one."""
        empty = invocation_case([NOTHING_SAID, NOTHING_SAID], case_id="-", scenario=_NOTHING_PLANNED)
        with_persona = _NOTHING_PLANNED.model_copy(update={"user_persona": _NOBODY})
        return "\n".join(self.prompt(one) for one in (empty, replace(empty, scenario=with_persona)))

    def view(self, case: Case) -> Any:
        """Return the case, which holds one turn already."""
        return case

    def fits(self, case: Case) -> str | None:
        """Return why a case cannot be judged, or None."""
        return None if isinstance(case, UserTurnCase) else f"it judges {self.adk_only}"

    async def cases(self, case: InvocationCase, ask: Ask) -> list[InvocationCase | Unready | Settled]:
        """Return the user's turn, and after the last one the question whether the conversation was to end there.

        Raises:
            CaseError: the eval case has no conversation scenario.

        """
        del ask
        if case.scenario is None:
            raise CaseError(
                f"metric {self.metric!r} judges a simulated user: give the eval case a conversation_scenario."
            )
        turn: InvocationCase | Settled
        turn = self._turn(case) if len(case.conversation) > 1 else _first(case, case.scenario)
        return [turn, self._turn(self._ended(case), part=_END)] if case.is_last else [turn]

    def _ended(self, case: InvocationCase) -> InvocationCase:
        """Return the conversation with the stop signal as the user's next words."""
        said = Content(role="user", parts=[Part(text=self.criterion.stop_signal)])
        stop = Invocation(invocation_id=case.judged.invocation_id, user_content=said)
        return replace(case, conversation=(*case.conversation, stop), case_id=f"{case.case_id}#{_END}")

    def _turn(self, case: InvocationCase, part: str = "") -> UserTurnCase:
        return UserTurnCase(
            case_id=case.case_id,
            input=user_text(case.judged),
            output=case.output,
            names=case.names,
            conversation=case.conversation,
            is_last=case.is_last,
            questions=(_ENDED if part else _USER_QUESTION,),
            scenario=case.scenario,
            part=part,
        )

    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt."""
        return _seams.user_turn_prompt(self._adk, case.conversation, cast("ConversationScenario", case.scenario))

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return the one answer."""
        return (read_validity(text, _USER_CRITERION, shown=case.all_texts(), key=_KEY),)


def _first(case: InvocationCase, scenario: ConversationScenario) -> Settled:
    """Return whether the user began as the scenario says, which ADK compares without asking."""
    same = _seams.content_text(case.judged.user_content).strip() == scenario.starting_prompt.strip()
    why = "the first turn is the starting prompt" if same else "the first turn is not the scenario's starting prompt"
    return Settled(_USER_CRITERION, passed=same, why=why)
