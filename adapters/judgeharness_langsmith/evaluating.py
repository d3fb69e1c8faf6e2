"""`HarnessRunEvaluator`: a harnessed judge for `evaluate` and `aevaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from langsmith.evaluation import EvaluationResults, RunEvaluator
from langsmith.schemas import Example, Run
from langsmith.utils import tracing_is_enabled

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import AnswerCase
from judgeharness_integrations.execution.observing import is_private
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.result import HarnessResult
from judgeharness_langsmith._seams import fetching_attachments
from judgeharness_langsmith.choosing import Calibration, harness_for, judge_of_runs, keys_in_source
from judgeharness_langsmith.feedback import Family
from judgeharness_langsmith.preparing import Prepare, checked_prepare, default_case, prepared_case
from judgeharness_langsmith.privacy import without_words
from judgeharness_langsmith.runjudge import RunCase, RunJudge
from judgeharness_langsmith.tracing import traced
from judgeharness_langsmith.turns import Turns

__all__ = ["HarnessRunEvaluator"]


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

        """
        case, source = self._case(run, example), evaluator_run_id or uuid4()
        with self._turns.of(case.case_id):
            return self._feedback(run, case, self._harness(case, source).evaluate(self.judge, case), source)

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> EvaluationResults:
        """Measure one run; see `evaluate_run`."""
        case, source = self._case(run, example), evaluator_run_id or uuid4()
        async with self._turns.aof(case.case_id):
            return self._feedback(run, case, await self._harness(case, source).aevaluate(self.judge, case), source)

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

    def _feedback(self, run: Run, case: AnswerCase, result: HarnessResult, source: UUID) -> EvaluationResults:
        self._measured[str(run.id)] = (case, result)
        linked = source if tracing_is_enabled() is True and not self.private else None
        shown = without_words(result) if self.private else result
        return EvaluationResults(results=self.family.results(shown, source_run_id=linked))
