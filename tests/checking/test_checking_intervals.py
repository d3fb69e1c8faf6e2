"""Intervals of a check: against statsmodels, and how often they hold a planted truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from judgeharness_integrations.analysis.checking.statistics import difference_interval, excess_interval
from judgeharness_integrations.analysis.statistics.paired import tango_interval
from judgeharness_integrations.analysis.statistics.proportions import clopper_pearson


def test_without_cases_nothing_is_known() -> None:
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    assert excess_interval([], []) == (-1.0, 1.0)


def test_shares_of_several_samples_are_covered_at_least_as_often() -> None:
    random = np.random.default_rng(2)
    for samples, spread in itertools.product((1, 2, 5), (0.0, 0.2)):
        chance = 0.2 + spread * random.choice([-1, 1], size=(2_000, 25))
        hits = np.round((random.binomial(samples, chance) / samples).sum(axis=1), 9)
        ends = {hit: clopper_pearson(hit, 25) for hit in set(hits.tolist())}
        assert np.mean([ends[hit][0] <= 0.2 <= ends[hit][1] for hit in hits.tolist()]) >= 0.94


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_of_one_sample_of_each_kind_it_is_tangos_interval(gained: int, lost: int, same: int) -> None:
    n = gained + lost + same + 1
    probe = [1] * gained + [0] * lost + [0, 1] * same + [0] * (n - gained - lost - same)
    base = [0] * gained + [1] * lost + [0, 1] * same + [0] * (n - gained - lost - same)
    assert excess_interval(probe, base) == pytest.approx(tango_interval(gained, lost, len(probe)))


SHARES = st.lists(
    st.tuples(st.sampled_from([0, 1 / 3, 2 / 3, 1]), st.sampled_from([0, 0.5, 1])), min_size=1, max_size=40
)


@given(SHARES)
def test_it_holds_the_estimate_mirrors_and_widens(shares: list[tuple[float, float]]) -> None:
    probe, base = np.array(shares).T
    low, high = excess_interval(probe, base)
    mean = float((probe - base).mean())
    assert -1 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1
    assert excess_interval(base, probe) == pytest.approx((-high, -low))
    wide = excess_interval(probe, base, confidence=0.99)
    assert wide[0] <= low + 1e-9
    assert high - 1e-9 <= wide[1]


@given(SHARES)
def test_fractions_never_make_it_wider_than_whole_differences_would(shares: list[tuple[float, float]]) -> None:
    differences = np.subtract(*np.array(shares).T)
    gained, lost = float(differences.clip(min=0).sum()), float(-differences.clip(max=0).sum())
    whole = tango_interval(gained, lost, len(differences))
    low, high = difference_interval(gained, lost, float((differences**2).sum()), len(differences))
    assert whole[0] - 1e-9 <= low <= high <= whole[1] + 1e-9


def planted(
    random: np.random.Generator, n: int, noise: float | None, effect: float, samples: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of n cases on a share of which the change works; with noise None one case in five is a coin."""
    chance = random.choice([0, 0.5], p=[0.8, 0.2], size=n) if noise is None else np.full(n, noise)
    works = random.random(n) < effect / (1 - (0.1 if noise is None else noise))
    probed, base = samples
    probe = np.where(works, 1.0, random.binomial(probed, chance) / probed)
    return probe, random.binomial(base, chance) / base


def coverage(noise: float | None, effect: float, *, n: int, samples: tuple[int, int], draws: int) -> float:
    """Share of intervals that hold the planted effect; the same counts are asked about once."""
    random = np.random.default_rng(11)
    ends: dict[tuple[float, float, float], tuple[float, float]] = {}
    held = 0
    for _ in range(draws):
        differences = np.subtract(*planted(random, n, noise, effect, samples))
        gained, lost = float(differences.clip(min=0).sum()), float(-differences.clip(max=0).sum())
        found = round(gained, 6), round(lost, 6), round(float((differences**2).sum()), 6)
        low, high = ends.setdefault(found, difference_interval(*found, n)) if found not in ends else ends[found]
        held += low <= effect <= high
    return held / draws


@pytest.mark.parametrize(
    ("noise", "effect", "n", "samples"), [(0.0, 0.1, 50, (1, 2)), (0.3, 0.0, 20, (1, 2)), (None, 0.2, 40, (2, 1))]
)
def test_a_planted_effect_is_covered(noise: float | None, effect: float, n: int, samples: tuple[int, int]) -> None:
    assert 0.92 <= coverage(noise, effect, n=n, samples=samples, draws=500) <= 0.99


@pytest.mark.slow
def test_no_planted_effect_of_the_grid_is_covered_too_seldom() -> None:
    grid = itertools.product(
        (0.0, 0.1, 0.3, None), (0.0, 0.05, 0.2, 0.5), (20, 50, 200), ((1, 1), (1, 2), (3, 1), (3, 3))
    )
    held = [coverage(noise, effect, n=n, samples=samples, draws=600) for noise, effect, n, samples in grid]
    assert min(held) >= 0.91
    assert 0.935 <= np.mean(held) <= 0.97
