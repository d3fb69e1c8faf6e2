"""Ranks: by score, beyond any score, as far as differences tell, and whatever the order of judges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.credit_matrices import NONE, answers, matrix

from judgeharness_integrations.analysis.ranking import rank
from judgeharness_integrations.analysis.ranking.contrasts import connections_of
from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.rating import ranked, ranks_of, rate

SCORES = st.dictionaries(st.text(max_size=3), st.integers(-3, 3).map(float), max_size=8)


def ranks(one: Credits, method: Any = "bradley-terry") -> dict[str, int]:
    return ranks_of(rate(one), method, one)


def turned(one: Credits, order: list[int]) -> Credits:
    return one.of_judges([one.judges[place] for place in order])


@given(SCORES)
def test_a_rank_counts_who_is_better(scores: dict[str, float]) -> None:
    assert ranked(scores) == {
        name: 1 + sum(other > score for other in scores.values()) for name, score in scores.items()
    }


def test_rounding_makes_no_ranks() -> None:
    assert ranked({"a": 1500.00000001, "b": 1500.0, "c": 1499.9}) == {"a": 1, "b": 1, "c": 3}


def test_a_pure_hierarchy_is_ranked_by_share_of_credit() -> None:
    chain = matrix([[0, 0, 1], [0, 1, 1], [0, 1, 1]])
    assert ranks(chain) == {"c": 1, "b": 2, "a": 3}
    assert rate(chain).joint is None


def test_judges_above_stand_before_every_rank_a_rated_one_may_have() -> None:
    draw = np.random.default_rng(2)
    gold = {f"p{place}": "A" for place in range(60)}
    given = {
        name: ["A" if draw.random() < skill else "B" for _ in gold] for name, skill in [("low", 0.3), ("high", 0.8)]
    }
    report = rank(answers(gold, given | {"best": ["A"] * 60, "also": ["A"] * 60, "worst": ["B"] * 60}))
    assert {one.judge: (one.rank, one.rank_range) for one in report.judges} == {
        "best": (1, None),
        "also": (1, None),
        "high": (3, (3, 3)),
        "low": (4, (4, 4)),
        "worst": (5, None),
    }
    assert all(
        one.rank_range[0] <= one.rank <= one.rank_range[1]
        for one in report.judges
        if one.rank_range is not None and one.rank is not None
    )


def test_of_two_panels_nobody_is_ranked_whoever_is_perfect() -> None:
    none = [NONE] * 3
    panels = matrix(
        [[*row, *none] for row in ([1, 0, 1], [0, 1, 1])] + [[*none, *row] for row in ([1, 0, 0], [0, 1, 1])]
    )
    assert ranks(panels) == {}
    assert connections_of(panels).judges("apart")


def test_two_pairs_of_judges_of_which_one_always_wins_are_one_ranking_in_any_order() -> None:
    credits_ = matrix([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]])
    found = connections_of(credits_)
    assert (found.judges("rated"), found.judges("below")) == (("a", "b"), ("c", "d"))  # as large, with more credit
    assert ranks(credits_) == {"a": 1, "b": 1, "c": 3, "d": 3}


def test_of_groups_alike_in_everything_the_first_by_name_is_rated() -> None:
    none = [NONE, NONE]
    panels = matrix([[1, 0, *none], [0, 1, *none], [*none, 1, 0], [*none, 0, 1]])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        found = connections_of(turned(panels, order))
        assert set(found.judges("rated")) == {"a", "b"}
        assert set(found.judges("apart")) == {"c", "d"}


@st.composite
def permuted(draw: st.DrawFn) -> tuple[Credits, list[int], list[int]]:
    judges, pairs = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    cell = st.sampled_from([0.0, 1.0, NONE, NONE, 0.5, 1 / 3])
    rows = draw(st.lists(st.lists(cell, min_size=judges, max_size=judges), min_size=pairs, max_size=pairs))
    return matrix(rows), draw(st.permutations(range(judges))), draw(st.permutations(range(pairs)))


@given(permuted())
def test_places_and_ranks_do_not_depend_on_the_order_of_judges_and_pairs(
    drawn: tuple[Credits, list[int], list[int]],
) -> None:
    one, judges, pairs = drawn
    other = turned(one, judges)
    other = Credits(
        judges=other.judges, pairs=tuple(one.pairs[place] for place in pairs), values=other.values[np.array(pairs)]
    )
    assert dict(connections_of(other).places) == dict(connections_of(one).places)
    assert ranks(other) == ranks(one)


def test_judges_alike_throughout_share_their_rank() -> None:
    assert ranks(matrix([[1, 1, 0], [0, 0, 1], [1, 1, 0]])) == {"a": 1, "b": 1, "c": 3}


@pytest.mark.parametrize("judges", [12, 15])
def test_a_steep_hierarchy_with_one_upset_a_step_is_rated(judges: int) -> None:
    rows: list[list[int]] = []
    for step in range(judges - 1):
        rows += [[0] * (step + 1) + [1] * (judges - step - 1)] * 300
        rows.append([0] * step + [1, 0] + [1] * (judges - step - 2))
    found = rate(matrix(rows), methods=("bradley-terry", "conditional"))
    assert found.reasons == {}
    for fit in (found.joint, found.conditional):
        assert fit is not None
        assert (np.diff(fit.elo) > 100).all()
        assert fit.elo.mean() == pytest.approx(1500)


def test_one_informative_pair_ranks_without_a_crash() -> None:
    report = rank(answers({"p": "A", "q": "A"}, {"x": ["A", "A"], "y": ["B", "A"]}))
    assert [(one.judge, one.rank, one.place) for one in report.judges] == [("x", 1, "rated"), ("y", 2, "below")]
    assert report.rated == ()
