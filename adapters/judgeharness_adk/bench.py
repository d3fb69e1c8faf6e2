"""Two metrics of ADK on the bench of the conformance suite: one shows the judge a single text, one shows two."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from weakref import finalize

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.evaluation.evaluator import EvaluationResult
from google.adk.evaluation.evaluator import Evaluator as AdkEvaluator
from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai.types import Content, Part

from judgeharness_integrations.judging.adapterkit import Bench, Evaluator, HarnessedEvaluator, Native, Script
from judgeharness_integrations.judging.execution.observing import Span
from judgeharness_integrations.judging.harness import JudgeHarness

from .invocations import InvocationCase, invocation_case
from .judges import JUDGES, MetricJudge
from .measuring import observe, observers
from .outcomes import SUFFIX
from .registering import register

_MODEL = "judgeharness-bench"
_RUBRIC, _MATCH = "rubric_based_final_response_quality_v1", "final_response_match_v2"
_SIDECAR = "measurements"
_ID, _PROPERTY = "names_capital", "The answer names a capital."
_UNREADABLE = "I would rather not say."
_YES_NO, _VALIDITY = {"PASS": "yes", "FAIL": "no"}, {"PASS": "valid", "FAIL": "invalid"}
_VERDICTS = {1.0: "PASS", 0.0: "FAIL"}
_PRECISION = re.compile(r"\bprecision (\d\.\d+)")
_ASYNC_ONLY = {"running_loop": "ADK's evaluators have an async face only"}
_SINGLE = {"original_frame": "a rubric is about one response: there is no order of texts"}


class ScriptedLlm(BaseLlm):
    """A model of ADK's that says what the script of the evaluator made last says."""

    script: ClassVar[Script] = Script(["PASS"])

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the one name it goes by."""
        return [_MODEL]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer in the form the metric asks for."""
        del stream
        parts = [part for content in llm_request.contents for part in content.parts or ()]
        prompt = "\n".join(part.text for part in parts if part.text)
        text = _reply(await self.script.aask(prompt), match="is_the_agent_response_valid" in prompt)
        yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]))


def _reply(label: str, *, match: bool) -> str:
    if label not in _YES_NO:
        return _UNREADABLE
    if match:
        return json.dumps({"reasoning": "So it seems.", "is_the_agent_response_valid": _VALIDITY[label]})
    return f"ID: {_ID}\nProperty: {_PROPERTY}\nRationale: So it seems.\nVerdict: {_YES_NO[label]}"


class _Marks:
    """An observer that keeps which samples requests to the model belong to."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def begin(self, span: Span) -> None:
        """Keep the sample of a request."""
        if span.kind == "model" and span.parent is not None:
            self.seen.append((span.parent.facts["perturbation"], span.parent.facts["repetition"]))

    def end(self, span: Span) -> None:
        """Let it end."""


@dataclass(frozen=True, kw_only=True)
class _OnBench:
    """An evaluator of ADK, bare or in the place of one."""

    metric: EvalMetric
    evaluator: AdkEvaluator
    script: Script
    harness: JudgeHarness | None = None
    sidecar: Path = Path()

    @property
    def judge(self) -> MetricJudge[Any]:
        return JUDGES[self.metric.metric_name](self.metric)

    def case(self, first: str, second: str) -> InvocationCase:
        return invocation_case([_invocation(first)], _invocation(second), case_id="bench")

    def evaluate(self, first: str, second: str) -> Native:
        return asyncio.run(self.aevaluate(first, second))  # as `adk eval` does

    async def aevaluate(self, first: str, second: str) -> Native:
        ScriptedLlm.script = self.script
        with _watched(self.harness) as marks:
            result = await _awaited(self.evaluator, _invocation(first), _invocation(second))
        return self._native(result, marks)

    def _native(self, result: EvaluationResult, marks: _Marks) -> Native:
        [turn] = result.per_invocation_results
        row = turn.rubric_scores[0] if turn.rubric_scores else None
        plain: dict[str, Any] = {
            "overall_score": result.overall_score,
            "overall_eval_status": result.overall_eval_status.name,
            "score": turn.score,
            "eval_status": turn.eval_status.name,
        }
        if row is not None and row.rubric_id == _ID:  # the one of final_response_match_v2 is ours, for the rationale
            plain[f"rubric_scores.{_ID}"] = row.score
        score = turn.score if row is None else row.score
        stated = _PRECISION.search((row.rationale if row is not None else None) or "")
        return Native(
            answer=result.model_dump(mode="json"),
            plain=plain,
            verdict=None if score is None else _VERDICTS[score],
            document=None if self.harness is None else _last_line(self.sidecar)["result"],
            precision=None if stated is None else float(stated[1]),
            marks=tuple(marks.seen),
        )


async def _awaited(evaluator: AdkEvaluator, actual: Invocation, expected: Invocation) -> EvaluationResult:
    result: Any = evaluator.evaluate_invocations([actual], [expected])
    evaluated: EvaluationResult = await result
    return evaluated


@contextmanager
def _watched(harness: JudgeHarness | None) -> Iterator[_Marks]:
    """Have the harness's observers and one of ours watch every metric of the process."""
    marks, before = _Marks(), observers()
    observe(*((harness.observers if harness is not None else None) or ()), marks)
    try:
        yield marks
    finally:
        observe(*(before or ()))


def _last_line(directory: Path) -> dict[str, Any]:
    [file] = directory.glob(f"*{SUFFIX}")
    line: dict[str, Any] = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    return line


def _invocation(text: str) -> Invocation:
    asked = Content(role="user", parts=[Part(text="What is the capital of Norway?")])
    return Invocation(
        invocation_id="bench", user_content=asked, final_response=Content(role="model", parts=[Part(text=text)])
    )


def _metric(name: str, **extra: Any) -> EvalMetric:
    """Return a metric as `test_config.json` sets it."""
    criterion: dict[str, Any] = {"threshold": 1.0, "judge_model_options": {"judge_model": _MODEL, "num_samples": 1}}
    if name == _RUBRIC:
        criterion["rubrics"] = [{"rubric_id": _ID, "rubric_content": {"text_property": _PROPERTY}}]
    return EvalMetric(metric_name=name, threshold=1.0, criterion=BaseCriterion.model_validate(criterion | extra))


def _block(harness: JudgeHarness, directory: Path) -> dict[str, Any]:
    """Return a harness as the `judge_harness` block of a criterion; the calibration goes to a file."""
    block: dict[str, Any] = {
        "perturbations": list(harness.design.perturbations),
        "repetitions": harness.design.repetitions,
        "aggregation_rule": harness.design.rule.name,
        "max_attempts": harness.policy.max_attempts,
        "max_concurrency": getattr(harness.executor, "max_concurrency", None),
        "sidecar": _SIDECAR,
    }
    if harness.calibration is not None:
        block["calibration"] = harness.calibration.save(directory / "calibration.json").name
    return block


def _bench(name: str, **options: Any) -> Bench:
    def harnessed(script: Script, harness: JudgeHarness) -> HarnessedEvaluator:
        ScriptedLlm.script = script
        directory = TemporaryDirectory(prefix="judgeharness-bench-")
        path = Path(directory.name)
        sidecar = path / _SIDECAR
        sidecar.mkdir()
        metric = _metric(name, judge_harness=_block(harness, path))
        register(registry := DEFAULT_METRIC_EVALUATOR_REGISTRY.fork(), folder=path)
        evaluator = registry.get_evaluator(metric)
        made = _OnBench(metric=metric, evaluator=evaluator, script=script, harness=harness, sidecar=sidecar)
        finalize(made, directory.cleanup)
        return made

    def bare(script: Script) -> Evaluator:
        metric = _metric(name)
        make: Any = JUDGES[name].evaluator
        return _OnBench(metric=metric, evaluator=make(eval_metric=metric), script=script)

    return Bench(name=name, pairwise=False, harnessed=harnessed, bare=bare, **options)


def benches() -> list[Bench]:
    """Return a rubric metric, and the one whose prompt shows response and reference side by side."""
    LLMRegistry.register(ScriptedLlm)
    return [
        _bench(_RUBRIC, perturbation="format_change", opted_out=_ASYNC_ONLY | _SINGLE),
        _bench(_MATCH, opted_out=_ASYNC_ONLY),
    ]
