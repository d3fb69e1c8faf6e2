from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgeharness_integrations.analysis.ranking.comparing import correlate, correlated, top_overlap

COARSE = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=14)


@given(pairs=COARSE)
def test_correlations_are_those_of_scipy_with_ties(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(side, float) for side in zip(*pairs, strict=True))
    found = correlated(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert (found.spearman, found.kendall, found.pearson) == (None, None, None)
        return
    assert found.spearman == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)
    assert found.kendall == pytest.approx(stats.kendalltau(first, second).statistic, abs=1e-12)
    assert found.pearson == pytest.approx(stats.pearsonr(first, second).statistic, abs=1e-12)


def test_judges_of_one_side_alone_are_left_out() -> None:
    x = {"a": 1.0, "b": 2.0, "c": 3.0, "only x": 99.0}
    y = {"c": 3.0, "a": 1.0, "b": 2.0, "only y": -99.0}
    found = correlate(x, y, labels=("first", "second"), group="law")
    assert (found.x, found.y, found.group, found.judges) == ("first", "second", "law", 3)
    assert (found.spearman, found.kendall, found.pearson) == (1.0, 1.0, pytest.approx(1.0))


@pytest.mark.parametrize("judges", [0, 1, 2])
def test_two_judges_are_no_correlation(judges: int) -> None:
    x = {str(place): float(place) for place in range(judges)}
    found = correlate(x, x, labels=("x", "y"))
    assert (found.judges, found.spearman, found.kendall, found.pearson, found.top) == (judges, None, None, None, ())


def test_ratings_that_differ_by_rounding_are_tied() -> None:
    exact = np.array([1500.0, 1500.0, 1620.0, 1380.0])
    blurred = exact + np.array([0.0, 1e-9, 0.0, 0.0])
    assert correlated(exact, exact[::-1]).spearman == correlated(blurred, exact[::-1]).spearman
    level = np.full(4, 1500.0) + np.array([0.0, 1e-9, -1e-9, 0.0])
    assert correlated(level, exact).pearson is None


def test_scores_from_0_to_1_are_tied_within_what_iterations_leave() -> None:
    scores = np.array([0.0, 0.4, 0.4 + 3e-9, 1.0])
    assert correlated(scores, np.array([1.0, 3.0, 2.0, 4.0])).kendall == pytest.approx(5 / np.sqrt(5 * 6))


def test_small_scales_keep_their_order() -> None:
    scores = np.array([1e-7, 3e-7, 2e-7, 9e-7])
    assert correlated(scores, 1e9 * scores).kendall == 1.0


@pytest.mark.parametrize(("judges", "tops"), [(3, ()), (4, (3,)), (6, (3, 5)), (11, (3, 5, 10))])
def test_tops_are_below_the_number_of_judges(judges: int, tops: tuple[int, ...]) -> None:
    scores = np.arange(judges, dtype=float)
    assert correlated(scores, scores).top == tuple((k, 1.0) for k in tops)


def test_top_of_reversed_ratings_shares_what_it_must() -> None:
    scores = np.arange(4.0)
    assert top_overlap(scores, -scores, 3) == pytest.approx(2 / 3)
    assert top_overlap(np.arange(6.0), -np.arange(6.0), 3) == 0.0


def test_names_tied_at_the_edge_share_its_places() -> None:
    clear = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    tied = np.array([4.0, 2.0, 2.0, 2.0, 0.0])  # three names for two of the first three places
    assert top_overlap(clear, tied, 3) == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    assert top_overlap(np.zeros(5), clear, 3) == pytest.approx(3 / 5)
    assert top_overlap(tied, tied, 3) == pytest.approx(1.0)


@given(pairs=COARSE, k=st.integers(1, 3), seed=st.integers(0, 99))
def test_overlap_knows_no_order_of_sides_or_names(pairs: list[tuple[int, int]], k: int, seed: int) -> None:
    first, second = (np.array(side, float) for side in zip(*pairs, strict=True))
    found = top_overlap(first, second, k)
    mixed = np.random.default_rng(seed).permutation(len(first))
    assert 0 <= found <= 1 + 1e-12
    assert found == pytest.approx(top_overlap(second, first, k))
    assert found == pytest.approx(top_overlap(first[mixed], second[mixed], k))


def test_correlations_are_json() -> None:
    found = correlated(np.arange(6.0), np.arange(6.0), labels=("x", "y"))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == {
        "x": "x",
        "y": "y",
        "group": None,
        "judges": 6,
        "spearman": 1.0,
        "kendall": 1.0,
        "pearson": 1.0,
        "top": [[3, 1.0], [5, 1.0]],
    }
