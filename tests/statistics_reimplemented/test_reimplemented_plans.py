"""Numbers of cases written again from docs/answers/how-many.md, in numpy and scipy, and compared."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom, norm

from judgeharness_integrations.analysis.planning import Components, Goal, pilot_of, planned, wilson_labels
from judgeharness_integrations.analysis.planning.report import Wanted
from judgeharness_integrations.verdictlog import VerdictRow

Floats = NDArray[np.float64]
Z = norm.ppf(0.975)


def narrow(cases: int, width: float) -> NDArray[np.bool_]:
    """Return for 0 ... n positives whether 2 z sqrt(r (1 - r) / n + z^2 / (4 n^2)) / (1 + z^2 / n) is narrow enough."""
    rate = np.arange(cases + 1) / cases
    wide = 2 * Z * np.sqrt(rate * (1 - rate) / cases + Z**2 / (4 * cases**2)) / (1 + Z**2 / cases)
    return np.asarray(wide <= width + 1e-12)


def reached(cases: int, width: float, rates: Floats) -> float:
    """Return the share of studies whose interval is narrow enough, the mean over these equally likely rates."""
    return float(np.mean([binom.pmf(np.arange(cases + 1), cases, rate) @ narrow(cases, width) for rate in rates]))


@pytest.mark.parametrize(("rate", "width"), [(0.8, 0.1), (0.6, 0.15), (0.9, 0.1), (0.95, 0.08), (0.5, 0.2)])
def test_labels_for_a_width_in_four_studies_of_five(rate: float, width: float) -> None:
    found = wilson_labels(rate, width, assurance=0.8)
    assert found is not None
    rates = np.array([rate])
    assert reached(found, width, rates) >= 0.8 > reached(found - 1, width, rates)


@pytest.mark.slow
@pytest.mark.parametrize(("positive", "cases", "width"), [(24, 30, 0.15), (45, 50, 0.1), (30, 60, 0.2), (76, 80, 0.1)])
def test_cases_for_a_width_after_a_pilot(positive: int, cases: int, width: float) -> None:
    """The package takes 256 rates that the pilot does not contradict, this 400; an even rate takes a width always met.

    The share that is reached goes up and down with the number of cases, so that the package's search may find a few
    more than the very fewest.
    """
    rows = [VerdictRow(case_id=f"c{n}", verdict="PASS" if n < positive else "FAIL") for n in range(cases)]
    wanted = Wanted(goal=Goal(kind="width", value=width), rule="majority")
    found = planned(wanted, pilot=pilot_of(rows)).designs[0]
    assert (found.perturbations, found.repetitions) == (1, 1)
    assert found.cases is not None
    rates = np.array([uncontradicted(min(positive, cases - positive), cases, u) for u in (np.arange(400) + 0.5) / 400])
    assert certain(found.cases, width, rates) >= 0.798
    assert certain(int(0.95 * found.cases), width, rates) < 0.8


def uncontradicted(positive: int, cases: int, p: float) -> float:
    """Return the rate up to one half against which so few positives, or as few of the others, have this p-value."""

    def above(rate: float) -> float:
        return float(binom.cdf(positive, cases, rate) + binom.sf(cases - positive - 1, cases, rate)) - p

    return 0.5 if above(0.5) >= 0 else float(brentq(above, 0.0, 0.5))


def certain(cases: int, width: float, rates: Floats) -> float:
    """Return the share of studies whose interval is narrow enough, where of an even rate it is so in all or none."""
    apart = rates[rates < 0.5]
    even = float(narrow(cases, width).all()) * (len(rates) - len(apart))
    return (even + (len(apart) * reached(cases, width, apart) if len(apart) else 0.0)) / len(rates)


def mcnemar_power(cases: int, rose: float, fell: float, level: float = 0.05) -> float:
    """Return the power of McNemar's mid-p test, p = 2 P(X < m) + P(X = m), m the smaller side, X ~ Binomial(d, 1/2)."""
    power = 0.0
    for discordant, chance in enumerate(binom.pmf(np.arange(cases + 1), cases, rose + fell)):
        if discordant and chance > 1e-9:
            ups = np.arange(discordant + 1)
            least = np.minimum(ups, discordant - ups)
            p = 2 * binom.cdf(least, discordant, 0.5) - binom.pmf(least, discordant, 0.5)
            power += chance * float(binom.pmf(ups, discordant, rose / (rose + fell)) @ (p <= level))
    return power


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("variance", "difference", "correlation"), [(0.15, 0.1, 0.5), (0.09, 0.1, 0.5), (0.15, 0.15, 0.2), (0.24, 0.1, 0.8)]
)
def test_cases_for_a_difference(variance: float, difference: float, correlation: float) -> None:
    """All variance is between cases: r (1 - r) of a label, the other system nearer to one half by the difference.

    With the correlation c it goes with the first in c of the cases and is independent of it in the others, so that
    (1 - c) r (1 - q) of the cases fall and as many and the difference rise.
    """
    rate = 0.5 - np.sqrt(0.25 - variance)
    fell = (1 - correlation) * rate * (1 - rate - difference)
    goal = Goal(kind="difference", value=difference, correlation=correlation)
    found = planned(Wanted(goal=goal, rule="majority"), components=Components(cases=variance)).designs[0].cases
    assert found is not None
    assert mcnemar_power(found, fell + difference, fell) == pytest.approx(0.8, abs=0.005)
