"""Orders of suspicion, by hand and by property."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.results.curation import (
    Suspect,
    by_joint_correctness,
    strengths,
    strong_miss_weak_hit,
    suspicious_slice,
)

T, F = True, False
# strong: 4 of 5, middle: 2 of 4, weak: 1 of 3
TABLE: dict[str, dict[str, bool | None]] = {
    "strong": {"p1": T, "p2": T, "p3": F, "p4": T, "p5": T},
    "middle": {"p1": T, "p2": F, "p3": F, "p4": T, "p5": None},
    "weak": {"p1": F, "p2": F, "p3": T, "p6": None},
}
JUDGES, PAIRS = "abcd", [f"p{n}" for n in range(6)]
tables = st.dictionaries(
    st.sampled_from(JUDGES), st.dictionaries(st.sampled_from(PAIRS), st.sampled_from([True, False, None]))
)


def test_pairs_by_the_share_of_judges_that_are_right() -> None:
    assert by_joint_correctness(TABLE) == [
        Suspect(pair_id="p2", score=1 / 3, correct=1, asked=3),
        Suspect(pair_id="p3", score=1 / 3, correct=1, asked=3),
        Suspect(pair_id="p1", score=2 / 3, correct=2, asked=3),
        Suspect(pair_id="p4", score=1.0, correct=2, asked=2),
        Suspect(pair_id="p5", score=1.0, correct=1, asked=1),
    ]
    assert by_joint_correctness(TABLE)[0].share == 1 / 3


def test_a_judge_is_as_strong_as_the_share_it_is_right_about() -> None:
    assert strengths(TABLE) == {"strong": 4 / 5, "middle": 2 / 4, "weak": 1 / 3}
    assert strengths({"silent": {"p1": None}}) == {}


def test_pairs_that_strong_judges_miss_and_weak_ones_hit_come_first() -> None:
    found = strong_miss_weak_hit(TABLE)
    assert [suspect.pair_id for suspect in found] == ["p3", "p1", "p2"]
    by_pair = {suspect.pair_id: suspect.score for suspect in found}
    assert by_pair["p3"] == pytest.approx((0.8 + 0.5) / 2 - 1 / 3)
    assert by_pair["p1"] == pytest.approx(1 / 3 - (0.8 + 0.5) / 2)
    assert by_pair["p2"] == pytest.approx((0.5 + 1 / 3) / 2 - 0.8)


def test_any_measure_of_strength_does() -> None:
    elo = {"strong": 1200.0, "middle": 1000.0, "weak": 1190.0}
    assert [suspect.pair_id for suspect in strong_miss_weak_hit(TABLE, elo)] == ["p1", "p3", "p2"]


@pytest.mark.parametrize("known", [{"strong": 1.0, "middle": 0.0}, {"strong": 1.0, "middle": 0.0, "weak": math.inf}])
def test_every_judge_needs_a_finite_strength(known: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="judge 'weak' has no finite strength"):
        strong_miss_weak_hit(TABLE, known)


def test_a_judge_that_decided_nothing_needs_no_strength() -> None:
    table = {"good": {"p1": True}, "bad": {"p1": False}, "silent": {"p1": None}}
    assert [one.pair_id for one in strong_miss_weak_hit(table)] == ["p1"]


def test_the_slice_takes_from_the_tops_in_turn() -> None:
    orders = [by_joint_correctness(TABLE), strong_miss_weak_hit(TABLE)]
    # first order: p2 p3 p1; second: p3 alone is above 0
    assert suspicious_slice(orders, n=9) == ("p2", "p3", "p1")
    assert suspicious_slice(orders, n=1) == ("p2",)
    assert suspicious_slice(orders[::-1], n=2) == ("p3", "p2")
    assert suspicious_slice(orders, n=9, without=["p3"]) == ("p2", "p1")
    assert suspicious_slice(orders, n=0) == ()
    assert suspicious_slice([], n=4) == ()


@given(tables, st.permutations(JUDGES), st.permutations(PAIRS))
def test_the_order_of_judges_and_pairs_changes_nothing(
    table: dict[str, dict[str, bool | None]], judges: list[str], pairs: list[str]
) -> None:
    turned = {
        judge: {pair: table[judge][pair] for pair in pairs if pair in table[judge]}
        for judge in judges
        if judge in table
    }
    assert by_joint_correctness(turned) == by_joint_correctness(table)
    assert strong_miss_weak_hit(turned) == strong_miss_weak_hit(table)


@given(tables, st.integers(0, 8), st.sets(st.sampled_from(PAIRS)))
def test_a_slice_holds_no_pair_twice_and_none_that_everybody_got_right(
    table: dict[str, dict[str, bool | None]], n: int, without: set[str]
) -> None:
    first = by_joint_correctness(table)
    chosen = suspicious_slice([first, strong_miss_weak_hit(table)], n=n, without=without)
    missed = {suspect.pair_id for suspect in first if suspect.correct < suspect.asked} - without
    assert len(chosen) == len({*chosen}) == min(n, len(missed))
    assert {*chosen} <= missed


@given(tables)
def test_scores_are_sorted_and_ties_go_by_pair(table: dict[str, dict[str, bool | None]]) -> None:
    rising = [(suspect.score, suspect.pair_id) for suspect in by_joint_correctness(table)]
    falling = [(-suspect.score, suspect.pair_id) for suspect in strong_miss_weak_hit(table)]
    assert rising == sorted(rising)
    assert falling == sorted(falling)
    assert all(0 < suspect.correct < suspect.asked for suspect in strong_miss_weak_hit(table))
