"""The tests behind the alternative annotator test, against other packages and their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.multitest import multipletests
from support.alttests import examine, only

from judgeharness_integrations.analysis.agreement import Panel
from judgeharness_integrations.analysis.agreement.alttest import alt_test
from judgeharness_integrations.analysis.agreement.hypothesis import (
    FEWEST_CLUSTERS,
    Advantage,
    Tally,
    benjamini_yekutieli,
    clustered_test,
    rejections,
    t_test,
    tango_test,
    winning_rate,
)
from judgeharness_integrations.verdictlog.row import VerdictRow

COUNTS = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)).filter(any)


def tally(human: int, tie: int, candidate: int) -> Tally:
    return Tally(human=np.array([human]), tie=np.array([tie]), candidate=np.array([candidate]))


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=12), q=st.sampled_from([0.01, 0.05, 0.2]))
def test_the_step_up_is_that_of_statsmodels(p: list[float], q: float) -> None:
    rejected, adjusted = benjamini_yekutieli(np.array(p), q)
    expected, expected_adjusted, _, _ = multipletests(p, alpha=q, method="fdr_by")
    assert adjusted == pytest.approx(expected_adjusted, rel=1e-12, abs=1e-300)
    assert rejected.tolist() == expected.tolist()


def test_the_step_up_takes_the_largest_k_although_smaller_ones_do_not_fit() -> None:
    q, factor = 0.05, 1 + 1 / 2 + 1 / 3
    p = np.array([0.04 / factor, 0.045 / factor, 0.05 / factor])  # thresholds q/3, 2q/3 and q, each over the factor
    assert benjamini_yekutieli(p, q)[0].tolist() == [True, True, True]


def test_an_undefined_p_takes_a_place_among_the_hypotheses() -> None:
    p = np.array([0.02, np.nan])
    assert int(rejections(p, 0.05)) == 0  # .05 / (2 * 1.5) is below .02
    rejected, adjusted = benjamini_yekutieli(p, 0.05)
    assert rejected.tolist() == [False, False]
    assert adjusted[0] == pytest.approx(0.06)
    assert math.isnan(adjusted[1])
    assert benjamini_yekutieli(np.zeros(0), 0.05)[0].tolist() == []


def constrained_z(b: int, c: int, n: int, epsilon: float) -> float:
    """Tango's statistic with the restricted maximum of the likelihood found numerically."""

    def loss(share: float) -> float:  # share = P(candidate alone), P(human alone) = share + epsilon
        parts = ((b, share + epsilon), (c, share), (n - b - c, 1 - 2 * share - epsilon))
        return -sum(count * math.log(max(p, 1e-300)) for count, p in parts if count)

    best = optimize.minimize_scalar(loss, bounds=(0, (1 - epsilon) / 2), method="bounded", options={"xatol": 1e-12})
    return (b - c - n * epsilon) / math.sqrt(n * (2 * best.x + epsilon - epsilon**2))


@given(
    b=st.integers(1, 40), c=st.integers(1, 40), tie=st.integers(0, 60), epsilon=st.sampled_from([0.0, 0.05, 0.2, 0.4])
)
def test_tango_is_the_score_test_of_the_restricted_likelihood(b: int, c: int, tie: int, epsilon: float) -> None:
    found = tango_test(tally(b, tie, c), epsilon)
    assert found.statistic[0] == pytest.approx(constrained_z(b, c, b + c + tie, epsilon), rel=1e-4, abs=1e-4)
    assert found.p[0] == pytest.approx(stats.norm.cdf(found.statistic[0]))


def test_tango_at_no_epsilon_is_mcnemar() -> None:
    found = tango_test(tally(12, 40, 5), 0.0)
    assert found.statistic[0] == pytest.approx((12 - 5) / math.sqrt(12 + 5))


@pytest.mark.parametrize(
    ("counts", "epsilon", "p"),
    [((0, 10, 0), 0.0, None), ((10, 0, 0), 1.0, None), ((5, 5, 0), 1.0, 0.0)],
)
def test_tango_without_any_spread_is_undefined_or_certain(
    counts: tuple[int, int, int], epsilon: float, p: float | None
) -> None:
    found = tango_test(tally(*counts), epsilon).p[0]
    assert math.isnan(found) if p is None else found == p


@given(counts=COUNTS, epsilon=st.sampled_from([0.0, 0.1, 0.5, 1.0]), multiplicative=st.booleans())
def test_with_every_item_its_own_cluster_the_robust_test_is_the_t_test(
    counts: tuple[int, int, int], epsilon: float, *, multiplicative: bool
) -> None:
    human, tie, candidate = counts
    assume(human + tie + candidate >= FEWEST_CLUSTERS)
    sign = np.array([-1] * human + [0] * tie + [1] * candidate, np.int8)
    found = advantage_of(sign)
    plain = t_test(found.tally, epsilon, multiplicative=multiplicative)
    robust = clustered_test(found, np.arange(len(sign)), epsilon, multiplicative=multiplicative)
    np.testing.assert_allclose(robust.p, plain.p, rtol=1e-9)
    np.testing.assert_allclose(robust.statistic, plain.statistic, rtol=1e-7, atol=1e-9)
    assert robust.clusters is not None
    assert robust.clusters.tolist() == [len(sign)]


def advantage_of(sign: Any) -> Advantage:
    cells = len(sign)
    return Advantage(
        candidate="m",
        score="accuracy",
        annotator=np.zeros(cells, np.intp),
        item=np.arange(cells),
        sign=sign,
        tally=Tally.of(sign, np.zeros(cells, np.intp), 1),
        tested=np.array([0]),
        kept=cells,
    )


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2, 2, 2), (1, 1, 2, 2, 3, 3, 2)])
def test_the_robust_variance_is_its_formula(sizes: tuple[int, ...]) -> None:
    n, groups = sum(sizes), len(sizes)
    sign = np.resize(np.array([1, 1, 0, -1, 0, -1, -1], np.int8), n)
    clusters = np.repeat(np.arange(groups), sizes)
    d = -sign.astype(float)
    sums = [((d - d.mean())[clusters == g]).sum() for g in range(groups)]
    variance = groups / (groups - 1) * sum(one**2 for one in sums) / n**2
    t = (d.mean() - 0.1) / math.sqrt(variance)
    effective = n**2 / sum(size**2 for size in sizes)
    found = clustered_test(advantage_of(sign), clusters, 0.1, multiplicative=False)
    assert found.statistic[0] == pytest.approx(t)
    assert found.p[0] == pytest.approx(stats.t.cdf(t, effective - 1))
    assert found.effective is not None
    assert found.effective[0] == pytest.approx(effective)


@pytest.mark.parametrize(
    ("sign", "clusters"),
    [
        ([1, -1] * 5, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        ([1, 1, 0, -1], [0, 0, 0, 0]),
        ([1, 1, 1, 1], [0, 1, 2, 3]),
        ([1, 0] * 10, [*[0] * 14, 1, 2, 3, 4, 5, 6]),
    ],
    ids=["no spread", "one", "four", "seven that count like two"],
)
def test_the_robust_test_is_undefined_where_clusters_show_no_spread_or_are_few(
    sign: list[int], clusters: list[int]
) -> None:
    found = clustered_test(advantage_of(np.array(sign, np.int8)), np.array(clusters), 0.1, multiplicative=True)
    assert math.isnan(found.p[0])
    assert math.isnan(found.statistic[0])


def test_clusters_of_very_unequal_size_do_not_make_the_test_too_easy() -> None:
    # with clusters - 1 degrees of freedom .10 of these are rejected at the edge of the null hypothesis
    rng = np.random.default_rng(4)
    sizes, replicates = [30, *[2] * 30], 2000
    clusters, n = np.repeat(np.arange(31), sizes), sum(sizes)
    own = rng.choice([-1, 0, 1], p=[0.3, 0.6, 0.1], size=(replicates, n))
    shared = rng.choice([-1, 0, 1], p=[0.3, 0.6, 0.1], size=(replicates, 31))[:, clusters]
    sign = np.where(rng.random(own.shape) < 0.5, shared, own).astype(np.int8).reshape(-1)
    annotator = np.repeat(np.arange(replicates), n)
    found = Advantage(
        candidate="m",
        score="accuracy",
        annotator=annotator,
        item=np.tile(np.arange(n), replicates),
        sign=sign,
        tally=Tally.of(sign, annotator, replicates),
        tested=np.arange(replicates),
        kept=n,
    )
    assert (clustered_test(found, clusters, 0.2, multiplicative=False).p <= 0.05).mean() < 0.085


def rows_of_texts(texts: int, repeats: int) -> list[VerdictRow]:
    """Every text asked about several times, with the same outcome each time."""
    rng = np.random.default_rng(3)
    rows = []
    for text in range(texts):
        wrong = rng.random(4) < (0.1, 0.1, 0.1, 0.2)
        for repeat in range(repeats):
            rows += [
                VerdictRow(
                    case_id=f"t{text}-{repeat}",
                    judge=name,
                    verdict="y" if miss else "x",
                    attributes={"text": f"t{text}"},
                )
                for name, miss in zip(("h0", "h1", "h2", "m"), wrong.tolist(), strict=True)
            ]
    return rows


def test_repeated_texts_are_not_independent_instances() -> None:
    panel = Panel.from_rows(rows_of_texts(12, 20), cluster="text")
    report = alt_test(panel, humans=["h*"], candidates=["m"])
    test = only(report)
    assert (test.omega, test.passed) == (1.0, True)  # always the paper's
    assert test.omega_clustered is not None
    assert test.omega_clustered < 0.5
    assert {row.clusters for row in test.annotators} == {12}
    assert "omega and omega clustered by text lie on two sides of .5" in test.warnings
    assert {row.effective_clusters for row in test.annotators} == {12.0}
    assert (report.scope.cluster, report.scope.clusters) == ("text", 12)
    plain = only(alt_test(Panel.from_rows(rows_of_texts(12, 20)), humans=["h*"], candidates=["m"]))
    assert plain.omega_clustered is None
    assert {row.clusters for row in plain.annotators} == {None}
    assert plain.rho_interval is not None
    assert test.rho_interval is not None
    assert test.rho_interval[0] < plain.rho_interval[0]


def rows_in_clusters(sizes: dict[str, Sequence[int]], rng: Any) -> list[VerdictRow]:
    """Raters whose items come from texts of these sizes; m1 and m2 are right as often as humans."""
    return [
        VerdictRow(
            case_id=f"t{text}-{item}",
            judge=name,
            verdict="ab"[int(rng.random() < 0.2)],
            attributes={"text": f"t{text}"},
        )
        for name, texts in sizes.items()
        for text, size in enumerate(texts)
        for item in range(size)
    ]


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((40,), "1 clusters are too few: it takes 5"),
        ((20, 20), "2 clusters are too few: it takes 5"),
        ((40, *[1] * 12), "13 clusters, which weigh as much as 1.7 of equal size, are too few: it takes 5"),
    ],
)
def test_few_clusters_tell_nothing_instead_of_zero(sizes: tuple[int, ...], reason: str) -> None:
    names = ("h0", "h1", "h2", "m1", "m2")
    rows = rows_in_clusters(dict.fromkeys(names, sizes), np.random.default_rng(3))
    report = alt_test(Panel.from_rows(rows, cluster="text"), humans=["h*"], candidates=["m*"], epsilons=0.3)
    for test in report.candidates:
        assert test.omega is not None
        assert test.omega_clustered is None
        assert test.clustered_reason == f"an annotator's instances come from few clusters (text): {reason}"
        assert (test.rho_interval, test.interval_reason) == (None, reason)
        assert {(row.clustered_p, row.clustered_rejected) for row in test.annotators} == {(None, None)}
        assert not any("clustered" in warning for warning in test.warnings)
    (pair,) = report.comparisons
    assert pair.difference is not None
    assert (pair.interval, pair.reason) == (None, reason)


def test_nobody_tested_has_no_clusters_to_speak_of() -> None:
    rows = rows_in_clusters(dict.fromkeys(("h0", "h1", "h2", "m"), (5, 5)), np.random.default_rng(3))
    test = only(alt_test(Panel.from_rows(rows, cluster="text"), humans=["h*"], candidates=["m"]))
    assert (test.omega, test.omega_clustered, test.clustered_reason, test.warnings) == (None, None, None, ())


def test_annotators_of_few_clusters_are_left_out_of_the_clustered_test_alone() -> None:
    sizes = {"h0": [8] * 10, "h1": [8] * 10, "h2": [8] * 10, "h3": [8] * 4, "m": [8] * 10}
    rows = rows_in_clusters({name: sizes[name] for name in sizes}, np.random.default_rng(3))
    test = only(alt_test(Panel.from_rows(rows, cluster="text"), humans=["h*"], candidates=["m"], epsilons=0.4))
    assert (test.m_tested, test.clustered_reason) == (4, None)
    decided = {row.annotator: row.clustered_rejected for row in test.annotators}
    assert decided["h3"] is None
    kept = [found for name, found in decided.items() if name != "h3"]
    assert test.omega_clustered == sum(map(bool, kept)) / 3
    assert any("clustered by text, 1 of 4 annotators are left out" in warning for warning in test.warnings)
    p = np.array([row.clustered_p for row in test.annotators if row.annotator != "h3"])
    adjusted = [row.clustered_p_adjusted for row in test.annotators if row.annotator != "h3"]
    assert adjusted == pytest.approx(multipletests(p, method="fdr_by")[1])


def test_clusters_that_do_not_differ_tell_nothing() -> None:
    # in each of six texts every human wins once, the candidate once
    said = {"h0": "xxz", "h1": "xxx", "h2": "xxx", "m": "xzx"}
    rows = [
        VerdictRow(case_id=f"t{text}-{item}", judge=name, verdict=answer, attributes={"text": f"t{text}"})
        for name, answers in said.items()
        for text in range(12)
        for item, answer in enumerate(answers)
    ]
    panel = Panel.from_rows(rows, cluster="text")
    test = only(alt_test(panel, humans=["h*"], candidates=["m"], epsilons=0.2))
    assert test.clustered_reason == "the wins do not vary between the clusters of text, so that nothing can be tested"
    assert test.omega_clustered is None
    beside = Panel.from_rows(
        [*rows, *(replace(row, judge="m2", verdict="x") for row in rows if row.judge == "m")], cluster="text"
    )
    (pair,) = alt_test(beside, humans=["h*"], candidates=["m", "m2"]).comparisons
    assert (pair.interval, pair.reason) == (None, "the difference is the same in all 12 clusters")


def test_an_interval_of_everything_is_none() -> None:
    said = [("x", "z"), ("z", "x")]
    rows = [
        VerdictRow(case_id=f"t{text}-{item}", judge=name, verdict=verdict, attributes={"text": f"t{text}"})
        for text in range(5)
        for item in range(10)
        for name, verdict in (("h0", "x"), ("h1", "x"), ("h2", "x"), *zip(("m1", "m2"), said[text % 2], strict=True))
    ]
    (pair,) = alt_test(Panel.from_rows(rows, cluster="text"), humans=["h*"], candidates=["m*"]).comparisons
    assert pair.difference == pytest.approx(0.2)
    assert (pair.interval, pair.reason) == (None, "the 5 clusters differ too much to tell anything")


def test_a_turned_comparison_is_the_other_way_round() -> None:
    rng = np.random.default_rng(5)
    panel = random_panel(rng, 80, {"h0": 0.8, "h1": 0.8, "h2": 0.8, "m1": 0.85, "m2": 0.6})
    (pair,) = examine(panel).comparisons
    assert pair.interval is not None
    turned = pair.turned()
    assert (turned.first, turned.rho_first, turned.difference) == ("m2", pair.rho_second, -(pair.difference or 0))
    assert turned.interval == (-pair.interval[1], -pair.interval[0])
    assert turned.turned() == pair
    few = examine({name: dict(list(said.items())[:20]) for name, said in panel.items()}).comparisons[0]
    assert (few.turned().difference, few.turned().interval) == (None, None)
    assert few.reason == "no annotator has 30 instances that both answered"


def random_panel(rng: Any, items: int, right: dict[str, float]) -> dict[str, dict[str, str]]:
    truth = rng.integers(0, 3, items)
    return {
        name: {f"i{item}": "abc"[truth[item] if rng.random() < share else rng.integers(0, 3)] for item in range(items)}
        for name, share in right.items()
    }


@pytest.mark.slow
def test_the_interval_of_rho_covers_it() -> None:
    right = {"h0": 0.8, "h1": 0.8, "h2": 0.8, "h3": 0.8, "m": 0.9}
    rng = np.random.default_rng(11)
    expected = only(examine(random_panel(rng, 20_000, right))).rho
    assert expected is not None
    intervals = [only(examine(random_panel(rng, 60, right))).rho_interval for _ in range(200)]
    covered = [low <= expected <= high for low, high in filter(None, intervals)]
    assert len(covered) == 200
    assert 0.91 <= sum(covered) / 200 <= 0.99


def test_rho_of_one_has_an_interval_of_some_width() -> None:
    sign = np.array([1] * 40, np.int8)
    rate = winning_rate(advantage_of(sign))
    assert rate is not None
    assert rate.interval == (pytest.approx(0.907, abs=0.001), 1.0)


def test_the_paired_difference_is_the_difference_of_winning_rates_on_common_instances() -> None:
    rng = np.random.default_rng(5)
    panel = random_panel(rng, 200, {"h0": 0.8, "h1": 0.8, "h2": 0.8, "m1": 0.85, "m2": 0.6, "m3": 0.6})
    for item in range(50):
        del panel["m2"][f"i{item}"]
    panel["m3"] = {f"i{item}": panel["m3"][f"i{item}"] for item in range(50)}
    report = examine(panel)
    first, second, third = report.comparisons
    common = {name: {i: said[i] for i in said if i in panel["m2"]} for name, said in panel.items() if name != "m3"}
    alone = {one.candidate: one.rho for one in examine(common).candidates}
    assert (first.first, first.second, first.instances, first.annotators) == ("m1", "m2", 150, 3)
    assert (first.rho_first, first.rho_second) == (pytest.approx(alone["m1"]), pytest.approx(alone["m2"]))
    assert first.difference == pytest.approx(alone["m1"] - alone["m2"])  # type: ignore[operator]
    assert first.interval is not None
    assert 0 < first.interval[0] < first.difference < first.interval[1]
    assert (second.instances, second.annotators) == (50, 3)
    assert (third.instances, third.annotators, third.difference, third.interval) == (0, 0, None, None)


def test_equal_candidates_differ_by_nothing_of_unknown_width() -> None:
    panel = random_panel(np.random.default_rng(5), 50, {"h0": 0.8, "h1": 0.8, "h2": 0.8, "m1": 0.85})
    (only_one,) = examine(panel | {"m2": panel["m1"]}).comparisons
    assert (only_one.difference, only_one.interval) == (0.0, None)
