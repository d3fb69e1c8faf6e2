"""A stratified sample of pairs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.benchmark_results import DOCUMENTS, TAXONOMY, make_pair

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.benchmark.pair import Drawing, draw_conditions
from judgeharness_integrations.benchmark.taxonomy import COLUMNS, Sample, stratified

DRAWN = [
    draw_conditions(number, documents=DOCUMENTS, taxonomy=TAXONOMY, drawing=Drawing(seed=3)) for number in range(90)
]
PAIRS = [make_pair(one) for one in DRAWN]


def value(number: int, column: str) -> Any:
    return PAIRS[number].generator if column == "generator" else getattr(DRAWN[number], column)


@given(
    n=st.integers(min_value=1, max_value=90), by=st.lists(st.sampled_from(COLUMNS), unique=True), seed=st.integers(0, 5)
)
def test_every_stratum_holds_its_proportion_rounded_down_or_up(n: int, by: list[str], seed: int) -> None:
    drawn = stratified(PAIRS, n=n, by=by, seed=seed)
    assert len(set(drawn.pairs)) == n == sum(stratum.sampled for stratum in drawn.strata)
    found = Counter(
        tuple(value(number, name) for name in by)
        for number, pair in enumerate(PAIRS)
        if pair.pair_id in set(drawn.pairs)
    )
    assert sum(stratum.population for stratum in drawn.strata) == len(PAIRS)
    for stratum in drawn.strata:
        assert abs(stratum.sampled - Fraction(n * stratum.population, len(PAIRS))) < 1
        assert found[tuple(stratum.values[name] for name in by)] == stratum.sampled


def test_the_same_seed_draws_the_same_pairs_in_whatever_order_they_come() -> None:
    drawn = stratified(PAIRS, n=30, by=["domain", "failure_type"], seed=4)
    again = stratified(PAIRS[::-1], n=30, by=["domain", "failure_type"], seed=4)
    assert set(again.pairs) == set(drawn.pairs)
    assert again.strata == drawn.strata
    assert list(drawn.pairs) == sorted(drawn.pairs)
    assert stratified(PAIRS, n=30, by=["domain", "failure_type"], seed=5).pairs != drawn.pairs
    assert Sample.from_dict(drawn.to_dict(), where="x") == drawn


def test_a_pair_is_drawn_as_often_as_any_other_of_its_stratum() -> None:
    counts: Counter[str] = Counter()
    for seed in range(300):
        counts.update(stratified(PAIRS, n=30, by=(), seed=seed).pairs)
    assert len(counts) == len(PAIRS)
    assert all(60 <= count <= 140 for count in counts.values())  # 100 expected, five standard deviations


def test_among_equal_remainders_no_stratum_is_preferred() -> None:
    even = [pair for number in (3, 4, 5) for pair in [one for one in PAIRS if one.conditions.n_rounds == number][:10]]
    extra = Counter(
        stratum.values["n_rounds"]
        for seed in range(150)
        for stratum in stratified(even, n=16, by=["n_rounds"], seed=seed).strata
        if stratum.sampled == 6
    )
    assert sum(extra.values()) == 150
    assert all(25 <= extra[number] <= 75 for number in (3, 4, 5))  # 50 expected, more than four standard deviations


def test_a_whole_sample_is_everything() -> None:
    assert stratified(PAIRS, n=90, by=["n_rounds"], seed=0).pairs == tuple(pair.pair_id for pair in PAIRS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 91}, "a sample of 91 cannot be drawn from 90 pairs: ask for 1 to 90"),
        ({"n": 0}, "ask for 1 to 90"),
        ({"by": ["domain", "domain"]}, "names a column twice"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        stratified(PAIRS, **{"n": 3, "by": (), "seed": 0, **options})
    with pytest.raises(UnknownNameError, match="unknown column 'domian': did you mean 'domain'"):
        stratified(PAIRS, n=3, by=["domian"], seed=0)
