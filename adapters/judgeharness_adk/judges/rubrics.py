"""ADK's rubric metrics: one request answers yes or no to every rubric of an invocation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, cast

from google.adk.evaluation.eval_metrics import LlmAsAJudgeCriterion, RubricsBasedCriterion
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator
from google.adk.evaluation.rubric_based_evaluator import RubricBasedEvaluator
from google.adk.evaluation.rubric_based_final_response_quality_v1 import RubricBasedFinalResponseQualityV1Evaluator
from google.adk.evaluation.rubric_based_multi_turn_trajectory_evaluator import RubricBasedMultiTurnTrajectoryEvaluator
from google.adk.evaluation.rubric_based_tool_use_quality_v1 import RubricBasedToolUseV1Evaluator

from judgeharness_adk import _seams
from judgeharness_adk.invocations import InvocationCase, Question, Shown, invocation_case, question_of
from judgeharness_adk.judges.base import LABELS, NOTHING_SAID, MetricJudge, NoQuestionsError
from judgeharness_adk.reading import read_rubrics, read_validity
from judgeharness_integrations._errors import CaseError, ConfigError
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.judge import Answer

_ORDERS_KEPT = 64
_HASHES_KEPT = 64
_hashes: dict[tuple[type, str], str] = {}  # judge, criterion -> hash of its prompt


class RubricJudge(MetricJudge[RubricsBasedCriterion]):
    """A judge that answers yes or no to every rubric of an invocation in one request."""

    criterion_kind = RubricsBasedCriterion

    def _set_up(self) -> None:
        self.standing = tuple(question_of(rubric) for rubric in self.criterion.rubrics or ())
        self._criteria = tuple(_criterion(question) for question in self.standing)
        self._evaluator = lru_cache(maxsize=_ORDERS_KEPT)(self._asking)  # each builds a model, which may be heavy
        ids = [question.id for question in self.standing]
        if doubled := {name for name in ids if ids.count(name) > 1}:
            raise ConfigError(f"metric {self.metric!r}: rubric id {min(doubled)!r} stands twice.")

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
        own = tuple(_criterion(question) for question in questions if question.id not in known)
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


def _criterion(question: Question) -> Criterion:
    return Criterion(name=question.id, description=question.text, labels=LABELS)


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
