"""The fewest of anything that is enough."""

from __future__ import annotations

import pytest

from judgeharness_integrations.aggregation.statistics import fewest


@pytest.mark.parametrize("wanted", [1, 2, 3, 64, 65_537, 99_999, 100_000])
def test_the_smallest_number_that_is_enough_is_found_up_to_the_most(wanted: int) -> None:
    assert fewest(lambda n: n >= wanted, most=100_000) == wanted


def test_more_than_the_most_is_none_and_less_than_the_least_is_the_least() -> None:
    asked: list[int] = []
    assert fewest(lambda n: bool(asked.append(n)), most=100_000) is None
    assert max(asked) == 100_000
    assert fewest(lambda n: n >= 3, least=10, most=100) == 10
