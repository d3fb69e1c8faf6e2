"""Measurement designs that are right by default, by the shape of the verdict."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from judgeharness_integrations._errors import UnknownNameError

__all__ = ["PRESETS", "Shape", "preset"]

Shape: TypeAlias = Literal["pairwise", "labels", "scores", "any"]

_AS_IT_IS = ("none",)
_FORMATS = ("none", "format_change")
_TEXTS = ("none", "format_change", "whitespace", "typography")
_ORDERS = ("none", "position_swap")
_ORDERS_AND_FORMATS = (*_ORDERS, "format_change", "format_change+position_swap")

# `any`: labels or scores, whichever the judge answers
# preset -> shape -> (perturbations, repetitions, rule): calls a case = perturbations x repetitions
PRESETS: dict[str, dict[str, tuple[tuple[str, ...], int, str]]] = {
    "single": {
        "pairwise": (_AS_IT_IS, 1, "majority"),
        "labels": (_AS_IT_IS, 1, "majority"),
        "scores": (_AS_IT_IS, 1, "median"),
        "any": (_AS_IT_IS, 1, "majority | median"),
    },
    "quick": {
        "pairwise": (_ORDERS, 1, "swap_consensus"),
        "labels": (_FORMATS, 1, "abstain_on_disagreement"),
        "scores": (_FORMATS, 1, "median"),
        "any": (_FORMATS, 1, "abstain_on_disagreement | median"),
    },
    "standard": {
        "pairwise": (_ORDERS, 3, "swap_consensus"),
        "labels": (_FORMATS, 3, "supermajority(2/3)"),
        "scores": (_FORMATS, 3, "median"),
        "any": (_FORMATS, 3, "supermajority(2/3) | median"),
    },
    "thorough": {
        "pairwise": (_ORDERS_AND_FORMATS, 3, "swap_consensus"),
        "labels": (_TEXTS, 3, "supermajority(2/3)"),
        "scores": (_TEXTS, 3, "median"),
        "any": (_TEXTS, 3, "supermajority(2/3) | median"),
    },
}


def preset(name: str, shape: str) -> dict[str, Any]:
    """Return the harness arguments of a preset: perturbations, repetitions, aggregation_rule.

    Typography has nothing to vary in many texts, so `thorough` skips perturbations that do not fit, and says so.
    """
    if shape not in PRESETS[name]:
        raise UnknownNameError("shape", shape, PRESETS[name])
    perturbations, repetitions, aggregation_rule = PRESETS[name][shape]
    arguments = {"perturbations": perturbations, "repetitions": repetitions, "aggregation_rule": aggregation_rule}
    return arguments | ({"on_unfit": "skip"} if name == "thorough" else {})
