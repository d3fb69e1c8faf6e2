"""Which judge is in what a user gives, and the harness it gets by default."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, isfunction, signature
from os import PathLike
from typing import Any

from langsmith.evaluation import RunEvaluator
from langsmith.evaluation.evaluator import DynamicRunEvaluator

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.judging.adapters import recognised
from judgeharness_integrations.judging.defaulting import check_harness, standard_for
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge, as_judge
from judgeharness_langsmith.runjudge import RunJudge, of_runs

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
    if callable(judge) and _OF_RUNS & _needed(judge):
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
    return (None if _OF_RUNS & _needed(judge) else recognised(judge)) or (
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


def _needed(function: Callable[..., Any]) -> set[str]:
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
