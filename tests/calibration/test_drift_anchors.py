"""The anchors: the same calibration gives the same cases for ever."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration import LabelledItem
from judgeharness_integrations.analysis.calibration.driftanswer import anchor_cases, anchor_items, by_place


def item(case_id: str, gold: Any, *, criterion: str = "verdict", verdict: Any = "PASS") -> LabelledItem:
    return LabelledItem(case_id=case_id, criterion=criterion, gold=gold, verdict=verdict, status="decided")


LABELLED = st.dictionaries(st.text(min_size=1, max_size=5), st.sampled_from(["PASS", "FAIL", 3, 7.5]), min_size=1)


@given(LABELLED, st.integers(1, 40), st.randoms())
def test_neither_order_nor_verdicts_choose(golds: dict[str, Any], count: int, random: Any) -> None:
    items = [item(case_id, gold) for case_id, gold in golds.items()]
    again = [item(case_id, gold, verdict="FAIL") for case_id, gold in golds.items()]
    random.shuffle(again)
    chosen = anchor_cases(items, count)
    assert chosen == anchor_cases(again, count)
    assert len(chosen) == len(set(chosen)) == min(count, len(golds))
    assert anchor_cases(items, count + 3)[: len(chosen)] == chosen


def test_the_choice_is_pinned() -> None:
    items = [item(f"c{n}", "PASS" if n % 4 else "FAIL") for n in range(40)]
    assert anchor_cases(items, 8) == PINNED


PINNED = ("c18", "c4", "c23", "c26", "c10", "c36", "c33", "c25")


def test_classes_stay_in_proportion_and_rare_ones_are_not_lost() -> None:
    golds = {f"c{n}": "PASS" if n < 150 else "FAIL" if n < 197 else "UNSURE" for n in range(200)}
    chosen = anchor_cases([item(case_id, gold) for case_id, gold in golds.items()], 20)
    assert Counter(golds[case_id] for case_id in chosen) == {"PASS": 14, "FAIL": 5, "UNSURE": 1}
    assert len(anchor_cases([item(case_id, gold) for case_id, gold in golds.items()], 2)) == 2


def test_scores_are_taken_from_every_quarter() -> None:
    golds = {f"c{n}": n / 10 for n in range(80)}
    chosen = anchor_cases([item(case_id, gold) for case_id, gold in golds.items()], 8)
    assert Counter(int(golds[case_id] // 2) for case_id in chosen) == {0: 2, 1: 2, 2: 2, 3: 2}


def test_a_case_is_one_anchor_with_all_its_criteria() -> None:
    items = [item(f"c{n}", "PASS", criterion=name) for n in range(6) for name in ("tone", "facts")]
    found = anchor_items(items, 4)
    assert len(found) == 8
    assert {case_id for case_id, _ in found} == set(anchor_cases(items, 4))
    assert [case_id for case_id, criterion in found if criterion == "tone"] == list(anchor_cases(items, 4))


def test_sets_and_lone_surrogates_have_a_place() -> None:
    assert anchor_cases([item("\ud83d", frozenset({"a", "b"}))], 1) == ("\ud83d",)


def test_an_old_calibration_without_items_is_refused() -> None:
    with pytest.raises(UsageError, match=r"holds no items to check again.*calibrate anew"):
        anchor_cases([])
    with pytest.raises(UsageError, match="at least 1, not 0"):
        anchor_cases([item("c", "A")], 0)


def test_two_decisions_about_one_case_are_refused() -> None:
    with pytest.raises(UsageError, match="the log holds two decisions about 'verdict' of case 'c': keep one run"):
        by_place([item("c", "A"), item("c", "A", verdict="B")], "the log")
