"""The fewest of anything that is enough, and where something crosses a bar."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.analysis.statistics.paired import bisected, bisected_each, fewest, fewest_for_good, last


@pytest.mark.parametrize("wanted", [1, 2, 3, 64, 65_537, 99_999, 100_000])
def test_the_smallest_number_that_is_enough_is_found_up_to_the_most(wanted: int) -> None:
    assert fewest(lambda n: n >= wanted, most=100_000) == wanted


def test_more_than_the_most_is_none_and_less_than_the_least_is_the_least() -> None:
    asked: list[int] = []
    assert fewest(lambda n: bool(asked.append(n)), most=100_000) is None
    assert max(asked) == 100_000
    assert fewest(lambda n: n >= 3, least=10, most=100) == 10


@given(st.integers(0, 300))
def test_the_last_number_that_holds_is_found(bar: int) -> None:
    assert last(lambda n: n <= bar, 0, 302) == bar


def test_what_does_not_hold_beyond_the_first_leaves_the_first() -> None:
    assert last(lambda _: False, 4, 20) == 4


def test_a_bisection_ends_on_both_sides_of_the_crossing() -> None:
    low, high = bisected(lambda x: x * x < 2, 0.0, 2.0, steps=40)
    assert low < math.sqrt(2) <= high
    assert high - low == pytest.approx(2 * 2.0**-40)


def test_each_element_is_bisected_as_if_it_were_alone() -> None:
    squares = np.array([0.25, 2.0, 3.9])
    low, high = bisected_each(lambda x: x * x < squares, np.zeros(3), np.full(3, 2.0), steps=30)
    alone = [bisected(lambda x, square=square: x * x < square, 0.0, 2.0, steps=30) for square in squares]
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == alone


@given(st.lists(st.booleans(), min_size=10, max_size=10))
def test_of_teeth_the_number_is_taken_from_which_on_all_are_enough(teeth: list[bool]) -> None:
    expected = next((n for n in range(len(teeth)) if all(teeth[n:])), None)
    assert fewest_for_good(lambda n: teeth[n], range(10)) == expected


def test_between_two_numbers_of_the_grid_every_one_is_asked() -> None:
    assert fewest_for_good(lambda n: n >= 47 and n != 52, range(0, 101, 10)) == 53


def test_where_all_of_the_grid_is_enough_its_first_number_is() -> None:
    assert fewest_for_good(lambda n: n > 0, [3, 5, 8]) == 3
