from __future__ import annotations

import json
import time
from collections import Counter
from itertools import product
from math import comb
from pathlib import Path

import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.aggregation import agreement, chance_consistency, decide, modal_share, rule
from judgeharness_integrations.analysis.aggregation.statistics import distance_share, pair_disagreement

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
COINS = json.loads((GOLDEN / "curtailment.json").read_text())["coin_flip_judge"]


@pytest.mark.parametrize("coin", COINS, ids=lambda coin: f"n={coin['n']}")
def test_chance_consistency_is_what_a_coin_shows(coin: dict[str, float]) -> None:
    assert chance_consistency(int(coin["n"]), 2) == pytest.approx(coin["E_consistency"], abs=1e-12)


@pytest.mark.parametrize("coin", [c for c in COINS if c["n"] <= 10], ids=lambda coin: f"n={coin['n']}")
def test_the_null_level_of_rules_is_what_enumeration_gives(coin: dict[str, float]) -> None:
    n = int(coin["n"])
    supermajority, unanimous, majority = rule("supermajority(2/3)"), rule("abstain_on_disagreement"), rule("majority")
    counts: Counter[str] = Counter()
    for heads in range(n + 1):
        rows, ways = sampled(["PASS"] * heads + ["FAIL"] * (n - heads)), comb(n, heads)
        counts["supermajority"] += ways * (decide(rows, supermajority).status == "decided")
        counts["unanimous"] += ways * (decide(rows, unanimous).status == "decided")
        counts["tie"] += ways * (decide(rows, majority).status == "abstained")
    assert counts["supermajority"] / 2**n == coin["P_supermajority_verdict"]
    assert counts["unanimous"] / 2**n == coin["P_unanimous"]
    assert counts["tie"] / 2**n == coin["P_tie"]


@pytest.mark.parametrize(("samples", "labels"), [(n, k) for k in (1, 2, 3, 4) for n in range(1, 9)])
def test_chance_consistency_is_the_mean_over_all_sequences(samples: int, labels: int) -> None:
    shares = [max(Counter(drawn).values()) / samples for drawn in product(range(labels), repeat=samples)]
    assert chance_consistency(samples, labels) == pytest.approx(sum(shares) / len(shares), abs=1e-12)


def test_chance_consistency_of_a_known_large_case() -> None:
    exact = sum(max(k, 100 - k) * comb(100, k) for k in range(101)) / 2**100 / 100
    assert chance_consistency(100, 2) == pytest.approx(exact, abs=1e-12)


@pytest.mark.slow
@pytest.mark.untraced
def test_chance_consistency_stays_affordable() -> None:
    started = time.thread_time()
    value = chance_consistency(200, 22)
    assert time.thread_time() - started < 10
    assert value is not None
    assert 1 / 22 < value < 0.1


@pytest.mark.parametrize(("samples", "labels"), [(0, 2), (-1, 2), (201, 2), (5, 0)])
def test_chance_consistency_that_was_not_computed_is_none(samples: int, labels: int) -> None:
    assert chance_consistency(samples, labels) is None


def test_the_modal_share_of_the_pattern() -> None:
    assert modal_share({"PASS": 5, "FAIL": 3}) == 0.625
    assert modal_share({}) is None


@pytest.mark.parametrize(
    ("counts", "expected"), [((5, 3), 26 / 56), ((2,), 1.0), ((1, 1), 0.0), ((1,), None), ((), None)]
)
def test_agreement_is_the_share_of_agreeing_pairs(counts: tuple[int, ...], expected: float | None) -> None:
    assert agreement(dict(zip("ABCDE", counts, strict=False))) == expected


@pytest.mark.parametrize("samples", [2, 3, 4, 5])
@pytest.mark.parametrize("chances", [(0.5, 0.5), (0.7, 0.2, 0.1), (0.25, 0.25, 0.4, 0.1)])
def test_agreement_is_unbiased_and_the_modal_share_is_not(samples: int, chances: tuple[float, ...]) -> None:
    truth = sum(p * p for p in chances)
    expected = modal = 0.0
    for drawn in product(range(len(chances)), repeat=samples):
        weight = 1.0
        for label in drawn:
            weight *= chances[label]
        counts = {str(label): count for label, count in Counter(drawn).items()}
        expected += weight * (agreement(counts) or 0.0)
        modal += weight * (modal_share(counts) or 0.0)
    assert expected == pytest.approx(truth, abs=1e-12)
    assert modal > max(chances)


def test_scores_near_a_center() -> None:
    assert distance_share([6, 7, 8, 10], 7, 1) == 0.75
    assert distance_share([], 7, 1) is None


@pytest.mark.parametrize(
    ("first", "second", "tolerance", "expected"),
    [
        ({"A": 2}, {"A": 1, "B": 1}, None, 0.5),
        ({"A": 2}, {"A": 2}, None, 0.0),
        ({"A": 2}, {}, None, None),
        ({}, {"A": 2}, None, None),
        ({7: 1}, {8: 1, 10: 1}, 1.0, 0.5),
        ({7: 1}, {8: 1, 10: 1}, None, 1.0),
        ({"A": 1}, {"B": 1}, 5.0, 1.0),
        ({7: 1}, {"B": 1}, 5.0, 1.0),
    ],
)
def test_pairs_of_samples_that_differ(
    first: dict, second: dict, tolerance: float | None, expected: float | None
) -> None:
    assert pair_disagreement(first, second, tolerance=tolerance) == expected
