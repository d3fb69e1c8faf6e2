"""What is printed of probabilities, written out again in plain NumPy from the formulas alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.planted_probabilities import pairs, planted

from judgeharness_integrations.analysis.probability import (
    answer_change,
    calibration_error,
    fit,
    reliability_curve,
    retest_band,
    watch,
)
from judgeharness_integrations.analysis.probability.scores import brier_skill, log_skill
from judgeharness_integrations.analysis.sequential import TILTS

Floats = np.ndarray[Any, np.dtype[np.float64]]
FLOOR = 0.005


def of_pass(values: Floats) -> list[dict[str, float]]:
    return [{"PASS": p, "FAIL": 1 - p} for p in values.tolist()]


def ratio_interval(scores: Floats, reference: Floats) -> tuple[float, float, float]:
    """1 - mean / mean of the base rate, with the delta method and Student's t."""
    n, ratio = len(scores), scores.mean() / reference.mean()
    residuals = (scores - ratio * reference) / reference.mean()
    half = stats.t.ppf(0.975, n - 1) * math.sqrt((residuals**2).sum() / (n - 1) / n)
    return 1 - ratio, 1 - ratio - half, 1 - ratio + half


@pytest.mark.parametrize("seed", range(4))
def test_skills_are_shares_of_the_base_rates_score_with_the_interval_of_a_ratio(seed: int) -> None:
    found, _ = planted(150, seed, slope=1.6, bias=0.4)
    p, y = found.probabilities[:, 0], found.labels[:, 0]
    base = np.full(len(y), y.mean())
    told = brier_skill(found)
    assert told is not None
    assert (told.value, told.low, told.high) == pytest.approx(ratio_interval((p - y) ** 2, (base - y) ** 2))

    def nats(q: Floats) -> Floats:
        high, low = np.maximum(q, FLOOR), np.maximum(1 - q, FLOOR)
        return -(y * np.log(high / (high + low)) + (1 - y) * np.log(low / (high + low)))

    told = log_skill(found)
    assert told is not None
    assert (told.value, told.low, told.high) == pytest.approx(ratio_interval(nats(p), nats(base)))


def test_the_calibration_error_and_that_of_a_perfect_judge() -> None:
    found, _ = planted(400, 3, slope=1.8, digits=12)
    p, y = found.probabilities[:, 0], found.labels[:, 0]
    bins = np.array_split(np.argsort(p), 15)
    size = [len(one) for one in bins]
    assert [point.n for point in reliability_curve(found)] == pytest.approx(size, abs=1)
    error = calibration_error(found)
    by_hand = sum(abs((y[one] - p[one]).sum()) for one in bins) / len(p)
    assert error.ece == pytest.approx(by_hand, abs=0.004)  # a bin may take its neighbour's last answer
    random = np.random.default_rng(99)
    perfect = []
    for _ in range(3000):
        drawn = (random.random(len(p)) < p) - p
        perfect.append(sum(abs(drawn[one].sum()) for one in bins) / len(p))
    assert error.perfect == pytest.approx(np.mean(perfect), abs=0.0015)
    assert error.excess.value == pytest.approx(by_hand - np.mean(perfect), abs=0.005)
    assert error.excess.low == pytest.approx(by_hand - np.quantile(perfect, 0.975), abs=0.006)


def log_interval(values: Floats) -> tuple[float, float, float]:
    """A mean of distances with Student's interval on the scale of the logarithm."""
    n, mean = len(values), float(values.mean())
    half = stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n) / mean
    return mean, mean * math.exp(-half), mean * math.exp(half)


def test_the_bound_is_half_of_the_change_less_the_retest_with_movers_interval() -> None:
    random = np.random.default_rng(5)
    first, again = random.uniform(0.2, 0.8, (2, 30))
    again = first + (again - first) * 0.05
    second = np.clip(first + random.normal(0.15, 0.05, 30), 0, 1)
    band = retest_band([list(one) for one in zip(of_pass(first), of_pass(again), strict=True)])
    found = answer_change(of_pass(first), of_pass(second), band=band)
    change, noise = log_interval(np.abs(first - second)), log_interval(np.abs(first - again))
    low = change[0] - noise[0] - math.hypot(change[0] - change[1], noise[2] - noise[0])
    high = change[0] - noise[0] + math.hypot(change[2] - change[0], noise[0] - noise[1])
    assert found.bound is not None
    assert (found.bound.value, found.bound.low, found.bound.high) == pytest.approx(
        ((change[0] - noise[0]) / 2, max(0, low) / 2, high / 2)
    )


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=2, max_size=12))
def test_no_truth_is_nearer_to_both_forms_than_the_bound(drawn: list[tuple[float, float, float]]) -> None:
    first, second, truth = np.array(drawn).T
    band = retest_band([[answer, answer] for answer in of_pass(first)])
    bound = answer_change(of_pass(first), of_pass(second), band=band).bound
    assert bound is not None
    assert bound.value <= max(np.abs(first - truth).mean(), np.abs(second - truth).mean()) + 1e-12


def evidence_of(days: Floats) -> list[float]:
    """The canary's capital, case by case and day by day: days of one probability, of shape (days, states)."""
    money: dict[tuple[int, float], float] = {}
    found = []
    for day in range(1, len(days)):
        gains = dict.fromkeys(TILTS, 1.0)
        for state in range(days.shape[1]) if day > 1 else ():
            seen = days[: day + 1, state]
            apart = np.round(2 * np.abs(seen - np.median(seen)), 12)
            quarter = np.sort(apart)[math.ceil(0.75 * len(apart)) - 1]
            strange = apart > quarter if (apart > quarter).any() else apart >= quarter
            chance = strange.mean()
            for tilt in TILTS:
                gains[tilt] *= math.exp(tilt * strange[-1]) / (1 - chance + chance * math.exp(tilt))
        for tilt in TILTS:
            stake = (math.exp(-abs(tilt)) if day > 1 else 1.0) / (day * (day + 1))
            money[day, tilt] = stake
            for begun in range(1, day + 1):
                money[begun, tilt] *= gains[tilt]
        paid = sum(
            np.mean([(math.exp(-abs(tilt)) if begun > 1 else 1.0) for tilt in TILTS]) / (begun * (begun + 1))
            for begun in range(1, day + 1)
        )
        kept = 1 - paid
        found.append(kept + sum(money.values()) / len(TILTS))
    return found


@pytest.mark.parametrize("moves", [0.0, 0.25])
def test_the_canarys_evidence_is_the_capital_of_bets_on_strange_answers(moves: float) -> None:
    random = np.random.default_rng(8)
    days = np.clip(random.uniform(0.2, 0.7, 6) + random.normal(0, 0.01, (9, 6)), 0, 1)
    days[6:] += moves
    rounds = [{f"s{n}": {"yes": p, "no": 1 - p} for n, p in enumerate(day)} for day in days.tolist()]
    assert watch(rounds).evidence == pytest.approx(evidence_of(days), rel=1e-6)


def nearest_map(p: Floats, y: Floats) -> tuple[float, float]:
    """Temperature and difference of the two biases with the least penalised loss, on a grid that is ever finer."""
    high, low = np.maximum(p, FLOOR), np.maximum(1 - p, FLOOR)
    odds = np.log(high / low)

    def loss(heat: float, shift: float) -> float:
        z = odds / math.exp(heat) + shift
        wrong = np.logaddexp(0, -z) * y + np.logaddexp(0, z) * (1 - y)
        return float(wrong.sum()) + heat**2 / 2 + shift**2 / 4  # two equal and opposite biases of half the shift

    best, width = (0.0, 0.0), 3.0
    for _ in range(14):
        grid = np.linspace(-width, width, 13)
        best = min(((best[0] + h, best[1] + s) for h in grid for s in grid), key=lambda one: loss(*one))
        width *= 0.4
    return math.exp(best[0]), best[1]


@pytest.mark.parametrize("n", [8, 200])
def test_the_map_has_the_least_loss_with_the_ridge_of_its_prior(n: int) -> None:
    found, _ = planted(n, 2, slope=2.2, bias=0.7)
    by = fit(found, "temperature+bias")
    temperature, shift = nearest_map(found.probabilities[:, 0], found.labels[:, 0])
    assert by.temperature == pytest.approx(temperature, rel=1e-3)
    assert by.biases == pytest.approx((shift / 2, -shift / 2), abs=2e-3)


def test_a_soft_label_weighs_as_its_people_in_the_map() -> None:
    p = np.array([0.9, 0.2, 0.6, 0.8])
    soft = fit(pairs(p, np.array([0.75, 0.25, 0.5, 1.0])), "temperature").temperature
    found = pairs(np.repeat(p, 4), np.array([1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1.0]))
    heats = np.linspace(-2, 2, 4001)
    losses = [
        sum(
            np.logaddexp(0, -math.log(one / (1 - one)) / math.exp(h) * (2 * y - 1)) / 4
            for one, y in zip(found.probabilities[:, 0], found.labels[:, 0], strict=True)
        )
        + h**2 / 2
        for h in heats
    ]
    assert math.log(soft) == pytest.approx(heats[int(np.argmin(losses))], abs=2e-3)
