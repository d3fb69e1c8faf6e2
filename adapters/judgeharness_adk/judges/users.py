"""A judge of the user's, an `LlmAsJudge` of their own, through ADK's public hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import LlmAsAJudgeCriterion, LlmBackedUserSimulatorCriterion
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator
from google.adk.evaluation.llm_as_judge import LlmAsJudge
from google.adk.evaluation.rubric_based_evaluator import RubricBasedEvaluator
from google.adk.evaluation.simulation.per_turn_user_simulator_quality_v1 import PerTurnUserSimulatorQualityV1
from google.adk.evaluation.simulation.user_simulator_personas import UserPersona
from google.genai.types import Content, Part

from judgeharness_adk import _seams
from judgeharness_adk.invocations import (
    InvocationCase,
    Question,
    invocation_case,
    part_name,
    rewritten_scenario,
    user_text,
)
from judgeharness_adk.judges.base import LABELS, NOTHING_SAID, Ask, MetricJudge, Settled, Unready
from judgeharness_adk.judges.rubrics import (
    FinalResponseMatchJudge,
    FinalResponseQualityJudge,
    RubricJudge,
    ToolUseQualityJudge,
    TrajectoryQualityJudge,
)
from judgeharness_adk.reading import read_validity
from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.judging.cases import Case, Criterion
from judgeharness_integrations.judging.judge import Answer

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


_CRITERION = "user_turn"
_END = "end"  # the part of the last invocation that is about the conversation's end
_QUESTION = Question(_CRITERION, "The simulated user keeps to the conversation plan.")
_ENDED = Question(part_name(_CRITERION, _END), "After this turn the conversation ends, as its plan says.")
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
        return (Criterion(name=_CRITERION, description=_QUESTION.text, labels=LABELS),)

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
            questions=(_ENDED if part else _QUESTION,),
            scenario=case.scenario,
            part=part,
        )

    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt."""
        return _seams.user_turn_prompt(self._adk, case.conversation, cast("ConversationScenario", case.scenario))

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return the one answer."""
        return (read_validity(text, _CRITERION, shown=case.all_texts(), key=_KEY),)


def _first(case: InvocationCase, scenario: ConversationScenario) -> Settled:
    """Return whether the user began as the scenario says, which ADK compares without asking."""
    same = _seams.content_text(case.judged.user_content).strip() == scenario.starting_prompt.strip()
    why = "the first turn is the starting prompt" if same else "the first turn is not the scenario's starting prompt"
    return Settled(_CRITERION, passed=same, why=why)
