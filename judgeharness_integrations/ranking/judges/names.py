"""Names of judges: `model`, or `model@variant` where one model judges with several prompts."""

from __future__ import annotations

__all__ = ["model_and_variant", "model_names"]


def model_and_variant(judge: str) -> tuple[str, str]:
    """Return model and variant, which is empty where the name has none: a model's own name may hold an `@`, too."""
    model, _, variant = judge.rpartition("@")
    return (model, variant) if model and variant else (judge, "")


def model_names(judge: str) -> tuple[str, ...]:
    """Return what a fact about the judge may be filed under, the most particular name first: `a@b@c`, `a@b`, `a`."""
    model, variant = model_and_variant(judge)
    return (judge, *model_names(model)) if variant else (judge,)
