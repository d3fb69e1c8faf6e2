"""What a comparison promises, on judges whose noise is known: false alarms, power and coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.comparisons import Simulation, drawn_labels

from judgeharness_integrations.analysis.comparison import CriterionComparison, compare
from judgeharness_integrations.analysis.runs import RunReport

PAIRS = 1000
ALARMS = {"worse", "better", "different", "flips more than noise"}
GRADES, PREFERENCES, COLOURS = ("PASS", "FAIL"), ("A", "B", "TIE"), ("red", "green", "blue")
Pairs = Iterator[tuple[RunReport, RunReport]]


def chances(random: np.random.Generator, cases: int, noise: float, labels: int) -> np.ndarray[Any, Any]:
    """How likely each label is, by case: the larger `noise`, the more undecided the judge is."""
    return random.dirichlet([noise] * labels, cases)


def labelled(
    cases: int, noise: float, rule: str, labels: tuple[str, ...] = GRADES, *, shown: int = 3, swapped: int = 0
) -> Pairs:
    random, simulation = np.random.default_rng(cases), Simulation(rule)
    for _ in range(PAIRS):
        truth = chances(random, cases, noise, len(labels))
        first, second = (
            simulation.run(drawn_labels(random, truth, labels, shown=shown, swapped=swapped)) for _ in range(2)
        )
        yield first, second


def scored(cases: int, noise: float, rule: str, *, samples: int) -> Pairs:
    random, simulation = np.random.default_rng(cases), Simulation(rule)
    for _ in range(PAIRS):
        truth = random.uniform(2, 9, (cases, 1))
        drawn = [np.clip(np.round(truth + random.normal(0, noise, (cases, samples))), 1, 10) for _ in range(2)]
        first, second = (simulation.run((row, []) for row in side.astype(int).tolist()) for side in drawn)
        yield first, second


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("pairs", "least"),
    [
        pytest.param(lambda: labelled(30, 0.5, "majority"), 0.005, id="30 graded, sure"),
        pytest.param(lambda: labelled(60, 2.0, "supermajority(2/3)"), 0.01, id="60 graded, undecided"),
        pytest.param(lambda: labelled(100, 0.5, "majority", shown=1), 0.02, id="100 graded, one sample"),
        pytest.param(lambda: labelled(50, 0.5, "swap_consensus", PREFERENCES, shown=2, swapped=2), 0.01, id="50 pairs"),
        pytest.param(lambda: labelled(60, 0.5, "majority", COLOURS), 0.01, id="60 coloured"),
        pytest.param(lambda: scored(40, 1.0, "median", samples=2), 0.02, id="40 scored"),
        pytest.param(lambda: scored(80, 2.0, "mean", samples=1), 0.02, id="80 scored, one sample"),
    ],
)
def test_two_runs_of_one_judge_are_found_to_differ_at_most_one_time_in_twenty(
    pairs: Callable[[], Pairs], least: float
) -> None:
    """5 % of 1,000 pairs; at most 73 may come out of a true 5 % (99.9 %), and almost none would be no test."""
    answers: Counter[str] = Counter()
    covered = told = 0
    for before, after in pairs():
        (one,) = compare(before, after, permutations=500).criteria
        answers[one.answer] += 1
        if one.main is not None and one.main.low is not None:
            told += 1
            covered += one.main.low <= 0 <= one.main.high
    alarms = sum(answers[answer] for answer in ALARMS)
    assert least * PAIRS <= alarms <= binom.ppf(0.999, PAIRS, 0.05), answers
    if told:
        assert 0.93 <= covered / told <= 0.975


def planted(random: np.random.Generator, simulation: Simulation, cases: int, drop: float) -> CriterionComparison:
    """A comparison where this share of the cases went from a sure PASS to a sure FAIL; a quarter is undecided."""
    sure = random.random(cases) < 0.75
    before = np.where(sure, 1.0, random.random(cases))
    after = np.where(sure & (random.random(cases) < drop / 0.75), 0.0, before)
    first, second = (
        simulation.run(drawn_labels(random, np.stack([one, 1 - one], axis=1), GRADES, shown=3, swapped=0))
        for one in (before, after)
    )
    return compare(first, second, permutations=500).criteria[0]


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.timeout(600)
@pytest.mark.parametrize("cases", [50, 90, 150])
def test_a_planted_drop_of_ten_points_is_found_with_the_power_that_is_predicted(cases: int) -> None:
    """The prediction is that of runs without the drop; a noise test that rejects, too, can add to what is found."""
    random, simulation, count = np.random.default_rng(cases), Simulation("majority"), 600
    calm = [planted(random, simulation, cases, 0.0).power_basis for _ in range(100)]
    basis = replace(calm[0], exchange=float(np.mean([one.exchange for one in calm])))
    found = [planted(random, simulation, cases, 0.1) for _ in range(count)]
    low, high = (place / count for place in binom.interval(0.998, count, basis.power(0.1)))
    reached = np.mean([one.main.p <= one.level and one.main.difference < 0 for one in found])
    assert low <= reached <= high, (reached, low, high)
    most = binom.ppf(0.999, count, replace(basis, level=0.05).power(0.1)) / count
    assert low <= np.mean([one.answer == "worse" for one in found]) <= most
    assert np.mean([one.main.low <= -0.1 <= one.main.high for one in found]) + 0.025 >= 0.95
    assert np.mean([one.noise_p_adjusted <= 0.05 for one in found]) > 0.7
