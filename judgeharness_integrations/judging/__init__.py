"""The left half, which asks: cases, judges, perturbations, limits, and the harness, where asking and measuring meet."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .adapters import as_judge
    from .judge import (
        Answer,
        FunctionJudge,
        Judge,
        JudgeIdentity,
        JudgeLike,
        Judgment,
        Probe,
        as_answer,
        as_judgment,
        model_family,
        text_hash,
    )

__all__ = [
    "Answer",
    "FunctionJudge",
    "Judge",
    "JudgeIdentity",
    "JudgeLike",
    "Judgment",
    "Probe",
    "as_answer",
    "as_judge",
    "as_judgment",
    "model_family",
    "text_hash",
]

# Loaded at first use: one module of this room should not pay for the others.
__getattr__ = lazy(__name__, {**dict.fromkeys(__all__, "judge"), "as_judge": "adapters"})
