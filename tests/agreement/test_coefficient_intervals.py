"""Bootstrap intervals of coefficients: what a resample is, what it covers, and where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import binom

from judgeharness_integrations.analysis.agreement.coefficients import (
    alpha_statistic,
    cohen_statistic,
    fleiss_statistic,
    gwet_statistic,
    with_prior,
)
from judgeharness_integrations.analysis.agreement.kappa import (
    Bootstrap,
    Resamples,
    alpha,
    bca_interval,
    cohen,
    fleiss,
    gwet,
    pairwise,
    resamples,
)
from judgeharness_integrations.analysis.agreement.ratings import Ratings, Units

STATISTICS: dict[str, Callable[[Ratings, Units], Any]] = {
    "ac1": lambda ratings, units: gwet_statistic(ratings, units, "none"),
    "ac2": lambda ratings, units: gwet_statistic(ratings, units, "linear"),
    "alpha nominal": lambda ratings, units: alpha_statistic(ratings, units, "nominal"),
    "alpha interval": lambda ratings, units: alpha_statistic(ratings, units, "interval"),
    "alpha ordinal": lambda ratings, units: alpha_statistic(ratings, units, "ordinal"),
    "alpha ratio": lambda ratings, units: alpha_statistic(ratings, units, "ratio"),
    "cohen": lambda ratings, units: cohen_statistic(ratings, [(0, 1), (1, 2)], units, "none"),
    "cohen linear": lambda ratings, units: cohen_statistic(ratings, [(0, 1), (1, 2)], units, "linear"),
    "cohen quadratic": lambda ratings, units: cohen_statistic(ratings, [(0, 1), (1, 2)], units, "quadratic"),
    "fleiss": lambda ratings, units: fleiss_statistic(ratings, units, "none"),
    "fleiss quadratic": lambda ratings, units: fleiss_statistic(ratings, units, "quadratic"),
}
GRIDS = hnp.arrays(np.int64, st.tuples(st.just(3), st.integers(2, 10)), elements=st.integers(-1, 2))
SCALE = [1, 2, 4]


def ratings_of(grid: Any, clusters: Any = None) -> Ratings:
    return Ratings.of_numbers(
        np.where(grid >= 0, np.choose(grid, [1, 2, 4], mode="clip"), np.nan), scale=SCALE, clusters=clusters
    )


def planted(generator: np.random.Generator, items: int, *, raters: int, shares: list[float], knows: float) -> Any:
    """Raters who see an item's label with probability `knows` and else guess from `shares`: kappa is knows^2."""
    truth = generator.choice(len(shares), p=shares, size=items)
    guess = generator.choice(len(shares), p=shares, size=(raters, items))
    return np.where(generator.random((raters, items)) < knows, truth, guess)


@pytest.mark.sampled(5)
@pytest.mark.untraced
@pytest.mark.parametrize("drawn", ["clusters", "items"])
@pytest.mark.parametrize("name", sorted(STATISTICS))
@given(grid=GRIDS, data=st.data())
@settings(max_examples=30)
def test_a_resample_is_the_coefficient_of_the_items_it_repeats(
    name: str, drawn: str, grid: Any, data: st.DataObject
) -> None:
    items = grid.shape[1]
    clusters = np.arange(items) // 2 if drawn == "clusters" else None
    ratings = ratings_of(grid, clusters)
    units = Units.of_ratings(ratings)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(units.base), max_size=len(units.base))))
    assume(times.any())
    if clusters is not None:
        repeated = np.repeat(np.arange(items), times[clusters])
    else:
        one_of = [np.flatnonzero(units.of == unit)[0] for unit in range(len(units.base))]
        repeated = np.repeat(one_of, times)
    found = STATISTICS[name](ratings, units).estimate(times.astype(float))
    bare = ratings_of(grid[:, repeated])
    alone = Units(of=np.arange(len(repeated)), base=np.ones(len(repeated)))
    expected = STATISTICS[name](bare, alone).estimate(alone.base)
    assert found.value == pytest.approx(expected.value, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", sorted(STATISTICS))
def test_leaving_one_out_is_the_coefficient_without_it(name: str) -> None:
    grid = np.random.default_rng(1).integers(-1, 3, (3, 14))
    ratings = ratings_of(np.concatenate([grid, grid[:, :9], grid[:, :9]], axis=1))
    units = Units.of_ratings(ratings)
    assert units.base.max() >= 3
    statistic = STATISTICS[name](ratings, units)
    left = statistic.leave_one_out(units.base)
    for unit in range(len(units.base)):
        without = units.base.copy()
        without[unit] -= 1
        assert left[unit] == pytest.approx(statistic.estimate(without).value, abs=1e-12)


def test_thousands_of_different_items_leave_the_skewness_of_ordinal_alpha_out() -> None:
    generator = np.random.default_rng(2)
    ratings = Ratings.of_numbers(generator.normal(size=(2, 4_100)))
    units = Units.of_ratings(ratings)
    statistic = alpha_statistic(ratings, units, "ordinal")
    found = resamples(statistic, units, Bootstrap(replicates=30))
    assert found.left_out is None
    assert bca_interval(0.0, found, 0, units=4_100).interval is not None


@pytest.mark.parametrize("units", [3, 40])
def test_equal_items_are_drawn_as_often_as_items_on_their_own(units: int) -> None:
    grid = np.arange(40) % units
    drawn = Units.of_ratings(Ratings.of_labels(np.stack([grid, grid])))
    weights = np.concatenate(list(drawn.draws(4000, 7)))
    assert weights.shape == (4000, units)
    assert (weights.sum(axis=1) == 40).all()
    share = drawn.base / 40
    assert weights.mean(axis=0) == pytest.approx(drawn.base, rel=0.1)
    assert weights.var(axis=0) == pytest.approx(40 * share * (1 - share), rel=0.15)


def test_blocks_of_draws_are_the_same_for_the_same_seed() -> None:
    units = Units(of=np.arange(5), base=np.ones(5))
    one, two, other = (np.concatenate(list(units.draws(50, seed))) for seed in (3, 3, 4))
    assert (one == two).all()
    assert (one != other).any()


@pytest.mark.parametrize("coefficient", [alpha, fleiss, gwet])
def test_the_same_seed_gives_the_same_interval(coefficient: Callable[..., Any]) -> None:
    ratings = Ratings.of_labels(planted(np.random.default_rng(5), 80, raters=3, shares=[0.5, 0.5], knows=0.7))
    one, two, other = (coefficient(ratings, bootstrap=Bootstrap(seed=seed)).interval for seed in (1, 1, 2))
    assert one == two != other
    assert one[0] < coefficient(ratings).value < one[1]
    wider = coefficient(ratings, bootstrap=Bootstrap(seed=1, level=0.99)).interval
    assert wider[0] < one[0] < one[1] < wider[1]


@pytest.mark.parametrize("coefficient", [alpha, fleiss, gwet])
def test_clusters_of_equal_items_widen_the_interval(coefficient: Callable[..., Any]) -> None:
    grid = planted(np.random.default_rng(6), 50, raters=3, shares=[0.5, 0.5], knows=0.7)
    four = np.repeat(grid, 4, axis=1)
    clusters = np.repeat(np.arange(50), 4)
    apart = coefficient(Ratings.of_labels(four)).interval
    together = coefficient(Ratings.of_labels(four, clusters=clusters)).interval
    alone = coefficient(Ratings.of_labels(grid)).interval
    assert together[1] - together[0] == pytest.approx(alone[1] - alone[0], rel=0.1)
    assert (together[1] - together[0]) / (apart[1] - apart[0]) == pytest.approx(2, rel=0.15)


def test_an_item_in_a_cluster_of_its_own_is_an_item() -> None:
    grid = planted(np.random.default_rng(7), 60, raters=3, shares=[0.3, 0.3, 0.4], knows=0.8)
    clustered = fleiss(Ratings.of_labels(grid, clusters=np.arange(60)[::-1])).interval
    assert clustered == pytest.approx(fleiss(Ratings.of_labels(grid)).interval, abs=0.03)


def test_perfect_agreement_is_not_taken_for_certain() -> None:
    found = cohen(Ratings.of_labels([[0, 1, 0, 1, 0, 1, 0, 1]] * 2))
    assert (found.value, found.reason) == (1.0, "")
    assert found.interval[0] < 0.75
    assert found.interval[1] == 1.0


def test_no_agreement_at_all_is_not_taken_for_certain() -> None:
    found = cohen(Ratings.of_labels([[0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1]]))
    assert (found.observed, found.reason) == (0.0, "")
    assert found.interval[0] == found.value
    assert found.interval[1] > 0


def test_more_than_ten_categories_are_resampled_and_what_no_resample_changes_has_no_interval() -> None:
    perfect = cohen(Ratings.of_labels([list(range(12)) * 2] * 2))
    assert (perfect.value, perfect.interval) == (1.0, None)
    assert perfect.reason == "it is the same in almost every resample, so resampling gives no interval"
    never = cohen(Ratings.of_labels([list(range(12)) * 2, [*range(1, 12), 0] * 2]))
    assert (never.observed, never.interval) == (0.0, None)
    assert never.reason == "no two answers agree, so resampling gives no interval"


def test_one_cluster_has_no_interval() -> None:
    found = cohen(Ratings.of_labels([[0, 1, 0, 1], [0, 1, 1, 0]], clusters=[5, 5, 5, 5]))
    assert found.value == 0.0
    assert found.reason == "an interval needs at least 2 items or clusters"


def test_labels_so_rare_that_resamples_miss_them_have_an_interval() -> None:
    rare = np.zeros((2, 60), int)
    rare[:, 0] = 1
    rare[0, 1] = 1
    found = cohen(Ratings.of_labels(rare))
    assert (found.undefined, found.reason) == (0, "")
    low, high = found.interval
    assert low < 0.3
    assert high > 0.9


def test_resamples_that_leave_it_undefined_are_counted_and_too_many_give_no_interval() -> None:
    drawn = np.concatenate([np.full(300, np.nan), np.linspace(0, 1, 1700)])[:, None]
    found = bca_interval(0.5, Resamples(drawn, None, np.ones(60)), 0, units=60)
    assert (found.interval, found.undefined) == (None, 300)
    assert found.reason == "300 of 2000 resamples leave it undefined"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("coefficient", "raters", "rate", "kappa"), [(fleiss, 3, 0.02, 0.2), (alpha, 3, 0.05, 0.2), (fleiss, 5, 0.1, 0.2)]
)
def test_rare_labels_are_covered(coefficient: Callable[..., Any], raters: int, rate: float, kappa: float) -> None:
    """A hundred items; the bias-corrected bootstrap covered .45 of samples at the first point, .79 at the second."""
    generator = np.random.default_rng(31)
    covered = told = 0
    for _ in range(200):
        grid = planted(generator, 100, raters=raters, shares=[1 - rate, rate], knows=kappa**0.5)
        found = coefficient(Ratings.of_labels(grid, categories=2), bootstrap=Bootstrap(replicates=500))
        if found.interval is not None:
            told += 1
            covered += found.interval[0] <= kappa <= found.interval[1]
    assert told > 170
    assert covered / told >= 0.89


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("coefficient", "kappa"), [(fleiss, 0.95), (fleiss, 0.98), (alpha, 0.95)])
def test_five_raters_who_hardly_ever_disagree_about_a_rare_label_are_covered(
    coefficient: Callable[..., Any], kappa: float
) -> None:
    """A hundred items; with probability kappa all five give one answer, else each its own.

    The middle of one posterior covered .90 of samples: where no label of the two per cent was shared, or but one.
    """
    raters, passes = 5, np.arange(6)
    own, shared = binom.pmf(passes, raters, 0.02), np.where(passes == raters, 0.02, np.where(passes == 0, 0.98, 0.0))
    samples = np.random.default_rng(7).multinomial(100, kappa * shared + (1 - kappa) * own, size=4_000)
    patterns = np.tril(np.ones((6, 5), int), -1)
    covered = told = 0
    for counts, times in zip(*np.unique(samples, axis=0, return_counts=True), strict=True):
        ratings = Ratings.of_labels(np.repeat(patterns, counts, axis=0).T, categories=2)
        found = coefficient(ratings, bootstrap=Bootstrap(replicates=500)).interval
        if found is not None:
            told += times
            covered += times * (found[0] <= kappa <= found[1])
    assert told > 3_000
    assert covered / told >= 0.93


def test_items_of_a_prior_weigh_as_much_as_a_cluster() -> None:
    clusters = np.repeat(np.arange(20), 3)
    grid = planted(np.random.default_rng(9), 60, raters=3, shares=[0.5, 0.5], knows=0.7)
    ratings, units = with_prior(Ratings.of_labels(grid, clusters=clusters), everyone=True)
    assert units.prior is not None
    assert units.prior.sum() == pytest.approx(2)
    assert (units.size, len(units.of)) == (3, ratings.codes.shape[1])
    (drawn,) = units.draws(4000, 1)
    assert drawn[:, :20].sum(axis=1).mean() == pytest.approx(20 * 20 / 22, rel=0.01)
    assert drawn[:, 20:].sum(axis=1).mean() == pytest.approx(3 * 20 * 2 / 22, rel=0.05)
    unanimous = Ratings.of_labels(np.zeros((2, 5), int))
    assert with_prior(unanimous, everyone=True)[1].prior is None


def test_no_resamples_no_interval_and_no_excuse() -> None:
    found = cohen(Ratings.of_labels([[0, 1, 0, 1], [0, 1, 1, 0]]), bootstrap=Bootstrap(replicates=0))
    assert (found.interval, found.reason, found.undefined) == (None, "", 0)


def test_without_bias_and_skewness_the_limits_are_those_of_the_resamples() -> None:
    drawn = np.linspace(-1, 1, 2001)[:, None]
    found = bca_interval(0.0, Resamples(drawn, np.array([[-0.1], [0.1]]), np.ones(2)), 0, units=2)
    assert found.interval == pytest.approx((-0.95, 0.95), abs=1e-9)


def test_skewness_moves_both_limits_to_the_longer_side() -> None:
    drawn = np.linspace(-1, 1, 2001)[:, None]
    # leaving the one out that pulls it up lowers the coefficient much
    left = np.array([[-0.5], *[[0.05]] * 10])
    found = bca_interval(0.0, Resamples(drawn, left, np.ones(11)), 0, units=11)
    assert found.interval is not None
    assert found.interval[0] > -0.95
    assert found.interval[1] > 0.95


@pytest.mark.parametrize("left", [np.full((3, 1), np.nan), np.zeros((3, 1))])
def test_skewness_that_cannot_be_told_is_none(left: Any) -> None:
    drawn = np.linspace(-1, 1, 2001)[:, None]
    found = bca_interval(0.0, Resamples(drawn, left, np.ones(3)), 0, units=3)
    assert found.interval == pytest.approx((-0.95, 0.95), abs=1e-9)


def test_the_mean_of_pairs_takes_those_a_resample_leaves_defined() -> None:
    drawn = np.array([[0.2, np.nan], [0.2, 0.4], [np.nan, np.nan]])
    both = Resamples.beside(
        [Resamples(drawn[:, :1], None, np.ones(1)), Resamples(drawn[:, 1:], drawn[:, 1:], np.ones(1))]
    )
    assert both.left_out is None
    assert both.mean([0, 1]).drawn == pytest.approx(np.array([[0.2], [0.3], [np.nan]]), nan_ok=True)


COVERAGE = [(coefficient, items) for coefficient in ("alpha", "cohen", "fleiss", "gwet") for items in (50, 200)]


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize(("name", "items"), COVERAGE)
def test_intervals_cover_a_planted_truth(name: str, items: int) -> None:
    shares, knows, replicates = [0.5, 0.3, 0.2], 0.85, 250
    kappa = knows**2
    chance = sum(share**2 for share in shares)
    observed = kappa + (1 - kappa) * chance
    by_chance = sum(share * (1 - share) for share in shares) / 2
    truth = (observed - by_chance) / (1 - by_chance) if name == "gwet" else kappa
    call = {"alpha": alpha, "cohen": cohen, "fleiss": fleiss, "gwet": gwet}[name]
    generator = np.random.default_rng(2026)
    covered = 0
    for _ in range(replicates):
        grid = planted(generator, items, raters=2 if name == "cohen" else 3, shares=shares, knows=knows)
        low, high = call(Ratings.of_labels(grid, categories=3), bootstrap=Bootstrap(replicates=999)).interval
        covered += low <= truth <= high
    assert 0.91 <= covered / replicates <= 0.985


@pytest.mark.slow
@pytest.mark.untraced
def test_two_thousand_resamples_of_a_thousand_items_and_ten_labels_are_quick() -> None:
    grid = planted(np.random.default_rng(8), 1000, raters=5, shares=[0.1] * 10, knows=0.6)
    ratings = Ratings.of_labels(grid)
    pairs = [(one, two) for one in range(5) for two in range(one)]
    for call in (
        lambda: fleiss(ratings),
        lambda: gwet(ratings),
        lambda: alpha(ratings),
        lambda: pairwise(ratings, pairs, bootstrap=Bootstrap()),
    ):
        start = time.thread_time()
        call()
        assert time.thread_time() - start < 1
