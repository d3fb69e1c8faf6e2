"""Other labels for the two answers: Response 1 and Response 2 instead of the judge's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.cases import presented
from judgeharness_integrations.perturbations._fits import wants_two
from judgeharness_integrations.perturbations.base import Perturbation

if TYPE_CHECKING:
    from judgeharness_integrations.cases import PairwiseCase
    from judgeharness_integrations.perturbations.base import Context

__all__ = ["slot_names"]

_PAIRS = (("Response 1", "Response 2"), ("X", "Y"))
_RESERVED = "/+()"


def slot_names(first: str | None = None, second: str | None = None) -> Perturbation:
    """Return the perturbation that relabels the two answers; their order stays.

    Args:
        first: label of answer A; without labels, a pair is chosen by the case's randomness.
        second: label of answer B.

    Raises:
        PlanError: only one label, two equal ones, or one that could not stand in a perturbation's name.

    """
    if first is None and second is None:
        return _slots("slot_names", _PAIRS)
    labels = (first or "", second or "")
    for label in labels:
        if not label or label != label.strip() or not label.isprintable() or any(mark in label for mark in _RESERVED):
            raise PlanError(
                f"slot_names needs two labels, on one line and without any of {_RESERVED}: {label!r} is none."
            )
    if len({labels[0].casefold(), labels[1].casefold(), "tie"}) < len("AB") + 1:
        raise PlanError(f"slot_names needs two labels that differ from each other and from TIE: {first!r}, {second!r}.")
    return _slots(f"slot_names({first}/{second})", (labels,))


def _slots(name: str, pairs: tuple[tuple[str, str], ...]) -> Perturbation:
    def apply(case: PairwiseCase, context: Context) -> PairwiseCase:
        return presented(case, slot_names=context.random.choice(pairs))

    return Perturbation(name, apply, fits=wants_two("slot_names"), contextual=True, needs=frozenset({"slot_names"}))
