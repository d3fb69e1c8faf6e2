"""The matrix that everything is ranked by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.credit_matrices import NONE, matrix

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.correctness import Credits

FULL = matrix(
    [[1, 0, NONE], [1, 1, NONE], [0, 0, 0], [0.5, 1, 1]], domain=["law", None, "art", "law"], words=[1, 2, 1, 2]
)


def test_what_is_no_matrix_of_credits_is_refused() -> None:
    with pytest.raises(UsageError, match=r"pairs x judges, 4 x 2, not \(4, 3\)"):
        replace(FULL, judges=("a", "b"))
    with pytest.raises(UsageError, match="a judge stands twice"):
        replace(FULL, judges=("a", "b", "a"))
    with pytest.raises(UsageError, match="a pair stands twice"):
        replace(FULL, pairs=("p", "q", "r", "p"))
    for wrong in (-0.1, 1.1, float("inf")):
        with pytest.raises(UsageError, match=r"from 0 .wrong. to 1 .right.,"):
            matrix([[wrong]])


def test_unanimous_pairs_have_all_right_or_all_wrong() -> None:
    assert FULL.unanimous.tolist() == [False, True, True, False]
    assert matrix([[0.5], [1], [NONE]]).unanimous.tolist() == [False, True, True]


def test_it_knows_what_was_asked_and_whether_credit_is_whole() -> None:
    assert FULL.seen.tolist() == [[True, True, False]] * 2 + [[True, True, True]] * 2
    assert not FULL.complete
    assert FULL.of_pairs(np.array([False, False, True, True])).complete
    assert FULL.fractional
    assert not FULL.of_pairs(np.array([True, True, True, False])).fractional


def test_some_pairs_keep_their_cells_and_columns() -> None:
    some = FULL.of_pairs(np.array([False, True, False, True]))
    assert some.pairs == ("p1", "p3")
    assert some.columns == {"domain": (None, "law"), "words": (2, 2)}
    np.testing.assert_array_equal(some.values, [[1, 1, NONE], [0.5, 1, 1]])


def test_judges_come_in_the_order_they_are_asked_for() -> None:
    some = FULL.of_judges(["c", "a"])
    assert some.judges == ("c", "a")
    np.testing.assert_array_equal(some.values, [[NONE, 1], [NONE, 1], [0, 0], [1, 0.5]])
    with pytest.raises(UnknownNameError, match="unknown judge 'd'"):
        FULL.of_judges(["a", "d"])
    with pytest.raises(UsageError, match="a judge stands twice"):
        FULL.of_judges(["a", "a"])


def test_columns_have_names() -> None:
    assert FULL.column("words") == (1, 2, 1, 2)
    with pytest.raises(UnknownNameError, match="unknown column 'domian': did you mean 'domain'"):
        FULL.column("domian")


def test_groups_are_the_values_of_a_column() -> None:
    groups = FULL.groups("domain")
    assert {name: group.pairs for name, group in groups.items()} == {"art": ("p2",), "law": ("p0", "p3")}
    assert list(groups) == ["art", "law"]
    assert list(FULL.groups("words")) == ["1", "2"]
    assert Credits(judges=(), pairs=(), values=np.empty((0, 0)), columns={"x": ()}).groups("x") == {}
