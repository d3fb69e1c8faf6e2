"""How many labels a wanted width takes: of a rate, and of a rate that is corrected with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from scipy.special import ndtri

from judgeharness_integrations._errors import UsageError

__all__ = ["CorrectedLabels", "corrected_labels", "wilson_labels", "wilson_width"]

_Z: Final = float(ndtri(0.975))
_MOST: Final = 10_000_000


@dataclass(frozen=True, kw_only=True)
class CorrectedLabels:
    """Labels a corrected rate takes: `positives` that people call positive, and `negatives`.

    Both are None where `cases` judged cases are too few whatever is labelled; `fewest_cases` is how many it takes at
    least (None where the judge is no better than chance, and nothing can be corrected).
    """

    positives: int | None
    negatives: int | None
    cases: int
    fewest_cases: int | None
    judged_rate: float


def wilson_width(rate: float, n: int) -> float:
    """Return the width of the 95 % Wilson interval of a rate that comes out as anticipated (Wilson 1927)."""
    spread = _Z * math.sqrt(rate * (1 - rate) / n + _Z * _Z / (4 * n * n))
    return 2 * spread / (1 + _Z * _Z / n)


def wilson_labels(rate: float, width: float) -> int | None:
    """Return how many labelled items give that width: for agreement items, for precision items the judge calls
    positive, for sensitivity items people call positive. None beyond 10 million.

    Raises:
        UsageError: the rate or the width does not lie between 0 and 1.

    """  # noqa: D205 - one paragraph
    _check(rate=rate)
    if not 0 < width < 1:
        raise UsageError(f"a wanted width must lie between 0 and 1, not {width:g}.")
    low, high = 0, 1
    while wilson_width(rate, high) > width:
        low, high = high, 2 * high
        if high > _MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if wilson_width(rate, middle) <= width else (middle, high)
    return high


def corrected_labels(
    *, rate: float, sensitivity: float, specificity: float, cases: int, width: float
) -> CorrectedLabels:
    """Return the fewest labels that give a Rogan-Gladen corrected rate a 95 % interval of that width.

    Delta method: var = (p(1-p)/n + (1-rate)^2 q0(1-q0)/m0 + rate^2 q1(1-q1)/m1) / (q0+q1-1)^2 (Rogan and Gladen
    1978). The sum m0 + m1 is smallest where m is in proportion to the root of its numerator (Neyman allocation).

    Args:
        rate: the true rate that is anticipated.
        sensitivity: q1, share of positives the judge finds.
        specificity: q0, share of negatives it leaves.
        cases: n, how many cases are judged without labels.
        width: wanted, from end to end.

    Raises:
        UsageError: a rate or the width does not lie between 0 and 1, or there is no case.

    """
    _check(rate=rate, sensitivity=sensitivity, specificity=specificity)
    if not 0 < width < 1:
        raise UsageError(f"a wanted width must lie between 0 and 1, not {width:g}.")
    if cases < 1:
        raise UsageError(f"cases must be a whole number of at least 1, not {cases}.")
    judged = rate * sensitivity + (1 - rate) * (1 - specificity)
    informed = sensitivity + specificity - 1
    if informed <= 0:
        return CorrectedLabels(positives=None, negatives=None, cases=cases, fewest_cases=None, judged_rate=judged)
    allowed = (width / (2 * _Z) * informed) ** 2
    fewest = math.floor(judged * (1 - judged) / allowed) + 1
    left = allowed - judged * (1 - judged) / cases
    if left <= 0:
        return CorrectedLabels(positives=None, negatives=None, cases=cases, fewest_cases=fewest, judged_rate=judged)
    root0 = (1 - rate) * math.sqrt(specificity * (1 - specificity))
    root1 = rate * math.sqrt(sensitivity * (1 - sensitivity))
    return CorrectedLabels(
        positives=max(1, math.ceil(root1 * (root0 + root1) / left)),
        negatives=max(1, math.ceil(root0 * (root0 + root1) / left)),
        cases=cases,
        fewest_cases=fewest,
        judged_rate=judged,
    )


def _check(**rates: float) -> None:
    for name, value in rates.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{name} must lie between 0 and 1, not {value:g}.")
