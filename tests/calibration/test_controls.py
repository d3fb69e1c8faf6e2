"""Judges that read nothing, beside a judge on the same cases."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.measured import calibration

from judgeharness_integrations.analysis.calibration import CalibrationReport, Judged, measure_calibration
from judgeharness_integrations.analysis.calibration.controls import (
    Controls,
    controls_of,
    label_controls,
    longer_answer,
    longer_of,
)
from judgeharness_integrations.analysis.calibration.measure import withhold
from judgeharness_integrations.analysis.calibration.rates import balanced_accuracy
from judgeharness_integrations.analysis.calibration.strata import selection_of
from judgeharness_integrations.analysis.statistics.agreement import clustered_kappa, kappa_interval
from judgeharness_integrations.analysis.statistics.means import Z95, t_quantile
from judgeharness_integrations.analysis.statistics.paired import tango_interval
from judgeharness_integrations.analysis.statistics.proportions import Tally, clopper_pearson, wilson


def of(pairs: list[tuple[Any, Any]], **facts: Any) -> Controls:
    golds, verdicts = zip(*pairs, strict=True)
    found = controls_of(golds, verdicts, facts.pop("clusters", range(len(pairs))), **facts)
    assert found is not None
    return found


def items(*pairs: tuple[Any, Any], cluster: Any = None) -> list[Judged]:
    return [
        Judged(gold=gold, verdict=said, status="decided", cluster=cluster and cluster(n))
        for n, (gold, said) in enumerate(pairs)
    ]


def test_shares_differ_by_1_at_most() -> None:
    pairs = [(label, label) for label in "KLMN"]
    found = of(pairs, clusters=[0, 0, 1, 1]).control("constant").advantage
    assert found is not None
    assert (found.value, found.low, found.high) == (0.75, -1.0, 1.0)
    assert of(pairs, clusters=[0, 0, 0, 0]).control("constant").advantage == replace(found, low=None, high=None)


def test_a_graded_judge_stands_beside_a_constant_and_a_coin() -> None:
    found = of([("PASS", "PASS")] * 98 + [("FAIL", "PASS")] * 2)
    constant, coin, longest, first = found.listed
    assert (constant.says, constant.value, coin.value) == ("always PASS", 0.98, 0.5)
    assert constant.advantage is not None
    assert (constant.advantage.low, constant.advantage.high) == tango_interval(0, 0, 100)
    assert (longest.value, first.value) == (None, None)
    assert longest.reason == "it compares two answers, and these cases hold one"
    assert found.best is constant
    assert not found.beaten
    assert found.sentence == (
        "not better than a judge that always answers PASS: +0.000 [-0.037, +0.037] in the share right on the same "
        "100 decided cases"
    )
    assert found.line == "controls, right on the same 100 decided cases: always PASS 0.980, a coin 0.500"


def test_a_pair_has_a_first_slot_and_a_longer_answer() -> None:
    pairs = [("A", "A")] * 30 + [("B", "B")] * 25 + [("TIE", "A")] * 5
    found = of(pairs, longer=["A"] * 20 + [None] * 10 + ["B"] * 30)
    assert [one.name for one in found.listed] == ["constant", "coin", "longest answer", "first slot"]
    assert [(one.value, one.n) for one in found.listed] == [
        (0.5, 60),
        (pytest.approx(55 / 120), 60),
        (0.9, 50),
        (0.5, 60),
    ]
    assert found.best.name == "longest answer"
    assert not found.beaten
    assert "0.900 (of 50)" in found.line
    lead = "+0.000 [-0.071, +0.071] in the share right on 50 of the same 60 decided cases"
    assert f"the longer answer: {lead}" in found.sentence
    alone = of(pairs)
    assert alone.beaten
    assert alone.sentence.startswith("better than a judge that always answers A: +0.417 [")
    assert alone.sentence.endswith("; not compared with the longer answer")
    assert "longest answer not measured (neither texts that were read nor columns length_a and length_b" in alone.line


def test_right_in_both_orders_is_harder_for_who_reads_nothing() -> None:
    golds, right = ["A"] * 6 + ["B"] * 4, [True] * 10
    found = label_controls(golds, right, range(10), labels=frozenset("AB"), both_orders=True)
    assert found is not None
    assert [one.value for one in found.listed] == [0.6, 0.25, None, 0.0]


def test_a_score_stands_beside_the_median_of_gold() -> None:
    found = of([(gold, gold + 1) for gold in (1, 2, 3, 4, 9) * 6])
    assert found.scored
    assert (found.value, found.control("constant").says) == (1.0, "always 3")
    assert found.control("constant").value == pytest.approx(2.0)
    assert found.sentence.startswith("better than a judge that always answers 3: +1.000 [")
    assert "smaller mean error on the same 30 decided cases" in found.sentence
    assert found.line == "controls, mean error on the same 30 decided cases: always 3 2.000"
    flat = of([(gold, 3) for gold in (1, 2, 3, 4, 9)])
    assert flat.sentence == (
        "not better than a judge that always answers 3: +0.000 (no interval) smaller mean error on the same 5 decided "
        "cases"
    )


def test_cases_that_are_right_in_part_have_no_paired_counts() -> None:
    right = [1.0, 0.5, 0.5, 1.0] * 10
    found = label_controls(["A", "B"] * 20, right, range(40), labels=frozenset("AB"), first=[0.5] * 40)
    assert found is not None
    constant, coin, _, first = found.listed
    assert (found.value, constant.value, coin.value, first.value) == (0.75, 0.5, 0.5, 0.5)
    for one in (constant, first):
        assert one.advantage is not None
        assert one.advantage.value == 0.25
    assert coin.advantage is not None
    low, high = wilson(30, 40) or (0, 0)
    assert (coin.advantage.low, coin.advantage.high) == (pytest.approx(low - 0.5), pytest.approx(high - 0.5))


def test_one_label_alone_has_no_coin_and_no_case_no_control() -> None:
    assert of([("good", "good")]).control("coin").reason == "there is one label alone"
    assert "on the same 1 decided case" in of([("good", "good")]).line
    assert controls_of([], [], []) is None
    assert label_controls([], [], [], labels=frozenset()) is None


def test_cases_of_a_cluster_are_not_independent() -> None:
    pairs = [("A", "A")] * 30 + [("B", "B")] * 20 + [("B", "A")] * 10
    alone, together = of(pairs), of(pairs, clusters=[n // 10 for n in range(60)])
    assert alone.beaten
    assert not together.beaten
    assert together.sentence.startswith("not shown to be better than a judge that always answers A")


def test_the_longer_answer_is_told_by_texts_or_columns() -> None:
    assert longer_of({"output": "long", "output_b": "b"}, {"length_a": 1, "length_b": 9}) == "A"
    assert longer_of({"output": "x"}, {"length_a": "3", "length_b": 9}) == "B"
    assert longer_of({}, {"length": 10, "length_b": 9}) == "A"
    assert longer_of({}, {"length_a": "many", "length_b": 9}) is None
    assert longer_of({}, {"length_b": 9}) is None
    assert longer_of({}, {"length_a": None, "length_b": 9}) is None
    assert longer_answer("ab", "cd") is None


def test_controls_are_the_same_after_a_file() -> None:
    report = calibration(*[("A", "A"), ("B", "A")] * 10)
    again = CalibrationReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again.criteria == report.criteria
    assert again.criteria["verdict"].controls is not None
    scores = calibration(*[(n % 5, n % 4) for n in range(20)])
    assert CalibrationReport.from_dict(json.loads(json.dumps(scores.to_dict()))).criteria == scores.criteria


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("ABC")), min_size=1, max_size=40), st.randoms())
def test_controls_do_not_depend_on_the_order_of_cases(pairs: list[tuple[str, str]], dice: Any) -> None:
    shuffled = [*pairs]
    dice.shuffle(shuffled)
    assert of(shuffled) == of(pairs)


def test_balanced_accuracy_is_one_over_labels_for_a_constant_judge() -> None:
    graded = measure_calibration(items(*[("PASS", "PASS")] * 98, *[("FAIL", "PASS")] * 2))
    assert graded.balanced_accuracy is not None
    assert graded.balanced_accuracy.value == 0.5
    assert graded.lift is not None
    assert graded.lift.value == 0.0
    assert graded.untold == (
        "the labels cannot tell this judge from a constant one: balanced accuracy 0.500 [0.482, 0.921] (n=100) over "
        "all labelled cases (98 PASS, 2 FAIL), where a constant judge has 0.500"
    )
    three = measure_calibration(items(*[(label, "a") for label in "abc" * 10]))
    assert three.balanced_accuracy is not None
    assert three.balanced_accuracy.value == pytest.approx(1 / 3)
    many = measure_calibration(items(*[(label, "a") for label in "abcdef" * 10]))
    assert many.untold.endswith("10 a, 10 b, 10 c, 10 d and 2 more), where a constant judge has 0.167")
    caught = measure_calibration(items(*[("PASS", "PASS")] * 98, *[("FAIL", "FAIL")] * 2))
    assert caught.untold == ""  # two of two found among a hundred: 1 in 4,950 by luck


def test_labels_of_one_kind_tell_nothing_and_say_so() -> None:
    alone = measure_calibration(items(*[("PASS", "PASS")] * 40))
    assert alone.balanced_accuracy is None
    assert alone.untold == (
        "the labels cannot tell this judge from a constant one: every label is 'PASS', and of other items they say "
        "nothing"
    )
    failed = measure_calibration(items(*[("FAIL", "FAIL")] * 40))
    assert "every label is 'not PASS'" in failed.untold
    assert "every label is 'A'" in measure_calibration(items(*[("A", "A")] * 9)).untold
    assert "no item is labelled" in measure_calibration([]).untold


def test_scores_must_move_with_gold() -> None:
    golds = [n % 5 for n in range(30)]
    moving = measure_calibration(items(*[(gold, gold + n % 2) for n, gold in enumerate(golds)]))
    assert (moving.untold, moving.lift) == ("", None)
    assert "never vary" in measure_calibration(items(*[(gold, 3) for gold in golds])).untold
    noise = measure_calibration(items(*[(gold, n // 5 % 3) for n, gold in enumerate(golds)]))
    assert "Spearman's correlation" in noise.untold
    assert measure_calibration(items(*[(n, n) for n in range(6)])).untold == ""
    assert measure_calibration(items(*[(n, n) for n in range(4)])).untold  # four in a row are luck
    undecided = [Judged(gold=3, verdict=None, status="not_graded")]
    assert "no score was decided" in measure_calibration(undecided).untold


def test_a_judge_that_is_reliably_wrong_is_told_so() -> None:
    graded = measure_calibration(items(*[("PASS", "FAIL")] * 60, *[("FAIL", "PASS")] * 40))
    assert graded.inverted
    assert graded.untold.startswith(
        "this judge is reliably wrong, it is worse than a constant one: balanced accuracy 0.000 ["
    )
    assert graded.controls is not None
    assert graded.controls.sentence.startswith("worse than a judge that always answers PASS: -0.600 [")
    noisy = measure_calibration(items(*[("PASS", "FAIL"), ("FAIL", "PASS"), ("PASS", "PASS"), ("FAIL", "FAIL")] * 9))
    assert (noisy.inverted, "cannot tell this judge from a constant one" in noisy.untold) == (False, True)
    three = measure_calibration(items(*zip("abc" * 20, "bca" * 20, strict=True)))
    assert three.inverted
    scores = measure_calibration(items(*[(n % 5, 4 - n % 5 + n % 2) for n in range(30)]))
    assert scores.untold.startswith("this judge is reliably wrong, it gives high scores for low ones: Spearman's corr")
    assert scores.untold.endswith("is below 0, that of a constant judge's scores")
    chosen = withhold(graded, selection_of(["PASS", "FAIL"] * 50, [True, False] * 50))
    assert (chosen.inverted, "reliably" in chosen.untold) == (False, False)


def test_a_calibration_of_an_earlier_version_is_to_be_measured_again() -> None:
    saved = calibration(("PASS", "PASS"), ("FAIL", "FAIL")).to_dict()
    (old,) = saved["criteria"].values()
    for name in ("balanced_accuracy", "controls"):
        del old[name]
    old["undefined"] = {}
    again = CalibrationReport.from_dict(json.loads(json.dumps(saved)))
    assert again.untold().endswith("it was measured by an earlier version, without balanced accuracy: calibrate again")


def test_a_report_names_the_criteria_whose_labels_tell_nothing() -> None:
    good, flat = ([("A", "A"), ("B", "B")] * 10, [("A", "A"), ("B", "A")] * 10)
    criteria = {name: measure_calibration(items(*pairs)) for name, pairs in (("good", good), ("flat", flat))}
    report = calibration(criteria=criteria)
    assert report.untold().startswith("flat: the labels cannot tell")
    assert (report.untold("good"), report.untold("missing")) == ("", "")
    assert report.untold("flat") == criteria["flat"].untold


def coverage(n1: int, n0: int, p1: float, p0: float) -> tuple[float, float]:
    """Exact coverage of the interval of balanced accuracy, and how often its lower end lies above 1/2."""
    ends = [[clopper_pearson(k, n) for k in range(n + 1)] for n in (n1, n0)]
    rates = [np.arange(n + 1) / n for n in (n1, n0)]
    below, above = (
        [np.abs(rate - np.array([end[side] for end in row])) for rate, row in zip(rates, ends, strict=True)]
        for side in (0, 1)
    )
    value = (rates[0][:, None] + rates[1]) / 2
    low = value - np.hypot(below[0][:, None], below[1]) / 2
    high = value + np.hypot(above[0][:, None], above[1]) / 2
    chance = binom.pmf(np.arange(n1 + 1), n1, p1)[:, None] * binom.pmf(np.arange(n0 + 1), n0, p0)
    truth = (p1 + p0) / 2
    return float(chance[(low <= truth) & (truth <= high)].sum()), float(chance[low > 0.5].sum())


@pytest.mark.parametrize("rare", [1, 2, 5, 9, 23])
def test_the_interval_of_balanced_accuracy_covers_off_every_grid(rare: int) -> None:
    for common in (13, 71, 240):
        assert all(coverage(common, rare, p, q)[0] >= 0.93 for p in (0.57, 0.88, 0.973) for q in (0.17, 0.61, 0.93))
        assert all(coverage(common, rare, p, 1 - p)[1] <= 0.025 for p in (0.04, 0.31, 0.66, 0.87, 0.935, 0.985))
    said = items(*[("PASS", "PASS")] * 60, *[("PASS", "FAIL")] * 4, *[("FAIL", "FAIL")] * rare)
    found = balanced_accuracy(said, range(len(said)), positive="PASS")
    (one, two) = clopper_pearson(60, 64), clopper_pearson(rare, rare)
    assert found is not None
    assert found.low == pytest.approx((60 / 64 + 1) / 2 - math.hypot(60 / 64 - one[0], 1 - two[0]) / 2)


def test_clusters_widen_balanced_accuracy_and_kappa() -> None:
    pairs = [("PASS", "PASS")] * 24 + [("PASS", "FAIL")] * 6 + [("FAIL", "FAIL")] * 24 + [("FAIL", "PASS")] * 6
    alone = measure_calibration(items(*pairs))
    pure = measure_calibration(items(*pairs, cluster=lambda n: f"k{n // 6}"))
    mixed = measure_calibration(items(*pairs, cluster=lambda n: f"k{n % 10}"))
    one = measure_calibration(items(*pairs, cluster=lambda _: "k"))
    for wider in (pure, mixed):
        for name in ("balanced_accuracy", "kappa"):
            found, narrow = getattr(wider, name), getattr(alone, name)
            assert found.value == pytest.approx(narrow.value)
    assert pure.balanced_accuracy is not None
    assert alone.balanced_accuracy is not None
    assert (pure.balanced_accuracy.low or 1) < (alone.balanced_accuracy.low or 0)
    assert pure.kappa is not None
    assert alone.kappa is not None
    assert (pure.kappa.low or 1) < (alone.kappa.low or 0)
    assert one.kappa is not None
    assert (one.kappa.low, one.kappa.se) == (None, None)
    assert one.balanced_accuracy is not None
    assert (one.balanced_accuracy.low, one.balanced_accuracy.high) == (0.0, 1.0)
    assert Tally().exact_interval() is None
    perfect = clustered_kappa([("PASS", "PASS")] * 20 + [("FAIL", "FAIL")] * 20, [n // 2 for n in range(40)])
    assert perfect is not None
    assert (perfect.se, perfect.high) == (None, 1.0)
    worth = 0.5 * (Z95 / t_quantile(19)) ** 2  # twenty clusters of copies
    assert perfect.low == pytest.approx(kappa_interval({"P": {"P": 20}, "F": {"F": 20}}, worth=worth)[0])


def test_kappa_has_a_wide_interval_where_labels_are_almost_all_the_same() -> None:
    rare = measure_calibration(items(*[("PASS", "PASS")] * 90, *[("FAIL", "FAIL")] * 2))
    one_cluster = measure_calibration(
        [replace(item, cluster="one") for item in items(*[("PASS", "PASS")] * 9, *[("FAIL", "FAIL")] * 9)]
    )
    assert rare.kappa is not None
    assert rare.kappa.low is not None
    assert rare.kappa.low < 0.6
    assert rare.kappa.high == 1.0
    assert "kappa_interval" not in rare.undefined
    assert "fewer than 5 labels or decisions are the same" in rare.undefined["kappa_bar"]
    assert one_cluster.undefined["kappa_interval"] == "all items are of one cluster, which tells nothing of others"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "sensitivity", "specificity"), [(0.88, 0.83, 0.17), (0.955, 0.94, 0.71), (0.02, 0.98, 0.8)]
)
def test_the_interval_of_kappa_covers_off_every_grid(base: float, sensitivity: float, specificity: float) -> None:
    """kappa +- 1.96 standard errors cover .86 and .91 here; of samples with five rare labels or more, .8."""
    cells = [base * sensitivity, base * (1 - sensitivity), (1 - base) * (1 - specificity), (1 - base) * specificity]
    observed, said = cells[0] + cells[3], cells[0] + cells[2]
    expected = base * said + (1 - base) * (1 - said)
    truth, covered = (observed - expected) / (1 - expected), 0
    for a, b, c, d in np.random.default_rng(8).multinomial(170, cells, size=400):
        low, high = kappa_interval({"P": {"P": a, "F": b}, "F": {"P": c, "F": d}})
        covered += low <= truth <= high
    assert covered / 400 >= 0.93 - 3 * math.sqrt(0.05 * 0.95 / 400)
