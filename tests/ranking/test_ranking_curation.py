"""Which pairs are ranked by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.credit_matrices import NONE, matrix

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.studying import Curation, CutTies, curate

# Four judges; difficulty: pairs 0 and 1 alike and hard (one right), 2 and 3 of two right, 4 to 6 easy (three right)
ROWS = [
    [1, 0, 0, 0],
    [1, 0, 0, 0],
    [0, 1, 0, 1],
    [1, 0, 1, 0],
    [0, 1, 1, 1],
    [1, 1, 0, 1],
    [1, 1, 1, 0],
    [1, 1, 1, 1],
    [0, 0, 0, 0],
]


def places(marks: np.ndarray) -> list[int]:
    return np.flatnonzero(marks).tolist()


def test_unanimous_pairs_are_left_out() -> None:
    found = curate(matrix(ROWS))
    assert places(found.unanimous) == [7, 8]
    assert places(found.flagged) == places(found.hardest) == []
    assert found.kept.pairs == tuple(f"p{number}" for number in range(7))
    assert np.isnan(found.difficulty).tolist() == [False] * 7 + [True] * 2
    assert found.difficulty[0] == pytest.approx(found.difficulty[1], abs=1e-9)
    assert found.difficulty[0] > found.difficulty[[2, 3]].max() > found.difficulty[[4, 5, 6]].max()


@pytest.mark.parametrize(
    ("share", "keep", "cut"),
    [
        (0.0, [], []),
        (0.1, [], []),  # less than one pair of seven
        (1 / 7, [], [0, 1]),  # one pair would divide two that are alike
        (2 / 7, [0, 1], [0, 1]),
        (3 / 7, [0, 1], [0, 1, 2, 3]),
        (4 / 7, [0, 1, 2, 3], [0, 1, 2, 3]),
        (0.99, [0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_pairs_of_one_difficulty_are_kept_or_cut_together(share: float, keep: list[int], cut: list[int]) -> None:
    assert places(curate(matrix(ROWS), share=share, cut_ties="keep").hardest) == keep
    assert places(curate(matrix(ROWS), share=share, cut_ties="cut").hardest) == cut


def test_a_share_of_whole_pairs_is_not_rounded_below_them() -> None:
    rows = [[1, 0, 0]] * 29 + [[1, 1, 0], [0, 1, 1], [1, 0, 1]] * 23 + [[0, 1, 1]] * 2
    assert 0.29 * 100 < 29  # in floating point
    assert places(curate(matrix(rows), share=0.29).hardest) == list(range(29))


def test_flagged_pairs_go_first_and_count_for_nothing_else() -> None:
    flagged = np.isin(np.arange(9), [0, 7])
    found = curate(matrix(ROWS), share=1 / 6, flagged=flagged)
    assert places(found.flagged) == [0, 7]
    assert places(found.unanimous) == [8]
    assert places(found.hardest) == [1]
    assert found.kept.pairs == ("p2", "p3", "p4", "p5", "p6")
    assert np.isnan(found.difficulty[[0, 7, 8]]).all()


def test_pairs_that_nobody_answered_are_not_unanimous() -> None:
    flagged = np.isin(np.arange(12), [11])
    found = curate(matrix([*ROWS, *[[NONE] * 4] * 3]), flagged=flagged)
    assert places(found.unanimous) == [7, 8]
    assert places(found.unanswered) == [9, 10]
    assert places(found.flagged) == [11]
    assert found.kept.pairs == tuple(f"p{number}" for number in range(7))


def test_what_is_unanimous_depends_on_the_judges() -> None:
    found = curate(matrix(ROWS).of_judges(["b", "c", "d"]))
    assert places(found.unanimous) == [0, 1, 4, 7, 8]


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="at least 0 and below 1"):
        curate(matrix(ROWS), share=share)


def test_pairs_without_a_difficulty_cannot_be_cut() -> None:
    beaten = matrix([[1, 0], [1, 0]])
    assert np.isnan(curate(beaten).difficulty).all()
    with pytest.raises(UsageError, match=r"cannot be cut by difficulty: fewer than two judges can be compared.*\.$"):
        curate(beaten, share=0.5)


def test_pairs_that_only_judges_outside_the_ranking_tell_apart_are_the_hardest_or_easiest_of_all() -> None:
    rows = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0]]  # c is never wrong, d is never right
    found = curate(matrix(rows), share=0.25)
    assert found.difficulty[2:].tolist() == [-np.inf, np.inf]
    assert places(found.hardest) == [3]


def test_pairs_without_a_difficulty_are_never_cut_and_never_shield_others() -> None:
    rows = [[*row, 1, 0] for row in ([1, 0, 0], [1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0], [1, 1, 0])]
    found = curate(matrix([*rows, *[[NONE, NONE, NONE, 1, 0]] * 3]), share=0.3)
    assert np.isnan(found.difficulty).tolist() == [False] * 7 + [True] * 3
    assert places(found.hardest) == [0, 1]


@st.composite
def matrices(draw: st.DrawFn) -> list[list[float]]:
    judges = draw(st.integers(2, 4))
    cell = st.sampled_from([0.0, 1.0, 1.0, 0.0, NONE])
    return draw(st.lists(st.lists(cell, min_size=judges, max_size=judges), min_size=1, max_size=12))


def curated(rows: list[list[float]], share: float, ties: CutTies, flagged: np.ndarray) -> Curation | None:
    try:
        return curate(matrix(rows), share=share, cut_ties=ties, flagged=flagged)
    except UsageError:
        return None


@given(rows=matrices(), share=st.sampled_from([0.0, 0.2, 0.5, 0.9]), data=st.data())
def test_each_pair_is_counted_once_and_the_order_of_pairs_changes_nothing(
    rows: list[list[float]], share: float, data: st.DataObject
) -> None:
    ties: CutTies = data.draw(st.sampled_from(["keep", "cut"]))
    flagged = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    found = curated(rows, share, ties, flagged)
    turned = curated([rows[place] for place in order], share, ties, flagged[order])
    assert (found is None) == (turned is None)
    if found is None or turned is None:
        return
    steps = np.array([found.flagged, found.unanimous, found.unanswered, found.hardest, found.kept_marks])
    assert (steps.sum(axis=0) == 1).all()
    assert found.hardest[order].tolist() == turned.hardest.tolist()
    cut, left = found.difficulty[found.hardest], found.difficulty[~found.hardest & ~np.isnan(found.difficulty)]
    assert not len(cut) or not len(left) or cut.min() > left.max()
