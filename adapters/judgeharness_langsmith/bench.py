"""The evaluators of `evaluate`, `aevaluate` and `evaluate_comparative` on the bench of the conformance suite."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from langsmith import Client
from langsmith.evaluation import EvaluationResult, EvaluationResults, RunEvaluator
from langsmith.evaluation.evaluator import ComparisonEvaluationResult, DynamicRunEvaluator
from langsmith.run_helpers import tracing_context
from langsmith.schemas import Example, Run

from judgeharness_integrations.judging.adapterkit import GARBAGE, Bench, Evaluator, HarnessedEvaluator, Native, Script
from judgeharness_integrations.judging.cases import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import JudgeIdentity, Judgment, Probe, as_judgment

from .evaluating import HarnessComparative, HarnessRunEvaluator, harness_comparative

_KEY = "right"
_QUESTION = "What is the capital of Norway?"
_IDS = (UUID(int=1), UUID(int=2))  # of the runs, and of their experiments
_MOMENT = datetime(2025, 1, 1, tzinfo=UTC)
_VERDICTS = {True: "PASS", False: "FAIL"}
_PREFERENCES = {(1.0, 0.0): "A", (0.0, 1.0): "B", (0.5, 0.5): "TIE"}
_PRECISION = re.compile(r"\bprecision (\d\.\d+)")
_IDENTITY = JudgeIdentity(name="bench", model="judgeharness-bench")
_SINGLE = {"original_frame": "one run is judged: there is no order of answers"}
_COMPARING = {
    "cancellation": "LangSmith compares in threads: a comparative evaluator has a sync face only",
    "equality_with_bare": "LangSmith brings no comparative judge to compare with",
}


class _Recorder(Client):
    """A client that keeps which samples it is told of, and sends nothing."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1", api_key="bench", auto_batch_tracing=False)
        self.seen: list[tuple[str, int]] = []

    def create_run(self, name: str, *_: Any, **run: Any) -> None:
        """Keep a sample."""
        told = run["extra"]["metadata"]
        if name == f"sample[{told.get('perturbation')}#{told.get('repetition')}]":
            self.seen.append((told["perturbation"], told["repetition"]))

    def update_run(self, *_: Any, **__: Any) -> None:
        """Let a run end."""


@contextmanager
def _traced() -> Iterator[list[tuple[str, int]]]:
    """Trace to nobody, and keep the samples traced."""
    recorder = _Recorder()
    with tracing_context(enabled=True, client=recorder, project_name="bench"):
        yield recorder.seen


@dataclass(frozen=True, kw_only=True)
class _ScriptedJudge:
    """A judge of the caller's own: it asks the script about the texts, in their order."""

    script: Script
    pairwise: bool
    name: str = "bench"
    identity: JudgeIdentity = _IDENTITY

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return (Criterion(name=_KEY, labels=("A", "B", "TIE") if self.pairwise else ("PASS", "FAIL")),)

    async def judge(self, probe: Probe) -> Judgment:
        label = await self.script.aask("\n".join([_QUESTION, *probe.case.texts()]))
        return as_judgment({_KEY: None if label == GARBAGE else label})


def _run(output: str, place: int = 0) -> Run:
    """Return a run of an experiment of its own."""
    number = _IDS[place]
    return Run(
        id=number,
        trace_id=number,
        session_id=number,
        name="application",
        run_type="chain",
        inputs={"question": _QUESTION},
        outputs={"answer": output},
        start_time=_MOMENT,
        end_time=_MOMENT,
    )


def _example() -> Example:
    return Example(id=_IDS[0], inputs={"question": _QUESTION}, dataset_id=_IDS[0])


@dataclass(frozen=True, kw_only=True)
class _Evaluated:
    """A `RunEvaluator`, ours or LangSmith's own."""

    evaluator: RunEvaluator

    @property
    def judge(self) -> Any:
        return getattr(self.evaluator, "judge")  # noqa: B009 - LangSmith's own have none

    def case(self, first: str, second: str) -> AnswerCase:
        del second
        return AnswerCase(case_id="bench", input=_QUESTION, output=first)

    def evaluate(self, first: str, second: str) -> Native:
        del second
        with _traced() as seen:
            return _evaluation(self.evaluator.evaluate_run(_run(first), _example()), seen)

    async def aevaluate(self, first: str, second: str) -> Native:
        del second
        with _traced() as seen:
            return _evaluation(await self.evaluator.aevaluate_run(_run(first), _example()), seen)


def _evaluation(returned: EvaluationResult | EvaluationResults, seen: list[tuple[str, int]]) -> Native:
    results = returned.get("results", []) if isinstance(returned, dict) else [returned]
    scores = {result.key: result.score for result in results}
    head = results[0]
    return Native(
        answer=[result.model_dump(mode="json") for result in results],
        plain={"key": head.key, "score": head.score, "value": head.value},
        verdict=None if head.score is None else _VERDICTS[bool(head.score)],
        document=(head.extra or {}).get("judgeharness"),
        precision=scores.get(f"{_KEY}.calibrated_precision"),
        marks=tuple(seen),
    )


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """A comparative evaluator."""

    evaluator: HarnessComparative

    @property
    def judge(self) -> Any:
        return self.evaluator.judge

    def case(self, first: str, second: str) -> PairwiseCase:
        return PairwiseCase(case_id="bench", input=_QUESTION, output=first, output_b=second)

    def evaluate(self, first: str, second: str) -> Native:
        with _traced() as seen:
            return self._comparison(self.evaluator([_run(first), _run(second, 1)], _example()), seen)

    async def aevaluate(self, first: str, second: str) -> Native:
        return await asyncio.to_thread(self.evaluate, first, second)  # as LangSmith does

    def _comparison(self, result: ComparisonEvaluationResult, seen: list[tuple[str, int]]) -> Native:
        answer, comparison = result.model_dump(mode="json"), self.evaluator.comparisons[-1]
        stated = _PRECISION.search(str(result.comment))
        scores: Any = tuple(result.scores[number] for number in _IDS)
        return Native(
            answer=answer,
            plain={"key": result.key, "scores": result.scores},
            verdict=_PREFERENCES.get(scores),
            document=comparison.to_dict()["result"],
            precision=None if stated is None else float(stated[1]),
            marks=tuple(seen),
        )


def benches() -> list[Bench]:
    """Return the evaluator of single runs, and the one that compares two."""

    def bare(script: Script) -> Evaluator:
        def asked(run: Run) -> str:
            return f"{_QUESTION}\n{(run.outputs or {})['answer']}"

        def right(run: Run, example: Example | None) -> dict[str, Any]:
            del example
            return {"key": _KEY, "score": script.ask(asked(run)) == "PASS"}

        async def aright(run: Run, example: Example | None) -> dict[str, Any]:
            del example
            return {"key": _KEY, "score": await script.aask(asked(run)) == "PASS"}

        return _Evaluated(evaluator=DynamicRunEvaluator(right, aright))

    def harnessed(script: Script, harness: JudgeHarness) -> HarnessedEvaluator:
        judge = _ScriptedJudge(script=script, pairwise=False)
        return _Evaluated(evaluator=HarnessRunEvaluator(judge, harness))

    def compared(script: Script, harness: JudgeHarness) -> HarnessedEvaluator:
        judge = _ScriptedJudge(script=script, pairwise=True)
        return _Compared(evaluator=harness_comparative(judge, harness))

    return [
        Bench(
            name="HarnessRunEvaluator",
            pairwise=False,
            harnessed=harnessed,
            bare=bare,
            perturbation="format_change",
            opted_out=_SINGLE,
        ),
        Bench(name="harness_comparative", pairwise=True, harnessed=compared, opted_out=_COMPARING),
    ]
