"""Adjusted p-values against statsmodels, and the laws of Holm's procedure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from judgeharness_integrations.aggregation.holm import holm

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_a_worked_example() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


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
