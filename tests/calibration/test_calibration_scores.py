"""Rank correlations and quadratic kappa of scores: scipy's and scikit-learn's values, intervals that cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from judgeharness_integrations.analysis.calibration import Judged, measure_calibration
from judgeharness_integrations.analysis.calibration import scores as rankcorrelation
from judgeharness_integrations.analysis.calibration.scores import (
    kendall_tau_b,
    other_scale,
    quadratic_kappa,
    score_measures,
    spearman,
)

columns = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)
smooth = st.lists(st.tuples(*[st.floats(-1e3, 1e3, width=32)] * 2), min_size=2, max_size=20)


def sides(pairs: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.array(pairs, dtype=float).T
    return first, second


@pytest.mark.slow
@settings(max_examples=60)
@given(st.one_of(columns, smooth))
def test_rank_correlations_are_scipys(pairs: list[tuple[float, float]]) -> None:
    x, y = sides(pairs)
    ours = spearman(x, y, range(len(x))), kendall_tau_b(x, y, range(len(x)))
    if x.min() == x.max() or y.min() == y.max():
        assert ours == (None, None)
        return
    theirs = stats.spearmanr(x, y).statistic, stats.kendalltau(x, y).statistic
    for found, value in zip(ours, theirs, strict=True):
        assert found is not None
        assert found.value == pytest.approx(value, abs=1e-9)
        assert found.low is None or -1 <= found.low <= found.value + 1e-9


@pytest.mark.slow
@settings(max_examples=60)
@given(columns)
def test_quadratic_kappa_is_scikit_learns_on_whole_scores(pairs: list[tuple[int, int]]) -> None:
    x, y = sides(pairs)  # type: ignore[arg-type]
    found = quadratic_kappa(x, y, range(len(x)))
    if len({*x, *y}) == 1:
        assert found is None
        return
    assert found is not None
    theirs = cohen_kappa_score(x.astype(int), y.astype(int), weights="quadratic", labels=[1, 2, 3, 4, 5])
    assert found.value == pytest.approx(theirs, abs=1e-12)


def test_many_scores_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 50))
    whole = kendall_tau_b(x, y, range(50))
    monkeypatch.setattr(rankcorrelation, "_CELLS", 120)
    assert kendall_tau_b(x, y, range(50)) == whole


@pytest.mark.parametrize("measure", [spearman, kendall_tau_b, quadratic_kappa])
def test_standard_errors_are_those_of_the_jackknife(measure: object) -> None:
    """The linearised error against leaving out one item at a time, which knows nothing of influence functions."""
    rng = np.random.default_rng(3)
    x = rng.integers(1, 8, 150).astype(float)
    y = np.clip(x + rng.integers(-2, 4, 150), 1, 9)

    def value(keep: np.ndarray) -> float:
        return float(measure(x[keep], y[keep], range(int(keep.sum()))).value)  # type: ignore[operator]

    left_out = [value(np.arange(150) != place) for place in range(150)]
    jackknife = math.sqrt(149 * np.var(left_out))
    found = measure(x, y, range(150))  # type: ignore[operator]
    error = (math.atanh(found.high) - math.atanh(found.low)) / 2 / stats.t.ppf(0.975, 149) * (1 - found.value**2)
    assert error == pytest.approx(jackknife, rel=0.03)


def test_an_order_that_is_the_same_or_the_reverse_has_no_interval() -> None:
    up, down = np.arange(6.0), -np.arange(6.0)
    for measure in (spearman, kendall_tau_b):
        same, reverse = measure(up, up, range(6)), measure(up, down, range(6))
        assert same is not None
        assert reverse is not None
        assert (same.value, same.low) == (1.0, None)
        assert (reverse.value, reverse.low) == (-1.0, None)


@pytest.mark.slow
@pytest.mark.parametrize("size", [25, 100])
def test_intervals_of_rank_correlations_cover_a_planted_truth(size: int) -> None:
    """Normal scores of correlation r: Spearman (6 / pi) asin(r / 2), Kendall (2 / pi) asin(r), kappa by its formula."""
    r, shift = 0.6, 0.3
    truths = (
        (spearman, 6 / math.pi * math.asin(r / 2)),
        (kendall_tau_b, 2 / math.pi * math.asin(r)),
        (quadratic_kappa, 2 * r / (2 + shift**2)),
    )
    rng, replicates = np.random.default_rng(8), 400
    hits = [0, 0, 0]
    for _ in range(replicates):
        x, noise = rng.normal(size=(2, size))
        y = r * x + math.sqrt(1 - r * r) * noise + shift
        for place, (measure, truth) in enumerate(truths):
            found = measure(x, y, range(size))
            assert found is not None
            assert found.low is not None
            assert found.high is not None
            hits[place] += found.low <= truth <= found.high
    assert min(hits) / replicates >= 0.92


def judged(*pairs: tuple[float, float | None]) -> list[Judged]:
    return [
        Judged(gold=gold, verdict=verdict, status="not_graded" if verdict is None else "decided")
        for gold, verdict in pairs
    ]


def test_scores_are_measured_over_decided_items() -> None:
    measured = measure_calibration(judged((1, 2), (2, 2), (3, 5), (4, 4), (5, None)), scale=(1, 5))
    for found in (measured.spearman, measured.kendall, measured.quadratic_kappa):
        assert found is not None
        assert found.n == 4
    assert measured.spearman is not None
    assert measured.spearman.value == pytest.approx(stats.spearmanr([1, 2, 3, 4], [2, 2, 5, 4]).statistic)
    assert measured.undefined == {}
    assert measured.risk_coverage is None
    nothing = measure_calibration(judged((5, None)))
    assert (nothing.spearman, nothing.quadratic_kappa, nothing.undefined) == (None, None, {})


def test_a_measure_that_is_undefined_says_why() -> None:
    constant = measure_calibration(judged((1, 3), (2, 3), (4, 3)))
    assert (constant.spearman, constant.kendall) == (None, None)
    assert constant.undefined == dict.fromkeys(("spearman", "kendall"), "the decided scores never vary")
    assert constant.quadratic_kappa is not None
    assert constant.quadratic_kappa.value == pytest.approx(0.0, abs=1e-12)
    assert measure_calibration(judged((3, 1), (3, 2))).undefined["kendall"] == "the gold scores never vary"
    one = score_measures([(3.0, 3.0), (3.0, 3.0)], [1, 2])
    assert one["undefined"]["quadratic_kappa"] == "every score is the same number"
    assert quadratic_kappa(np.array([]), np.array([]), []) is None
    assert spearman(np.array([]), np.array([]), []) is None


@pytest.mark.parametrize(
    ("golds", "decided", "scale", "why"),
    [
        ((1, 5), (2, 4), None, None),
        ((1, 5), (2, 9), (1, 5), "gold scores lie in 1 to 5, decisions in 2 to 9, beyond the declared scale of 1 to 5"),
        ((1, 5), (0, 4), (1, 5), "gold scores lie in 1 to 5, decisions in 0 to 4, beyond the declared scale of 1 to 5"),
        ((0.1, 0.9), (2, 9), (0, 10), None),
        ((0.1, 0.9), (2, 9), None, "gold scores lie in 0.1 to 0.9, decisions in 2 to 9: no common scale"),
        ((0, 1), (0, 10), None, "gold scores lie in 0 to 1, decisions in 0 to 10: no common scale"),
        ((3, 9), (0, 1), None, "gold scores lie in 3 to 9, decisions in 0 to 1: no common scale"),
        ((10, 90), (1, 5), None, "gold scores lie in 10 to 90, decisions in 1 to 5: no common scale"),
        ((4, 4), (5, 5), None, None),  # single numbers tell nothing of a scale
        ((0, 1), (0, 1), None, None),
        ((0, 1), (1, 2), None, None),
    ],
)
def test_scores_on_two_scales_have_no_quadratic_kappa(
    golds: tuple[float, float], decided: tuple[float, float], scale: tuple[float, float] | None, why: str | None
) -> None:
    pairs = list(zip(map(float, golds), map(float, decided), strict=True))
    assert other_scale(*sides(pairs), scale) == why
    measured = score_measures(pairs, [1, 2], scale=scale)
    assert measured["undefined"].get("quadratic_kappa") == why
    assert (measured["quadratic_kappa"] is None) == (why is not None)
