"""Fronts of judges: nothing is as good for less."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.families import ParetoPoint, pareto

PLACES = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=2), st.tuples(st.integers(0, 5), st.integers(-3, 3)), max_size=12
)


def dominated(place: tuple[float, float], by: tuple[float, float]) -> bool:
    return by != place and by[0] <= place[0] and by[1] >= place[1]


@given(PLACES)
def test_the_front_is_what_nothing_dominates(points: dict[str, tuple[float, float]]) -> None:
    found = pareto(points)
    assert {point.judge for point in found} == set(points)
    for point in found:
        place = points[point.judge]
        assert (point.x, point.y) == place
        assert point.on_front == (not any(dominated(place, other) for other in points.values()))
    assert [point.x for point in found] == sorted(x for x, _ in points.values())
    assert not points or any(point.on_front for point in found)


@given(PLACES)
def test_the_front_rises_and_the_order_of_judges_does_not_matter(points: dict[str, tuple[float, float]]) -> None:
    found = pareto(points)
    front = [point.y for point in found if point.on_front]
    assert front == sorted(front)
    assert pareto(dict(reversed(points.items()))) == found


def test_judges_at_the_same_point_are_on_the_front_together() -> None:
    found = pareto({"b": (1, 5), "a": (1, 5), "dear": (2, 5), "poor": (1, 4)})
    assert [(point.judge, point.on_front) for point in found] == [
        ("a", True), ("b", True), ("poor", False), ("dear", False),
    ]  # fmt: skip
    assert json.loads(json.dumps(found[0].to_dict())) == {"judge": "a", "x": 1, "y": 5, "on_front": True}
    assert found[0] == ParetoPoint(judge="a", x=1, y=5, on_front=True)


@pytest.mark.parametrize("place", [(float("nan"), 1.0), (1.0, float("inf"))])
def test_a_place_that_is_no_number_is_refused(place: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="judge 'x' has no finite place"):
        pareto({"ok": (1.0, 1.0), "x": place})
