"""Runs and examples as cases, which judge is in what a user gives, and the harness it gets by default."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from inspect import Parameter, Signature, isfunction, signature
from os import PathLike
from typing import Any, ClassVar, Self
from uuid import uuid4

from langsmith.evaluation import RunEvaluator
from langsmith.evaluation.evaluator import DynamicRunEvaluator
from langsmith.schemas import Example, Run

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.judging.adapterkit import captured, check_harness, standard_for
from judgeharness_integrations.judging.adapters import as_judge, recognised
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase
from judgeharness_integrations.judging.execution.preparing import value_digest
from judgeharness_integrations.judging.functionsource import UnreadableError, source_digest
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import (
    DEFAULT_CRITERION,
    Answer,
    Judge,
    JudgeIdentity,
    Judgment,
    Probe,
    as_judgment,
    call_maybe_async,
)
from judgeharness_integrations.judging.parsing import answer_fields, described, numbered
from judgeharness_integrations.judging.structured import StructuredCase, own_copy, structured_case
from judgeharness_integrations.verdictlog.row import is_number

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "prompt_cost", "completion_cost", "total_cost")
_TOLD = ("name", "run_type", "error", "tags", "attachments", *_COUNTS)
_OF_ITSELF = frozenset({"revision_id", "example_version"})  # metadata that LangSmith sets anew


def rest_digest(run: Run, example: Example | None) -> str:
    """Return a digest of what a run and its example tell beside their own inputs and outputs.

    Ids, times, events and feedback are left out: they change where nothing else does. Runs that hold what cannot be
    compared are known by their ids.
    """
    about = [_facts(run), getattr(example, "metadata", None) or {}]
    digest = value_digest(about)
    if digest is None:
        digest = value_digest([run.id, getattr(example, "id", None), getattr(example, "modified_at", None)])
    return (digest or b"").hex()


def _facts(run: Any) -> dict[str, Any]:
    """Return the facts of a run, with those of its child runs; whatever is empty is left out."""
    told = {name: getattr(run, name, None) for name in _TOLD}
    extra = {name: value for name, value in (getattr(run, "extra", None) or {}).items() if name != "runtime"}
    if isinstance(extra.get("metadata"), Mapping):
        extra["metadata"] = {name: value for name, value in extra["metadata"].items() if name not in _OF_ITSELF}
    told["extra"] = {name: value for name, value in extra.items() if value}
    children = getattr(run, "child_runs", None) or ()
    told["child_runs"] = [{**_facts(one), "inputs": one.inputs, "outputs": one.outputs} for one in children]
    return {name: value for name, value in told.items() if value}


_TAKEN = frozenset({"run", "example", "inputs", "outputs", "reference_outputs", "attachments"})
_COMPARED = frozenset({"runs", "example", "inputs", "outputs", "reference_outputs"})
_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_RUN_AND_EXAMPLE = 2
_RUN_INPUTS = "run_inputs"  # the extra that holds what the run was given, where that is not the example's inputs


@dataclass(frozen=True)
class _Source:
    """What a case was made of."""

    run: Run
    example: Example | None


@dataclass(frozen=True, kw_only=True)
class RunCase(StructuredCase):
    """A run's outputs with its example's inputs and reference outputs, and both of them for who reads more."""

    source: _Source = field(repr=False, compare=False)
    rest: str = ""

    @classmethod
    def of(cls, case: StructuredCase, run: Run, example: Example | None, *, whole: bool = True) -> Self:
        """Return the case as one of a run; of the `whole` run and example where a judge may read all of them.

        Then `rest` is a digest of what is no text of the case; the case id is that of its outputs, which labels join.
        """
        told = {part.name: getattr(case, part.name) for part in fields(case)}
        given = run.inputs or {}
        if example is not None and given != (example.inputs or {}):
            told["extra"] = {**case.extra, _RUN_INPUTS: given}
        if whole:
            told["rest"] = rest_digest(run, example)
        return cls(**told, source=_Source(run, example))

    def arguments(self) -> dict[str, Any]:
        """Return what LangSmith gives an evaluator, by name, with the texts of this case: copies for one call."""
        run, example = self.source.run, self.source.example
        given = self.extra.get(_RUN_INPUTS, self.inputs)
        run = _copied(run, inputs=own_copy(given) or {}, outputs=own_copy(self.outputs))
        if example is not None:
            example = _copied(
                example,
                inputs=own_copy(self.inputs) or {},
                outputs=own_copy(self.reference_outputs) or ({} if example.outputs == {} else None),
                attachments=own_copy(self.extra.get("attachments")),
            )
        return _arguments(run, example)


def of_runs(function: Callable[..., Any]) -> bool:
    """Whether LangSmith would call a function with a run and an example, or with values by their names."""
    needed = _needed(_parameters(function))
    return bool(needed) and (needed <= _TAKEN or (len(needed) == _RUN_AND_EXAMPLE and "runs" not in needed))


@dataclass(frozen=True, kw_only=True)
class _FunctionOfRuns:
    """A function as LangSmith takes it, as a judge. Build it with `of`."""

    takes_values: ClassVar[bool] = True

    function: Callable[..., Any]
    name: str
    identity: JudgeIdentity | None = None
    criteria: tuple[Criterion, ...] | None = None
    unidentified: str | None = None

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        """Return a function as a judge, known again by its name and source where its source can be read."""
        own = getattr(function, "__name__", type(function).__name__)
        name = "judge" if own == "<lambda>" else own
        try:
            identity = JudgeIdentity(name=name, source=source_digest(function))
        except UnreadableError as error:
            return cls(function=function, name=name, unidentified=str(error))
        return cls(function=function, name=name, identity=identity)

    async def _asked(self, values: Mapping[str, Any], read: Callable[[Any, str], Judgment]) -> Judgment:
        """Call the function once; what LangChain's chat models answered inside is evidence."""
        positional, named = _call(self.function, values)
        with captured() as capture:
            try:
                native = await call_maybe_async(partial(self.function, *positional, **named))
            except Exception as error:
                if (unread := capture.unread(error)) is None:
                    raise
                return unread
        return capture.told(read(native, self.name))


class RunJudge(_FunctionOfRuns):
    """Asks a function of `(run, example)`, or of values by LangSmith's names.

    An answer that names no key is about the criterion of the function's name.
    """

    @property
    def takes_runs(self) -> bool:
        """Whether it is given the run or the example, of which it may read anything."""
        names = _parameters(self.function)
        return bool(names.keys() & {"run", "example"}) or not _TAKEN.issuperset(_needed(names))

    @property
    def takes_attachments(self) -> bool:
        """Whether it asks LangSmith for attachments: by a parameter of that name."""
        return "attachments" in _parameters(self.function)

    def fits(self, case: Case) -> str | None:
        """Return why it cannot judge a case, None when it can."""
        if isinstance(case, AnswerCase) and not isinstance(case, PairwiseCase):
            return None
        return f"it judges a run, of which a {type(case).__name__} tells no outputs"

    async def judge(self, probe: Probe) -> Judgment:
        """Call the function once, with copies of its own."""
        case = probe.case
        return await self._asked(case.arguments() if isinstance(case, RunCase) else _arguments_of_case(case), _judgment)


@dataclass(frozen=True, kw_only=True)
class RunPair(PairwiseCase):
    """Two runs of one example: their outputs as they are and as texts, and both runs for who reads more."""

    first: RunCase = field(repr=False)
    second: RunCase = field(repr=False)

    @classmethod
    def of(cls, first: RunCase, second: RunCase) -> Self:
        """Return the pair of two answers to the same input; its id is a digest of what is compared."""
        outputs = [first.outputs, second.outputs]
        both = structured_case(inputs=first.inputs, outputs=outputs, reference_outputs=first.reference_outputs)
        first, second = (replace(one, attributes={}) for one in (first, second))  # the run's id is no part of it
        return cls(case_id=both.case_id, input=first.input, reference=first.reference, **_both(first, second))

    def texts(self) -> tuple[str, ...]:
        """Return the texts of both answers, where they stand in the outputs."""
        return (*self.first.texts(), *self.second.texts())

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with the texts of both answers changed."""
        return replace(self, **_both(self.first.with_texts(change), self.second.with_texts(change)))

    def with_all_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with every text changed."""
        first, second = (one.with_all_texts(change) for one in (self.first, self.second))
        return replace(self, input=first.input, reference=first.reference, **_both(first, second))

    def swapped(self) -> Self:
        """Return the case with the two answers in the other order."""
        return replace(super().swapped(), first=self.second, second=self.first)


def _both(first: RunCase, second: RunCase) -> dict[str, Any]:
    return {"first": first, "second": second, "output": first.output, "output_b": second.output}


class ComparingJudge(_FunctionOfRuns):
    """Asks a function of `(runs, example)`, or of values by LangSmith's names, which of two outputs is better.

    It returns a score for each of the two, in a list or by the ids of their runs, the higher the better, or A, B or
    TIE.
    """

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        """Return a function as a judge of one preference, which is called as the function is."""
        judge = super().of(function)
        return replace(judge, criteria=(Criterion(name=judge.name, labels=("A", "B", "TIE")),))

    @staticmethod
    def compares(function: Any) -> bool:
        """Whether LangSmith would call a function, which came without a harness, with several runs or their outputs."""
        names = _parameters(function) if callable(function) and not hasattr(function, "harness") else {}
        needed = _needed(names)
        return bool(needed & {"runs", "outputs"}) and needed <= _COMPARED and not _takes_any(function)

    @property
    def takes_runs(self) -> bool:
        """Whether it is given the runs or the example, of which it may read anything."""
        return bool(_parameters(self.function).keys() & {"runs", "example"})

    def fits(self, case: Case) -> str | None:
        """Return why it cannot compare a case, None when it can."""
        if isinstance(case, PairwiseCase):
            return None
        return f"it compares two outputs, of which a {type(case).__name__} has one"

    async def judge(self, probe: Probe) -> Judgment:
        """Call the function once, with copies of its own."""
        case = probe.case
        if isinstance(case, RunPair):
            first, second = case.first.arguments(), case.second.arguments()
        else:
            shared = {"case_id": case.case_id, "input": case.input, "reference": case.reference}
            first, second = (
                _arguments_of_case(AnswerCase(output=text, **shared)) for text in (case.output, case.output_b)
            )
        runs = [first["run"], second["run"]]
        values = first | {"runs": runs, "outputs": [first["outputs"], second["outputs"]]}
        return await self._asked(values, partial(_preference, [run.id for run in runs]))


def _preference(ids: Sequence[Any], native: Any, name: str) -> Judgment:
    """Return the preference that two scores say, or that was named; there is none where a score is None."""
    scores, comment = native, None
    if not isinstance(native, (list, tuple)):
        part = native.get if isinstance(native, Mapping) else partial(getattr, native)
        scores, comment = part("scores", None), part("comment", None)
    if scores is None:
        return _about(name, as_judgment(native))
    if isinstance(scores, Mapping):
        by_id = {str(one): score for one, score in scores.items()}
        scores = [by_id[str(one)] for one in ids if str(one) in by_id]
    verdict, reasoning, unreadable = None, comment if isinstance(comment, str) else None, None
    if not isinstance(scores, (list, tuple)) or len(scores) != len("AB") or not all(map(_is_score, scores)):
        unreadable = f"answered {described(native)}, not a score for each of two outputs: return a list of two numbers"
        reasoning = unreadable
    elif None not in scores:
        verdict = "TIE" if scores[0] == scores[1] else "A" if scores[0] > scores[1] else "B"
    return Judgment(answers=(Answer(criterion=name, verdict=verdict, reasoning=reasoning),), unreadable=unreadable)


def _is_score(value: Any) -> bool:
    return value is None or isinstance(value, bool) or is_number(value)


def _parameters(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = Signature().parameters
    return {name: one for name, one in parameters.items() if one.kind not in _VARIABLE}


def _needed(parameters: Mapping[str, Parameter]) -> set[str]:
    return {name for name, one in parameters.items() if one.default is Parameter.empty}


def _takes_any(function: Callable[..., Any]) -> bool:
    """Whether a function takes any keyword, as openevals' evaluators of one output do."""
    return any(one.kind is Parameter.VAR_KEYWORD for one in inspect.signature(function).parameters.values())


def _call(function: Callable[..., Any], values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments, as LangSmith would have them."""
    names = _parameters(function)
    if not _needed(names) <= values.keys():
        return [values["run"], values["example"]], {}
    taken = {name: one for name, one in names.items() if name in values}
    first = [values[name] for name, one in taken.items() if one.kind is Parameter.POSITIONAL_ONLY]
    return first, {name: values[name] for name, one in taken.items() if one.kind is not Parameter.POSITIONAL_ONLY}


def _arguments(run: Run, example: Example | None) -> dict[str, Any]:
    by_example: dict[str, Any] = {"inputs": {}, "reference_outputs": {}, "attachments": {}}
    if example is not None:
        by_example = {
            "inputs": example.inputs or {},
            "reference_outputs": example.outputs or {},
            "attachments": example.attachments or {},
        }
    return {"run": run, "example": example, "outputs": run.outputs or {}, **by_example}


def _arguments_of_case(case: AnswerCase) -> dict[str, Any]:
    """Return the arguments for a case that was made of no run, of a calibration set say."""
    inputs: Any = case.input
    outputs: Any = case.output
    reference: Any = case.reference
    attached = None
    if isinstance(case, StructuredCase):
        inputs, outputs, reference = case.inputs, case.outputs, case.reference_outputs
        attached = own_copy(case.extra.get("attachments"))
    given, answered, right = _mapping("input", inputs), _mapping("output", outputs), _mapping("output", reference)
    own: dict[str, Any] = {"inputs": given, "outputs": answered}
    run_id, now = uuid4(), datetime.now(UTC)
    run = Run(id=run_id, trace_id=run_id, name=case.case_id, run_type="chain", start_time=now, **own)
    example = Example(id=uuid4(), inputs=own_copy(given), outputs=right, attachments=attached)
    return _arguments(run, example)


def _mapping(name: str, value: Any) -> dict[str, Any]:
    """Return a value as LangSmith keeps it: a text under the name it gives it there."""
    if value is None:
        return {}
    return own_copy(dict(value)) if isinstance(value, Mapping) else {name: own_copy(value)}


def _copied(model: Any, **changes: Any) -> Any:
    """Return a copy of a run or an example, or of what stands in for it in a test, whose containers are its own.

    Clients and parents are shared.
    """
    own = {
        name: [_copied(child) for child in value] if name == "child_runs" else own_copy(value)
        for name, value in vars(model).items()
        if name not in changes and isinstance(value, (dict, list)) and not name.startswith("_")
    }
    if hasattr(type(model), "model_copy"):
        return model.model_copy(update=own | changes)
    copied = copy(model)
    vars(copied).update(own | changes)
    return copied


def _judgment(native: Any, key: str) -> Judgment:
    """Read what an evaluator returned: one result, a list of them or LangSmith's `{"results": [...]}`."""
    several = native.get("results") if isinstance(native, Mapping) else native
    if not isinstance(several, list):
        return _about(_key(native) or key, as_judgment(_scored(native)))
    names = numbered(_key(one) or key for one in several)
    read = [_about(name, as_judgment(_scored(one))) for name, one in zip(names, several, strict=True)]
    return Judgment(
        answers=tuple(answer for one in read for answer in one.answers),
        unreadable=next((one.unreadable for one in read if one.unreadable), None),
    )


def _about(key: str, judgment: Judgment) -> Judgment:
    """Return the judgment with the criterion of an answer that names none."""
    answers = (replace(one, criterion=key) if one.criterion == DEFAULT_CRITERION else one for one in judgment.answers)
    return replace(judgment, answers=tuple(answers))


def _key(result: Any) -> str | None:
    key = result.get("key") if isinstance(result, Mapping) else getattr(result, "key", None)
    return str(key) if key else None


def _scored(result: Any) -> Any:
    """Return a result without its value where there is a score, which LangSmith takes for the measure of both.

    Where a key is named and nothing about it is said, the score is none.
    """
    given = answer_fields(result)
    if given is not None and given.one and {"score", "value"} <= given.verdicts.keys():
        return {"score": given.verdicts["score"], "comment": given.reasoning}
    if given is not None and not given.one and _key(result):
        return {"score": None, "comment": given.reasoning}
    return result


Calibration = CalibrationReport | str | PathLike[str] | None
COMPARES = "give a function of a PairwiseCase, of its input, output and output_b, that returns A, B or TIE."
_OF_RUNS = frozenset({"run", "runs", "example"})  # what LangSmith's own evaluators may take and a judge may not


def judge_in(judge: Any, *, pairwise: bool = False) -> Judge:
    """Return the judge: a core Judge, the one in an evaluator of a framework, or a callable that takes a case.

    `pairwise`: it is to compare two answers.

    Raises:
        UsageError: it is none of these.

    """
    if isinstance(judge, Judge) and callable(judge.judge):
        return judge
    other = COMPARES if pairwise else "give a function of (inputs, outputs, reference_outputs), or of a case."
    if isinstance(judge, (RunEvaluator, type)):
        kind = judge.__name__ if isinstance(judge, type) else type(judge).__name__
        raise UsageError(f"{kind} is no judge: {other}")
    if callable(judge) and _OF_RUNS & _needed_choice(judge):
        name = getattr(judge, "__name__", type(judge).__name__)
        raise UsageError(f"{name} takes a run: {other}")
    return recognised(judge) or as_judge(judge)


def judge_of_runs(judge: Any) -> Judge:
    """Return the judge for `evaluate`: what `judge_in` takes, or what LangSmith itself takes, of a run and its example.

    Raises:
        UsageError: it is none of these.

    """
    if isinstance(judge, RunEvaluator) and callable(made_of := getattr(judge, "__wrapped__", None)):
        judge = made_of  # @run_evaluator
    if isinstance(judge, Judge) or not callable(judge) or isinstance(judge, (type, RunEvaluator)):
        return judge_in(judge)
    return (None if _OF_RUNS & _needed_choice(judge) else recognised(judge)) or (
        RunJudge.of(judge) if of_runs(judge) else judge_in(judge)
    )


def keys_in_source(judge: Any) -> tuple[str, ...]:
    """Return the feedback keys a function's source names, as far as LangSmith finds them there."""
    function = getattr(judge, "__wrapped__", None) if isinstance(judge, RunEvaluator) else judge
    if not isfunction(function):
        return ()
    try:
        found = getattr(DynamicRunEvaluator(function), "feedback_keys", [])
    except ValueError:  # LangSmith would not take it
        return ()
    return () if found == [function.__name__] else tuple(dict.fromkeys(found))


def _needed_choice(function: Callable[..., Any]) -> set[str]:
    """Return the names of the parameters without a default."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return set()
    return {one.name for one in parameters if one.default is Parameter.empty}


def harness_for(
    given: Any, judge: Judge, harness: JudgeHarness | None, calibration: Calibration, *, pairwise: bool = False
) -> JudgeHarness:
    """Return the harness to use, with the calibration.

    It is the one given, else that of an evaluator that came harnessed, else the standard one for what the judge
    declares to answer.

    Raises:
        UsageError: `harness` is no JudgeHarness, or has a calibration already.

    """
    check_harness(harness)
    own = getattr(given, "harness", None)
    if harness is None and isinstance(own, JudgeHarness):
        harness = own
    return (harness or standard_for(judge, "pairwise" if pairwise else None)).with_calibration(calibration)
