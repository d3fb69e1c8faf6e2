"""A measurement as the result dict of the evaluator it replaces, plus one key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, TypeAlias
from uuid import UUID

from langchain_core.outputs import RunInfo
from langchain_core.runnables import RunnableConfig

from judgeharness_integrations._errors import UnsupportedEvaluatorError, UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.certifying.cascade import Cascade
from judgeharness_integrations.analysis.result import (
    CriterionResult,
    HarnessResult,
    OnNotGraded,
    check_on_not_graded,
    raise_where_all_failed,
)
from judgeharness_integrations.judging.adapterkit import check_harness
from judgeharness_integrations.judging.cascading import CascadeJudge
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.execution.observing import is_private
from judgeharness_integrations.judging.harness import JudgeHarness, Shape
from judgeharness_integrations.judging.recording import watchers
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_integrations.reporting import rationale
from judgeharness_integrations.reporting.text import shown_order, undecided_reason
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_to_json

from .chatjudge import ChatJudge
from .decisionmodels import is_decision_model
from .decisions import DecisionJudge
from .evaluators import EvaluatorJudge
from .faces import ChainFaces, EvaluatorRunnable, PairwiseStringEvaluator, StringEvaluator, is_chain
from .kinds import CUSTOM_LABELS, CallOptions, Kind, NativeValue


def harness_entry(result: HarnessResult, verdict: Any, status: str) -> dict[str, Any]:
    """Return the `harness` key: what a suite reads first on top of the whole document."""
    document = result.to_dict()
    first = next(iter(document["criteria"].values()))
    single = len(document["criteria"]) == 1
    return {
        "verdict": verdict,
        "status": status,
        "sample_distribution": first["sample_distribution"] if single else None,
        "consistency_rate": first["consistency_rate"] if single else None,
        "calibrated_precision": _calibrated(result, document, "precision"),
        "calibrated_recall": _calibrated(result, document, "recall"),
        **document,
    }


def _calibrated(result: HarnessResult, document: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return a rate of the only criterion, measured by people or checks on exactly this configuration, else None."""
    report = result.calibration
    if report is None or not (report.calibrated and result.calibration_valid) or len(result.criteria) != 1:
        return None
    measured = document["calibration"]["criteria"].get(result.only.criterion)
    rate: dict[str, Any] | None = None if measured is None else measured[name]
    return rate


def result_dict(result: HarnessResult, kind: Kind, *, include_run_info: bool = False) -> dict[str, Any]:
    """Return the evaluator's keys in the original frame, and `harness`.

    A tie is value None, score 0.5; abstained and not graded are value None, score None. With several criteria the
    verdict is PASS when all pass, FAIL when one fails, and open otherwise; a set of labels is the list of labels
    that apply, open while one of them is.
    """
    measured = _label_set(result) if kind.label_set else _combined(result)
    verdict = verdict_to_json(measured.verdict)
    value, score = _native(kind, measured)
    row = rationale(result, measured.criterion)
    reasoning = (
        _reasoning(measured, row) if measured.status == "decided" else undecided_reason(result, measured.criterion)
    )
    native = {"reasoning": reasoning, "value": value, "score": score}
    answer: dict[str, Any] = {key: native[key] for key in kind.keys}
    run_id = row.attributes.get("run_id") if row is not None else None
    if include_run_info and run_id is not None:
        answer["__run"] = RunInfo(run_id=UUID(str(run_id)))
    return answer | {"harness": harness_entry(result, verdict, measured.status)}


def _native(kind: Kind, measured: CriterionResult) -> NativeValue:
    if measured.status != "decided":
        return None, None
    if isinstance(measured.verdict, frozenset):
        return sorted(measured.verdict), None
    return kind.native(measured.verdict)


def _reasoning(measured: CriterionResult, row: VerdictRow | None) -> str:
    if row is None:
        return measured.reason
    return f"{shown_order(row)} ".lstrip() + (row.reasoning or row.raw or "")


def _combined(result: HarnessResult) -> CriterionResult:
    """Return the criterion that decides over all of them: a failing one, else an open one, else any."""
    parts = list(result.criteria.values())
    failing = next((part for part in parts if part.verdict == "FAIL"), None)
    undecided = next((part for part in parts if part.status != "decided"), None)
    return (failing if len(parts) > 1 else None) or undecided or parts[0]


def _label_set(result: HarnessResult) -> CriterionResult:
    combined = next((part for part in result.criteria.values() if part.status != "decided"), None)
    if combined is not None:
        return combined
    applying = frozenset(name for name, part in result.criteria.items() if part.verdict == "PASS")
    return replace(next(iter(result.criteria.values())), verdict=applying)


_Judge: TypeAlias = EvaluatorJudge | ChatJudge | DecisionJudge


class _Harnessed:
    """What both interfaces share."""

    def __init__(
        self, judge: _Judge, harness: JudgeHarness, on_not_graded: OnNotGraded, turns: CascadeJudge | None = None
    ) -> None:
        """Evaluate with a judge under a harness, or with those asked in turn; see `harness_evaluator`."""
        self.judge = judge
        self.turns = turns
        self.harness = harness
        self.on_not_graded = on_not_graded

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of an evaluator that compares by rule: none of them asks a model past the harness."""
        judge = self.__dict__.get("judge")
        if name.startswith("__") or getattr(judge, "asked_once", None) is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(judge.evaluator, name)  # type: ignore[union-attr]

    @property
    def requires_input(self) -> bool:
        """As the evaluator's own."""
        return bool(getattr(self._evaluator, "requires_input", False))

    @property
    def requires_reference(self) -> bool:
        """As the evaluator's own."""
        return bool(getattr(self._evaluator, "requires_reference", False))

    @property
    def evaluation_name(self) -> str:
        """As the evaluator's own."""
        return str(getattr(self._evaluator, "evaluation_name", self.judge.name))

    def _check_evaluation_args(self, reference: str | None = None, input_: str | None = None) -> None:
        """Check as the evaluator would; our own judges use an input or reference also where they need none."""
        if isinstance(self.judge, (ChatJudge, DecisionJudge)):
            input_ = input_ if self.requires_input else None
            reference = reference if self.requires_reference else None
        elif (check := getattr(self._evaluator, "_check_evaluation_args", None)) is not None:
            check(reference=reference, input_=input_)  # in whose words the evaluator is called by its own name
            return
        super()._check_evaluation_args(reference=reference, input_=input_)  # type: ignore[misc]

    @property
    def _skip_input_warning(self) -> str:
        return self._skipping("input")

    @property
    def _skip_reference_warning(self) -> str:
        return self._skipping("reference")

    def _skipping(self, word: str) -> str:
        name = type(self._evaluator).__name__
        own = getattr(self._evaluator, f"_skip_{word}_warning", None)
        return str(own or f"Ignoring {word} in {name}, as it is not expected.")

    @property
    def _evaluator(self) -> Any:
        return self.judge.evaluator if isinstance(self.judge, EvaluatorJudge) else self.judge

    @property
    def _takes_values(self) -> bool:
        return isinstance(self.judge, EvaluatorJudge) and self.judge.asked_once is not None

    @property
    def _bare(self) -> bool:
        """Whether the design is the evaluator itself: one sample, nothing perturbed."""
        if self.turns is not None:
            return False
        design = self.harness.design_for(self.judge)
        return design.repetitions == 1 and design.perturbations == ("none",) and isinstance(self.judge, EvaluatorJudge)

    def _bound(self, options: CallOptions) -> Any:
        return self.judge.bound(options, own_parser=self._bare)

    def _kept(self, result: HarnessResult, judge: Any, options: CallOptions) -> dict[str, Any]:
        answer = self._answer(result, judge, options)
        options.kept.append((answer, result))
        return answer

    def _answer(self, result: HarnessResult, judge: Any, options: CallOptions) -> dict[str, Any]:
        sample = next(iter(judge.samples.values()), None) if self._bare else None
        if sample is not None and sample.error is not None and self.on_not_graded == "raise":
            raise sample.error
        if sample is None or sample.answer is None or result.only.status == "not_graded":
            if self.on_not_graded == "raise":
                raise_where_all_failed([result], private=is_private(watchers(self.harness.observers)))
            return result_dict(result, self.judge.kind, include_run_info=options.include_run_info)
        answer = dict(sample.answer)
        if not options.include_run_info:
            answer.pop("__run", None)
        measured = result.only
        return answer | {"harness": harness_entry(result, measured.verdict, measured.status)}

    def _sync(self, case: AnswerCase, options: dict[str, Any]) -> dict[str, Any]:
        call = CallOptions.of(options)
        judge = self._bound(call)
        return self._kept(self.harness.evaluate(self._asked(judge, call), case), judge, call)

    async def _async(self, case: AnswerCase, options: dict[str, Any]) -> dict[str, Any]:
        call = CallOptions.of(options)
        judge = self._bound(call)
        return self._kept(await self.harness.aevaluate(self._asked(judge, call), case), judge, call)

    def _asked(self, judge: Any, options: CallOptions) -> Any:
        """Return whom the harness asks about one evaluation: the judge, or it and those after it in turn."""
        if self.turns is None:
            return judge
        later: Any = self.turns.judges[1:]
        return CascadeJudge([judge, *(one.bound(options, own_parser=False) for one in later)], self.turns.cascade)

    def as_runnable(self) -> EvaluatorRunnable:
        """Return a Runnable over `{"prediction": ..., "prediction_b": ..., "input": ..., "reference": ...}`.

        `batch` and its like ask everything before they raise; a `NotGradedError` of theirs holds every result.
        """
        pairwise = isinstance(self, HarnessedPairwiseEvaluator)
        evaluate = getattr(self, "evaluate_string_pairs" if pairwise else "evaluate_strings")
        aevaluate = getattr(self, "aevaluate_string_pairs" if pairwise else "aevaluate_strings")

        def run(inputs: dict[str, Any], config: RunnableConfig, **options: Any) -> Any:
            return evaluate(**inputs, **options, config=config)

        async def arun(inputs: dict[str, Any], config: RunnableConfig, **options: Any) -> Any:
            return await aevaluate(**inputs, **options, config=config)

        return EvaluatorRunnable(run, arun, name=self.evaluation_name, observers=self.harness.observers)


def _case_id(*texts: str | None) -> str:
    return "case-" + hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:12]


class HarnessedPairwiseEvaluator(_Harnessed, PairwiseStringEvaluator):  # type: ignore[misc]
    """A pairwise evaluator under a harness."""

    def _evaluate_string_pairs(self, **options: Any) -> dict[str, Any]:
        return self._sync(*_pair(options))

    async def _aevaluate_string_pairs(self, **options: Any) -> dict[str, Any]:
        return await self._async(*_pair(options))


class HarnessedStringEvaluator(_Harnessed, StringEvaluator):  # type: ignore[misc]
    """A scoring or criteria evaluator under a harness."""

    def _evaluate_strings(self, **options: Any) -> dict[str, Any]:
        return self._sync(*_single(options, values=self._takes_values))

    async def _aevaluate_strings(self, **options: Any) -> dict[str, Any]:
        return await self._async(*_single(options, values=self._takes_values))


class HarnessedPairwiseChain(ChainFaces, HarnessedPairwiseEvaluator):
    """A pairwise chain of LangChain's under a harness."""


class HarnessedStringChain(ChainFaces, HarnessedStringEvaluator):
    """A scoring, criteria or question answering chain of LangChain's under a harness."""


def _judged(options: dict[str, Any], name: str) -> Any:
    """Take an answer out of the arguments of a call."""
    value = options.pop(name, None)
    if value is None:
        raise ValueError(f"{name} is None: there is no answer to judge.")
    return value


def _single(options: dict[str, Any], *, values: bool) -> tuple[AnswerCase, dict[str, Any]]:
    """Return the case of a call, of `values` where not all of it is text and that counts, and the other arguments."""
    output = _judged(options, "prediction")
    reference, given = options.pop("reference", None), options.pop("input", None)
    if values and not all(value is None or isinstance(value, str) for value in (output, reference, given)):
        return structured_case(outputs=output, reference_outputs=reference, inputs=given), options
    output = str(output)
    case_id = _case_id(given, output, reference)
    return AnswerCase(case_id=case_id, input=given, output=output, reference=reference), options


def _pair(options: dict[str, Any]) -> tuple[PairwiseCase, dict[str, Any]]:
    first, second = str(_judged(options, "prediction")), str(_judged(options, "prediction_b"))
    reference, given = options.pop("reference", None), options.pop("input", None)
    case_id = _case_id(given, first, second, reference)
    return PairwiseCase(case_id=case_id, input=given, output=first, output_b=second, reference=reference), options


def _judge_in(evaluator: Any, shape: Shape | None) -> _Judge:
    """Return the judge: an evaluator's, one of ours, or one over a decision model."""
    if isinstance(evaluator, ChatJudge):
        return evaluator
    if is_decision_model(evaluator):
        evaluator = DecisionJudge(evaluator, shape=shape)  # type: ignore[arg-type] # which refuses `any`
    if not isinstance(evaluator, DecisionJudge):
        return EvaluatorJudge.of(evaluator, shape=shape)
    if evaluator.criteria is None:
        raise UsageError("say what the decision model is asked: DecisionJudge(model, shape='pairwise'), or criteria=.")
    if len(evaluator.criteria) > 1 and evaluator.kind != CUSTOM_LABELS:
        raise UnsupportedEvaluatorError(
            f"{evaluator.name} answers {len(evaluator.criteria)} criteria, and the result of an evaluator holds one "
            "verdict: give each a judge, or measure them together with JudgeHarness.evaluate."
        )
    return evaluator


def _in_turn(
    evaluators: Sequence[Any], given: Cascade | str | PathLike[str] | None, shape: Shape | None
) -> tuple[_Judge, CascadeJudge]:
    """Return the first judge of a cascade, and all of them; LangChain's evaluators have the names of their steps."""
    if given is None:
        raise UsageError(
            "several evaluators need certificates to be asked in turn: give cascade='cascade.json', as judgeharness "
            "certify LOG --cascade CHEAP,STRONG --out cascade.json saves it."
        )
    cascade = given if isinstance(given, Cascade) else Cascade.load(given)
    judges = [_judge_in(one, shape) for one in evaluators]
    for place, (judge, step) in enumerate(zip(judges, cascade.steps, strict=False)):
        if isinstance(judge, EvaluatorJudge):
            judges[place] = replace(judge, name=step.judge)
        if judge.kind != judges[0].kind:
            raise UsageError(
                f"{judge.name!r:.60} answers otherwise than {judges[0].name!r:.60}: the evaluators of a cascade answer "
                "the same question in the same words."
            )
    turns = CascadeJudge(judges, cascade)
    return judges[0], turns


def harness_evaluator(
    evaluator: Any,
    harness: JudgeHarness | None = None,
    calibration: CalibrationReport | str | PathLike[str] | None = None,
    *,
    cascade: Cascade | str | PathLike[str] | None = None,
    shape: Shape | None = None,
    on_not_graded: OnNotGraded = "raise",
) -> Any:
    """Return the evaluator under a harness, with the same interface and the same result dict plus `harness`.

    Args:
        evaluator: whatever has `evaluate_string_pairs` or `evaluate_strings`, or one of our judges. One that compares
            by rule (exact match, regex, JSON, distances) is called once, unperturbed. A list of them is asked in turn:
            the next one where the certificate of the one before does not cover the case.
        harness: the design; `JudgeHarness.standard` for the evaluator's shape by default (six calls a case).
        calibration: a saved calibration, or its path.
        cascade: for a list of evaluators, what `certify --cascade` saved, or its path; its judges are these, in order.
        shape: `labels` or `scores` for a string evaluator of the caller's own, and what a decision model is asked.
        on_not_graded: what an evaluation does when all samples failed with errors (a dead key, say): `raise` a
            `NotGradedError`, as the evaluator raises where its model cannot be reached, or `report` value None.

    Raises:
        UnsupportedEvaluatorError: it cannot be harnessed; the sentence says why.
        UsageError: it is harnessed already, `harness` is no `JudgeHarness`, or `on_not_graded` is no choice.

    """
    check_harness(harness, example="pairwise")
    check_on_not_graded(on_not_graded)
    if isinstance(evaluator, _Harnessed):
        raise UsageError("the evaluator is harnessed already.")
    if cascade is not None and not isinstance(evaluator, (list, tuple)):
        raise UsageError("a cascade is of several evaluators: give them as a list, the cheapest first.")
    several = isinstance(evaluator, (list, tuple))
    judge, turns = _in_turn(evaluator, cascade, shape) if several else (_judge_in(evaluator, shape), None)
    harness = (harness or JudgeHarness.standard(judge.kind.shape)).with_calibration(calibration)
    chain = is_chain(evaluator if turns is None else evaluator[0])
    if judge.kind.pairs:
        return (HarnessedPairwiseChain if chain else HarnessedPairwiseEvaluator)(judge, harness, on_not_graded, turns)
    return (HarnessedStringChain if chain else HarnessedStringEvaluator)(judge, harness, on_not_graded, turns)
