"""Cohen's kappa and Gwet's AC1 of counts, against statsmodels, the golden values of PandaLM and by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from judgeharness_integrations.analysis.statistics.agreement import (
    chance_corrected,
    clustered_kappa,
    cohen_kappa,
    gwet_ac1,
    kappa_interval,
    too_rare_for_a_bar,
)

LABELS = ("A", "B", "TIE")


def test_what_chance_leaves_room_for_is_corrected_for_it() -> None:
    assert chance_corrected(0.7, 0.5) == pytest.approx(0.4)
    assert chance_corrected(np.array([0.5, 1.0]), np.array([0.5, 0.2])) == pytest.approx([0.0, 1.0])


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=60))
def test_kappa_of_a_table_and_its_error_are_statsmodels(pairs: list[tuple[str, str]]) -> None:
    counts = Counter(pairs)
    ours = cohen_kappa({i: {j: counts[i, j] for j in LABELS} for i in LABELS})
    if any(len(set(side)) == 1 for side in zip(*pairs, strict=True)):
        assert ours is None
        return
    with np.errstate(all="ignore"):  # it divides by a standard error that may be 0
        theirs = cohens_kappa([[counts[i, j] for j in LABELS] for i in LABELS])
    assert ours is not None
    assert (ours.value, (ours.se or 0.0) ** 2) == pytest.approx((theirs.kappa, max(theirs.var_kappa, 0.0)), abs=1e-12)


def test_kappa_of_an_empty_table_is_none() -> None:
    assert cohen_kappa({}) is None
    assert clustered_kappa([], []) is None


def test_the_interval_of_kappa_narrows_with_what_pairs_are_worth() -> None:
    table = {"A": {"A": 40, "B": 10}, "B": {"A": 8, "B": 42}}
    low, high = kappa_interval(table)
    less, more = kappa_interval(table, worth=0.25)
    assert less < low < 0.64 < high < more


def test_five_of_each_side_are_enough_to_hold_kappa_against_a_bar() -> None:
    assert too_rare_for_a_bar({"A": {"A": 5}, "B": {"B": 5}}) == ""
    assert "fewer than 5" in too_rare_for_a_bar({"A": {"A": 4}, "B": {"B": 50}})


def test_ac1_by_hand() -> None:
    pairs = [("PASS", "PASS")] * 6 + [("FAIL", "FAIL")] * 1 + [("PASS", "FAIL")] * 2 + [("FAIL", "PASS")] * 1
    found = gwet_ac1(pairs, range(10))
    share = (8 + 7) / 20
    expected = 2 * share * (1 - share)
    assert found is not None
    assert found.value == pytest.approx((0.7 - expected) / (1 - expected))


def test_a_kappa_of_copies_has_the_error_of_the_originals() -> None:
    """Four copies of every pair tell nothing new: the clustered error stays, the plain one would halve."""
    pairs = [("A", "A")] * 8 + [("B", "B")] * 6 + [("A", "B")] * 3 + [("B", "A")] * 4
    table = [[8, 3], [4, 6]]
    once = clustered_kappa(pairs, range(21))
    copied = clustered_kappa(pairs * 4, list(range(21)) * 4)
    assert once is not None
    assert copied is not None
    assert once.value == pytest.approx(cohens_kappa(table).kappa)
    assert once.se == pytest.approx(cohens_kappa(table).std_kappa)
    assert once.se is not None
    assert copied.value == pytest.approx(once.value)
    assert copied.se == pytest.approx(once.se * (21 / 20) ** 0.5)  # with G / (G - 1)
    naive = cohen_kappa({"A": {"A": 32, "B": 12}, "B": {"A": 16, "B": 24}})
    assert naive is not None
    assert naive.se == pytest.approx(once.se / 2)
    together = clustered_kappa(pairs, ["one"] * 21)
    assert together is not None
    assert together.se is None
    assert clustered_kappa([("A", "A")], [1]) is None
