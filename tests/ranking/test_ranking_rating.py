"""Judges rated by every method at once."""

from __future__ import annotations

import numpy as np
import pytest
from support.credit_matrices import NONE, matrix

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.analysis.ranking.rating import METHODS, EipOptions, method_named, rate

ROWS = [[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 1, 1]]


def test_every_method_rates_the_judges_on_the_pairs_that_tell_them_apart() -> None:
    found = rate(matrix(ROWS))
    assert found.matrix.pairs == tuple(f"p{number}" for number in range(7))
    assert found.connections.connected
    assert found.reasons == {}
    for method in METHODS:
        scores = found.scores(method)
        assert list(scores) == ["a", "b", "c"]
        assert max(scores, key=lambda judge: scores[judge]) == "a"
    assert found.scores("eip")["a"] == 1
    assert found.difficulty.shape == (7,)
    assert np.isfinite(found.difficulty).all()
    assert found.joint is not None
    assert found.difficulty.tolist() == found.joint.difficulty.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_only_the_methods_asked_for_are_used(method: str) -> None:
    found = rate(matrix(ROWS), methods=(method_named(method),))
    assert {name for name in METHODS if found.scores(name)} == {method}
    assert found.reasons == {}
    assert np.isnan(found.difficulty).all() == (method != "bradley-terry")


def test_parameters_of_eip_are_passed_on() -> None:
    found = rate(matrix(ROWS), eip_options=EipOptions(low=-1, high=3))
    assert (min(found.scores("eip").values()), max(found.scores("eip").values())) == (-1, 3)


def test_fractions_and_missing_cells_say_which_method_takes_none() -> None:
    found = rate(matrix([*ROWS, [0.5, 1, NONE]]))
    assert sorted(found.reasons) == ["conditional", "eip"]
    assert "takes no fractional credit" in found.reasons["conditional"]
    assert "every judge on every pair" in found.reasons["eip"]
    assert not found.reasons["eip"].endswith(".")
    assert found.scores("conditional") == found.scores("eip") == {}
    assert len(found.scores("bradley-terry")) == 3


def test_clusters_widen_or_narrow_the_errors_and_move_no_rating() -> None:
    alone, twice = rate(matrix(ROWS)), rate(matrix(ROWS), clusters=np.array([9, 9, 4, 4, 4, 2, 2, 7]))
    for one, other in ((alone.joint, twice.joint), (alone.conditional, twice.conditional)):
        assert one is not None
        assert other is not None
        assert one.elo.tolist() == other.elo.tolist()
        assert one.se.tolist() != other.se.tolist()
    each = rate(matrix(ROWS), clusters=np.arange(8)[::-1].copy())
    assert each.joint is not None
    assert alone.joint is not None
    np.testing.assert_allclose(each.joint.se, alone.joint.se)


def test_judges_outside_stay_in_the_matrix_and_their_pairs_have_a_place() -> None:
    rows = [[*row, 1.0, 0.0] for row in ROWS] + [[0, 0, 0, 1, 0], [NONE, NONE, NONE, 1, 0]]
    found = rate(matrix(rows))
    assert found.matrix.judges == ("a", "b", "c", "d", "e")
    assert dict(found.connections.places)["d"] == "above"
    assert dict(found.connections.places)["e"] == "below"
    assert list(found.scores("bradley-terry")) == ["a", "b", "c"]
    inside = rate(matrix(ROWS)).scores("bradley-terry")
    assert found.scores("bradley-terry") == pytest.approx(inside)
    assert found.difficulty[7:].tolist() == pytest.approx([-np.inf, np.inf, NONE], nan_ok=True)


def test_eip_scores_judges_outside_too() -> None:
    found = rate(matrix([[*row, 1.0, 0.0] for row in ROWS]))
    assert list(found.scores("bradley-terry")) == ["a", "b", "c"]
    assert list(found.scores("eip")) == ["a", "b", "c", "d", "e"]
    assert found.scores("eip")["d"] == 1


def test_clusters_go_with_their_pairs_where_others_are_left_out_before_them() -> None:
    rows = [[*row, 1.0] for row in [[1, 1, 1], *ROWS, [0, 0, 0], *ROWS[1:4]]]  # d is above; its pairs tell nobody else
    clusters = np.array([3, 0, 0, 1, 1, 1, 2, 2, 3, 3, 0, 1, 2])
    inside = [place for place, row in enumerate(rows) if 0 < sum(row[:3]) < 3]
    plain = rate(matrix([rows[place][:3] for place in inside]), clusters=clusters[inside]).joint
    found = rate(matrix(rows), clusters=clusters).joint
    assert plain is not None
    assert found is not None
    assert found.judges == plain.judges == ("a", "b", "c")
    np.testing.assert_allclose(found.se, plain.se)


def test_judges_that_nothing_compares_are_not_rated() -> None:
    found = rate(matrix([[1, 0, NONE, NONE], [0, 1, NONE, NONE], [NONE, NONE, 1, 0], [NONE, NONE, 0, 1]]))
    assert found.connections.judges("apart") == ("c", "d")
    assert "groups that nothing compares" in found.reasons["bradley-terry"]
    assert found.reasons["conditional"] == found.reasons["bradley-terry"]
    assert np.isnan(found.difficulty).all()


@pytest.mark.parametrize("rows", [[[1, 0], [1, 0]], [[1], [0]]])
def test_a_ranking_needs_two_judges_that_beat_each_other(rows: list[list[float]]) -> None:
    found = rate(matrix(rows))
    assert "fewer than two judges can be compared" in found.reasons["bradley-terry"]
    assert found.scores("bradley-terry") == {}


def test_methods_have_names() -> None:
    assert [method_named(name) for name in METHODS] == list(METHODS)
    with pytest.raises(UnknownNameError, match="unknown method 'bradley_terry': did you mean 'bradley-terry'"):
        method_named("bradley_terry")
