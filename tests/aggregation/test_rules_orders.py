from __future__ import annotations

import pytest
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.aggregation import rule

CONSENSUS = [
    # what each order gave, in the canonical frame, then the decision
    ("A", "A", "A"),
    ("AAB", "ABA", "A"),
    ("AAB", "BBA", "ABSTAIN"),
    ("A", "B", "ABSTAIN"),
    (["TIE"], ["TIE"], "TIE"),
    (["A"], ["TIE"], "ABSTAIN"),
    ("AB", "AA", "ABSTAIN"),
    ("AA", "AB", "ABSTAIN"),
    (["A", None, None], ["A", "A", None], "A"),
    (["A", "A", "A"], [None, None, None], "ABSTAIN"),
]


@pytest.mark.parametrize(("shown", "swapped", "expected"), CONSENSUS)
def test_swap_consensus_needs_the_same_majority_in_both_orders(shown: list, swapped: list, expected: str) -> None:
    decision = rule("swap_consensus").decide(both_orders(shown, swapped))
    assert decision.verdict == expected
    assert decision.status == ("abstained" if expected == "ABSTAIN" else "decided")


def test_swap_consensus_says_which_order_is_missing() -> None:
    consensus = rule("swap_consensus")
    assert consensus.decide(both_orders("AB", "AA")).reason == "no majority in the original order"
    assert consensus.decide(both_orders("AA", "AB")).reason == "no majority in the swapped order"
    assert consensus.decide(both_orders("A", "B")).reason == "the orders disagree: A, swapped B"


NET = [
    ("A", "A", "A", "+2"),
    ("A", "B", "TIE", "+0"),
    (["A"], ["TIE"], "A", "+1"),
    (["TIE"], ["TIE"], "TIE", "+0"),
    (["B"], ["TIE"], "B", "-1"),
    ("AAB", "AAB", "A", "+2"),
    ("BBB", "BAA", "B", "-2"),
]


@pytest.mark.parametrize(("shown", "swapped", "expected", "net"), NET)
def test_net_preference_is_the_sign_of_the_sum(shown: list, swapped: list, expected: str, net: str) -> None:
    decision = rule("net_preference").decide(both_orders(shown, swapped))
    assert (decision.verdict, decision.status) == (expected, "decided")
    assert decision.reason == f"net preference {net}"


@pytest.mark.parametrize(("shown", "swapped"), [(["A"], [None]), ([None], ["A"])])
def test_net_preference_says_when_it_rests_on_one_order(shown: list, swapped: list) -> None:
    decision = rule("net_preference").decide(both_orders(shown, swapped))
    assert decision.verdict == "A"
    assert decision.reason.endswith("resting on one order")


def test_net_preference_reads_pairwise_labels_only() -> None:
    decision = rule("net_preference").decide(both_orders(["PASS"], ["A"]))
    assert (decision.status, decision.verdict) == ("not_graded", None)
    assert "not PASS" in decision.reason


@pytest.mark.parametrize("name", ["swap_consensus", "net_preference"])
@pytest.mark.parametrize("rows", [sampled("AAA"), both_orders("AA", "A"), both_orders("", "A")])
def test_unequal_orders_are_refused(name: str, rows: list) -> None:
    decision = rule(name).decide(rows)
    assert decision.status == "not_graded"
    assert "unequal probes" in decision.reason


def test_a_judge_that_always_takes_the_first_slot_gets_no_decision() -> None:
    always_first = both_orders("AAA", "BBB")
    assert rule("swap_consensus").decide(always_first).status == "abstained"
    assert rule("net_preference").decide(always_first).verdict == "TIE"
