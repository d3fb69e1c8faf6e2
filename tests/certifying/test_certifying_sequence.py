"""Fixed-sequence testing: against MAPIE, against its own definition, and how often it certifies what it should not."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from support.certified import Bools, Floats, Studies, drawn, ended, gpt4_cases, studies, truth_of

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.certifying import fewest_accepted
from judgeharness_integrations.analysis.certifying.measuring import step_tests
from judgeharness_integrations.analysis.certifying.sequence import certified_steps, p_values, threshold_grid

# MAPIE 1.6.0: ltt_procedure(binary=True, fwer_method="fixed_sequence"); (alpha, delta, accepted, wrong, p, certified)
MAPIE: list[tuple[float, float, list[int], list[int], list[float], int]] = [
    (
        0.2,
        0.2,
        [66, 86, 107, 152, 188, 229],
        [0, 1, 5, 12, 19, 34],
        [4.01734511065e-07, 1.04212880314e-07, 5.44502002126e-06, 3.3488090515e-05, 0.000199668099523, 0.0277870429816],
        6,
    ),
    (
        0.2,
        0.05,
        [76, 138, 180, 218, 287, 354],
        [0, 8, 14, 20, 40, 63],
        [4.31359146674e-08, 2.23858245581e-06, 5.07356471065e-06, 1.09367100347e-05, 0.00486933155484, 0.166173350816],
        5,
    ),
    (
        0.2,
        0.2,
        [60, 103, 171, 202, 239, 291],
        [0, 4, 14, 19, 31, 45],
        [1.53249554087e-06, 2.12649241124e-06, 1.83990475249e-05, 3.48944400037e-05, 0.00295391459178, 0.0285661088394],
        6,
    ),
    (
        0.1,
        0.1,
        [57, 79, 136, 156, 214, 243],
        [0, 2, 8, 10, 17, 22],
        [0.00246503470496, 0.0116070197606, 0.0651257356214, 0.0808234717553, 0.188650474704, 0.359375588156],
        4,
    ),
    (
        0.2,
        0.05,
        [74, 101, 136, 166, 213, 243],
        [0, 1, 6, 15, 26, 35],
        [6.73998666679e-08, 4.2777755503e-09, 1.54049754497e-07, 9.7854442335e-05, 0.00187347656634, 0.0151962172842],
        6,
    ),
    (
        0.2,
        0.1,
        [45, 99, 125, 184, 225, 292],
        [0, 5, 8, 22, 30, 56],
        [4.35561429659e-05, 2.22370784456e-05, 1.86478639176e-05, 0.00277660622073, 0.00597196066339, 0.395769427564],
        5,
    ),
    (
        0.2,
        0.05,
        [65, 112, 151, 195, 259, 308],
        [1, 4, 9, 17, 34, 47],
        [8.66240039483e-06, 3.95311666118e-07, 1.03345104714e-06, 1.36002212922e-05, 0.00252078647293, 0.0197995688448],
        6,
    ),
    (
        0.2,
        0.05,
        [61, 127, 170, 208, 255, 283],
        [0, 2, 6, 13, 26, 40],
        [
            1.22599643269e-06,
            2.62423517831e-10,
            2.92283384924e-10,
            2.08875292297e-08,
            1.88855244446e-05,
            0.0066587788468,
        ],
        6,
    ),
    (
        0.1,
        0.2,
        [73, 105, 140, 190, 252, 318],
        [0, 2, 4, 11, 18, 29],
        [0.000456775907451, 0.00125590102992, 0.00121200567812, 0.0282400861312, 0.0749604538031, 0.341175828603],
        5,
    ),
    (
        0.2,
        0.1,
        [54, 92, 149, 171, 218, 251],
        [0, 1, 9, 13, 20, 28],
        [
            5.84600654932e-06,
            2.91400333834e-08,
            1.43362485561e-06,
            6.27533573922e-06,
            1.09367100347e-05,
            0.000135352856741,
        ],
        6,
    ),
    (
        0.1,
        0.2,
        [73, 128, 159, 188, 236, 272],
        [0, 2, 5, 9, 14, 19],
        [0.000456775907451, 0.000160649150951, 0.00097806672818, 0.00735899445869, 0.0187870092821, 0.0545672995088],
        6,
    ),
    (
        0.05,
        0.05,
        [111, 149, 184, 251, 312, 357],
        [1, 2, 3, 8, 11, 14],
        [0.0230414570364, 0.0188863701041, 0.016424841237, 0.115943894984, 0.14154069806, 0.211386067925],
        3,
    ),
]
NUMBER = 4000


def test_22_decisions_without_an_error_are_the_fewest_at_a_tenth() -> None:
    assert fewest_accepted(agreement=0.9, delta=0.1) == 22
    assert fewest_accepted(agreement=0.95, delta=0.1) == 45
    assert fewest_accepted(agreement=0.5, delta=0.5) == 1
    assert binom.cdf(0, 22, 0.1) <= 0.1 < binom.cdf(0, 21, 0.1)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 90.0, math.nan])
def test_levels_lie_between_0_and_1(value: float) -> None:
    with pytest.raises(UsageError, match=r"^agreement must lie between 0 and 1, not "):
        fewest_accepted(agreement=value, delta=0.1)
    with pytest.raises(UsageError, match=r"^delta must lie between 0 and 1, not "):
        fewest_accepted(agreement=0.9, delta=value)


@pytest.mark.parametrize("run", MAPIE)
def test_the_tests_are_those_of_mapie(run: tuple[float, float, list[int], list[int], list[float], int]) -> None:
    alpha, delta, accepted, wrong, p, certified = run
    found = p_values(wrong, accepted, accepted, [1] * len(accepted), risk=alpha)
    assert found == pytest.approx(p, rel=1e-9)
    passed, tested = certified_steps(
        found, accepted, delta=delta, fewest=fewest_accepted(agreement=1 - alpha, delta=delta)
    )
    assert passed.tolist() == [place < certified for place in range(len(p))]
    assert tested.tolist() == [place <= certified for place in range(len(p))]


decisions = st.lists(st.tuples(st.sampled_from([0.5, 0.6, 0.75, 0.9, 1.0]), st.booleans()), min_size=1, max_size=60)


@pytest.mark.slow
@settings(max_examples=60)
@given(decisions, st.sampled_from([0.5, 0.7]), st.sampled_from([0.2, 0.4]))
def test_a_threshold_is_certified_when_it_and_all_surer_ones_pass_the_exact_test(
    rows: list[tuple[float, bool]], agreement: float, delta: float
) -> None:
    labelled = [(score, wrong, place) for place, (score, wrong) in enumerate(rows)]
    steps, last = step_tests(labelled, [score for score, _ in rows], agreement=agreement, delta=delta)
    expected = None
    for place, step in enumerate(steps):
        kept = [wrong for score, wrong in rows if score >= step.threshold]
        assert (step.labelled, step.clusters, step.wrong, step.covered) == (len(kept), len(kept), sum(kept), len(kept))
        if agreement ** len(kept) > delta:  # even without an error it could not pass
            assert step.p is None
            continue
        assert step.p == pytest.approx(float(binom.cdf(sum(kept), len(kept), 1 - agreement)))
        if step.p > delta:
            assert all(later.p is None for later in steps[place + 1 :])
            break
        expected = place
    assert last == expected


def test_the_grid_takes_wide_steps_to_the_surer_half_and_small_ones_from_there() -> None:
    grid = threshold_grid(range(100, 0, -1))
    assert [sum(score >= step for score in range(1, 101)) for step in grid] == [10, 20, 30, 40, *range(50, 101, 2)]
    assert threshold_grid([0.9, 1.0, 1.0]) == (1.0, 0.9)
    assert threshold_grid([]) == ()
    assert step_tests([], [], agreement=0.9, delta=0.1) == ((), None)


def test_two_votes_have_one_threshold() -> None:
    labelled = [(1.0, place < 3, place) for place in range(80)]
    steps, last = step_tests(labelled, [1.0] * 200, agreement=0.9, delta=0.1)
    assert [(step.threshold, step.covered, step.labelled) for step in steps] == [(1.0, 200, 80)]
    assert last == 0
    assert (
        step_tests([(1.0, place < 20, place) for place in range(80)], [1.0] * 200, agreement=0.9, delta=0.1)[1] is None
    )


def test_a_threshold_for_each_value_refuses_where_the_grid_certifies() -> None:
    """One error among the 22 surest ends a sequence that begins with them."""
    wrong = [place == 3 for place in range(200)]
    labelled = [(1 - place / 1000, bad, place) for place, bad in enumerate(wrong)]
    p = p_values(np.cumsum(wrong), np.arange(1, 201), np.arange(1, 201), np.ones(200), risk=0.1)
    passed, _ = certified_steps(p, np.arange(1, 201), delta=0.1, fewest=22)
    assert not passed.any()
    assert step_tests(labelled, [score for score, *_ in labelled], agreement=0.9, delta=0.1)[1] is not None


# how often it is wrong: against the true risk, 4,000 studies


def limit(rate: float) -> float:
    """Three standard errors of the simulation above a rate."""
    return rate + 3 * math.sqrt(rate * (1 - rate) / NUMBER)


@pytest.mark.parametrize("delta", [0.05, 0.1, 0.2])
def test_at_a_true_risk_of_exactly_the_bar_the_surest_threshold_is_certified_delta_of_the_time(delta: float) -> None:
    wrong = np.random.default_rng(3).binomial(150, 0.1 + 1e-6, (NUMBER, 1))
    truth = (np.ones(1), np.full(1, 0.1 + 1e-6))
    found = studies(np.full_like(wrong, 150), wrong, truth, agreement=0.9, delta=delta)
    assert delta / 3 <= found.violating <= limit(delta)  # an exact test is hardly conservative


def test_with_a_continuous_score_whose_grid_is_that_of_the_sample_no_more_than_delta_violate() -> None:
    """The true risk at the threshold of each study, not that of a test half."""
    rng = np.random.default_rng(5)
    labels = 200
    sure = -np.sort(-rng.random((NUMBER, labels)), axis=1)
    wrong = (rng.random((NUMBER, labels)) < 0.3 * (1 - sure)).cumsum(axis=1)
    grid = threshold_grid(range(labels, 0, -1))
    places = np.array([labels - int(step) for step in grid])  # the same places of every sorted sample
    accepted = np.broadcast_to(places + 1, (NUMBER, len(grid)))
    p = p_values(wrong[:, places], accepted, accepted, np.ones_like(accepted), risk=0.1)
    passed, _ = certified_steps(p, accepted, delta=0.1, fewest=22)
    given = passed.any(1)
    last = places[passed.shape[1] - 1 - np.argmax(passed[:, ::-1], axis=1)]
    risks = 0.3 * (1 - sure[np.arange(NUMBER), last]) / 2  # the mean risk of scores above a uniform threshold
    assert given.mean() > 0.5
    assert (given & (risks > 0.1)).mean() <= limit(0.1)


def grid_of(cases: tuple[Floats, Bools]) -> tuple[float, ...]:
    return threshold_grid(cases[0][cases[0] >= 0].tolist())


def recorded(prompts: int, first: int, labels: int = 200, agreement: float = 0.9) -> Studies:
    cases = gpt4_cases(prompts, first=first)
    grid = grid_of(cases)
    counts = drawn(cases, grid, labels, number=NUMBER, seed=first)
    return studies(*counts, truth_of(*cases, grid), agreement=agreement, delta=0.1)


@pytest.mark.slow
def test_200_labels_on_30_recorded_votes_of_gpt_4() -> None:
    found = recorded(15, 0)
    assert found.refused == pytest.approx(0.03, abs=0.01)
    assert found.violating == pytest.approx(0.06, abs=0.015)
    assert found.coverage == pytest.approx(0.75, abs=0.015)


@pytest.mark.slow
def test_20_recorded_votes_certify_85_at_a_coverage_of_nine_tenths_and_hardly_ever_95() -> None:
    assert recorded(10, 0, agreement=0.85).coverage == pytest.approx(0.9, abs=0.03)
    assert recorded(10, 0, agreement=0.95).refused > 0.5


@pytest.mark.slow
def test_reading_the_threshold_off_the_risk_coverage_table_violates_in_36_to_50_per_cent() -> None:
    shares = []
    for prompts, first in ((15, 0), *((10, first) for first in range(0, 15, 3))):
        cases = gpt4_cases(prompts, first=first)
        grid = sorted({score for score in cases[0].tolist() if score >= 0}, reverse=True)
        accepted, wrong = drawn(cases, grid, 200, number=NUMBER, seed=first)
        read = (wrong <= 0.1 * accepted) & (accepted > 0)
        shares.append(ended(read, truth_of(*cases, grid), agreement=0.9).violating)
    assert 0.36 < np.mean(shares) < 0.5


@pytest.mark.slow
def test_with_six_votes_200_labels_are_refused_more_often_than_not() -> None:
    found = [recorded(3, first) for first in range(15)]
    assert max(one.violating for one in found) <= limit(0.1)
    assert np.mean([one.refused for one in found]) > 0.5


# clusters


def clustered(sizes: list[int], wrong: list[int], risk: float = 0.1) -> float:
    return float(p_values(sum(wrong), sum(sizes), len(sizes), max(sizes), risk=risk))


def test_decisions_of_one_cluster_prove_no_more_than_one() -> None:
    assert clustered([1] * 30, [0] * 30) == pytest.approx(0.9**30)
    assert clustered([5] * 30, [0] * 30) == pytest.approx(0.9**30)
    assert clustered([1] * 29 + [30], [0] * 30) > 0.5  # a large one among single ones proves hardly anything
    assert clustered([2] * 30, [1] * 30) == 1.0
    assert float(p_values(0, 0, 0, 0, risk=0.1)) == 1.0


@pytest.mark.slow
@settings(max_examples=80)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.data())
def test_the_bound_for_clusters_is_that_of_hoeffding_and_bentkus(sizes: list[int], data: Any) -> None:
    wrong = [data.draw(st.integers(0, size)) for size in sizes]
    most, count, risk = max(sizes), len(sizes), 0.3
    if most == 1:
        assert clustered(sizes, wrong, risk) == pytest.approx(float(binom.cdf(sum(wrong), count, risk)))
        return
    losses = [(bad + risk * (most - size)) / most for bad, size in zip(wrong, sizes, strict=True)]
    mean = min(math.fsum(losses) / count, risk)
    kl = (mean * math.log(mean / risk) if mean else 0.0) + (1 - mean) * math.log((1 - mean) / (1 - risk))
    bentkus = math.e * float(binom.cdf(math.ceil(math.fsum(losses) - 1e-9), count, risk))
    assert clustered(sizes, wrong, risk) == pytest.approx(min(math.exp(-count * kl), bentkus, 1.0))


@pytest.mark.parametrize("alike", [1.0, 0.6, 0.0])
def test_clusters_are_respected_where_the_exact_test_would_not_hold(alike: float) -> None:
    """80 clusters of 3, at the bar: all wrong together, some of the time, or independent."""
    rng = np.random.default_rng(9)
    whole = rng.random((NUMBER, 80, 1)) < 0.1
    own = rng.random((NUMBER, 80, 3)) < 0.1
    together = rng.random((NUMBER, 80, 1)) < alike
    wrong = np.where(together, whole, own).sum((1, 2))
    sizes = np.full_like(wrong, 240)
    found = p_values(wrong, sizes, np.full_like(wrong, 80), np.full_like(wrong, 3), risk=0.1)
    assert (found <= 0.1).mean() <= limit(0.1)
    if alike == 1.0:
        assert (p_values(wrong, sizes, sizes, np.ones_like(sizes), risk=0.1) <= 0.1).mean() > 0.15


def test_steps_count_clusters() -> None:
    labelled = [(1.0, place == 0, place // 2) for place in range(80)]
    steps, last = step_tests(labelled, [1.0] * 80, agreement=0.9, delta=0.1)
    assert (steps[0].labelled, steps[0].clusters, last) == (80, 40, 0)
    assert steps[0].p == pytest.approx(clustered([2] * 40, [1] + [0] * 39))
    assert Counter(cluster for *_, cluster in labelled)[0] == 2
