"""Rows as a table of decisions: judges, pairs, criteria, gold and columns."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.credit_matrices import answers, logs
from support.rows import both_orders, sampled

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.correctness import (
    ABSTAINED,
    FAILED,
    NOT_ASKED,
    Decisions,
    Policy,
    decisions_of,
)
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow

ONE = Policy.of("one_order")


def cells(decisions: Decisions, criterion: str = "verdict") -> dict[tuple[str, str], str | int]:
    """(judge, pair) -> label or code."""
    entry = decisions.criterion(criterion)
    return {
        (judge, pair): entry.labels[code] if (code := int(entry.codes[row, column])) >= 0 else code
        for column, judge in enumerate(decisions.judges)
        for row, pair in enumerate(decisions.pairs)
    }


def test_cells_hold_labels_or_why_there_is_none() -> None:
    rows = answers({"p": "A", "q": "B", "r": None}, {"one": ["A", None, "B"], "two": ["-", "A", "A"]})
    rows += [replace(rows[0], judge="three"), replace(rows[0], judge="three", repetition=1, verdict="B")]
    decisions = decisions_of(rows, ONE)
    assert decisions.judges == ("one", "two", "three")
    assert decisions.pairs == ("p", "q", "r")
    assert cells(decisions) == {
        ("one", "p"): "A",
        ("one", "q"): FAILED,
        ("one", "r"): "B",
        ("two", "p"): NOT_ASKED,
        ("two", "q"): "A",
        ("two", "r"): "A",
        ("three", "p"): ABSTAINED,
        ("three", "q"): NOT_ASKED,
        ("three", "r"): NOT_ASKED,
    }
    entry = decisions.criterion("verdict")
    assert entry.labels == ("A", "B")
    assert entry.gold.tolist() == [0, 1, -1]
    assert entry.labelled.tolist() == [True, True, False]


def test_labels_stand_in_alphabetical_order_whichever_came_first() -> None:
    entry = decisions_of(answers({"p": "B", "q": "A", "r": "A"}, {"one": ["TIE", "C", "A"]}), ONE).criterion("verdict")
    assert entry.labels == ("A", "B", "C", "TIE")
    assert entry.gold.tolist() == [1, 0, 0]
    assert entry.codes.tolist() == [[3], [2], [0]]


@pytest.mark.parametrize(
    ("golds", "given", "read", "unread"),
    [
        ("yes no", "PASS PASS", ["PASS", "FAIL"], 0),
        ("1 0", "PASS FAIL", ["PASS", "FAIL"], 0),
        ("1 3 0", "PASS FAIL PASS", [None, None, None], 3),
        ("a tie", "A B", ["A", "TIE"], 0),
        ("PASS FAIL", "A B", [None, None], 2),
        ("7 8", "7 9", ["7", "8"], 0),
    ],
)
def test_gold_is_read_beside_the_answers(golds: str, given: str, read: list[str | None], unread: int) -> None:
    labels = {f"p{place}": gold for place, gold in enumerate(golds.split())}
    entry = decisions_of(answers(labels, {"one": given.split()}), ONE).criterion("verdict")
    assert [None if code < 0 else entry.labels[code] for code in entry.gold.tolist()] == read
    assert entry.unread == unread


def test_a_label_that_nobody_used_has_a_code_that_no_cell_holds() -> None:
    entry = decisions_of(answers({"p": "B", "q": "A"}, {"one": ["A", None]}), ONE).criterion("verdict")
    assert (entry.coded("A"), entry.coded("B")) == (0, 1)
    assert entry.coded("TIE") not in {*entry.codes.flat, *entry.gold}


@pytest.mark.parametrize(
    ("gold", "given", "expected"),
    [
        ("A", "B", True),
        ("A", "A", True),
        ("B", "TIE", True),
        ("TIE", "TIE", False),
        ("A", "C", False),
        ("x", "y", False),
    ],
)
def test_a_choice_between_a_and_b_is_told_from_grades(gold: str, given: str, *, expected: bool) -> None:
    assert decisions_of(answers({"p": gold}, {"one": [given]}), ONE).criterion("verdict").pairwise == expected


def test_orders_are_kept_apart_whatever_the_rule() -> None:
    rows = [*both_orders(["A"], ["B"], gold="A"), *sampled(["B"], judge="two", swapped=True)]
    for rule in ("one_order", "both_orders", "net_preference"):
        entry = decisions_of(rows, Policy.of(rule)).criterion("verdict")
        a, b = entry.labels.index("A"), entry.labels.index("B")
        assert entry.orders.tolist() == [[[a, NOT_ASKED]], [[b, b]]]


def test_a_table_without_any_label_holds_failures() -> None:
    entry = decisions_of(sampled([None]), ONE).criterion("verdict")
    assert (entry.labels, entry.codes.tolist(), entry.gold.tolist()) == ((), [[FAILED]], [-1])


def test_numbers_and_their_texts_are_one_label() -> None:
    rows = [VerdictRow(case_id="p", verdict=7, gold=7.0), VerdictRow(case_id="p", judge="two", verdict="7", gold="7")]
    entry = decisions_of(rows, ONE).criterion("verdict")
    assert (entry.labels, entry.codes.tolist(), entry.gold.tolist()) == (("7",), [[0, 0]], [0])


def test_gold_may_stand_on_some_rows_alone() -> None:
    rows = answers({"p": "A"}, {"one": ["A"], "two": ["B"]})
    for golds in (("A", None), (None, "A")):
        some = [replace(row, gold=gold) for row, gold in zip(rows, golds, strict=True)]
        assert decisions_of(some, ONE).criterion("verdict").gold.tolist() == [0]


def test_two_gold_labels_of_a_pair_are_refused_across_judges_too() -> None:
    rows = [VerdictRow(case_id="p", verdict="A", gold="A"), VerdictRow(case_id="p", judge="two", verdict="A", gold="B")]
    with pytest.raises(UsageError, match="case 'p' has two gold labels for 'verdict': 'A' and 'B'; keep one"):
        decisions_of(rows, ONE)


def test_a_pair_in_several_runs_of_a_judge_is_refused() -> None:
    rows = [VerdictRow(case_id="p", verdict="A", run=run) for run in ("r2", "r1")]
    with pytest.raises(UsageError, match=r"holds case 'p' in several runs \('r1', 'r2'\).*--run"):
        decisions_of(rows, ONE)
    apart = [replace(rows[0], judge="one"), replace(rows[1], judge="two")]
    assert decisions_of(apart, ONE).pairs == ("p",)


def test_criteria_have_tables_of_their_own_and_calls_that_failed_are_in_each() -> None:
    rows = [
        VerdictRow(case_id="p", criterion="winner", verdict="A", gold="A"),
        VerdictRow(case_id="p", criterion="type", verdict="logic", gold="style"),
        VerdictRow(case_id="q", criterion=EVERY_CRITERION, verdict=None, outcome="error"),
    ]
    decisions = decisions_of(rows, ONE)
    assert list(decisions.criteria) == ["winner", "type"]
    assert cells(decisions, "winner") == {("judge", "p"): "A", ("judge", "q"): FAILED}
    assert cells(decisions, "type") == {("judge", "p"): "logic", ("judge", "q"): FAILED}
    assert decisions.criterion("type").labels == ("logic", "style")
    with pytest.raises(UnknownNameError, match="unknown criterion 'winer': did you mean 'winner'"):
        decisions.criterion("winer")


def test_columns_are_of_pairs_where_their_rows_agree() -> None:
    rows = answers({"p": "A", "q": "A"}, {"one": ["A", "A"], "two": ["A", "A"]}, domain=["law", ""], words=[1.0, 2.0])
    rows[0] = replace(rows[0], attributes={**rows[0].attributes, "price": 3.0})
    rows[2] = replace(rows[2], attributes={**rows[2].attributes, "price": 4.0})
    decisions = decisions_of(rows, ONE)
    assert decisions.columns == {"domain": ("law", None), "words": (1.0, 2.0)}
    assert decisions.divided == ("price",)


def test_numeric_rules_give_texts() -> None:
    rows = [*sampled([3, 4], gold=4), *sampled([4, 4], judge="two", gold=4)]
    assert cells(decisions_of(rows, Policy.of("median"))) == {("judge", "c1"): "3.5", ("two", "c1"): "4"}


@given(rows=logs(), seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(rows: list[VerdictRow], seed: int) -> None:
    turned = random.Random(seed).sample(rows, len(rows))  # noqa: S311 - an order, no secret
    if not rows:
        return
    first, second = decisions_of(rows, ONE), decisions_of(turned, ONE)
    assert cells(first) == cells(second)
    gold = [dict(zip(one.pairs, one.criterion("verdict").gold.tolist(), strict=True)) for one in (first, second)]
    assert gold[0] == gold[1]


@given(rows=logs())
def test_every_row_is_a_cell_and_nothing_else_is(rows: list[VerdictRow]) -> None:
    if not rows:
        return
    asked = {where for where, cell in cells(decisions_of(rows, ONE)).items() if cell != NOT_ASKED}
    assert asked == {(row.judge, row.case_id) for row in rows}
    entry = decisions_of(rows, ONE).criterion("verdict")
    assert int(np.sum(entry.codes == FAILED)) == sum(not row.ok for row in rows)
