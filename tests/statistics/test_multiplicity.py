"""Adjusted p-values against statsmodels, and the laws of Holm's procedure."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from judgeharness_integrations.analysis.statistics.proportions import (
    bonferroni_level,
    harmonic,
    holm,
    sidak_confidence,
    step_up,
)

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_a_worked_example() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.slow
@given(PROBABILITIES)
def test_it_is_what_statsmodels_adjusts(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


@given(PROBABILITIES)
def test_the_order_of_the_tests_stays_and_no_p_value_falls(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(np.array(adjusted)[order]) >= 0)


@given(PROBABILITIES)
def test_the_order_they_are_given_in_changes_nothing(p_values: list[float]) -> None:
    places = np.random.default_rng(len(p_values)).permutation(len(p_values))
    assert holm([p_values[place] for place in places]) == [holm(p_values)[place] for place in places]


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_equal_weights_give_holms_procedure(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1]
    assert holm(p_values, [2.0] * len(p_values)) == pytest.approx(list(expected))


@given(st.lists(st.tuples(st.floats(0, 0.2), st.sampled_from([1.0, 4.0])), min_size=1, max_size=5))
def test_weighted_holm_rejects_what_closed_testing_rejects(tests: list[tuple[float, float]]) -> None:
    """A hypothesis is rejected iff every set of hypotheses with it is, by the weighted Bonferroni test."""
    p_values, weights = [p for p, _ in tests], [weight for _, weight in tests]
    adjusted = holm(p_values, weights)

    def rejected(places: tuple[int, ...]) -> bool:
        total = sum(weights[place] for place in places)
        return any(p_values[place] * total / weights[place] <= 0.05 for place in places)

    sets = [s for size in range(1, len(tests) + 1) for s in itertools.combinations(range(len(tests)), size)]
    for place in range(len(tests)):
        closed = all(rejected(one) for one in sets if place in one)
        assert closed is (adjusted[place] <= 0.05) or adjusted[place] == pytest.approx(0.05)


@given(st.lists(st.one_of(st.just(np.nan), st.floats(0, 1)), max_size=12))
def test_false_discovery_rates_are_adjusted_as_statsmodels_does(p: list[float]) -> None:
    found = step_up(np.array(p, np.float64))
    tested = ~np.isnan(p) if p else np.zeros(0, np.bool_)
    assert (np.isnan(found) == ~tested).all()
    if tested.any():
        assert found[tested] == pytest.approx(multipletests(np.array(p)[tested], method="fdr_bh")[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_dependent_tests_are_adjusted_as_statsmodels_does(p: list[float]) -> None:
    assert step_up(np.array(p), dependent=True) == pytest.approx(multipletests(p, method="fdr_by")[1])


def test_of_dependent_tests_an_undefined_one_counts_among_them() -> None:
    found = step_up(np.array([0.01, np.nan]), dependent=True)
    assert found[0] == pytest.approx(0.01 * 2 * harmonic(2))
    assert np.isnan(found[1])


def test_the_harmonic_number() -> None:
    assert harmonic(4) == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4)


def test_levels_of_several_tests_and_intervals() -> None:
    assert bonferroni_level(0.05, 4) == 0.0125
    assert sidak_confidence(0.95, 3) ** 3 == pytest.approx(0.95)
