"""How many pairs each step of the curation took."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.credit_matrices import NONE, matrix

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.analysis.ranking.studying import NO_VALUE, CascadeRow, cascade, curate

ROWS = [
    [1, 0, 0],  # the hardest, with the next
    [0, 1, 0],
    [1, 0, 1],
    [0, 1, 1],
    [1, 1, 1],
    [0, 0, 0],
    [NONE, 0, NONE],
    [NONE, NONE, NONE],
    [1, 1, 0],
]
DOMAIN = ["law", "art", "law", "art", "law", "", "art", "law", None]
STEPS = ("flagged", "unanimous_right", "unanimous_wrong", "unanswered", "hardest", "kept")


def counts(row: CascadeRow) -> tuple[int, ...]:
    return tuple(getattr(row, step) for step in STEPS)


def test_each_pair_is_counted_in_one_step() -> None:
    flagged = np.arange(9) == 8
    found = cascade(curate(matrix(ROWS, domain=DOMAIN), share=0.5, flagged=flagged), ["domain"])
    assert [(row.column, row.value, row.total) for row in found] == [
        (None, "all", 9),
        ("domain", "art", 3),
        ("domain", "law", 4),
        ("domain", NO_VALUE, 2),
    ]
    assert [counts(row) for row in found] == [
        (1, 1, 2, 1, 2, 2),
        (0, 0, 1, 0, 1, 1),
        (0, 1, 0, 1, 1, 1),
        (1, 0, 1, 0, 0, 0),
    ]


def test_a_flagged_pair_is_flagged_whatever_else_it_is() -> None:
    every = np.ones(9, np.bool_)
    assert counts(cascade(curate(matrix(ROWS), flagged=every), [])[0]) == (9, 0, 0, 0, 0, 0)


def test_percentages_are_of_the_pairs_with_that_value() -> None:
    all_pairs, art, *_ = cascade(curate(matrix(ROWS, domain=DOMAIN), share=0.4), ["domain"])
    assert all_pairs.unanimous_wrong_percent == pytest.approx(100 * 2 / 9)
    assert all_pairs.unanimous_right_percent == all_pairs.unanswered_percent == pytest.approx(100 / 9)
    assert (art.flagged_percent, art.unanimous_wrong_percent) == (0, pytest.approx(100 / 3))
    assert (art.hardest_percent, art.kept_percent) == (pytest.approx(100 / 3), pytest.approx(100 / 3))


def test_columns_come_in_the_order_they_are_asked_for_and_numbers_have_values_too() -> None:
    curation = curate(matrix(ROWS, domain=DOMAIN, words=[2.0, 1.0] * 4 + [2.0]))
    found = cascade(curation, ["words", "domain"])
    assert [row.value for row in found] == ["all", "1.0", "2.0", "art", "law", NO_VALUE]
    with pytest.raises(UnknownNameError, match="unknown column 'domian'"):
        cascade(curation, ["domian"])


def test_without_pairs_there_is_no_percentage() -> None:
    none = matrix(ROWS).of_pairs(np.zeros(9, np.bool_))
    row = cascade(curate(none), [])[0]
    assert (row.total, row.kept, row.kept_percent) == (0, 0, None)


@given(
    rows=st.lists(st.lists(st.sampled_from([0.0, 1.0, 0.5, NONE]), min_size=3, max_size=3), min_size=1, max_size=9),
    data=st.data(),
)
def test_steps_and_values_sum_up(rows: list[list[float]], data: st.DataObject) -> None:
    size = {"min_size": len(rows), "max_size": len(rows)}
    column = data.draw(st.lists(st.sampled_from(["x", "y", None]), **size))
    flagged = np.array(data.draw(st.lists(st.booleans(), **size)))
    found = cascade(curate(matrix(rows, group=column), flagged=flagged), ["group"])
    for row in found:
        assert sum(counts(row)) == row.total
        written = json.loads(json.dumps(row.to_dict(), allow_nan=False))
        assert sum(written[f"{step}_percent"] for step in STEPS) == pytest.approx(100)
        assert [written[step] for step in STEPS] == list(counts(row))
    np.testing.assert_array_equal(np.sum([counts(row) for row in found[1:]], axis=0), counts(found[0]))
