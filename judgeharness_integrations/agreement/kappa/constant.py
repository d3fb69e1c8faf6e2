"""How far an annotator who always gives the same answer agrees with humans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap
from judgeharness_integrations.agreement.kappa.pairs import CoefficientName, pairwise
from judgeharness_integrations.agreement.kappa.ratings import Weights
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.coefficient import Coefficient
    from judgeharness_integrations.agreement.kappa.scales import Answers, Scale

__all__ = ["ConstantAgreement", "constant_agreement"]

_LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class ConstantAgreement:
    """An annotator who reads nothing and gives every item the humans' commonest answer, of numbers their median.

    `says` is what it answers, `value` its mean coefficient with the humans for whom one is defined, of whom there are
    `humans`, and `observed` the mean agreement behind it, which a coefficient corrects for chance. Where a coefficient
    is undefined since one side never varies, its agreement is that of chance, and counts as 0. None where there is no
    coefficient.
    """

    says: str
    value: float | None
    observed: float | None
    humans: int


def constant_agreement(
    scale: Scale, humans: Sequence[str], *, coefficient: CoefficientName, weights: Weights
) -> ConstantAgreement | None:
    """Return how far the constant annotator agrees with humans; None where they answered nothing."""
    answers = scale.answers(humans)
    present = ~np.isnan(answers) if answers.dtype.kind == "f" else answers >= 0
    if not present.any():
        return None
    constant = _commonest(answers[present])
    both = np.vstack([answers, np.full((1, answers.shape[1]), constant, answers.dtype)])
    found, _ = pairwise(
        scale.ratings(both),
        [(place, len(humans)) for place in range(len(humans)) if present[place].any()],
        coefficient=coefficient,
        weights=weights,
        bootstrap=Bootstrap(replicates=0),
    )
    known = [(value, one.observed) for one in found if (value := _beyond_chance(one)) is not None]
    values, observed = zip(*known, strict=True) if known else ((), ())
    return ConstantAgreement(
        says=f"always {_text(scale, constant):.{_LONGEST_NAME}}",
        value=float(np.mean(values)) if known else None,
        observed=float(np.mean(observed)) if known else None,
        humans=len(known),
    )


def _beyond_chance(one: Coefficient) -> float | None:
    if one.value is None and one.observed is not None and one.expected is not None and one.expected < 1:
        return 0.0
    return one.value


def _commonest(given: Answers) -> float | int:
    if given.dtype.kind == "f":
        return float(np.sort(given)[(len(given) - 1) // 2])
    return int(np.bincount(given).argmax())


def _text(scale: Scale, constant: float) -> str:
    panel = scale.panel
    if panel.kind == "numbers":
        return f"{constant:g}"
    if panel.kind == "labels":
        return panel.labels[int(constant)]
    marked = panel.values[np.flatnonzero(panel.codes == constant)[0]]
    return verdict_text(frozenset(label for label, mark in zip(panel.labels, marked.tolist(), strict=True) if mark))
