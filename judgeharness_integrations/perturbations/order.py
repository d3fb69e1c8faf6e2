"""The two answers in the other order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from judgeharness_integrations.perturbations._fits import wants_two
from judgeharness_integrations.perturbations.base import Perturbation

if TYPE_CHECKING:
    from judgeharness_integrations.cases import PairwiseCase
    from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["position_swap"]

_OTHER = {"A": "B", "B": "A"}


def position_swap() -> Perturbation:
    """Return the perturbation that shows the two answers, and their authors, in the other order.

    A verdict `A` is restored to `B` and `B` to `A`; ties, numbers and sets of labels stay as they are.
    """
    return Perturbation("position_swap", _swapped, restore=_restored, fits=wants_two("position_swap"), swaps=True)


def _swapped(case: PairwiseCase) -> PairwiseCase:
    return replace(case, output=case.output_b, output_b=case.output, author=case.author_b, author_b=case.author)


def _restored(verdict: Verdict, criterion: str) -> Verdict:
    del criterion
    return _OTHER.get(verdict, verdict) if isinstance(verdict, str) else verdict
