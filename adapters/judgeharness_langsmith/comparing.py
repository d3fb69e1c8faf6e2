"""`harness_comparative`: a harnessed pairwise judge for `evaluate((exp_a, exp_b), ...)` and `evaluate_comparative`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import UUID

from langsmith.evaluation.evaluator import ComparisonEvaluationResult
from langsmith.schemas import Example, Run

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.execution.observing import is_private
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import DEFAULT_CRITERION, Judge
from judgeharness_langsmith.choosing import COMPARES, Calibration, harness_for, judge_in
from judgeharness_langsmith.evaluating import PreparePair, checked_prepare, default_case, default_pair, prepared_case
from judgeharness_langsmith.feedback import comment_of
from judgeharness_langsmith.runjudge import ComparingJudge, RunCase, RunPair
from judgeharness_langsmith.tracing import traced, without_words

SCHEMA = "judgeharness.langsmith_comparison/1"
_SCORES: Mapping[Any, tuple[float, float]] = {"A": (1.0, 0.0), "B": (0.0, 1.0), "TIE": (0.5, 0.5)}
_PAIR = 2
_ANY_PAIR = PairwiseCase(case_id="", output="", output_b="")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The measurement of one example: the runs of answer A and answer B, their experiments, and the result.

    Where a run gave nothing to compare there is no result but a `failure`, why.
    """

    example_id: str | None
    runs: tuple[str, str]
    experiments: tuple[str | None, str | None]
    result: HarnessResult | None = None
    failure: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON keeps it; the result can be rebuilt with `HarnessResult.from_dict`."""
        return {
            "schema": SCHEMA,
            "example_id": self.example_id,
            "runs": list(self.runs),
            "experiments": list(self.experiments),
            "result": None if self.result is None else self.result.to_dict(rows=True),
            "failure": self.failure,
        }


@dataclass(slots=True, eq=False, kw_only=True)
class HarnessComparative:
    """A comparative evaluator; made by `harness_comparative`.

    LangSmith keeps two scores and a comment of a comparison and cannot give them back: the measurements are in
    `comparisons`, and in the file `out` as they come.
    """

    judge: Judge
    harness: JudgeHarness
    prepare: PreparePair | None
    key: str
    private: bool
    out: Path | None
    comparisons: list[Comparison] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @property
    def __name__(self) -> str:
        """The name of its trace."""
        return self.key

    def __call__(self, runs: Sequence[Run], example: Example | None = None) -> ComparisonEvaluationResult:
        """Compare the two runs of one example, in both orders; a run without outputs scores None, as its pair does.

        Raises:
            UsageError: there are not exactly two runs, of two experiments, or the judge's answer is no preference.

        """
        first, second = _ordered(runs, example)
        measured: dict[str, Any]
        try:
            case = self._case((first, second), example)
        except CaseError as error:
            measured = {"failure": str(error)}
        else:
            measured = {"result": traced(self.harness, private=self.private).evaluate(self.judge, case)}
        comparison = Comparison(
            example_id=None if example is None else str(example.id),
            runs=(str(first.id), str(second.id)),
            experiments=(_experiment(first), _experiment(second)),
            **measured,
        )
        self._keep(comparison)
        return self._feedback(comparison, (first.id, second.id))

    def _feedback(self, comparison: Comparison, ids: tuple[UUID, UUID]) -> ComparisonEvaluationResult:
        result, comment = comparison.result, f"NOT GRADED · {comparison.failure}"
        scores: tuple[float | None, float | None] = (None, None)
        if result is not None:
            scores = _SCORES.get(_preference(result), (None, None))
            comment = comment_of(without_words(result) if self.private else result, result.only.criterion)
        return ComparisonEvaluationResult(
            key=self.key,
            scores=dict(zip(ids, scores, strict=True)),
            # LangSmith looks comments up by the text of the id
            comment={str(ids[0]): f"answer A · {comment}", str(ids[1]): f"answer B · {comment}"},
        )

    def _case(self, runs: tuple[Run, Run], example: Example | None) -> AnswerCase:
        if isinstance(self.judge, ComparingJudge):
            whole, cases = self.judge.takes_runs, (default_case(run, example, values=True) for run in runs)
            first, second = (RunCase.of(case, run, example, whole=whole) for case, run in zip(cases, runs, strict=True))
            return RunPair.of(first, second)
        if self.prepare is None:
            return default_pair(runs, example)
        case = prepared_case(self.prepare(runs, example))
        if not isinstance(case, PairwiseCase):
            raise UsageError("prepare(runs, example) of a comparison returns a PairwiseCase: give it an output_b.")
        return case

    def _keep(self, comparison: Comparison) -> None:
        with self._lock:
            self.comparisons.append(comparison)
            if self.out is not None:
                self.out.parent.mkdir(parents=True, exist_ok=True)
                with self.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(comparison.to_dict()) + "\n")


def _ordered(runs: Sequence[Run], example: Example | None) -> tuple[Run, Run]:
    """Return the runs in the order of their experiments' ids, however they were shuffled."""
    where = "" if example is None else f" of example {example.id}"
    if len(runs) != _PAIR or _experiment(runs[0]) == _experiment(runs[1]) is not None:
        raise UsageError(
            f"{len(runs)} runs{where} to compare: give two experiments that have one run for each example "
            "(num_repetitions=1)."
        )
    first, second = sorted(runs, key=lambda run: _experiment(run) or "")
    return first, second


def _experiment(run: Run) -> str | None:
    return None if run.session_id is None else str(run.session_id)


def _preference(result: HarnessResult) -> Any:
    if len(result.criteria) > 1:
        names = ", ".join(result.criteria)
        raise UsageError(f"the judge answers {names}: a comparison needs one preference, A, B or TIE.")
    return result.only.verdict


def _check_preference(judge: Judge) -> None:
    """Raise a UsageError for a judge of something else than one preference."""
    fits = getattr(judge, "fits", None) if getattr(judge, "takes_values", False) else None
    if fits is not None and fits(_ANY_PAIR) is not None:
        raise UsageError(f"{judge.name} takes outputs: {COMPARES}")
    declared = judge.criteria or ()
    labels = {label for criterion in declared for label in criterion.labels or ()}
    if len(declared) > 1 or labels - _SCORES.keys() or any(criterion.scale for criterion in declared):
        raise UsageError(f"{judge.name} compares nothing: give a judge of one preference, A, B or TIE.")


def harness_comparative(
    judge: Any,
    harness: JudgeHarness | None = None,
    prepare: PreparePair | None = None,
    calibration: Calibration = None,
    *,
    key: str | None = None,
    out: str | PathLike[str] | None = None,
    private: bool = False,
) -> HarnessComparative:
    """Return a comparative evaluator that shows a pairwise judge both answers in both orders.

    The preferred run scores 1, the other 0; a tie is 0.5 for both, an abstention None for both, as the comment says.

    Args:
        judge: a core Judge or a callable over a PairwiseCase, a LangChain pairwise evaluator, an openevals pairwise
            judge of ours, or LangSmith's own function of `(runs, example)`, or of some of `runs`, `example`, `inputs`,
            `outputs`, of which there are two, and `reference_outputs`, which scores each of the two outputs.
        harness: the design; by default the judge's own where it is harnessed, else `JudgeHarness.standard("pairwise")`
            (six calls an example).
        prepare: (runs, example) -> a PairwiseCase, or a mapping with `output` and `output_b`; by default the only
            field of each run's outputs, of the example's inputs and of its outputs.
        calibration: a saved calibration, or its path.
        key: the feedback key; the criterion's name by default, the judge's where the criterion has none.
        out: a JSONL file the measurements are appended to as they come.
        private: no judge prompt, no trace of the harness and none of the judge's reasons are uploaded; scores are.

    Raises:
        UsageError: `judge` is none or compares nothing, or `harness` or `prepare` cannot be used.

    """
    asked = ComparingJudge.of(judge) if ComparingJudge.compares(judge) else judge_in(judge, pairwise=True)
    if isinstance(asked, ComparingJudge) and prepare is not None:
        raise UsageError(f"{asked.name} takes what LangSmith gives it, and no case: leave prepare= out.")
    _check_preference(asked)
    harness = harness_for(judge, asked, harness, calibration, pairwise=True)
    names = [criterion.name for criterion in asked.criteria or ()] or [DEFAULT_CRITERION]
    own = asked.name if names[0] == DEFAULT_CRITERION else names[0]
    return HarnessComparative(
        judge=asked,
        harness=harness,
        prepare=checked_prepare(prepare),
        key=key or own,
        private=private or is_private(harness.observers),
        out=None if out is None else Path(out),
    )
