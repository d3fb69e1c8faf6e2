"""What people found when they looked at pairs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.credit_matrices import NONE, matrix

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.studying import AuditCurve, audit_curve, curate, flag_marks

# Difficulty falls from 0 over 1 and 2, which are alike, to 3; the last two pairs are unanimous
ROWS = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]]


def curves(cells: list[str | float | None], rows: list[list[float]] = ROWS) -> dict[str, AuditCurve]:
    return {curve.label: curve for curve in audit_curve(curate(matrix(rows, audit=cells)), "audit")}


@pytest.mark.parametrize("mark", ["1", "1.0", 1.0, 1, True, "true", "TRUE", " yes ", "Y", "x", "X", "t", "flagged"])
@pytest.mark.parametrize("none", ["", None, "0", 0.0, False, "false", "No", "n", "F", "nan", "0.0"])
def test_marks_flag_pairs(mark: str | float, none: str | float | None) -> None:
    assert flag_marks(matrix([[1], [0], [1]], flag=[mark, none, mark]), "flag").tolist() == [True, False, True]


@pytest.mark.parametrize("cell", ["maybe", "2", 0.5, "wrong gold", "-"])
def test_what_is_no_mark_is_named(cell: str | float) -> None:
    with pytest.raises(UsageError, match=rf"^column 'flag' holds '{cell}', which neither flags .* nothing else\.$"):
        flag_marks(matrix([[1], [0]], flag=["1", cell]), "flag")


def test_a_long_or_hostile_cell_is_shortened_and_escaped() -> None:
    with pytest.raises(UsageError) as caught:
        flag_marks(matrix([[1]], flag=["\x1b[2J" + "x" * 10_000]), "flag")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_columns_are_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown column 'flg': did you mean 'flag'"):
        flag_marks(matrix([[1]], flag=["x"]), "flg")
    with pytest.raises(UnknownNameError, match="unknown column"):
        audit_curve(curate(matrix(ROWS)), "audit")


def test_a_curve_goes_from_the_hardest_pair_to_the_easiest() -> None:
    found = curves(["bad", "odd", "bad", "", "bad", None])
    assert list(found) == ["bad", "odd"]
    bad, odd = found["bad"], found["odd"]
    assert bad.points == ((0, 0), (0.25, 0.5), (0.75, 1), (1, 1))
    assert odd.points == ((0, 0), (0.25, 0), (0.75, 1), (1, 1))
    assert (bad.column, bad.n_pairs, bad.n_labelled, bad.n_unplaced) == ("audit", 4, 2, 1)
    assert (odd.n_labelled, odd.n_unplaced) == (1, 0)
    assert bad.area == pytest.approx(0.25 * 0.25 + 0.5 * 0.75 + 0.25)
    assert odd.area == pytest.approx(0.5)


def test_marks_are_one_label() -> None:
    for cells in (
        ["1", "0", "0", "", "1", None],
        ["yes", "no", "no", "no", "x", "no"],
        [True, False, False, 0.0, 1.0, None],
    ):
        found = curves(cells)  # type: ignore[arg-type]
        assert list(found) == ["audit"]
        assert found["audit"].points == ((0, 0), (0.25, 1), (0.75, 1), (1, 1))
        assert found["audit"].n_unplaced == 1


def test_labels_beside_marks_stay_labels() -> None:
    assert list(curves(["1", "2", "no", "", "nan", None])) == ["1", "2", "no"]


def test_a_label_on_pairs_without_a_difficulty_has_no_curve() -> None:
    found = curves(["", "", "", "odd", "bad", "bad"])["bad"]
    assert (found.points, found.n_labelled, found.n_unplaced, found.area) == ((), 0, 2, None)
    unmarked = curves([None] * 6)["audit"]
    assert (unmarked.points, unmarked.n_pairs, unmarked.n_unplaced) == ((), 4, 0)


def test_pairs_beyond_the_rated_judges_come_first_and_last() -> None:
    rows = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0], [NONE, NONE, 1, 0]]
    found = curves(["a", "a", "c", "b", "b", "d"], rows)
    assert found["b"].points[1] == (0.4, 1)
    assert found["c"].points[-2:] == ((0.8, 0), (1, 1))
    assert found["a"].n_pairs == 5
    assert found["d"].n_unplaced == 1


@given(
    rows=st.lists(st.lists(st.sampled_from([0.0, 1.0, NONE]), min_size=3, max_size=3), min_size=1, max_size=10),
    data=st.data(),
)
def test_curves_rise_to_one_and_the_order_of_pairs_changes_nothing(
    rows: list[list[float]], data: st.DataObject
) -> None:
    size = {"min_size": len(rows), "max_size": len(rows)}
    cells = data.draw(st.lists(st.sampled_from(["bad", "odd", None]), **size))
    order = data.draw(st.permutations(range(len(rows))))
    found = curves(cells, rows)
    turned = curves([cells[place] for place in order], [rows[place] for place in order])
    assert found == turned
    for label, curve in found.items():
        json.dumps(curve.to_dict(), allow_nan=False)
        assert curve.n_labelled + curve.n_unplaced == cells.count(label)
        assert (curve.points == ()) == (curve.n_labelled == 0)
        if curve.points:
            assert (curve.points[0], curve.points[-1]) == ((0, 0), (1, 1))
            steps = np.diff(np.array(curve.points), axis=0)
            assert (steps[:, 0] > 0).all()
            assert (steps[:, 1] >= 0).all()


def test_json_holds_points_and_area() -> None:
    written = curves(["bad", "odd", "bad", "", "bad", None])["odd"].to_dict()
    assert written == {
        "column": "audit",
        "label": "odd",
        "points": [[0, 0], [0.25, 0], [0.75, 1], [1, 1]],
        "n_pairs": 4,
        "n_labelled": 1,
        "n_unplaced": 0,
        "area": 0.5,
    }
