"""Whether judges can be rated together: Ford's condition by brute force, and what becomes of who cannot be."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from support.drawn_credits import credits_from, rasch_credits, small_credits

from judgeharness_integrations.analysis.ranking.contrasts import connections_of
from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.rating import Rating, rate


def beats(matrix: Credits, one: int, other: int) -> bool:
    """Whether some pair gives one judge credit and denies some to the other."""
    return any(row[one] > 0 and row[other] < 1 for row in matrix.values if not np.isnan(row[[one, other]]).any())


def ford(matrix: Credits) -> bool:
    """Ford 1957: however the judges are divided in two, somebody of the one part beats somebody of the other."""
    judges = range(len(matrix.judges))
    return all(
        any(beats(matrix, one, other) for one in part for other in set(judges) - set(part))
        for size in range(1, len(matrix.judges))
        for part in combinations(judges, size)
    )


def bradley_terry(rating: Rating) -> dict[str, float]:
    return rating.scores("bradley-terry")


@given(small_credits(cells=(0.0, 1.0, None), judges=5, pairs=6))
def test_judges_are_connected_where_fords_condition_holds(matrix: Credits) -> None:
    assert connections_of(matrix).connected == ford(matrix)


@given(small_credits(cells=(0.0, 1.0, 0.5, None), judges=5, pairs=6))
def test_whoever_can_be_rated_together_is_rated_by_every_method_that_may(matrix: Credits) -> None:
    found = rate(matrix, methods=("bradley-terry", "conditional"))
    rated = found.connections.judges("rated")
    assume(len(rated) > 1)
    if found.connections.judges("apart"):
        assert bradley_terry(found) == {}
        assert set(found.reasons.values()) == {
            "the judges fall into groups that nothing compares, and one scale for all of them would mean nothing"
        }
        return
    assert set(bradley_terry(found)) == set(rated)
    assert np.mean(list(bradley_terry(found).values())) == pytest.approx(1500)
    fractional = found.matrix.of_judges(rated).of_pairs(~found.matrix.of_judges(rated).unanimous).fractional
    assert (found.conditional is None) == fractional


@given(small_credits(cells=(0.0, 1.0, None), judges=5, pairs=6))
def test_every_judge_has_one_place_and_places_are_those_of_wins_over_others(matrix: Credits) -> None:
    found = connections_of(matrix)
    assert tuple(judge for judge, _ in found.places) == matrix.judges
    numbers = {judge: place for place, judge in enumerate(matrix.judges)}
    reach = {(one, one) for one in numbers.values()} | {
        (one, other) for one in numbers.values() for other in numbers.values() if beats(matrix, one, other)
    }
    for middle in numbers.values():
        reach |= {(one, other) for one, a in sorted(reach) for b, other in sorted(reach) if a == middle == b}
    main = {numbers[judge] for judge in found.judges("rated")}
    assert all((one, other) in reach for one in main for other in main)
    for judge, place in found.places:
        if place == "unseen":
            assert np.isnan(matrix.values[:, numbers[judge]]).all()
            continue
        wins = any((numbers[judge], other) in reach for other in main)
        loses = any((other, numbers[judge]) in reach for other in main)
        assert {"rated": (True, True), "above": (True, False), "below": (False, True), "apart": (False, False)}[
            place
        ] == (wins, loses)


@pytest.fixture
def three() -> Credits:
    return rasch_credits(np.random.default_rng(1), [-0.4, 0.0, 0.5], 60)


def with_judge(matrix: Credits, answers: Any) -> Credits:
    return credits_from(np.column_stack([matrix.values, answers]))


@pytest.mark.parametrize(("answer", "place"), [(0.0, "below"), (1.0, "above")])
def test_a_judge_always_wrong_or_always_right_is_placed_and_its_pairs_stay(
    three: Credits, answer: float, place: Any
) -> None:
    more = with_judge(three, np.full(60, answer))
    found = rate(more)
    assert found.connections.judges(place) == ("j3",)
    assert found.connections.judges("rated") == ("j0", "j1", "j2")
    assert not found.connections.connected
    alone = rate(three)
    assert bradley_terry(found) == pytest.approx(bradley_terry(alone))
    assert found.scores("conditional") == pytest.approx(alone.scores("conditional"))
    assert len(found.matrix.pairs) > len(alone.matrix.pairs)  # the pairs it alone is wrong or right about
    assert np.isinf(found.difficulty).sum() == len(found.matrix.pairs) - len(alone.matrix.pairs)
    scores = found.scores("eip")
    assert (scores["j3"] == min(scores.values())) if place == "below" else (scores["j3"] == max(scores.values()))


def test_two_always_wrong_and_one_always_right_stand_on_both_sides(three: Credits) -> None:
    found = rate(with_judge(with_judge(with_judge(three, np.zeros(60)), np.ones(60)), np.zeros(60)))
    assert found.connections.places == (
        *(("j0", "rated"), ("j1", "rated"), ("j2", "rated")),
        *(("j3", "below"), ("j4", "above"), ("j5", "below")),
    )


def test_judges_of_two_separate_sets_of_pairs_are_diagnosed_and_nobody_has_elo(three: Credits) -> None:
    blank = np.full((60, 3), np.nan)
    values = np.block([[three.values, blank], [blank, three.values]])[:, :5]
    found = rate(credits_from(values))
    assert found.connections.judges("rated") == ("j0", "j1", "j2")
    assert found.connections.judges("apart") == ("j3", "j4")
    assert [bradley_terry(found), found.scores("conditional"), found.scores("eip")] == [{}, {}, {}]
    assert found.reasons["bradley-terry"].startswith("the judges fall into groups that nothing compares")
    assert np.isnan(found.difficulty).all()


def test_one_pair_in_common_joins_two_sets_only_where_it_is_won_both_ways(three: Credits) -> None:
    blank = np.full((60, 3), np.nan)
    values = np.block([[three.values, blank], [blank, three.values]])[:, :5]
    one_way = np.append(values, [[1, 1, 1, 0, 0]], axis=0)
    both_ways = np.append(one_way, [[0, 0, 0, 1, 1]], axis=0)
    assert connections_of(credits_from(one_way)).judges("below") == ("j3", "j4")
    found = rate(credits_from(both_ways))
    assert found.connections.connected
    assert set(bradley_terry(found)) == set(found.scores("conditional")) == {"j0", "j1", "j2", "j3", "j4"}


@pytest.mark.parametrize("values", [[[1, 1], [0, 0]], [[1, 0], [1, 0]], [[None, 1], [0, None]], [[1], [0]]])
def test_where_no_two_judges_can_be_compared_the_reason_is_given(values: Any) -> None:
    found = rate(credits_from(values))
    assert bradley_terry(found) == {}
    assert found.reasons["bradley-terry"]
    assert found.reasons["conditional"] == found.reasons["bradley-terry"]
