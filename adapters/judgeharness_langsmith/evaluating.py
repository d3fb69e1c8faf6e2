"""Harnessed evaluators for `evaluate` and `evaluate_comparative`: equal runs are one case."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias
from uuid import UUID, uuid4

from langsmith.evaluation import EvaluationResults, RunEvaluator
from langsmith.evaluation.evaluator import ComparisonEvaluationResult
from langsmith.schemas import Example, Run
from langsmith.utils import tracing_is_enabled

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase, case_from_mapping, case_id_of
from judgeharness_integrations.judging.execution.observing import is_private
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import DEFAULT_CRITERION, Judge
from judgeharness_integrations.judging.structured import Attachments, StructuredCase, attachments_in, structured_case

from ._seams import fetching_attachments
from .feedback import Family, Writers, comment_of
from .runjudge import (
    COMPARES,
    Calibration,
    ComparingJudge,
    RunCase,
    RunJudge,
    RunPair,
    harness_for,
    judge_in,
    judge_of_runs,
    keys_in_source,
)
from .tracing import traced, without_words


class Turns:
    """Who measures which case; `needed` where measurements meet, in a run of a log that has a name."""

    def __init__(self, *, needed: bool) -> None:
        """Begin with nobody."""
        self._needed = needed
        self._lock = Lock()
        self._going: dict[str, Future[None]] = {}

    @contextmanager
    def of(self, case_id: str) -> Iterator[None]:
        """Wait until nobody measures a case; not in an event loop, which may be what the other one runs in."""
        while (other := self._take(case_id)) is not None:
            if _in_a_loop():
                yield
                return
            other.result()
        try:
            yield
        finally:
            self._leave(case_id)

    @asynccontextmanager
    async def aof(self, case_id: str) -> AsyncGenerator[None, None]:
        """Wait until nobody measures a case."""
        while (other := self._take(case_id)) is not None:
            await asyncio.shield(asyncio.wrap_future(other))
        try:
            yield
        finally:
            self._leave(case_id)

    def _take(self, case_id: str) -> Future[None] | None:
        """Take a case; where somebody has it, return what ends with that."""
        with self._lock:
            if self._needed and (other := self._going.get(case_id)) is not None:
                return other
            self._going[case_id] = Future()
            return None

    def _leave(self, case_id: str) -> None:
        with self._lock:
            ended = self._going.pop(case_id, None)
        if ended is not None:
            ended.set_result(None)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


Prepared: TypeAlias = AnswerCase | Mapping[str, Any]
Prepare: TypeAlias = Callable[[Run, Example | None], Prepared]
PreparePair: TypeAlias = Callable[[Sequence[Run], Example | None], Prepared]

# What LangChain's `prepare_data` called the fields of a case.
_RENAMED = {"prediction": "output", "prediction_b": "output_b"}


def checked_prepare(prepare: Any) -> Any:
    """Return `prepare`.

    Raises:
        UsageError: it is neither None nor a plain function.

    """
    if prepare is not None and (not callable(prepare) or iscoroutinefunction(prepare)):
        kind = "an async function" if callable(prepare) else f"a {type(prepare).__name__}"
        raise UsageError(f"prepare is a plain function of a run and its example, not {kind}.")
    return prepare


def default_case(run: Run, example: Example | None, *, values: bool, attachments: bool = False) -> StructuredCase:
    """Return the run's output with the example's input and reference; the attribute `run_id` names the run.

    Its id is a digest of what is judged, so that the same output is perturbed alike in every experiment.

    Args:
        run: what is judged.
        example: where input and reference come from; without one the input is the run's and there is no reference.
        values: the judge takes values, of any number of fields; otherwise each must hold one.
        attachments: the judge takes the example's attachments, too; what they hold is part of the id.

    Raises:
        CaseError: the run has no output, which of several fields to judge is not clear, or an attachment cannot be
            read.

    """
    inputs, outputs, reference = _parts(run, example)
    if not values:
        _check_single(outputs, f"the outputs of run {run.id}")
        _check_single(inputs, f"the inputs of example {run.reference_example_id}")
        _check_single(reference, f"the reference outputs of example {run.reference_example_id}")
    attached = getattr(example, "attachments", None) if attachments else None  # a stand-in may have none
    return structured_case(
        inputs=inputs,
        outputs=outputs,
        reference_outputs=reference,
        attributes={"run_id": str(run.id)},
        extra={"attachments": attached} if isinstance(attached, Mapping) and attached else {},
    )


def default_pair(runs: Sequence[Run], example: Example | None) -> AnswerCase:
    """Return the outputs of two runs of one example, the first as answer A.

    Raises:
        CaseError: a run has no output, or which of several fields to judge is not clear.

    """
    first, second = (default_case(run, example, values=False) for run in runs)
    texts = {"input": first.input, "output": first.output, "output_b": second.output, "reference": first.reference}
    return prepared_case(texts)


def prepared_case(prepared: Prepared) -> AnswerCase:
    """Return what a `prepare` function returned as a case; a mapping may use the names of `prepare_data`.

    A mapping without a case id gets a digest of its content; its `attachments` are for the judge to read.

    Raises:
        CaseError: it is neither a case nor a mapping with an output, two answers have attachments, or one of these
            cannot be read.

    """
    if isinstance(prepared, AnswerCase):
        return prepared
    if not isinstance(prepared, Mapping):
        raise CaseError(
            f"prepare returns an AnswerCase, a PairwiseCase or a mapping with 'output', not {type(prepared).__name__}."
        )
    columns = {_RENAMED.get(name, name): value for name, value in prepared.items()}
    attached = attachments_in(columns.pop("attachments", None))
    told = {**columns, "attachments": attached.compared()} if isinstance(attached, Attachments) else columns
    case = case_from_mapping({"case_id": case_id_of(told), **columns}, where="what prepare returned")
    return _with_attachments(case, attached) if attached else case


def _with_attachments(case: AnswerCase, attached: Any) -> StructuredCase:
    if isinstance(case, PairwiseCase):
        raise CaseError("what prepare returned: attachments go with one answer, not with an output_b.")
    context = {} if case.context is None else {"context": case.context}
    return structured_case(
        case_id=case.case_id,
        inputs=case.input,
        outputs=case.output,
        reference_outputs=case.reference,
        extra={**context, "attachments": attached},
        **{name: getattr(case, name) for name in ("names", "author", "gold", "attributes", "context")},
    )


def _parts(run: Run, example: Example | None) -> tuple[Any, Any, Any]:
    if not run.outputs or all(value is None for value in run.outputs.values()):
        why = f"it failed with {run.error.splitlines()[0][:200]}" if run.error else "it returned nothing"
        raise CaseError(f"run {run.id} has no outputs to judge: {why}.")
    inputs = example.inputs if example is not None else run.inputs
    return inputs or None, run.outputs, (example.outputs or None) if example is not None else None


def _check_single(values: Mapping[str, Any] | None, what: str) -> None:
    if values is not None and len(values) > 1:
        raise CaseError(
            f"{what} hold several fields ({', '.join(sorted(map(str, values)))}): "
            "give prepare=lambda run, example: AnswerCase(...)."
        )


_WRITERS = Writers()


class HarnessRunEvaluator(RunEvaluator):
    """Evaluates runs with a judge under a harness and returns a family of feedback (`feedback.Family`).

    Its own trace, `judge_harness`, is linked to the feedback and holds one child for each sample.
    """

    def __init__(
        self,
        judge: Any,
        harness: JudgeHarness | None = None,
        prepare: Prepare | None = None,
        calibration: Calibration = None,
        *,
        key: str | None = None,
        private: bool = False,
        attachments: bool | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        """Prepare; nothing is asked.

        Args:
            judge: a core Judge or a callable that takes a case, a LangChain evaluator, an openevals judge, harnessed or
                not, or an evaluator as LangSmith takes it: a function of `(run, example)`, or of some of `run`,
                `example`, `inputs`, `outputs`, `reference_outputs` and `attachments`.
            harness: the design; by default the judge's own where it is harnessed, else the standard one for what the
                judge answers (six calls a run).
            prepare: (run, example) -> the case, or a mapping with `output` (or `prediction`), `input`, `reference`;
                by default the only field of the run's outputs, of the example's inputs and of its outputs, or, for
                judges that take values (openevals), those mappings as they are.
            calibration: a saved calibration, or its path.
            key: the feedback key; the criterion's name by default, the judge's where the criterion has none.
            private: no judge prompt, no trace of the harness and none of the judge's reasons and error texts are
                uploaded; verdicts and counts are.
            attachments: whether the examples' attachments are fetched and shown to the judge, for one of cases in
                `case.extra["attachments"]`; by default where a function has a parameter of that name, or an openevals
                prompt names them.
            requests_per_minute: a limit of the judge's model, which all rows share, whatever `max_concurrency` of
                `evaluate` is; the lower one where the harness has one.
            tokens_per_minute: likewise.

        Raises:
            UsageError: `judge` is none, `harness` or `prepare` cannot be used, `key` is no name, or a limit is no
                number above 0.

        """
        self.judge = judge_of_runs(judge)
        self.harness = harness_for(judge, self.judge, harness, calibration).limited(
            requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute
        )
        self.prepare = checked_prepare(prepare)
        self._of_runs = isinstance(self.judge, RunJudge)
        if self._of_runs and prepare is not None:
            raise UsageError(f"{self.judge.name} takes what LangSmith gives it, and no case: leave prepare= out.")
        self.attachments = attachments
        if bool(getattr(self.judge, "takes_attachments", False) if attachments is None else attachments):
            self.attachments = True
            self.__signature__ = fetching_attachments(self)
        self.private = private or is_private(self.harness.observers)
        self.family = Family.of(self.judge, self.harness, key, keys_in_source(judge))
        self._turns = Turns(needed=self.harness.log is not None and self.harness.run is not None)
        self._measured: dict[str, tuple[AnswerCase, HarnessResult]] = {}

    def __repr__(self) -> str:
        """Return the keys' name and the judge's: LangSmith shows it where an evaluation fails."""
        return f"HarnessRunEvaluator({self.judge.name}, key={self.feedback_keys[0]!r})"

    @property
    def feedback_keys(self) -> list[str]:
        """Every key of the family, as far as the judge declares its criteria."""
        return self.family.keys

    @property
    def results(self) -> Mapping[str, HarnessResult]:
        """Run id -> its measurement."""
        return {run_id: result for run_id, (_, result) in self._measured.items()}

    @property
    def cases(self) -> list[AnswerCase]:
        """What was judged, for a labelling sheet."""
        return [case for case, _ in self._measured.values()]

    def __call__(self, run: Run, example: Example | None = None) -> EvaluationResults:
        """Measure one run; see `evaluate_run`."""
        return self.evaluate_run(run, example)

    def evaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> EvaluationResults:
        """Measure one run.

        Raises:
            CaseError: the run cannot be made a case of; LangSmith notes it under every feedback key.
            UsageError: in `evaluate`, another evaluator writes feedback of the same key.

        """
        case, source = self._begun(run, example, evaluator_run_id)
        with self._turns.of(case.case_id):
            result = self._harness(case, source).evaluate(self.judge, case)
        return self._feedback(run, case, result, source, evaluated=evaluator_run_id is not None)

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> EvaluationResults:
        """Measure one run; see `evaluate_run`."""
        case, source = self._begun(run, example, evaluator_run_id)
        async with self._turns.aof(case.case_id):
            result = await self._harness(case, source).aevaluate(self.judge, case)
        return self._feedback(run, case, result, source, evaluated=evaluator_run_id is not None)

    def _begun(self, run: Run, example: Example | None, evaluator_run_id: UUID | None) -> tuple[AnswerCase, UUID]:
        """Return the case of a run, and the id of its trace; where `evaluate` gave that, it keeps the feedback."""
        if evaluator_run_id is not None:
            _WRITERS.enter(self, run, self.feedback_keys)
        return self._case(run, example), evaluator_run_id or uuid4()

    def _case(self, run: Run, example: Example | None) -> AnswerCase:
        if self.prepare is not None:
            return prepared_case(self.prepare(run, example))
        # a function of an example may read what is attached to it wherever LangSmith has fetched that
        shown = self._of_runs if self.attachments is None else self.attachments
        values = bool(getattr(self.judge, "takes_values", False))
        case = default_case(run, example, values=values, attachments=shown)
        if isinstance(self.judge, RunJudge):
            return RunCase.of(case, run, example, whole=self.judge.takes_runs)
        return case

    def _harness(self, case: AnswerCase, source: UUID) -> JudgeHarness:
        return traced(self.harness, private=self.private, run_ids={case.case_id: source})

    def _feedback(
        self, run: Run, case: AnswerCase, result: HarnessResult, source: UUID, *, evaluated: bool
    ) -> EvaluationResults:
        self._measured[str(run.id)] = (case, result)
        linked = source if tracing_is_enabled() is True and not self.private else None
        shown = without_words(result) if self.private else result
        results = self.family.results(shown, source_run_id=linked)
        if evaluated:  # the judge may have named its keys only now
            _WRITERS.enter(self, run, (one.key for one in results))
        return EvaluationResults(results=results)


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
