"""Prompt variants of a model against their base prompt, and the paired difference they are compared by."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.families import PairedDifference, Variant, paired_difference, variants

NAN = float("nan")
WHOLE = hnp.arrays(np.float64, (2, 40), elements=st.sampled_from([0.0, 1.0, NAN]))
FRACTIONAL = hnp.arrays(np.float64, (2, 15), elements=st.sampled_from([0.0, 0.5, 1.0, NAN]))


def credits_of(**judges: list[float]) -> Credits:
    values = np.array(list(judges.values()), np.float64).T
    names = tuple(name.replace("__", "@").replace("_", "-") for name in judges)
    return Credits(judges=names, pairs=tuple(f"p{place}" for place in range(len(values))), values=values)


def by_name(found: tuple[Variant, ...]) -> dict[str, Variant]:
    return {variant.judge: variant for variant in found}


@given(WHOLE)
def test_whole_credits_are_compared_by_mcnemar(values: np.ndarray) -> None:
    one, other = values
    shared = ~np.isnan(one) & ~np.isnan(other)
    found = paired_difference(one, other)
    if not shared.any():
        assert found is None
        return
    gained, lost = int((one[shared] > other[shared]).sum()), int((one[shared] < other[shared]).sum())
    assert found is not None
    assert (found.n, found.mean) == (shared.sum(), (gained - lost) / shared.sum())
    if gained + lost:
        table = [[0, gained], [lost, 0]]
        assert found.p == pytest.approx(mcnemar(table, exact=False, correction=False).pvalue)
    else:
        assert found.p is None
    assert found.ci95 is not None
    low, high = found.ci95
    assert low <= found.mean <= high
    assert low < high


def test_the_interval_and_the_p_value_of_whole_credits_say_the_same() -> None:
    for gained in range(12):
        for lost in range(12):
            one = np.repeat([1.0, 0.0, 1.0], [gained, lost, 30])
            other = np.repeat([0.0, 1.0, 1.0], [gained, lost, 30])
            found = paired_difference(one, other)
            assert found is not None
            assert found.ci95 is not None
            excludes = found.ci95[0] > 0 or found.ci95[1] < 0
            assert excludes == (found.p is not None and found.p < 0.05)


@given(FRACTIONAL)
def test_fractional_credits_are_compared_by_the_paired_t_test(values: np.ndarray) -> None:
    one, other = values
    shared = ~np.isnan(one) & ~np.isnan(other)
    difference = (one - other)[shared]
    fractional = np.any(values[:, shared] == 0.5)
    if not fractional:
        return
    found = paired_difference(one, other)
    assert found is not None
    assert found.mean == pytest.approx(difference.mean())
    if len(set(difference)) < 2:
        assert (found.ci95, found.p) == (None, None)
        return
    reference = stats.ttest_rel(one[shared], other[shared])
    interval = reference.confidence_interval(0.95)
    assert found.p == pytest.approx(reference.pvalue, abs=1e-12)
    assert found.ci95 == pytest.approx((interval.low, interval.high))


@given(st.one_of(WHOLE, FRACTIONAL))
def test_turning_the_comparison_round_turns_the_sign(values: np.ndarray) -> None:
    there, back = paired_difference(*values), paired_difference(*values[::-1])
    if there is None or back is None:
        assert there is back is None
        return
    assert back.mean == pytest.approx(-there.mean)
    assert back.p == pytest.approx(there.p)
    if there.ci95 is not None:
        assert back.ci95 == pytest.approx((-there.ci95[1], -there.ci95[0]), abs=1e-9)


def test_variants_are_compared_with_the_base_on_the_pairs_both_were_asked_about() -> None:
    matrix = credits_of(
        gpt__cot=[1, 1, 1, 1, 0, NAN],
        other=[1, 0, 1, 0, 1, 0],
        gpt=[1, 0, 0, NAN, 0, 1],
        gpt__brief=[NAN, NAN, NAN, 1, NAN, NAN],
    )
    found = variants(matrix, {"gpt": 1500.0, "gpt@cot": 1600.0}, {"gpt": 100.0, "gpt@cot": 900.0})
    assert [variant.judge for variant in found] == ["gpt", "gpt@cot", "gpt@brief"]
    base, cot, brief = found
    assert (base.is_base, base.model, base.variant, base.pairs, base.right_of_labelled) == (True, "gpt", "", 5, 0.4)
    assert (base.difference, base.ci95, base.p, base.p_adjusted, base.pairs_compared) == (None, None, None, None, 0)
    assert (cot.is_base, cot.model, cot.variant, cot.pairs, cot.right_of_labelled, cot.elo) == (
        False, "gpt", "cot", 5, 0.8, 1600.0,
    )  # fmt: skip
    assert (cot.pairs_compared, cot.difference) == (4, 0.5)  # 0.8 - 0.4 is another number: of other pairs
    assert cot.p == pytest.approx(mcnemar([[0, 2], [0, 0]], exact=False, correction=False).pvalue)
    assert cot.p_adjusted == cot.p
    assert (brief.pairs, brief.pairs_compared, brief.difference, brief.elo, brief.tokens) == (1, 0, None, None, None)
    assert (base.step, cot.step, brief.step) == (0, 1, None)
    assert (base.on_front, cot.on_front, brief.on_front) == (True, True, False)


@pytest.mark.parametrize(
    ("judges", "bases"),
    [
        (("a@x", "a@base", "a"), {"a"}),
        (("a@x", "a@base", "a@y"), {"a@base"}),
        (("a@x", "a@y", "b", "c@x", "@d", "d"), {"a@x"}),
        (("b", "c@x", "a", "a@2@x", "a@2"), {"a"}),
        (("b", "c@x"), set()),
    ],
)
def test_the_base_is_the_bare_model_or_base_or_the_first(judges: tuple[str, ...], bases: set[str]) -> None:
    values = np.tile([[1.0], [0.0]], (1, len(judges)))
    found = variants(Credits(judges=judges, pairs=("p", "q"), values=values), {}, {})
    assert {variant.judge for variant in found if variant.is_base} == bases
    assert [variant.is_base for variant in found][:1] == [True] * bool(bases)


def test_the_front_runs_through_the_variants_of_all_models() -> None:
    matrix = credits_of(
        a=[1, 0, 0, 0],
        a__long=[1, 1, 0, 0],
        b=[1, 1, 0, 0],
        b__long=[1, 1, 1, 0],
        alone=[1, 1, 1, 1],
        b__void=[NAN] * 4,
    )
    tokens = {"a": 10.0, "a@long": 50.0, "b": 20.0, "b@long": 90.0, "alone": 1.0, "b@void": 0.0}
    found = by_name(variants(matrix, {}, tokens))
    assert {judge: variant.step for judge, variant in found.items()} == {
        "a": 0, "a@long": None, "b": 1, "b@long": 2, "b@void": None,
    }  # fmt: skip
    assert found["b@void"].right_of_labelled is None
    assert not found["a@long"].on_front


def test_p_values_are_adjusted_over_all_variants() -> None:
    rng = np.random.default_rng(3)
    names = ("a", "a@1", "a@2", "b", "b@1")
    values = (rng.random((60, 5)) < [0.3, 0.6, 0.5, 0.4, 0.45]).astype(np.float64)
    found = variants(Credits(judges=names, pairs=tuple(map(str, range(60))), values=values), {}, {})
    compared = [variant for variant in found if not variant.is_base]
    expected = stats.false_discovery_control([variant.p or 0.0 for variant in compared])
    assert [variant.p_adjusted for variant in compared] == pytest.approx(expected)


def test_a_variant_as_json_holds_nothing_json_does_not_know() -> None:
    matrix = credits_of(a=[1, 0, NAN], a__tie=[0.5, 0.5, NAN])
    told = json.loads(json.dumps([one.to_dict() for one in variants(matrix, {}, {"a": None})], allow_nan=False))
    assert told[1]["difference"] == 0.0
    assert told[1]["ci95"] == list(stats.ttest_rel([0.5, 0.5], [1, 0]).confidence_interval(0.95))
    assert told[0]["ci95"] is None


def test_nothing_shared_tells_nothing() -> None:
    assert paired_difference(np.array([1.0, NAN]), np.array([NAN, 1.0])) is None
    same = paired_difference(np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    assert same == PairedDifference(n=2, mean=-0.5, ci95=None, p=None)
