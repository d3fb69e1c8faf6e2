"""The harness that is written into the code: its text, and the calls it makes a case."""

from __future__ import annotations

from typing import Literal, TypeAlias

from judgeharness_integrations.migration.rewriting.outcome import Level
from judgeharness_integrations.presets import PRESETS, Shape

__all__ = ["PRESET_OF", "Wrapper", "calls_of", "design_arguments"]

Wrapper: TypeAlias = Literal["harness_evaluator", "harness_judge", "HarnessRunEvaluator"]

PRESET_OF: dict[Level, str] = {"single": "single", "measured": "standard"}
_NEAR = "0.1"  # scores of evaluation frameworks are from 0 to 1 by convention


def design_arguments(
    shape: Shape, level: Level, *, discrete: bool = False, once: bool = False, quote: str = '"'
) -> str:
    """Return what stands in the parentheses of `JudgeHarness.single(...)` or `JudgeHarness.standard(...)`.

    What is measured may not end a suite that ran before, so an answer that cannot be laid out anew is skipped there;
    scores of given choices are folded to one of them, and a model at temperature 0 is asked each question once.

    Args:
        shape: what the judge answers.
        level: which preset.
        discrete: the judge's scores are all of given ones.
        once: its model has temperature 0, so that repetitions would be copies.
        quote: the quotation mark of the file.

    """
    parts = [f"{quote}{shape}{quote}"]
    if level == "measured" and shape != "pairwise":
        parts.append(f"on_unfit={quote}skip{quote}")
        if shape == "any":
            parts.append(f"tolerance={_NEAR}")
        if discrete:
            rule = "mode" if shape == "scores" else "supermajority(2/3) | mode"
            parts.append(f"aggregation_rule={quote}{rule}{quote}")
    if level == "measured" and once:
        parts.append("repetitions=1")
    return ", ".join(parts)


def calls_of(shape: Shape, level: Level, *, once: bool = False) -> int:
    """Return the judge calls a case of a level: perturbations x repetitions, one of these where `once`."""
    perturbations, repetitions, _ = PRESETS[PRESET_OF[level]][shape]
    return len(perturbations) * (1 if once else repetitions)
