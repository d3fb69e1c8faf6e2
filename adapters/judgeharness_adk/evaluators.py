"""ADK's LLM metrics, harnessed: evaluators that stand in for ADK's own, each a subclass of the one it replaces."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from google.adk.evaluation.eval_case import ConversationScenario, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator
from google.adk.evaluation.hallucinations_v1 import HallucinationsV1Evaluator
from google.adk.evaluation.llm_as_judge import AutoRaterScore, LlmAsJudge
from google.adk.evaluation.rubric_based_final_response_quality_v1 import RubricBasedFinalResponseQualityV1Evaluator
from google.adk.evaluation.rubric_based_multi_turn_trajectory_evaluator import RubricBasedMultiTurnTrajectoryEvaluator
from google.adk.evaluation.rubric_based_tool_use_quality_v1 import RubricBasedToolUseV1Evaluator
from google.adk.evaluation.simulation.per_turn_user_simulator_quality_v1 import PerTurnUserSimulatorQualityV1
from google.adk.models.llm_response import LlmResponse

from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations._errors import JudgeHarnessError
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.verdictlog.encoding import safe_text

from . import _seams
from .invocations import InvocationCase
from .judges import JUDGES, MetricJudge
from .judges.metrics import ADK_READERS, HallucinationsJudge, judge_for
from .measuring import Judged, measure_invocations, observers
from .models import Hooks, Measured, Reply, samples_of
from .options import (
    HarnessBlock,
    Registered,
    block_of,
    concurrency_of,
    decide_by,
    harness_of,
    registered_for_this_agent,
)
from .outcomes import Reporter, Sidecar, unmeasured

_LOGGER = logging.getLogger("judgeharness_adk")
_LISTED = 10  # undecided questions that one line of the log names


class HarnessedEvaluator(Evaluator):
    """One metric of ADK, measured by a `JudgeHarness` as its criterion's `judge_harness` block says.

    ADK makes one for each metric and eval case. A metric that cannot be measured fails with the sentence that says
    why: ADK would swallow an exception, and let the case pass beside another metric.
    """

    judge: ClassVar[type[MetricJudge[Any]]]

    def __init__(self, eval_metric: EvalMetric) -> None:
        """Keep the metric, and set up what is ADK's; all else happens when there are invocations."""
        self._eval_metric = eval_metric
        start: Any = super().__init__
        try:
            start(self._told_adk())
        except Exception as error:  # noqa: BLE001 - the evaluation fails with the sentence; ADK swallows what is raised
            _LOGGER.debug("metric %s is not set up as ADK's: %s", eval_metric.metric_name, error)
        self._eval_metric = eval_metric

    def _told_adk(self) -> EvalMetric:
        """Return the metric as ADK's constructor takes it, which resolves a model by name."""
        models = self.registered().models
        return self.judge(self._eval_metric, models=models).shown_to_adk() if models else self._eval_metric

    @staticmethod
    def registered() -> Registered:
        """Return what the block may name besides what is built in."""
        return registered_for_this_agent()

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Measure the invocations of one eval case."""
        name = self._eval_metric.metric_name
        try:
            return await self._evaluated(actual_invocations, expected_invocations, conversation_scenario)
        except JudgeHarnessError as error:
            sentence = _with_turns(str(error), actual_invocations)
            _LOGGER.error("metric %s was not measured: %s", name, sentence)  # noqa: TRY400 - the sentence says it all
        except Exception as error:
            sentence = f"{type(error).__name__}: {error}"
            _LOGGER.exception("metric %s was not measured", name)
        return unmeasured(name, actual_invocations, expected_invocations, sentence)

    async def _evaluated(
        self, actual: list[Invocation], expected: list[Invocation] | None, scenario: ConversationScenario | None
    ) -> EvaluationResult:
        metric = self._eval_metric
        judge = self._made()
        block = block_of(judge.criterion, metric=metric.metric_name)
        own = self.registered()
        if block.decisions is not None:
            decide_by(judge, own.decider(block.decisions))
        harness = harness_of(block, judge.options, own=own, observers=observers())
        kept = None if block.sidecar is False else self._sidecar(judge, harness, own.directory(block.sidecar))
        judged = await measure_invocations(
            judge,
            harness,
            actual,
            expected,
            keep=partial(_keep, sidecar=kept, judge=judge, texts=harness.keep == "text"),
            names=block.names,
            concurrency=concurrency_of(block, judge.options),
            scenario=scenario,
        )
        reporter = Reporter(
            threshold=judge.criterion.threshold,
            block=block,
            standing=frozenset(judge.standing_names),
            pooled=judge.pooled,
            balanced=judge.pooled is not None,
            conjunctive=judge.conjunctive,
        )
        _warn(metric.metric_name, judged, block)
        return self._finished(judge, judged, reporter.result(judged, actual, expected))

    def _made(self) -> MetricJudge[Any]:
        return self.judge(self._eval_metric, models=self.registered().models)

    def _finished(self, judge: MetricJudge[Any], judged: Sequence[Judged], told: EvaluationResult) -> EvaluationResult:
        del judge, judged
        return told

    def _sidecar(self, judge: MetricJudge[Any], harness: JudgeHarness, directory: Path) -> Sidecar:
        return Sidecar(
            directory,
            metric=self._eval_metric.metric_name,
            standing=judge.standing_names,
            parts=fingerprint_parts(judge, harness.design),
        )


def _keep(
    judged: Judged,
    case: InvocationCase,
    result: HarnessResult,
    *,
    sidecar: Sidecar | None,
    judge: MetricJudge[Any],
    texts: bool,
) -> None:
    """Keep a measurement, with the texts that were judged where these may be kept."""
    if sidecar is None:
        return
    asked = [question for question in case.questions if texts or judge.pooled is None]  # the agent's own words
    sidecar.keep(
        result,
        invocation_id=judged.invocation_id,
        rubrics={question.id: question.text for question in asked},
        preparation=judged.preparation if case is judged.cases[0] else None,
        **({"input": case.input, "output": case.output} if texts else {}),
    )


def _warn(metric: str, judged: Sequence[Judged], block: HarnessBlock) -> None:
    """Say in the log what came to no decision: plain `adk eval` and AgentEvaluator print no rationales.

    What errors say stays out of it: it may repeat a prompt.
    """
    undecided = [
        f"turn {place} {text}"
        for place, one in enumerate(judged, start=1)
        for text in (*_undecided(one.results), *("not graded" for _ in one.problems))
    ]
    if not undecided:
        return
    more = [f"and {len(undecided) - _LISTED} more"] if len(undecided) > _LISTED else []
    passing = "" if block.on_abstain == "fail" else f"; with on_abstain={block.on_abstain} the case can still pass"
    _LOGGER.warning(
        "metric %s came to no decision: %s (why, say the rationales: --print_detailed_results, or load_results)%s",
        *(metric, "; ".join([*undecided[:_LISTED], *more]), passing),
    )


def _undecided(results: Sequence[HarnessResult]) -> Iterator[str]:
    for result in results:
        for name, measured in result.criteria.items():
            if measured.status != "decided":
                kinds = Counter(
                    row.error_kind or row.outcome for row in result.rows if row.criterion == name and not row.ok
                )
                failed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
                if unasked := measured.planned - sum(measured.outcomes.values()):
                    failed = ", ".join(filter(None, (failed, f"{unasked} not asked,")))
                yield safe_text(f"{name} {measured.status}" + (f" ({failed} of {measured.planned})" if failed else ""))


def _with_turns(sentence: str, actual: Sequence[Invocation]) -> str:
    """Return a sentence with turns in the place of ADK's ids, which are new in every run."""
    for place, invocation in enumerate(actual, start=1):
        if invocation.invocation_id:
            sentence = sentence.replace(f"case {invocation.invocation_id!r}", f"turn {place}")
    return sentence


class HarnessedLlmAsJudge(HarnessedEvaluator, LlmAsJudge[Any]):
    """A harnessed metric with the public hooks of ADK's `LlmAsJudge`, for subclasses.

    A subclass that overrides `format_auto_rater_prompt` is asked for every prompt, one that overrides
    `convert_auto_rater_response_to_score` for every answer that came to its end. `aggregate_per_invocation_samples` and
    `aggregate_invocation_results` have the last word; what they return in this class is the harness's decision.
    """

    # what the hooks that aggregate were given last, and the harness's decision about it
    _samples: Measured[PerInvocationResult] | None = None
    _turns: Measured[EvaluationResult] | None = None

    def convert_auto_rater_response_to_score(self, auto_rater_response: LlmResponse) -> AutoRaterScore:
        """Return what our reader made of an answer during an evaluation; elsewhere, what ADK reads in it."""
        read = auto_rater_response.read if isinstance(auto_rater_response, Reply) else None
        return self._adks.convert_auto_rater_response_to_score(auto_rater_response) if read is None else read

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """Return the harness's decision about an invocation; of other samples, what ADK makes of them."""
        given = per_invocation_samples
        decided = self._samples.of(given) if self._samples else None
        return self._adks.aggregate_per_invocation_samples(list(given)) if decided is None else decided

    def aggregate_invocation_results(self, per_invocation_results: list[PerInvocationResult]) -> EvaluationResult:
        """Return the harness's result of a metric; of other invocations, what ADK makes of them."""
        given = per_invocation_results
        decided = self._turns.of(given) if self._turns else None
        return self._adks.aggregate_invocation_results(list(given)) if decided is None else decided

    @property
    def _adks(self) -> Any:
        """The hooks behind ours."""
        return super(HarnessedEvaluator, self)

    def _made(self) -> MetricJudge[Any]:
        return self.judge(self._eval_metric, hooks=self._hooks(), models=self.registered().models)

    def _hooks(self) -> Hooks | None:
        kind = type(self)
        if "judge" in vars(kind):  # each class of ours names its judge
            return None
        own = HarnessedLlmAsJudge.convert_auto_rater_response_to_score
        return Hooks(kind, kind.convert_auto_rater_response_to_score is not own)

    def _finished(self, judge: MetricJudge[Any], judged: Sequence[Judged], told: EvaluationResult) -> EvaluationResult:
        turns = told.per_invocation_results
        own = type(self).aggregate_per_invocation_samples
        if own is not HarnessedLlmAsJudge.aggregate_per_invocation_samples:
            turns = [self._folded(judge, one, turn) for one, turn in zip(judged, turns, strict=True)]
        self._turns = Measured(given=tuple(told.per_invocation_results), decided=told)
        result = self.aggregate_invocation_results(list(turns))
        return _filled(result, told, "overall_rubric_scores", "overall_token_usage_details")

    def _folded(self, judge: MetricJudge[Any], one: Judged, told: PerInvocationResult) -> PerInvocationResult:
        samples = list(samples_of(one.results, told, judge.criterion.threshold, rubrics=judge.by_rubric))
        if not samples:
            return told
        self._samples = Measured(given=tuple(samples), decided=told)
        result = self.aggregate_per_invocation_samples(samples)
        why = () if judge.by_rubric else ("rubric_scores",)  # a sample of one score has no row that says why
        return _filled(result, told, "token_usage_details", *why)


R = TypeVar("R", PerInvocationResult, EvaluationResult)


def _filled(result: R, told: R, *names: str) -> R:
    """Return what a hook made, with what it left empty of why it is so and at what cost."""
    missing = {name: getattr(told, name) for name in names if getattr(result, name, told) is None}
    return result.model_copy(update=missing) if missing and result is not told else result


class HarnessedRubricBasedFinalResponseQualityV1Evaluator(
    HarnessedLlmAsJudge, RubricBasedFinalResponseQualityV1Evaluator
):
    """`rubric_based_final_response_quality_v1`, harnessed."""

    judge = JUDGES["rubric_based_final_response_quality_v1"]


class HarnessedRubricBasedToolUseV1Evaluator(HarnessedLlmAsJudge, RubricBasedToolUseV1Evaluator):
    """`rubric_based_tool_use_quality_v1`, harnessed."""

    judge = JUDGES["rubric_based_tool_use_quality_v1"]


class HarnessedRubricBasedMultiTurnTrajectoryEvaluator(HarnessedLlmAsJudge, RubricBasedMultiTurnTrajectoryEvaluator):
    """`rubric_based_multi_turn_trajectory_quality_v1`, harnessed."""

    judge = JUDGES["rubric_based_multi_turn_trajectory_quality_v1"]


class HarnessedFinalResponseMatchV2Evaluator(  # pyright: ignore[reportIncompatibleMethodOverride] - ADK renames a parameter
    HarnessedLlmAsJudge, FinalResponseMatchV2Evaluator
):
    """`final_response_match_v2`, harnessed."""

    judge = JUDGES["final_response_match_v2"]


class HarnessedHallucinationsV1Evaluator(HarnessedEvaluator, HallucinationsV1Evaluator):
    """`hallucinations_v1`, harnessed, with the prompts a subclass sets; ADK's own has no public hooks."""

    judge = JUDGES["hallucinations_v1"]

    def _made(self) -> MetricJudge[Any]:
        judge = super()._made()
        if isinstance(judge, HallucinationsJudge):
            judge.take_prompts(self)
        return judge


class HarnessedPerTurnUserSimulatorQualityV1(HarnessedEvaluator, PerTurnUserSimulatorQualityV1):
    """`per_turn_user_simulator_quality_v1`, harnessed; ADK's own has no public hooks."""

    judge = JUDGES["per_turn_user_simulator_quality_v1"]


# ADK's name of a metric -> the evaluator that measures it
EVALUATORS: Mapping[str, type[HarnessedEvaluator]] = MappingProxyType(
    {
        one.judge.metric: one
        for one in (
            HarnessedRubricBasedFinalResponseQualityV1Evaluator,
            HarnessedRubricBasedToolUseV1Evaluator,
            HarnessedRubricBasedMultiTurnTrajectoryEvaluator,
            HarnessedFinalResponseMatchV2Evaluator,
            HarnessedHallucinationsV1Evaluator,
            HarnessedPerTurnUserSimulatorQualityV1,
        )
    }
)


class _HarnessedUsers(HarnessedLlmAsJudge):
    """An `LlmAsJudge` of the user's, asked and read through its hooks; where there is a decision, it says the score."""

    theirs: ClassVar[type[LlmAsJudge[Any]]]

    def _hooks(self) -> Hooks:
        reads = self.theirs.convert_auto_rater_response_to_score not in ADK_READERS
        return Hooks(self.theirs, reads or _seams.parses_itself(self))

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """Return what the user's class makes of the samples, unless the harness came to no decision."""
        given, own = per_invocation_samples, self.theirs.aggregate_per_invocation_samples
        told = self._samples.of(given) if self._samples else None
        theirs = not _adks(own) or _seams.aggregates_itself(self)
        if told is not None and (not theirs or any(row.score is None for row in told.rubric_scores or ())):
            return told
        result = own(self, list(given))
        rows = told.rubric_scores if told is not None else None
        return result if rows is None else result.model_copy(update={"rubric_scores": rows})

    def aggregate_invocation_results(self, per_invocation_results: list[PerInvocationResult]) -> EvaluationResult:
        """Return what the user's class makes of the invocations."""
        given, own = per_invocation_results, self.theirs.aggregate_invocation_results
        told = self._turns.of(given) if self._turns else None
        theirs = not _adks(own) or _seams.summarizes_itself(self)
        return own(self, list(given)) if told is None or theirs else told


def _adks(hook: Callable[..., Any]) -> bool:
    return hook.__module__.startswith("google.adk.")


def harnessed(
    metric: str, theirs: type[LlmAsJudge[Any]], registered: Callable[[], Registered] = registered_for_this_agent
) -> type[HarnessedEvaluator]:
    """Return the evaluator class that harnesses one of the user's.

    Args:
        metric: the name it is registered under.
        theirs: the class.
        registered: what blocks may name besides what is built in.

    """
    judge = judge_for(metric, theirs)
    facts = {
        "judge": judge,
        "theirs": theirs,
        "registered": staticmethod(registered),
        "__doc__": f"`{metric}`, harnessed.",
        "__module__": __name__,
    }
    return type(f"Harnessed{theirs.__name__}", (_HarnessedUsers, theirs), facts)


def evaluator_of(
    ours: type[HarnessedEvaluator], registered: Callable[[], Registered] = registered_for_this_agent
) -> type[HarnessedEvaluator]:
    """Return an evaluator class whose blocks may name what is registered; ADK asks for classes.

    Args:
        ours: the class, one of ours or a subclass; one that this function made before is taken for what it was made of.
        registered: what blocks may name besides what is built in.

    """
    kind: type[HarnessedEvaluator] = vars(ours).get("_made_of", ours)
    names = ("__doc__", "__module__", "__qualname__", *(("judge",) if "judge" in vars(kind) else ()))
    facts = {name: getattr(kind, name) for name in names}
    return type(kind.__name__, (kind,), facts | {"registered": staticmethod(registered), "_made_of": kind})
