"""Changes to a case that must not change the verdict, each with the way back for the verdict."""

from __future__ import annotations

from .base import Context, Perturbation, Rewriter, compose, none, position_swap, retest, slot_names
from .formats import format_change, typography, whitespace
from .registry import (
    PERTURBATION_NAMES,
    alone,
    irrelevant_sentence,
    name_swap,
    negated,
    option_names,
    option_order,
    paraphrase,
    perturbation,
    prompt_variant,
    prompt_variants,
    two_way_choice,
)

__all__ = [
    "PERTURBATION_NAMES",
    "Context",
    "Perturbation",
    "Rewriter",
    "alone",
    "compose",
    "format_change",
    "irrelevant_sentence",
    "name_swap",
    "negated",
    "none",
    "option_names",
    "option_order",
    "paraphrase",
    "perturbation",
    "position_swap",
    "prompt_variant",
    "prompt_variants",
    "retest",
    "slot_names",
    "two_way_choice",
    "typography",
    "whitespace",
]
