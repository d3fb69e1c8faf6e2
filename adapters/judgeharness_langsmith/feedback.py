"""A measurement as LangSmith feedback, and measurements inside tests that LangSmith records.

What the server must keep stands in fields that are uploaded (score, value, comment, evaluator_info, extra); `metadata`
stays with the local result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import RLock
from typing import Any
from uuid import UUID
from weakref import ref

from langsmith import testing
from langsmith.evaluation import EvaluationResult
from langsmith.schemas import RunBase

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.folds import averaged
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult, PerturbationSummary
from judgeharness_integrations.judging.execution.observing import is_private
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import DEFAULT_CRITERION, Judge
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_integrations.reporting import rationale
from judgeharness_integrations.reporting.text import headline, shown_order
from judgeharness_integrations.verdictlog.encoding import counted, safe_text
from judgeharness_integrations.verdictlog.row import is_number, verdict_text, voting

from .runjudge import Calibration, harness_for, judge_in
from .tracing import traced, without_words

_LONGEST_REASON = 2_000  # characters
NOT_GRADED = "NOT GRADED"
_UNDECIDED = {"abstained": "ABSTAIN", "not_graded": NOT_GRADED}


@dataclass(frozen=True, kw_only=True)
class Family:
    """The feedback keys of a judge under a harness.

    `{key}` holds the verdict: a score, or a label or `ABSTAIN` as its value. Beside it stand `{key}.consistency` and
    `{key}.valid_samples`, of a judge that answers with probabilities `{key}.probability`, with a swap in the design
    `{key}.position_flip`, and with a calibration `{key}.calibrated_precision` and `{key}.calibrated_recall`. A
    number that was not measured is a score of None. `key` names the only criterion; without it, and with several, a
    criterion's own name is the key.
    """

    judge: str
    names: tuple[str, ...]
    key: str | None
    members: tuple[str, ...]

    @classmethod
    def of(cls, judge: Judge, harness: JudgeHarness, key: str | None, found: tuple[str, ...] = ()) -> Family:
        """Return the family a judge's measurements will be written as.

        `found` are the keys it will name in its answers, where it declares no criteria.

        Raises:
            UsageError: `key` is no name.

        """
        if key is not None and not (isinstance(key, str) and key.strip()):
            raise UsageError(f"key is the name of the feedback, a text, not {key!r}.")
        members = ["consistency", "valid_samples"]
        if getattr(judge, "retested", None) is not None:
            members.append("probability")
        if any(perturbation.swaps for perturbation in harness.perturbations):
            members.append("position_flip")
        if harness.calibration is not None or harness.calibration_set is not None:
            members += ["calibrated_precision", "calibrated_recall"]
        declared = tuple(criterion.name for criterion in judge.criteria or ())
        found = found if key is None else ()
        return cls(judge=judge.name, names=declared or found or (DEFAULT_CRITERION,), key=key, members=tuple(members))

    def key_of(self, criterion: str, *, several: bool = False) -> str:
        """Return the key of a criterion's verdict."""
        if self.key is not None:
            return f"{self.key}.{criterion}" if several else self.key
        if criterion != DEFAULT_CRITERION:
            return criterion
        only = self.names[0] if len(self.names) == 1 else DEFAULT_CRITERION  # of rows that no answer names
        return self.judge if only == DEFAULT_CRITERION else only

    @property
    def keys(self) -> list[str]:
        """Every key, as far as the judge declares its criteria."""
        several = len(self.names) > 1
        heads = [self.key_of(name, several=several) for name in self.names]
        return [key for head in heads for key in (head, *(f"{head}.{member}" for member in self.members))]

    def results(self, result: HarnessResult, *, source_run_id: UUID | None = None) -> list[EvaluationResult]:
        """Return the feedback of one measurement."""
        document = result.to_dict()
        return [
            EvaluationResult(source_run_id=source_run_id, **fields)
            for name in result.criteria
            for fields in self._rows(result, name, document)
        ]

    def _rows(self, result: HarnessResult, criterion: str, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
        measured, key = result.criteria[criterion], self.key_of(criterion, several=len(result.criteria) > 1)
        score, value = native(measured)
        yield {
            "key": key,
            "score": score,
            "value": value,
            "comment": comment_of(result, criterion),
            "evaluator_info": _info(result, measured),
            "extra": {"judgeharness": document},
            "metadata": document,
        }
        measures = _measures(result, measured)
        for member in self.members:
            number, comment = measures[member]
            yield {"key": f"{key}.{member}", "score": number, "comment": comment}


class _Written(ref[RunBase]):
    """A run, and the evaluator behind each key of its feedback, as long as these exist."""

    __slots__ = ("place", "writers")

    writers: dict[str, ref[Any]]
    place: int


class Writers:
    """Which evaluator writes which feedback of a run: LangSmith would merge two that write the same key.

    That is kept as long as both exist, the run and the evaluator.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = RLock()  # a run may be freed, and forgotten, at any moment inside
        self._of_runs: dict[int, _Written] = {}

    def enter(self, evaluator: Any, run: RunBase, keys: Iterable[str]) -> None:
        """Note that an evaluator writes these keys of a run.

        Raises:
            UsageError: another one writes one of them.

        """
        keys = list(keys)
        if not isinstance(run, RunBase):  # a stand-in for a run need not take weak references
            return
        with self._lock:
            writers = self._written(run).writers
            others = ((key, writers[key]()) for key in keys if key in writers)
            taken = next((key for key, other in others if other is not None and other is not evaluator), None)
            if taken is not None:
                raise UsageError(
                    f"another evaluator writes feedback {taken!r} of run {run.id}, and LangSmith would mix the two: "
                    "give one of them a key= of its own."
                )
            writers.update(dict.fromkeys(keys, ref(evaluator)))

    def _written(self, run: RunBase) -> _Written:
        known = self._of_runs.get(id(run))
        if known is None or known() is not run:
            known = _Written(run, self._forget)  # it is called with what it was given to
            known.place, known.writers = id(run), {}
            self._of_runs[known.place] = known
        return known

    def _forget(self, gone: _Written) -> None:
        with self._lock:
            if self._of_runs.get(gone.place) is gone:  # its place may be another run's by now
                del self._of_runs[gone.place]


def native(measured: CriterionResult) -> tuple[bool | float | None, str | None]:
    """Return (score, value): PASS and FAIL are True and False, scores numbers, other labels and abstentions values."""
    verdict = measured.verdict
    if measured.status != "decided":
        return None, _UNDECIDED[measured.status]
    if verdict in ("PASS", "FAIL"):
        return verdict == "PASS", None
    return (verdict, None) if is_number(verdict) else (None, verdict_text(verdict))  # type: ignore[return-value]


def comment_of(result: HarnessResult, criterion: str) -> str:
    """Return the measurement in one line and, on the next, the judge's reasons for the decision."""
    measured = result.criteria[criterion]
    decided = verdict_text(measured.verdict)
    line = headline(result, criterion, decided=f"{decided} (single sample)" if result.informal else decided)
    row = rationale(result, criterion)
    said = safe_text(row.reasoning or "", _LONGEST_REASON) if row is not None else ""
    return f"{line}\n{said}{shown_order(row)}" if row is not None and said else line


def _info(result: HarnessResult, measured: CriterionResult) -> dict[str, Any]:
    """Return what a filter on the server may ask for."""
    state = result.calibration_state
    return {
        "judge": result.judge,
        "judge_model": result.judge_model,
        "status": measured.status,
        "aggregation_rule": None if result.informal else result.aggregation_rule,
        "perturbations": list(result.perturbations),
        "repetitions": result.repetitions,
        "planned_samples": measured.planned,
        "fingerprint": result.fingerprint,
        "calibration": None if state is None else str(state),
        "calibration_source": result.calibration_source,
    }


def _measures(result: HarnessResult, measured: CriterionResult) -> dict[str, tuple[float | None, str]]:
    """Return member -> its number, None where it was not measured, and what it is."""
    rates = result.calibrated(measured.criterion)
    asked = sum(measured.outcomes.values())
    failed = ", ".join(f"{count} {name}" for name, count in measured.outcomes.items() if name != "ok" and count)
    return {
        "consistency": _consistency(result, measured),
        "valid_samples": (measured.valid, f"of {asked} asked, {measured.planned} planned{failed and f': {failed}'}"),
        "probability": _probability(result, measured),
        "position_flip": _flip(measured.perturbations, curtailed=result.design.curtail),
        "calibrated_precision": _rate(None if rates is None else rates.precision, result),
        "calibrated_recall": _rate(None if rates is None else rates.recall, result),
    }


def _consistency(result: HarnessResult, measured: CriterionResult) -> tuple[float | None, str]:
    rate, chance = measured.consistency_rate, measured.chance_consistency
    if result.informal or rate is None:
        return None, "not measured: a single sample" if result.informal else "not measured: no valid sample"
    beside = "" if chance is None else f"; a judge guessing at random would show {chance:.3g}"
    return rate, f"share of {measured.valid} valid samples{beside}"


def _probability(result: HarnessResult, measured: CriterionResult) -> tuple[float | None, str]:
    """Return the mean probability of PASS, else of the verdict, or of the most probable label where there is none."""
    rows = [row for row in voting(result.rows) if row.criterion == measured.criterion]
    shares = averaged(rows)
    if shares is None:
        return None, "not measured: no valid sample with probabilities"
    decided = verdict_text(measured.verdict)
    label = "PASS" if "PASS" in shares else decided if decided in shares else max(shares, key=shares.__getitem__)
    answered = counted(sum(row.answered for row in rows), "sample")
    return shares[label], f"mean probability of {safe_text(label)} over {answered}, as the model gave it"


def _flip(perturbations: Sequence[PerturbationSummary], *, curtailed: bool) -> tuple[float | None, str]:
    """Return the flip rate of the plainest swap."""
    if curtailed:
        return None, "not measured: samples may stop early"
    swapped = sorted((one for one in perturbations if one.swapped), key=lambda one: one.name.count("+"))
    if not swapped or swapped[0].flip_rate is None:
        return None, "not measured: no valid sample in both orders"
    moved = swapped[0].probability_change
    beside = "" if moved is None else f"; probabilities differ by {moved:.3f}"
    return swapped[0].flip_rate, f"share of sample pairs that differ between none and {swapped[0].name}{beside}"


def _rate(rate: Rate | None, result: HarnessResult) -> tuple[float | None, str]:
    if rate is not None:
        return rate.value, f"{rate} on {result.calibration_source}"
    return None, "not measured" if result.calibration_state is None else f"calibration {result.calibration_state}"


_VALUES = ("inputs", "outputs", "reference_outputs")


class Measure:
    """A judge under a harness, called with a case or with `outputs`, `inputs` and `reference_outputs`."""

    def __init__(
        self,
        judge: Any,
        harness: JudgeHarness | None = None,
        calibration: Calibration = None,
        *,
        key: str | None = None,
        private: bool = False,
        logs: bool = True,
    ) -> None:
        """Prepare; `logs`: it is called inside a test marked `langsmith`. The rest is as in `HarnessRunEvaluator`."""
        self.judge = judge_in(judge)
        harness = harness_for(judge, self.judge, harness, calibration)
        self.private = private or is_private(harness.observers)
        self.harness = traced(harness, private=self.private)
        self.family = Family.of(self.judge, harness, key)
        self.logs = logs

    def __call__(self, case: Any = None, **values: Any) -> HarnessResult:
        """Measure, and log one feedback row a criterion.

        Raises:
            UsageError: neither a case nor `outputs` are given, or both.

        """
        with self._logged():
            result = self.harness.evaluate(self.judge, _case(case, values))
            self._log(result)
        return result

    async def acall(self, case: Any = None, **values: Any) -> HarnessResult:
        """Measure in an async test; see `__call__`."""
        with self._logged():
            result = await self.harness.aevaluate(self.judge, _case(case, values))
            self._log(result)
        return result

    @contextmanager
    def _logged(self) -> Iterator[None]:
        with testing.trace_feedback(name=self.judge.name) if self.logs and not self.private else nullcontext():
            yield

    def _log(self, result: HarnessResult) -> None:
        if not self.logs:
            return
        shown = without_words(result) if self.private else result
        for name, measured in shown.criteria.items():
            score, value = native(measured)
            testing.log_feedback(
                key=self.family.key_of(name, several=len(result.criteria) > 1),
                score=score,
                value=value,
                comment=comment_of(shown, name),
            )


def _case(case: Any, values: dict[str, Any]) -> Any:
    if (case is None) == ("outputs" not in values) or (case is not None and values):
        raise UsageError("give a case, or outputs= with inputs= and reference_outputs= where there are some.")
    if case is not None:
        return case
    known = {name: values.pop(name) for name in _VALUES if name in values}
    return structured_case(extra=values, **known)
