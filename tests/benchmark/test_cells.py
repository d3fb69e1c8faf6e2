"""The pairs a judge is asked about under --fraction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.taxonomy import chosen_pairs, drawn_order

IDS = [f"pair-{number:05d}" for number in range(1, 401)]
FRACTIONS = st.floats(min_value=0.01, max_value=1)
SEEDS = st.integers(min_value=0, max_value=9)


def chosen(fraction: float, ids: list[str] = IDS, judge: str = "j", seed: int = 0) -> list[str]:
    return chosen_pairs(ids, judge=judge, fraction=fraction, seed=seed)


@given(fraction=FRACTIONS, seed=SEEDS)
def test_the_share_is_exact_and_the_order_kept(fraction: float, seed: int) -> None:
    found = chosen(fraction, seed=seed)
    assert len(found) == max(1, round(fraction * len(IDS)))
    assert found == sorted(found)


@given(small=FRACTIONS, large=FRACTIONS)
def test_a_larger_fraction_only_adds_pairs(small: float, large: float) -> None:
    assert set(chosen(min(small, large))) <= set(chosen(max(small, large)))


@pytest.mark.slow
def test_it_is_uniform_and_differs_between_judges_and_seeds() -> None:
    judges = [f"judge {number}" for number in range(200)]
    counts = dict.fromkeys(IDS, 0)
    for judge in judges:
        for pair_id in chosen(0.4, judge=judge):
            counts[pair_id] += 1
    assert all(45 <= count <= 115 for count in counts.values())  # 80 expected, five standard deviations
    assert len({tuple(chosen(0.4, judge=judge)) for judge in judges}) == len(judges)
    assert chosen(0.4, seed=1) != chosen(0.4, seed=2)


def test_the_order_given_does_not_matter_and_new_pairs_move_no_others() -> None:
    assert set(chosen(0.3, IDS[::-1])) == set(chosen(0.3))
    order = drawn_order(IDS[:200], key="k")
    assert [name for name in drawn_order(IDS, key="k") if name in set(order)] == order


def test_all_and_at_least_one() -> None:
    assert chosen(1.0) == IDS
    assert len(chosen(0.01, IDS[:3])) == 1
    assert chosen(0.5, []) == []


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01, float("nan"), float("inf")])
def test_what_is_no_fraction_is_refused(fraction: float) -> None:
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        chosen(fraction)
