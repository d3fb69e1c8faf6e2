"""Decisions -> credits."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.credit_matrices import NONE, answers, decided, logs
from support.rows import both_orders, sampled

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.correctness import (
    Failures,
    Policy,
    Ties,
    by_better_first,
    credits_of,
    decisions_of,
)
from judgeharness_integrations.verdictlog.files import read_log
from judgeharness_integrations.verdictlog.row import VerdictRow

LLMBAR = Path(__file__).parents[1] / "data" / "llmbar.csv.gz"
GOLD = {"p": "A", "q": "B", "r": "TIE", "s": None}


def same(found: np.ndarray, expected: list[list[float]]) -> None:
    np.testing.assert_array_equal(found, np.array(expected, np.float64))


@pytest.mark.parametrize(
    ("failures", "ties", "expected"),
    [
        ("wrong", "wrong", [[1, 0, 0, NONE], [0, 0, 1, 0], [0, 1, 0, 0]]),
        ("wrong", "half", [[1, 0, 0.5, NONE], [0.5, 0, 1, 0], [0, 1, 0, 0]]),
        ("missing", "wrong", [[1, NONE, 0, NONE], [0, 0, 1, 0], [0, 1, NONE, 0]]),
        ("missing", "half", [[1, NONE, 0.5, NONE], [0.5, 0, 1, 0], [0, 1, NONE, 0]]),
    ],
)
def test_credit_by_policy(failures: Failures, ties: Ties, expected: list[list[float]]) -> None:
    given = {
        "one": ["A", "TIE", "A", "A"],
        "two": [None, "A", "TIE", "A"],
        "three": ["TIE", "B", None, "A"],
        "four": ["-", "A", "B", "A"],
    }
    found = credits_of(decided(GOLD, given, policy=Policy.of("one_order", failures=failures, ties=ties)))
    assert found.judges == ("one", "two", "three", "four")
    assert found.pairs == ("p", "q", "r")
    same(found.values, expected)


def test_no_decision_earns_what_a_tie_earns_also_where_gold_is_a_tie() -> None:
    rows = [row for case, gold in GOLD.items() for row in both_orders(["A"], ["B"], case_id=case, gold=gold)]
    for ties, credit in (("wrong", 0.0), ("half", 0.5)):
        found = credits_of(decisions_of(rows, Policy.of("both_orders", ties=ties)))  # type: ignore[arg-type]
        same(found.values, [[credit]] * 3)


def test_columns_go_with_the_labelled_pairs() -> None:
    found = credits_of(decided({"p": None, "q": "A"}, {"one": ["A", "A"]}, domain=["law", "art"]))
    assert (found.pairs, found.columns) == (("q",), {"domain": ("art",)})


def test_without_gold_there_is_nothing_to_rank_by() -> None:
    decisions = decided({"p": None}, {"one": ["A"]})
    with pytest.raises(UsageError, match="no pair has a gold label"):
        credits_of(decisions)
    with pytest.raises(UnknownNameError, match="criterion"):
        credits_of(decisions, ["winner"])


WINNER, TYPE = {"criterion": "winner"}, {"criterion": "type"}


@pytest.mark.parametrize(
    ("rows", "wrong", "missing"),
    [
        ([("winner", "A", "A"), ("type", "x", "x")], 1, 1),
        ([("winner", "A", "A"), ("type", "y", "x")], 0, 0),
        ([("winner", "B", "A"), ("type", "x", "x")], 0, 0),
        ([("winner", "A", "A"), ("type", None, "x")], 0, 0),  # answered, and failed one criterion
        ([("winner", None, "A"), ("type", None, "x")], 0, NONE),  # the whole failed
        ([("winner", "A", "A"), ("type", "x", None)], 1, 1),  # no gold for one: the other decides
        ([("winner", None, "A"), ("type", "x", None)], 0, 0),
        ([("winner", "TIE", "A"), ("type", "x", "x")], 0, 0),
    ],
)
def test_joint_correctness_is_strict(
    rows: list[tuple[str, str | None, str | None]], wrong: float, missing: float
) -> None:
    log = [
        VerdictRow(case_id="p", criterion=name, verdict=verdict, outcome="ok" if verdict else "unparsed", gold=gold)
        for name, verdict, gold in rows
    ]
    for failures, expected in (("wrong", wrong), ("missing", missing)):
        policy = Policy.of("one_order", failures=failures)  # type: ignore[arg-type]
        same(credits_of(decisions_of(log, policy)).values, [[expected]])


def test_a_criterion_left_out_is_wrong_and_a_pair_not_asked_is_missing() -> None:
    both = [("type", "x", "x"), ("winner", "A", "A")]
    rows = [
        VerdictRow(case_id=case, judge="one", criterion=name, verdict=verdict, gold=gold)
        for case in ("p", "q")
        for name, verdict, gold in both
    ]
    rows.append(VerdictRow(case_id="p", judge="two", criterion="winner", verdict="A", gold="A"))
    for failures in ("wrong", "missing"):
        decisions = decisions_of(rows, Policy.of("one_order", failures=failures))  # type: ignore[arg-type]
        same(credits_of(decisions).values, [[1, 0], [1, NONE]])
        same(credits_of(decisions, ["winner"]).values, [[1, 1], [1, NONE]])


def test_joint_ties_multiply() -> None:
    rows = [
        VerdictRow(case_id="p", criterion=name, verdict=verdict, gold="A")
        for name, verdict in (("one", "TIE"), ("two", "TIE"), ("three", "A"))
    ]
    same(credits_of(decisions_of(rows, Policy.of("one_order", ties="half"))).values, [[0.25]])


@given(rows=logs(), failures=st.sampled_from(["wrong", "missing"]), ties=st.sampled_from(["wrong", "half"]))
def test_credit_is_its_definition(rows: list[VerdictRow], failures: Failures, ties: Ties) -> None:
    golds = {row.case_id: row.gold for row in rows if row.gold is not None}
    if not golds:
        return
    found = credits_of(decisions_of(rows, Policy.of("one_order", failures=failures, ties=ties)))
    assert set(found.pairs) == set(golds)
    said = {(row.case_id, row.judge): row for row in rows}
    for place, pair in enumerate(found.pairs):
        for column, judge in enumerate(found.judges):
            row = said.get((pair, judge))
            if row is None or (row.verdict is None and failures == "missing"):
                expected = NONE
            elif row.verdict == golds[pair]:
                expected = 1.0
            else:
                expected = 0.5 if row.verdict == "TIE" and ties == "half" else 0.0
            np.testing.assert_equal(found.values[place, column], expected)


def test_the_better_answer_first_is_the_order_that_shows_it_first() -> None:
    rows = [
        *both_orders(["A"], ["B"], case_id="p", gold="A"),  # right where A, the better one, is first
        *both_orders(["A"], ["B"], case_id="q", gold="B"),  # right where B, the better one, is first
        *sampled(["A"], case_id="r", gold="A"),
        *sampled([None], case_id="s", gold="B", swapped=True),
        *both_orders(["TIE"], ["A"], case_id="t", gold="TIE"),
        *sampled(["A"], case_id="u"),
    ]
    found = by_better_first(decisions_of(rows, Policy.of("both_orders", ties="half")), "verdict")
    assert found is not None
    first, second = found
    assert first.pairs == second.pairs == ("p", "q", "r", "s", "t")
    same(first.values, [[1], [1], [1], [0], [NONE]])
    same(second.values, [[0], [0], [NONE], [NONE], [NONE]])


def test_only_a_choice_between_a_and_b_has_a_better_answer_first() -> None:
    for gold, answer in (("PASS", "FAIL"), ("A", "C"), ("TIE", "TIE"), (3, 4)):  # A may be a grade beside B and C
        assert by_better_first(decided({"p": gold}, {"one": [answer]}), "verdict") is None
    for gold, answer, credit in (("A", "A", 1), ("B", "B", NONE), ("A", "TIE", 0)):
        found = by_better_first(decided({"p": gold}, {"one": [answer]}), "verdict")
        assert found is not None
        same(found[0].values, [[credit]])
    with pytest.raises(UnknownNameError, match="criterion"):
        by_better_first(decided({"p": "A"}, {"one": ["B"]}), "winner")


def test_a_choice_without_gold_has_no_better_answer() -> None:
    assert by_better_first(decided({"p": None, "q": None}, {"one": ["A", "B"]}), "verdict") is None


@pytest.mark.slow
def test_credits_of_recorded_judges_are_those_counted_from_the_file_itself() -> None:
    right: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    with gzip.open(LLMBAR, "rt", newline="") as file:
        for cells in csv.DictReader(file):
            right[cells["judge"]][cells["case_id"]].append(cells["verdict"] == cells["gold"])
    found = credits_of(decisions_of(read_log(LLMBAR), Policy.of("both_orders")))
    counted = np.array([[all(right[judge][pair]) for judge in found.judges] for pair in found.pairs])
    np.testing.assert_array_equal(found.values, counted)
    assert found.values.shape == (419, 65)
    informative = found.of_pairs(~found.unanimous)
    assert len(informative.pairs) == 406
    assert informative.values[:, found.judges.index("GPT-4/Metrics_Reference")].sum() == 347


def test_answers_about_one_pair_are_written_as_they_are_meant() -> None:
    rows = answers({"p": "A"}, {"one": ["-"], "two": [None]})
    assert [(row.judge, row.outcome) for row in rows] == [("two", "unparsed")]
