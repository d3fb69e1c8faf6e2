"""Evidence about rates: exact against sums and integrals of other hands, and kept at every look."""

from __future__ import annotations

import csv
import gzip
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

from judgeharness_integrations.analysis.sequential import log_e_rate, most_below, rate_interval

NEEDED = math.log(40)  # the end of a 95 % interval


@pytest.mark.parametrize(
    ("hits", "fails", "bar"), [(9, 1, 0.5), (40, 3, 0.8), (3, 5, 0.2), (0, 4, 0.1), (190, 10, 0.9)]
)
def test_the_evidence_of_a_population_is_the_average_likelihood_above_the_bar(
    hits: int, fails: int, bar: float
) -> None:
    def ratio(p: float) -> float:
        return math.exp(hits * math.log(p / bar) + fails * math.log((1 - p) / (1 - bar)))

    average = quad(ratio, bar, 1, points=[max(bar, hits / (hits + fails))])[0] / (1 - bar)
    assert log_e_rate([1] * hits + [0] * fails, bar)[-1] == pytest.approx(math.log(average), abs=1e-6)


@pytest.mark.parametrize(
    ("size", "bar", "strict"), [(7, 0.5, False), (10, 0.5, True), (23, 0.8, False), (50, 0.9, True)]
)
def test_the_evidence_of_a_suite_is_the_average_over_all_numbers_of_hits(
    size: int, bar: float, *, strict: bool
) -> None:
    most = most_below(bar, size, strict=strict)
    random = np.random.default_rng(3)
    for hits in range(size + 1):
        order = random.permutation([1] * hits + [0] * (size - hits))
        found = log_e_rate(order, bar, size=size, strict=strict)
        for n in range(1, size + 1):
            rose = int(order[:n].sum())
            fell = n - rose

            def ways(total: int, rose: int = rose, fell: int = fell) -> int:
                return math.comb(total, rose) * math.comb(size - total, fell)

            above = sum(ways(total) for total in range(most + 1, size + 1)) / (size - most)
            if not ways(most):
                assert found[n - 1] == (math.inf if rose > most else -math.inf)
            elif above * (size - most) < 1e-9 * math.comb(size + 1, n + 1):
                assert found[n - 1] == -math.inf
            else:
                assert found[n - 1] == pytest.approx(math.log(above / ways(most)), abs=1e-8)


def test_at_the_bar_the_evidence_is_1_in_the_mean_and_below_it_at_most_1() -> None:
    for chance, expected in ((0.7, 1.0), (0.5, None)):
        total = 0.0
        for hits in product([0, 1], repeat=9):
            likelihood = chance ** sum(hits) * (1 - chance) ** (9 - sum(hits))
            total += likelihood * math.exp(log_e_rate(hits, 0.7)[-1])
        assert total == pytest.approx(1.0) if expected else total < 1


def test_a_suite_is_decided_exactly_once_all_its_cases_are_in() -> None:
    for hits, clears in ((7, False), (8, True), (9, True)):
        cases = [1] * hits + [0] * (10 - hits)
        assert bool(log_e_rate(cases, 0.8, size=10)[-1] == math.inf) is clears
        assert bool(log_e_rate(cases, 0.8, size=10, strict=True)[-1] == math.inf) is (hits == 9)
        assert rate_interval(cases, size=10) == (pytest.approx(hits / 10), pytest.approx(hits / 10))


def test_bars_at_the_ends() -> None:
    assert np.all(log_e_rate([0, 1], 0.0) == math.inf)
    assert log_e_rate([0, 1], 0.0, strict=True).tolist() == [0.0, math.inf]
    assert np.all(log_e_rate([1, 1], 1.0) == -math.inf)
    assert np.all(log_e_rate([0, 0], 0.0, size=9) == math.inf)
    assert np.all(log_e_rate([1, 1], 1.0, size=9, strict=True) == -math.inf)
    assert log_e_rate([1] * 9, 1.0, size=9)[-1] == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, 400])
def test_evidence_against_a_bar_falls_as_the_bar_rises(size: int | None) -> None:
    paths = (np.random.default_rng(5).random((40, 300)) < 0.8).astype(float)
    before = np.ones(paths.shape, dtype=bool)
    for bar in np.arange(1, 100) / 100:
        refuted = log_e_rate(paths, bar, size=size) >= NEEDED
        assert not (refuted & ~before).any()
        before = refuted


@pytest.mark.slow
@pytest.mark.parametrize("bar", [0.5, 0.8, 0.9])
def test_a_judge_at_the_bar_passes_no_more_often_with_a_look_after_every_case(bar: float) -> None:
    paths = (np.random.default_rng(11).random((4000, 400)) < bar).astype(float)
    passed = (log_e_rate(paths, bar) >= NEEDED).any(axis=-1).mean()
    assert 0.005 < passed <= 0.025
    mirrored = (log_e_rate(1 - paths, 1 - bar) >= NEEDED).any(axis=-1).mean()
    assert mirrored <= 0.025


@pytest.mark.slow
def test_a_suite_just_below_the_bar_passes_no_more_often_with_a_look_after_every_case() -> None:
    size = 200
    paths = np.random.default_rng(12).permuted(np.tile(np.arange(size) < 159, (4000, 1)).astype(float), axis=1)
    passed = (log_e_rate(paths, 0.8, size=size) >= NEEDED).any(axis=-1).mean()
    assert 0.005 < passed <= 0.03  # 0.025 and 2 standard errors


@pytest.mark.slow
def test_intervals_hold_at_every_look_at_once() -> None:
    paths = (np.random.default_rng(13).random((4000, 400)) < 0.85).astype(float)
    missed = (log_e_rate(paths, 0.85) >= NEEDED).any(-1) | (log_e_rate(1 - paths, 0.15) >= NEEDED).any(-1)
    assert missed.mean() <= 0.05
    low, high = rate_interval(paths[0])
    assert low < paths[0].mean() < high
    for end, values in ((low, paths[0]), (1 - high, 1 - paths[0])):
        assert log_e_rate(values, end - 1e-4)[-1] >= NEEDED > log_e_rate(values, end + 1e-4)[-1]
    assert rate_interval([1, 1, 1])[1] == 1.0
    assert rate_interval([0, 0, 0])[0] == 0.0


@pytest.mark.slow
def test_what_it_costs_near_the_bar_and_far_from_it() -> None:
    random = np.random.default_rng(14)
    for truth, bar, cases in ((0.95, 0.9, 260), (0.85, 0.8, 560)):
        paths = (random.random((1000, 2500)) < truth).astype(float)
        looked = (log_e_rate(paths, bar) >= NEEDED).argmax(axis=-1) + 1
        assert looked.mean() == pytest.approx(cases, rel=0.06)


def test_it_is_villes_evidence_over_rates_above_the_bar() -> None:
    ville = pytest.importorskip("ville")
    hits = (np.random.default_rng(15).random(80) < 0.9).astype(float)
    theirs = ville.BernoulliTest(0.7).update(hits).log_e_values_
    above = (
        1
        - quad(lambda p: p ** hits.sum() * (1 - p) ** (80 - hits.sum()), 0, 0.7)[0]
        / quad(lambda p: p ** hits.sum() * (1 - p) ** (80 - hits.sum()), 0, 1, points=[0.9])[0]
    )
    assert log_e_rate(hits, 0.7)[-1] == pytest.approx(theirs[-1] + math.log(above / 0.3), abs=1e-6)


@pytest.mark.slow
def test_judges_of_llmbar_are_settled_after_a_fifth_of_their_pairs() -> None:
    answers: dict[str, dict[str, list[bool]]] = {}
    with gzip.open(Path(__file__).parents[1] / "data" / "llmbar.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            answers.setdefault(row["judge"], {}).setdefault(row["case_id"], []).append(row["verdict"] == row["gold"])
    random = np.random.default_rng(16)
    right = np.array([[float(all(case)) for case in judge.values()] for judge in answers.values()])
    right = np.concatenate([random.permuted(right, axis=1) for _ in range(5)])
    assert right.shape == (5 * 65, 419)
    for bar, cases in ((0.5, 65), (0.6, 73), (0.7, 74), (0.8, 97)):
        against = log_e_rate(1 - right, 1 - bar, strict=True)
        settled = np.maximum(log_e_rate(right, bar), against) >= NEEDED
        looked = np.where(settled.any(axis=-1), settled.argmax(axis=-1) + 1, 419)
        assert looked.mean() == pytest.approx(cases, rel=0.08)
