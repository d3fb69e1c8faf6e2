"""The harness an evaluator gets when its user names none, by what its judge declares to answer."""

from __future__ import annotations

from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.harness import JudgeHarness, Shape
from judgeharness_integrations.judging.judge import Judge

_MODES: dict[Shape, str] = {"scores": "mode", "any": "supermajority(2/3) | mode"}
_NEAR = 0.1  # scores of evaluation frameworks are from 0 to 1 by convention


def check_harness(harness: object, *, example: Shape = "labels") -> None:
    """Raise a UsageError for what is neither a harness nor None; its sentence shows one of the `example` shape."""
    if harness is not None and not isinstance(harness, JudgeHarness):
        kind = type(harness).__name__
        raise UsageError(f"harness is a JudgeHarness, as in JudgeHarness.standard('{example}'), not a {kind}.")


def shape_of(judge: Judge) -> Shape:
    """Return `labels` or `scores` where every criterion declares its labels or its scale, else `any`."""
    criteria = judge.criteria or ()
    if criteria and all(criterion.labels for criterion in criteria):
        return "labels"
    if criteria and all(criterion.scale for criterion in criteria):
        return "scores"
    return "any"


def standard_for(judge: Judge, shape: Shape | None = None, **options: Any) -> JudgeHarness:
    """Return the standard harness for a judge; `shape` is its own where None, `options` those of the constructor.

    A format change that does not fit an output is skipped and reported: one plain answer must not end a dataset.
    Scores of given choices are folded by `mode`, since a median could lie between the choices.
    """
    shape = shape or shape_of(judge)
    ours: dict[str, Any] = {"on_unfit": "skip"} | ({"tolerance": _NEAR} if shape == "any" else {})
    if getattr(judge, "discrete", False) and shape in _MODES:
        ours["aggregation_rule"] = _MODES[shape]
    return JudgeHarness.standard(shape, **ours | options)
