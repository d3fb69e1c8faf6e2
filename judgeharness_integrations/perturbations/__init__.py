"""Changes to a case that must not change the verdict, each with the way back for the verdict."""

from __future__ import annotations

from judgeharness_integrations.perturbations.base import Context, Perturbation, Rewriter, compose
from judgeharness_integrations.perturbations.formats import format_change
from judgeharness_integrations.perturbations.names import name_swap
from judgeharness_integrations.perturbations.none import none
from judgeharness_integrations.perturbations.order import position_swap
from judgeharness_integrations.perturbations.registry import PERTURBATION_NAMES, perturbation
from judgeharness_integrations.perturbations.rewriting import paraphrase, prompt_variant, prompt_variants
from judgeharness_integrations.perturbations.slots import slot_names
from judgeharness_integrations.perturbations.typography import typography
from judgeharness_integrations.perturbations.whitespace import whitespace

__all__ = [
    "PERTURBATION_NAMES",
    "Context",
    "Perturbation",
    "Rewriter",
    "compose",
    "format_change",
    "name_swap",
    "none",
    "paraphrase",
    "perturbation",
    "position_swap",
    "prompt_variant",
    "prompt_variants",
    "slot_names",
    "typography",
    "whitespace",
]
