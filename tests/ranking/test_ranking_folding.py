"""The samples of one judge about one pair, folded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.rows import both_orders, sampled

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.correctness import (
    ABSTAINED,
    FAILED,
    NOT_ASKED,
    Policy,
    decisions_of,
    fold,
    fold_orders,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow


def folded(rows: Sequence[VerdictRow], rule: str) -> str | int:
    return fold(rows, Policy.of(rule), fold_orders(rows))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], NOT_ASKED),
        (["A"], "A"),
        ([None], FAILED),
        (["A", None], "A"),
        (["A", None, None], FAILED),
        (["A", "B"], ABSTAINED),
        (["A", "B", "A"], "A"),
        (["A", "A", None, "B"], "A"),
        ([7.0], "7"),
        ([7, 7.0, 8], "7"),
        ([frozenset({"y", "x"})], "{x, y}"),
    ],
)
def test_an_order_is_the_majority_of_its_samples_when_half_of_them_are_valid(
    verdicts: list[Verdict | None], expected: str | int
) -> None:
    assert fold_orders(sampled(verdicts, swapped=False)) == (expected, NOT_ASKED)
    assert fold_orders(sampled(verdicts, swapped=True)) == (NOT_ASKED, expected)


@pytest.mark.parametrize(
    ("shown", "swapped", "expected"),
    [
        ("A", "A", "A"),
        ("A", "B", ABSTAINED),
        ("A", "TIE", ABSTAINED),
        ("TIE", "TIE", "TIE"),
        ("A", None, FAILED),
        (None, None, FAILED),
    ],
)
def test_both_orders_give_the_label_they_share(
    shown: Verdict | None, swapped: Verdict | None, expected: str | int
) -> None:
    rows = both_orders([shown], [swapped])
    assert folded(rows, "both_orders") == expected
    assert folded(rows[::-1], "both_orders") == expected
    assert folded(rows, "one_order") == (FAILED if shown is None else shown)


def test_a_pair_shown_in_one_order_was_not_asked_in_both() -> None:
    assert folded(sampled(["A"]), "both_orders") == NOT_ASKED
    assert folded(sampled(["A"], swapped=True), "one_order") == NOT_ASKED


def test_a_tie_within_an_order_is_no_decision_of_both() -> None:
    assert folded(both_orders(["A", "B"], ["A", "A"]), "both_orders") == ABSTAINED


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("majority", "A"),
        ("net_preference", "A"),
        ("supermajority(3/4)", ABSTAINED),
        ("swap_consensus", ABSTAINED),
        ("abstain_on_disagreement", ABSTAINED),
    ],
)
def test_any_aggregation_rule_decides(rule: str, expected: str | int) -> None:
    assert folded(both_orders(["A", "A"], ["A", None]), "net_preference") == "A"
    assert folded(both_orders(["A", "A", "A"], ["B", "B", "A"]), rule) == expected


def test_below_the_quorum_a_rule_fails() -> None:
    assert folded(sampled(["A", None, None]), "majority") == FAILED


@pytest.mark.parametrize(
    ("rule", "expected"), [("median", "3"), ("mean", "4"), ("majority", "3"), ("median(pass_at=3)", "PASS")]
)
def test_scores_are_folded_as_numbers_or_by_a_label_rule_as_texts(rule: str, expected: str) -> None:
    assert folded(sampled([3, 3.0, 6]), rule) == expected


def test_a_rule_of_ones_own_decides() -> None:
    def last(rows: Sequence[VerdictRow]) -> object:
        return rows[-1].verdict

    rows = sampled(["A", "B"])
    assert fold(rows, Policy.of(last), fold_orders(rows)) == "B"


def test_samples_stopped_early_need_the_rule_they_were_stopped_under() -> None:
    rows = [replace(row, attributes={"planned_samples": 5}) for row in sampled(["A", "A", "A"])]
    assert folded(rows, "majority") == "A"
    for rule in ("one_order", "both_orders"):
        with pytest.raises(UsageError, match=rf"early stopping, and {rule} needs all .* with --rule\.$"):
            folded(rows, rule)
    whole = [replace(row, attributes={"planned_samples": 3}) for row in rows]
    assert folded(whole, "one_order") == "A"


def test_a_rule_that_fails_names_the_case() -> None:
    def broken(rows: Sequence[VerdictRow]) -> object:
        raise ZeroDivisionError

    with pytest.raises(UsageError, match="rule broken failed on case 'c1'"):
        decisions_of(sampled(["A"]), Policy.of(broken))


@pytest.mark.parametrize("rule", ["median", "mode", "trimmed_mean(0.2)"])
def test_a_rule_for_scores_says_that_it_does_not_fit_labels(rule: str) -> None:
    with pytest.raises(UsageError, match="folds numbers, but criterion 'verdict' holds labels: use majority"):
        decisions_of(sampled(["A"]), Policy.of(rule))
