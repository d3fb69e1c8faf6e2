"""Conditional maximum likelihood against every possible outcome written out, and against closed forms."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special
from support.drawn_credits import credits_from, rasch_credits, rateable_credits, small_credits

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.contrasts import conditional_moments, fit_conditional
from judgeharness_integrations.analysis.ranking.correctness import Credits, Floats
from judgeharness_integrations.analysis.ranking.jointfit import patterns_of

POINTS = 400 / np.log(10)
CELLS = (0.0, 1.0, None)


@dataclass(frozen=True)
class Enumerated:
    """Moments of who is right (pairs, judges), given each pair's total, from all outcomes with that total."""

    log_likelihood: float
    chance: Floats
    covariance: Floats

    @classmethod
    def of(cls, matrix: Credits, ability: Floats) -> Enumerated:
        """Go through the outcomes of every pair."""
        judges = len(ability)
        value, chance, covariance = 0.0, np.zeros(matrix.values.shape), np.zeros((judges, judges))
        for place, row in enumerate(matrix.values):
            asked = np.flatnonzero(~np.isnan(row))
            outcomes = np.zeros((2 ** len(asked), judges))
            outcomes[:, asked] = list(product((0, 1), repeat=len(asked)))
            outcomes = outcomes[outcomes.sum(axis=1) == np.nansum(row)]
            weights = special.softmax(outcomes @ ability)
            chance[place] = weights @ outcomes
            covariance += (outcomes * weights[:, None]).T @ outcomes - np.outer(chance[place], chance[place])
            value += float(np.nan_to_num(row) @ ability - special.logsumexp(outcomes @ ability))
        return cls(log_likelihood=value, chance=chance, covariance=covariance)


# Moments


@given(small_credits(cells=CELLS), st.integers(0, 1000), st.sampled_from([0.3, 1.0, 4.0]))
def test_moments_are_those_of_all_outcomes(matrix: Credits, seed: int, spread: float) -> None:
    matrix = matrix.of_pairs(~matrix.unanimous)
    assume(matrix.pairs)
    ability = spread * np.random.default_rng(seed).standard_normal(len(matrix.judges))
    patterns = patterns_of(matrix.values)
    found, known = conditional_moments(patterns, ability), Enumerated.of(matrix, ability)
    assert found.chance[patterns.of] == pytest.approx(known.chance, abs=1e-9)
    assert found.covariance == pytest.approx(known.covariance, abs=1e-8)
    likelihood = patterns.wins @ ability - patterns.count @ found.log_gamma
    assert likelihood == pytest.approx(known.log_likelihood, abs=1e-8)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("judges", [2, 3, 64, 65, 130])
@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
def test_nothing_is_lost_with_many_judges(judges: int, spread: float) -> None:
    """Against the elementary symmetric functions by their recursion, all terms positive, in logs."""
    ability = spread * np.linspace(-1, 1, judges)
    values = np.zeros((judges - 1, judges))
    for total in range(1, judges):
        values[total - 1, :total] = 1
    patterns = patterns_of(values)
    found = conditional_moments(patterns, ability)
    known = log_symmetric(ability)
    total = patterns.total.astype(int)
    assert found.log_gamma == pytest.approx(known[total], rel=1e-10, abs=1e-9)
    without = log_symmetric(ability[1:])
    assert found.chance[:, 0] == pytest.approx(np.exp(ability[0] + without[total - 1] - known[total]), rel=1e-7)
    assert found.chance.sum(axis=1) == pytest.approx(patterns.total, abs=1e-8)
    assert found.covariance.sum(axis=0) == pytest.approx(np.zeros(judges), abs=1e-7)


def log_symmetric(ability: Any) -> Floats:
    """Return (judges + 1,) logs of the elementary symmetric functions of exp(ability)."""
    found = np.full(len(ability) + 1, -np.inf)
    found[0] = 0.0
    for one in ability:
        found[1:] = np.logaddexp(found[1:], found[:-1] + one)
    return found


@pytest.mark.slow
def test_so_many_patterns_that_they_are_taken_in_parts_give_the_same() -> None:
    generator = np.random.default_rng(1)
    matrix = rasch_credits(generator, generator.normal(0, 1, 60), 1500, missing=0.1)
    matrix = matrix.of_pairs(~matrix.unanimous)
    ability = generator.normal(0, 1, 60)
    whole = conditional_moments(patterns_of(matrix.values), ability)
    parts = [patterns_of(matrix.values[part]) for part in (slice(700), slice(700, None))]
    first, second = (conditional_moments(part, ability) for part in parts)
    assert whole.covariance == pytest.approx(first.covariance + second.covariance, abs=1e-7)
    value = parts[0].count @ first.log_gamma + parts[1].count @ second.log_gamma
    assert patterns_of(matrix.values).count @ whole.log_gamma == pytest.approx(value)


# The maximum and its errors


@pytest.mark.slow
@given(rateable_credits(cells=CELLS))
def test_the_fit_is_the_maximum_with_the_errors_of_all_outcomes(matrix: Credits) -> None:
    fit = fit_conditional(matrix)
    known = Enumerated.of(matrix, fit.theta)
    residuals = np.where(matrix.seen, matrix.values - known.chance, 0.0)
    assert np.abs(residuals.sum(axis=0)).max() < 1e-6
    assert fit.log_likelihood == pytest.approx(known.log_likelihood, abs=1e-8)
    inverse = np.linalg.pinv(known.covariance, rcond=1e-12, hermitian=True)
    pairs = len(matrix.pairs)
    sandwich = POINTS**2 * pairs / (pairs - 1) * inverse @ residuals.T @ residuals @ inverse
    assert np.abs(fit.covariance - sandwich).max() < 1e-5 * (1 + np.abs(sandwich).max())
    generator = np.random.default_rng(0)
    for _ in range(5):
        near = fit.theta + 0.2 * generator.standard_normal(len(fit.theta))
        assert Enumerated.of(matrix, near).log_likelihood <= fit.log_likelihood + 1e-9


def test_residuals_are_the_slope_of_the_likelihood() -> None:
    matrix = rasch_credits(np.random.default_rng(2), [-0.5, 0.0, 0.4], 30, missing=0.2)
    matrix = matrix.of_pairs(~matrix.unanimous)
    at, step = np.array([0.3, -0.4, 0.2]), 1e-6
    slopes = [
        (Enumerated.of(matrix, at + step * one).log_likelihood - Enumerated.of(matrix, at - step * one).log_likelihood)
        / (2 * step)
        for one in np.eye(3)
    ]
    patterns = patterns_of(matrix.values)
    found = conditional_moments(patterns, at)
    assert patterns.wins - patterns.count @ found.chance == pytest.approx(slopes, abs=1e-6)


@given(st.integers(1, 60), st.integers(1, 60))
def test_two_judges_are_log_up_by_down_apart_as_mcnemar_has_it(up: int, down: int) -> None:
    fit = fit_conditional(credits_from([[1, 0]] * up + [[0, 1]] * down))
    assert fit.theta[0] - fit.theta[1] == pytest.approx(np.log(up / down), abs=1e-8)
    assert fit.theta.sum() == pytest.approx(0, abs=1e-9)
    assert fit.elo == pytest.approx(1500 + POINTS * fit.theta)
    pairs = up + down
    error = POINTS * np.sqrt((1 / up + 1 / down) * pairs / (pairs - 1))
    spread = np.array([1, -1])
    assert np.sqrt(spread @ fit.covariance @ spread) == pytest.approx(error, rel=1e-6)
    assert fit.se == pytest.approx([error / 2] * 2, rel=1e-6)


def test_pairs_of_one_cluster_count_once() -> None:
    matrix = rasch_credits(np.random.default_rng(3), [-0.5, 0.0, 0.1, 0.4], 80, missing=0.1)
    matrix = matrix.of_pairs(~matrix.unanimous)
    pairs = len(matrix.pairs)
    twice = credits_from(np.concatenate([matrix.values, matrix.values]))
    alone, fit = fit_conditional(matrix), fit_conditional(twice, clusters=np.tile(np.arange(pairs), 2))
    assert fit.theta == pytest.approx(alone.theta, abs=1e-8)
    assert fit.covariance == pytest.approx(alone.covariance, rel=1e-7)
    unclustered = fit_conditional(twice).covariance * (2 * pairs - 1) / (2 * pairs)
    assert unclustered == pytest.approx(alone.covariance * (pairs - 1) / pairs / 2, rel=1e-7)


def test_permuting_judges_and_pairs_permutes_the_ratings() -> None:
    matrix = rasch_credits(np.random.default_rng(4), [-0.5, 0.0, 0.1, 0.4], 60, missing=0.2)
    matrix = matrix.of_pairs(~matrix.unanimous)
    fit = fit_conditional(matrix)
    judges, pairs = [2, 0, 3, 1], np.random.default_rng(5).permutation(len(matrix.pairs))
    other = fit_conditional(credits_from(matrix.values[pairs][:, judges]))
    assert other.theta == pytest.approx(fit.theta[judges], abs=1e-8)
    assert other.covariance == pytest.approx(fit.covariance[judges][:, judges], rel=1e-6, abs=1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("judges", [3, 6, 21])
def test_ratings_are_unbiased_where_joint_ones_are_inflated(judges: int) -> None:
    ability = np.linspace(-0.6, 0.6, judges)
    matrix = rasch_credits(np.random.default_rng(6), ability, 30_000)
    fit = fit_conditional(matrix.of_pairs(~matrix.unanimous))
    assert np.polyfit(ability, fit.theta, 1)[0] == pytest.approx(1, abs=0.03)


def test_judges_far_apart_are_reached_by_shorter_steps() -> None:
    """A chain in which each judge is beaten by the next but one time in 3,000."""
    judges = 5
    values = np.full((3001 * (judges - 1), judges), np.nan)
    for low in range(judges - 1):
        values[3001 * low : 3001 * (low + 1), low : low + 2] = 0, 1
        values[3001 * low, low : low + 2] = 1, 0
    fit = fit_conditional(credits_from(values))
    assert np.diff(fit.theta) == pytest.approx([np.log(3000)] * (judges - 1), abs=1e-7)


# What has no maximum


def test_fractions_are_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="takes no fractional credit: count ties as wrong, or rank by bradley-terry"):
        fit_conditional(credits_from([[1, 0.5], [0, 1]]))


@pytest.mark.parametrize("values", [[[1, 0], [1, 0]], [[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [0, 1, 0], [1, 1, 0]]])
def test_a_judge_that_is_never_beaten_has_no_conditional_estimate(values: Any) -> None:
    with pytest.raises(UsageError, match="conditional maximum likelihood has no finite maximum here"):
        fit_conditional(credits_from(values))
