"""Items that belong together: intervals that know it, and those that do not need to."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom

from judgeharness_integrations.analysis.aggregation.statistics import agreement, modal_share
from judgeharness_integrations.analysis.calibration import Judged, Rate, measure_calibration
from judgeharness_integrations.analysis.calibration.rates import score_errors
from judgeharness_integrations.analysis.statistics.agreement import clustered_kappa
from judgeharness_integrations.analysis.statistics.means import cluster_degrees
from judgeharness_integrations.analysis.statistics.proportions import bounded_estimate, wilson_of


@given(st.integers(0, 40), st.integers(1, 40))
def test_wilson_over_whole_trials_is_wilson(successes: int, trials: int) -> None:
    successes = min(successes, trials)
    rate = Rate.of(successes, trials)
    assert rate is not None
    assert wilson_of(successes / trials, trials, stats.norm.ppf(0.975)) == pytest.approx((rate.low, rate.high))


@given(st.lists(st.booleans(), max_size=30))
def test_a_rate_over_single_items_is_wilsons(hits: list[bool]) -> None:
    assert Rate.over(hits, range(len(hits))) == Rate.of(sum(hits), len(hits))


def test_copies_make_no_interval_narrower() -> None:
    hits, keys = [True] * 12 + [False] * 8, list(range(20))
    once, copied = Rate.of(12, 20), Rate.over(hits * 5, keys * 5)
    naive = Rate.of(60, 100)
    assert once is not None
    assert copied is not None
    assert naive is not None
    assert (copied.successes, copied.trials) == (60, 100)
    assert copied.high - copied.low == pytest.approx(once.high - once.low, rel=0.08)  # t in place of z
    assert naive.high - naive.low < 0.6 * (copied.high - copied.low)


def test_a_rate_of_one_over_few_clusters_is_as_wide_as_their_number() -> None:
    everyone = Rate.over([True] * 50, [number % 5 for number in range(50)])
    assert everyone is not None
    assert everyone.high == 1.0
    assert everyone.low == pytest.approx(1 / (1 + stats.t.ppf(0.975, 4) ** 2 / 5))  # Wilson's 5 of 5, with t
    one = Rate.over([True, True, False], ["a", "a", "a"])
    assert one is not None
    assert (one.low, one.high) == (0.0, 1.0)  # one cluster tells nothing about others


def test_clusters_that_vary_less_than_chance_make_no_interval_narrower() -> None:
    hits, keys = [True, False] * 10, [number // 2 for number in range(20)]
    balanced = Rate.over(hits, keys)
    assert balanced is not None
    assert (balanced.low, balanced.high) == pytest.approx(wilson_of(0.5, 20, stats.t.ppf(0.975, 9)))


def test_clusters_of_one_size_have_one_degree_of_freedom_less_and_a_large_one_leaves_few() -> None:
    assert cluster_degrees([4] * 12) == pytest.approx(11)
    assert cluster_degrees([1] * 9 + [50]) == pytest.approx(59**2 / 2509 - 1)
    one = Rate.over([True] * 8 + [False] + [True] * 40 + [False] * 10, [*range(9), *["large"] * 50])
    assert one.high - one.low > 0.9  # nine items and one cluster tell next to nothing


def test_the_mean_absolute_error_of_mostly_exact_scores_is_covered() -> None:
    rng = np.random.default_rng(11)
    found = [
        score_errors([(0.0, float(error)) for error in row])
        for row in rng.choice(3, p=(0.8, 0.16, 0.04), size=(2000, 20))
    ]
    limits = [one.mean_absolute_error_interval for one in found if one.mean_absolute_error_interval is not None]
    assert np.mean([low <= 0.24 <= high for low, high in limits]) > 0.93  # a t interval covers 86 %


def test_the_error_intervals_are_t_intervals() -> None:
    pairs = [(3.0, 4.0), (5.0, 4.5), (2.0, 2.0), (4.0, 5.5), (1.0, 3.0)]
    errors = np.array([decided - gold for gold, decided in pairs])
    found = score_errors(pairs)
    assert found is not None
    assert found.bias_interval == pytest.approx(stats.t.interval(0.95, 4, errors.mean(), stats.sem(errors)))
    absolute = np.abs(errors)
    half = stats.t.ppf(0.975, 4) * stats.sem(absolute) / absolute.mean()
    assert found.mean_absolute_error_interval == pytest.approx(absolute.mean() * np.exp([-half, half]))
    clustered = score_errors(pairs * 3, list(range(5)) * 3)
    assert clustered is not None
    assert clustered.bias_interval == pytest.approx(found.bias_interval)
    alone = score_errors(pairs[:1])
    assert alone is not None
    assert (alone.bias_interval, alone.mean_absolute_error_interval) == (None, None)
    tight = score_errors([(1.0, 1.5), (2.0, 2.1), (3.0, 6.0)])
    assert tight is not None
    assert tight.mean_absolute_error_interval is not None
    assert 0 < tight.mean_absolute_error_interval[0] < tight.mean_absolute_error


def test_a_calibration_says_how_many_clusters_its_items_are_in() -> None:
    items = [
        Judged(gold="PASS", verdict="PASS" if number % 3 else "FAIL", status="decided", cluster=f"c{number % 4}")
        for number in range(12)
    ]
    assert measure_calibration(items).clusters == 4
    alone = [Judged(gold=item.gold, verdict=item.verdict, status=item.status) for item in items]
    assert measure_calibration(alone).clusters is None
    measured = measure_calibration(items)
    assert measured.recall is not None
    assert measured.recall == Rate.over([item.verdict == "PASS" for item in items], [item.cluster for item in items])


@pytest.mark.parametrize(("clusters", "size", "share"), [(20, 3, 0.5), (40, 5, 0.8), (60, 2, 0.3)])
def test_clustered_rates_cover_a_planted_truth(clusters: int, size: int, share: float) -> None:
    """Beta-binomial clusters of intra-cluster correlation 0.33: the plain interval covers 75 to 89 %."""
    rng = np.random.default_rng(5)
    keys = np.repeat(np.arange(clusters), size).tolist()
    covered = plain = 0
    for _ in range(400):
        rates = np.repeat(rng.beta(2 * share, 2 * (1 - share), size=clusters), size)
        hits = (rng.random(len(keys)) < rates).tolist()
        ours, naive = Rate.over(hits, keys), Rate.of(sum(hits), len(hits))
        assert ours is not None
        assert naive is not None
        covered += ours.low <= share <= ours.high
        plain += naive.low <= share <= naive.high
    assert covered / 400 >= 0.925
    assert plain < covered


@pytest.mark.slow
def test_clustered_intervals_cover_where_plain_ones_do_not() -> None:
    """Mean absolute errors of scores that share half of their variance within a cluster of six."""
    rng, keys = np.random.default_rng(6), np.repeat(np.arange(30), 6).tolist()
    truth = math.sqrt(2 / math.pi)  # mean of |N(0, 1)|
    covered = plain = 0
    for _ in range(400):
        errors = math.sqrt(0.7) * np.repeat(rng.normal(size=30), 6) + math.sqrt(0.3) * rng.normal(size=180)
        pairs = [(0.0, error) for error in errors.tolist()]
        for grouped in (True, False):
            found = score_errors(pairs, keys if grouped else None)
            assert found is not None
            assert found.mean_absolute_error_interval is not None
            low, high = found.mean_absolute_error_interval
            covered += grouped and low <= truth <= high
            plain += not grouped and low <= truth <= high
    assert covered / 400 >= 0.915
    assert plain / 400 < 0.88


@pytest.mark.slow
def test_a_kappa_over_few_clusters_is_not_surer_than_their_number_lets_it_be() -> None:
    """Five clusters of ten, right in .8 of cases on average: kappa is .6 of the population."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(5), 10)
    covered = above = 0
    for _ in range(300):
        right = rng.random(50) < rng.beta(0.8 / 0.3 - 0.8, 0.2 / 0.3 - 0.2, 5)[clusters]
        golds = rng.random(50) < 0.5
        kappa = clustered_kappa([*zip(golds.astype(str), (golds == right).astype(str), strict=True)], clusters.tolist())
        assert kappa is not None
        assert kappa.low is not None
        assert kappa.high is not None
        covered += kappa.low <= 0.6 <= kappa.high
        above += kappa.low > 0.6
    assert covered >= 0.93 * 300
    assert above <= 0.05 * 300


@pytest.mark.parametrize(
    ("cases", "samples", "even", "measure"),
    [(10, 8, 1.0, agreement), (20, 5, 1.0, agreement), (55, 2, 0.05, modal_share), (55, 8, 0.05, modal_share)],
)
def test_neither_end_of_a_bounded_mean_misses_more_often_than_stated(
    cases: int, samples: int, even: float, measure: Callable[[dict[str, int]], float]
) -> None:
    """Cases of which a share is judged by tossing coins, and the others always alike."""
    generator = np.random.default_rng(17)
    shares = np.array([measure({"PASS": k, "FAIL": samples - k}) for k in range(samples + 1)])
    truth = even * float(binom.pmf(range(samples + 1), samples, 0.5) @ shares) + 1 - even
    split = generator.binomial(samples, np.where(generator.random((4_000, cases)) < even, 0.5, 1.0))
    drawn, times = np.unique(np.sort(shares[split], axis=1), axis=0, return_counts=True)
    least = measure({"PASS": samples // 2, "FAIL": samples - samples // 2})
    found = [bounded_estimate(row, range(cases), least=least) for row in drawn.tolist()]
    above = times @ np.array([one.low > truth + 1e-9 for one in found])
    below = times @ np.array([one.high < truth - 1e-9 for one in found])
    assert max(above, below) / 4_000 <= 0.025 + 2.6 * math.sqrt(0.025 * 0.975 / 4_000)
    assert all(least <= one.low <= one.value <= one.high <= 1 for one in found)


def test_of_one_cluster_a_bounded_mean_has_no_interval() -> None:
    found = bounded_estimate([0.5, 1.0], ["c", "c"], least=0.5)
    assert (found.value, found.low, found.high, found.n) == (0.75, None, None, 2)
