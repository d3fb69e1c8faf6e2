"""ADK's LLM metrics, harnessed: evaluators that stand in for ADK's own, in its result types."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from google.adk.evaluation.eval_case import ConversationScenario, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.evaluator import EvaluationResult, Evaluator

from judgeharness_adk.invocations import InvocationCase
from judgeharness_adk.judges import MetricJudge
from judgeharness_adk.measuring import Judged, measure_invocations, observers
from judgeharness_adk.options import HarnessBlock, block_of, concurrency_of, harness_of
from judgeharness_adk.outcomes import Reporter, unmeasured
from judgeharness_adk.rationales import Sidecar
from judgeharness_adk.registrations import Registered, registered_for_this_agent
from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations._errors import JudgeHarnessError
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.verdictlog.plain import safe_text

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
