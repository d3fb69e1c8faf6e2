"""Which judge is in what a user gives, and the harness it gets by default."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from os import PathLike
from typing import Any

from langsmith.evaluation import RunEvaluator

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.adapters import recognised
from judgeharness_integrations.calibration import CalibrationReport
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.judging import Judge, as_judge
from judgeharness_integrations.presets import Shape

__all__ = ["Calibration", "harness_for", "judge_in"]

Calibration = CalibrationReport | str | PathLike[str] | None
_MODES = {"scores": "mode", "any": "supermajority(2/3) | mode"}
_NEAR = 0.1  # LangSmith's scores are from 0 to 1 by convention
_OF_RUNS = frozenset({"run", "runs", "example"})  # what LangSmith's own evaluators may take and a judge may not


def judge_in(judge: Any) -> Judge:
    """Return the judge: a core Judge, the one in an evaluator of a framework, or a callable that takes a case.

    Raises:
        UsageError: it is none of these.

    """
    if isinstance(judge, Judge) and callable(judge.judge):
        return judge
    if isinstance(judge, (RunEvaluator, type)):
        kind = judge.__name__ if isinstance(judge, type) else type(judge).__name__
        raise UsageError(f"{kind} is no judge: give what judges, a function of (inputs, outputs, reference_outputs).")
    if callable(judge) and _OF_RUNS & _needed(judge):
        name = getattr(judge, "__name__", type(judge).__name__)
        raise UsageError(f"{name} takes a run: give a function of (inputs, outputs, reference_outputs), or of a case.")
    return recognised(judge) or as_judge(judge)


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
    if harness is not None and not isinstance(harness, JudgeHarness):
        raise UsageError(
            f"harness is a JudgeHarness, as in JudgeHarness.standard('labels'), not a {type(harness).__name__}."
        )
    own = getattr(given, "harness", None)
    if harness is None and isinstance(own, JudgeHarness):
        harness = own
    if harness is None:
        shape: Shape = "pairwise" if pairwise else _shape(judge)
        # a format change that does not fit an output is skipped and reported: one plain answer must not end a dataset
        options: dict[str, Any] = {"on_unfit": "skip"} | ({"tolerance": _NEAR} if shape == "any" else {})
        if getattr(judge, "discrete", False) and shape in _MODES:  # a median would lie between the choices
            options["aggregation_rule"] = _MODES[shape]
        harness = JudgeHarness.standard(shape, **options)
    return harness.with_calibration(calibration)


def _shape(judge: Judge) -> Shape:
    criteria = judge.criteria or ()
    if criteria and all(criterion.labels for criterion in criteria):
        return "labels"
    if criteria and all(criterion.scale for criterion in criteria):
        return "scores"
    return "any"
