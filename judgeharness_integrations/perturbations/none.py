"""No change: the case as it is, to which the changed ones are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations.perturbations.base import Perturbation

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case

__all__ = ["none"]


def none() -> Perturbation:
    """Return the perturbation `none`, which shows every case as it is."""
    return Perturbation("none", _same)


def _same(case: Case) -> Case:
    return case
