"""What judges answered where gold says what."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.credit_matrices import decided, logs
from support.rows import both_orders

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.analysis.ranking.correctness import Failures, Policy, decisions_of
from judgeharness_integrations.analysis.ranking.families import NO_DECISION, confusions
from judgeharness_integrations.verdictlog.row import VerdictRow

GOLD = {"p": "A", "q": "A", "r": "C", "s": None}
ALONE = {"one": ["A"]}
GIVEN = {"one": ["A", "B", "C", "B"], "two": ["A", None, "-", "D"]}


def test_rows_are_gold_and_columns_are_answers() -> None:
    pooled, one, two = confusions(decided(GOLD, GIVEN), "verdict")
    assert (pooled.judge, one.judge, two.judge) == (None, "one", "two")
    for found in (pooled, one, two):
        assert (found.group, found.criterion) == (None, "verdict")
        assert found.true_labels == ("A", "C")
        assert found.predicted_labels == ("A", "B", "C", NO_DECISION)
    assert one.counts == ((1, 1, 0, 0), (0, 0, 1, 0))
    assert two.counts == ((1, 0, 0, 1), (0, 0, 0, 0))
    assert pooled.counts == ((2, 1, 0, 1), (0, 0, 1, 0))
    assert (pooled.n, one.n, two.n) == (5, 3, 2)
    assert one.row_normalised == ((0.5, 0.5, 0, 0), (0, 0, 1, 0))
    assert two.row_normalised == ((0.5, 0, 0, 0.5), None)


def test_no_decision_has_a_column_only_where_it_occurs() -> None:
    missing = decided(GOLD, GIVEN, policy=Policy.of("one_order", failures="missing"))
    assert confusions(missing, "verdict")[2].counts == ((1, 0, 0), (0, 0, 0))
    abstained = decisions_of(both_orders(["A"], ["B"], gold="A"), Policy.of("both_orders", failures="missing"))
    pooled, _ = confusions(abstained, "verdict")
    assert (pooled.predicted_labels, pooled.counts) == (("A", NO_DECISION), ((0, 1),))


def test_groups_have_the_labels_of_all() -> None:
    found = confusions(decided(GOLD, GIVEN, domain=["law", "", "art", "law"]), "verdict", by="domain")
    assert [(one.group, one.judge) for one in found] == [
        (group, judge) for group in (None, "art", "law") for judge in (None, "one", "two")
    ]
    assert len({(one.true_labels, one.predicted_labels) for one in found}) == 1
    by_name = {(one.group, one.judge): one for one in found}
    assert by_name["law", None].counts == ((2, 0, 0, 0), (0, 0, 0, 0))
    assert by_name["art", "two"].row_normalised == (None, None)
    with pytest.raises(UnknownNameError, match="unknown column 'domian'"):
        confusions(decided(GOLD, GIVEN, domain=["law"] * 4), "verdict", by="domian")


def test_without_gold_there_is_no_matrix() -> None:
    assert confusions(decided({"p": None}, ALONE), "verdict") == ()
    with pytest.raises(UnknownNameError, match="unknown criterion"):
        confusions(decided({"p": None}, ALONE), "winner")


def test_cells_are_rows_of_a_table() -> None:
    two = confusions(decided(GOLD, GIVEN), "verdict")[2]
    cells = list(two.cells())
    assert len(cells) == 8
    common = {"judge": "two", "group": None, "criterion": "verdict"}
    assert cells[0] == {**common, "true": "A", "predicted": "A", "count": 1, "share": 0.5}
    assert cells[7] == {**common, "true": "C", "predicted": NO_DECISION, "count": 0, "share": None}


@given(rows=logs(), failures=st.sampled_from(["wrong", "missing"]))
def test_matrices_are_counts_of_rows(rows: list[VerdictRow], failures: Failures) -> None:
    if not rows:
        return
    found = confusions(decisions_of(rows, Policy.of("one_order", failures=failures)), "verdict", by=_group(rows))
    for one in found:
        expected = Counter(
            (row.gold, row.verdict or NO_DECISION)
            for row in rows
            if row.gold is not None
            and one.judge in (None, row.judge)
            and one.group in (None, row.attributes.get("group"))
            and (row.ok or failures == "wrong")
        )
        cells = {(cell["true"], cell["predicted"]): cell["count"] for cell in one.cells()}
        assert {where: count for where, count in cells.items() if count} == expected
        for row, counts in zip(one.row_normalised, one.counts, strict=True):
            assert row is None if not any(counts) else sum(row or ()) == pytest.approx(1)
        json.dumps(one.to_dict(), allow_nan=False)
    for group in {one.group for one in found}:
        pooled, *judges = [np.array(one.counts) for one in found if one.group == group]
        np.testing.assert_array_equal(pooled, np.sum(judges, axis=0))


def _group(rows: list[VerdictRow]) -> str | None:
    return "group" if any("group" in row.attributes for row in rows) else None


def test_json_holds_lists() -> None:
    two = confusions(decided(GOLD, GIVEN), "verdict")[2]
    assert two.to_dict() == {
        "judge": "two",
        "group": None,
        "criterion": "verdict",
        "n": 2,
        "true_labels": ["A", "C"],
        "predicted_labels": ["A", "B", "C", NO_DECISION],
        "counts": [[1, 0, 0, 1], [0, 0, 0, 0]],
        "row_normalised": [[0.5, 0.0, 0.0, 0.5], None],
    }
