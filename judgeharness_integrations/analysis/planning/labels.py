"""How many labels a wanted width takes: of a rate, and of a rate that is corrected with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration.rogangladen import RoganGladen, rogan_gladen
from judgeharness_integrations.analysis.planning.study import Decided, Goal, RateStudy, cases_of
from judgeharness_integrations.analysis.statistics.search import fewest

_MOST: Final = 10_000_000
_STUDIES: Final = 2_000
_HALF: Final = 0.5
_RATES: Final = 101
_fewest = partial(fewest, least=2, most=_MOST)


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


def wilson_labels(rate: float, width: float, *, assurance: float | None = None) -> int | None:
    """Return how many labelled items give that width: for agreement items, for precision items the judge calls
    positive, for sensitivity items people call positive. None beyond 10 million.

    Args:
        rate: that is anticipated.
        width: of the 95 % interval, from end to end.
        assurance: share of studies whose interval is no wider; None: where the rate comes out as anticipated, as it
            does in about half of them.

    Raises:
        UsageError: a rate, the width or the assurance does not lie between 0 and 1.

    """  # noqa: D205 - one paragraph
    _check(rate=rate)
    if not 0 < width < 1:
        raise UsageError(f"a wanted width must lie between 0 and 1, not {width:g}.")
    goal = Goal(value=width, assurance=assurance)
    rates = np.array([rate])
    return cases_of(RateStudy(goal=goal, decided=Decided(rates=rates, spreads=rates * (1 - rates))), least=1)


def corrected_labels(
    *,
    rate: float,
    sensitivity: float,
    specificity: float,
    cases: int,
    width: float,
    assurance: float | None = 0.8,
    needed: float | None = None,
) -> CorrectedLabels:
    """Return the fewest labels that give a Rogan-Gladen corrected rate, as it is printed, an interval of that width.

    That is the interval of Lee et al. (arXiv 2511.21140), cut to [0, 1], on counts drawn with a fixed seed. Labels are
    divided by the Neyman allocation of the delta variance, (1-rate)^2 q0(1-q0)/m0 + rate^2 q1(1-q1)/m1 (Rogan and
    Gladen 1978), with Lee's pseudo-counts, so that no class of a perfect judge goes without.

    Args:
        rate: the true rate that is anticipated.
        sensitivity: q1, share of positives the judge finds.
        specificity: q0, share of negatives it leaves.
        cases: n, how many cases are judged without labels.
        width: wanted, from end to end.
        assurance: share of studies whose interval is no wider; None: half of them.
        needed: a true rate for which the width is to be met instead, with labels divided for `rate`: one that takes
            more of them and that a pilot leaves open.

    Raises:
        UsageError: a rate or the width does not lie between 0 and 1, or there is no case.

    """
    _check(rate=rate, sensitivity=sensitivity, specificity=specificity, needed=rate if needed is None else needed)
    if not 0 < width < 1:
        raise UsageError(f"a wanted width must lie between 0 and 1, not {width:g}.")
    if cases < 1:
        raise UsageError(f"cases must be a whole number of at least 1, not {cases}.")
    corrected = _Corrected(
        rate=rate,
        met_at=rate if needed is None else needed,
        sensitivity=sensitivity,
        specificity=specificity,
        width=width,
        share=assurance or _HALF,
    )
    expected = rate * sensitivity + (1 - rate) * (1 - specificity)
    facts: dict[str, Any] = {"cases": cases, "judged_rate": expected}
    if sensitivity + specificity <= 1:
        return CorrectedLabels(positives=None, negatives=None, fewest_cases=None, **facts)
    judged = _fewest(lambda n: corrected.met(n, _MOST))
    total = None if judged is None or cases < judged else _fewest(lambda labels: corrected.met(cases, labels))
    positives, negatives = (None, None) if total is None else corrected.divided(total)
    return CorrectedLabels(positives=positives, negatives=negatives, fewest_cases=judged, **facts)


def widest_rate(labels: CorrectedLabels, *, sensitivity: float, specificity: float) -> float:
    """Return the true rate whose corrected interval is widest with these labels, where counts come out as expected.

    A pilot leaves the rate open, and most labels are needed there. With few judged cases it is where half of them are
    judged positive; else the class of which the judge errs more often decides.
    """

    def width(rate: float) -> float:
        found = rogan_gladen(
            judged=rate * sensitivity + (1 - rate) * (1 - specificity),
            n=labels.cases,
            sensitivity=sensitivity,
            positives=labels.positives or _MOST,
            specificity=specificity,
            negatives=labels.negatives or _MOST,
        )
        low, high = _printed(found) or (0.0, 0.0)
        return high - low

    return max((step / (_RATES - 1) for step in range(_RATES)), key=width)


def _printed(found: RoganGladen | None) -> tuple[float, float] | None:
    """Return the interval of a corrected rate as it is printed, cut to [0, 1]."""
    if found is None or found.interval is None:
        return None
    low, high = (min(1.0, max(0.0, end)) for end in found.interval)
    return low, high


@dataclass(frozen=True, kw_only=True)
class _Corrected:
    """A corrected rate that is planned: how often its printed interval is as narrow as wanted."""

    rate: float
    met_at: float
    sensitivity: float
    specificity: float
    width: float
    share: float

    @property
    def judged(self) -> float:
        return self.met_at * self.sensitivity + (1 - self.met_at) * (1 - self.specificity)

    def divided(self, total: int) -> tuple[int, int]:
        """Return labels of positives and of negatives."""
        q1, q0 = ((total / 2 * share + 1) / (total / 2 + 2) for share in (self.sensitivity, self.specificity))
        root1 = self.rate * math.sqrt(q1 * (1 - q1))
        root0 = (1 - self.rate) * math.sqrt(q0 * (1 - q0))
        positives = min(total - 1, max(1, round(total * root1 / (root1 + root0))))
        return positives, total - positives

    def met(self, cases: int, labels: int) -> bool:
        """Whether so many cases and labels give the wanted width in the wanted share of studies."""
        positives, negatives = self.divided(labels)
        random = np.random.default_rng(0)
        drawn = (
            (cases, self.judged),
            (positives, self.sensitivity),
            (negatives, self.specificity),
        )
        counts = (random.binomial(size, share, size=_STUDIES).tolist() for size, share in drawn)
        return sum(
            self._narrow(
                rogan_gladen(
                    judged=passed / cases,
                    n=cases,
                    sensitivity=right1 / positives,
                    positives=positives,
                    specificity=right0 / negatives,
                    negatives=negatives,
                )
            )
            for passed, right1, right0 in zip(*counts, strict=True)
        ) >= (self.share * _STUDIES)

    def _narrow(self, found: RoganGladen | None) -> bool:
        low, high = _printed(found) or (0.0, 0.0)
        return 0 < high - low <= self.width


def _check(**rates: float) -> None:
    for name, value in rates.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{name} must lie between 0 and 1, not {value:g}.")
